//! Agents with the tools of MCP servers: the real program, a scripted model, real server processes.

mod commands;
mod hostile;
mod network;
mod oauth;
mod requests;
mod sharing;
mod trust;

use std::{fs, path::PathBuf};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{ScriptedServer, Turn, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::providers::{completes, lab, used};

/// The script of the server for tests.
pub(crate) fn script() -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py").display().to_string()
}

/// Settings of a server that behaves like that, with further keys.
pub(crate) fn server(how: &[&str], keys: &str) -> String {
    let mut words = vec![script()];
    words.extend(how.iter().map(ToString::to_string));
    format!("[mcp_servers.lab]\ncommand = \"python3\"\nargs = {words:?}\n{keys}\n")
}

pub(crate) fn calls(tool: &str, arguments: &Value) -> Turn {
    tool_call("call_1", tool, arguments).using(used(100))
}

/// What the model was told as the answer of its first call, and the whole of the run.
pub(crate) struct Told {
    pub(crate) answer: String,
    pub(crate) ran: Ran,
    pub(crate) project: TestProject,
    pub(crate) first_request: Value,
}

/// A run whose model makes that call and is done.
pub(crate) fn told(settings: &str, tool: &str, arguments: &Value, options: &[&str]) -> Told {
    let model = ScriptedServer::start();
    model.answer(WireApi::Chat.answer(&calls(tool, arguments)));
    model.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{settings}")).unwrap();
    let witness = project.root().join("witness.txt").display().to_string();
    let project = project.with_env("WITNESS", &witness).with_env("MY_TOKEN", "t-123");
    project.agent("helper", "description: d");
    let mut words = vec!["run", "helper", "do it"];
    words.extend(options);
    let ran = project.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests = model.requests();
    let first_request = serde_json::from_slice(&requests[0].body).unwrap();
    let second: Value = serde_json::from_slice(&requests[1].body).unwrap();
    let messages = second["messages"].as_array().unwrap();
    let answer = messages.iter().find(|message| message["role"] == "tool").unwrap();
    let answer = answer["content"].as_str().map_or(answer["content"].to_string(), str::to_owned);
    Told { answer, ran, project, first_request }
}

pub(crate) fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_tool_that_only_reads_is_called_unasked() {
    let told = told(&server(&[], ""), "mcp__lab__echo", &json!({"text": "hello"}), &[]);
    assert_eq!(told.answer, "it says: hello");
    assert!(offered(&told.first_request).contains(&"mcp__lab__note".to_owned()));
}

#[test]
fn a_tool_that_may_write_is_asked_about_unless_a_rule_allows_it() {
    let arguments = json!({"text": "hello"});
    let refused = told(&server(&[], ""), "mcp__lab__note", &arguments, &[]);
    assert!(refused.answer.contains("not approved"), "{}", refused.answer);
    assert!(!refused.project.root().join("notes.txt").exists());
    for (rules, options) in [
        ("[permissions]\nallow = [\"mcp__lab__note\"]\n", &[][..]),
        ("[permissions]\nallow = [\"mcp__lab\"]\n", &[]),
        ("", &["--approve", "all"]),
    ] {
        let settings = format!("{}{rules}", server(&[], ""));
        let allowed = told(&settings, "mcp__lab__note", &arguments, options);
        assert_eq!(allowed.answer, "noted", "{rules}");
        let notes = allowed.project.root().join("notes.txt");
        assert_eq!(fs::read_to_string(notes).unwrap(), "hello\n");
    }
    let settings = format!("{}[permissions]\ndeny = [\"mcp__lab__echo\"]\n", server(&[], ""));
    let denied = told(&settings, "mcp__lab__echo", &arguments, &["--approve", "all"]);
    assert!(denied.answer.contains("denies it"), "{}", denied.answer);
}

#[test]
fn a_server_sees_a_clean_environment_and_what_its_entry_names() {
    let keys = "env = { GIVEN = \"${MY_TOKEN}\", OTHER = \"${NONE:-usual}\" }";
    let names = json!({"names": ["GIVEN", "OTHER", "MY_TOKEN", "LAB_KEY", "HOME"]});
    let told = told(&server(&[], keys), "mcp__lab__environment", &names, &[]);
    let seen: Value =
        serde_json::from_str(&told.answer).unwrap_or_else(|_| panic!("{}", told.answer));
    assert_eq!((&seen["MY_TOKEN"], &seen["LAB_KEY"]), (&Value::Null, &Value::Null));
    assert_eq!(seen["OTHER"], "usual");
    assert!(seen["HOME"].is_string());
}

#[test]
fn tools_that_are_not_used_are_not_offered() {
    let settings = server(&[], "enabled_tools = [\"echo\", \"note\"]\ndisabled_tools = [\"note\"]");
    let told = told(&settings, "mcp__lab__echo", &json!({"text": "x"}), &[]);
    let mcp: Vec<_> =
        offered(&told.first_request).into_iter().filter(|name| name.starts_with("mcp__")).collect();
    assert_eq!(mcp, ["mcp__lab__echo"]);
}

#[test]
fn an_image_a_link_and_structured_content_reach_the_model() {
    let told = told(&server(&[], ""), "mcp__lab__image", &json!({}), &[]);
    for part in ["image/png", "file:///a", "width"] {
        assert!(told.answer.contains(part), "{part}: {}", told.answer);
    }
}

#[test]
fn a_failure_of_a_tool_is_told_as_one() {
    let told =
        told(&server(&[], ""), "mcp__lab__fail", &json!({}), &["--output-format", "stream-json"]);
    assert!(told.answer.contains("it did not work"), "{}", told.answer);
    let ended = told.ran.stdout.lines().find(|line| line.contains("TOOL_CALL_END")).unwrap();
    assert!(ended.contains("\"success\":false"), "{ended}");
}

#[test]
fn an_agent_without_mcp_tools_starts_no_server() {
    let model = ScriptedServer::start();
    model.always(WireApi::Chat.answer(&completes("done")));
    let project = lab(&model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{}", server(&[], "env = { WITNESS = \"witness.txt\" }")))
        .unwrap();
    project.agent("reader", "description: d\ntools: Read");
    project.agent("denied", "description: d\ndisallowedTools: mcp__lab");
    project.agent("user", "description: d\ntools: mcp__lab__echo");
    for (agent, starts) in
        [("reader", false), ("denied", false), ("Explore", false), ("user", true)]
    {
        assert_eq!(project.run(&["run", agent, "x"]).code, Some(0));
        assert_eq!(project.root().join("witness.txt").exists(), starts, "{agent}");
    }
}
