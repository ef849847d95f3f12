//! Servers that misbehave: the run goes on, and the model and the user are told.

use std::{fs, path::Path};

use attache_testkit::scripted_server::{Answer, ScriptedServer};
use serde_json::json;

use super::{calls, offered, server, told};
use crate::providers::{completes, lab};

#[test]
fn a_server_that_does_not_start_is_told_and_the_run_goes_on() {
    for (settings, reason) in [
        (server(&["silent"], "startup_timeout_sec = 1"), "did not answer within 1 s"),
        (server(&["silent"], "startup_timeout_sec = 1"), "it wrote: nothing to say"),
        (server(&["broken"], ""), "it ended before it answered; it wrote: no module named x"),
        ("[mcp_servers.lab]\ncommand = \"no-such-program\"\n".to_owned(), "no such program"),
        ("[mcp_servers.lab]\nargs = []\n".to_owned(), "neither `command` nor `url`"),
        ("[mcp_servers.lab]\ncommand = \"${NONE}\"\n".to_owned(), "NONE is not set"),
        ("[mcp_servers.lab]\nurl = \"http://127.0.0.1:9/mcp\"\n".to_owned(), "did not start"),
    ] {
        let told = told(&settings, "mcp__lab__echo", &json!({"text": "x"}), &[]);
        assert!(told.ran.stderr.contains(reason), "{reason}: {}", told.ran.stderr);
        assert!(!told.ran.stderr.contains('\u{1b}'), "{}", told.ran.stderr);
        assert!(told.answer.contains("mcp__lab__echo"), "{}", told.answer);
    }
}

#[test]
fn a_server_that_takes_its_time_to_start_is_named_unless_nothing_is_to_be_said() {
    let silent = server(&["silent"], "startup_timeout_sec = 3");
    for (options, is_named) in [(&[][..], true), (&["--quiet"][..], false)] {
        let told = told(&silent, "mcp__lab__echo", &json!({"text": "x"}), options);
        let said = &told.ran.stderr;
        assert_eq!(said.contains("waiting for MCP servers to start: lab"), is_named, "{said}");
    }
}

#[test]
fn a_server_that_wants_a_token_is_told_with_what_to_do() {
    for answer in [
        Answer::new().status(401),
        Answer::new().status(401).header("www-authenticate", "Bearer resource_metadata=\"x\""),
    ] {
        let guarded = ScriptedServer::start();
        guarded.always_on("/mcp", answer);
        let url = guarded.base_url().trim_end_matches("/v1").to_owned();
        let settings = format!("[mcp_servers.lab]\nurl = \"{url}/mcp\"\n");
        let told = told(&settings, "mcp__lab__echo", &json!({"text": "x"}), &[]);
        assert!(told.ran.stderr.contains("login needed (401)"), "{}", told.ran.stderr);
        assert!(told.ran.stderr.contains("attache mcp login lab"), "{}", told.ran.stderr);
        assert!(told.ran.stderr.contains("bearer_token_env_var"), "{}", told.ran.stderr);
    }
}

#[test]
fn garbage_between_the_messages_does_no_harm() {
    let told = told(&server(&["garbage"], ""), "mcp__lab__echo", &json!({"text": "x"}), &[]);
    assert_eq!(told.answer, "it says: x");
}

#[test]
fn a_call_whose_server_dies_has_an_unknown_outcome() {
    let told = told(&server(&[], ""), "mcp__lab__die", &json!({}), &[]);
    assert!(told.answer.contains("the outcome of this call is unknown"), "{}", told.answer);
    assert!(told.answer.contains("about to die"), "{}", told.answer);
    let pids = fs::read_to_string(told.project.root().join("witness.txt")).unwrap_or_default();
    assert!(pids.lines().count() <= 1, "the call was repeated: {pids}");
}

#[test]
fn a_giant_answer_ends_the_call_and_not_the_run() {
    let told = told(&server(&[], ""), "mcp__lab__big", &json!({}), &[]);
    assert!(told.answer.contains("longer than 16 MB"), "{}", told.answer);
}

#[test]
fn a_call_that_hangs_is_stopped_after_its_time() {
    let told = told(&server(&[], "tool_timeout_sec = 1"), "mcp__lab__hang", &json!({}), &[]);
    assert!(told.answer.contains("did not finish within 1 s"), "{}", told.answer);
}

#[test]
fn escape_sequences_of_a_server_reach_nobody() {
    let told = told(&server(&["escapes"], ""), "mcp__lab__fail", &json!({}), &[]);
    let request = told.first_request.to_string();
    assert!(request.contains("Looks red."), "{request}");
    for hidden in ["\\u001b", "\u{1b}", "\u{202e}", "owned"] {
        assert!(!request.contains(hidden), "{hidden:?} is in the request");
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    assert!(offered(&told.first_request).iter().all(|name| name.chars().all(plain)));
    assert!(!told.ran.stderr.contains('\u{1b}') && !told.answer.contains('\u{1b}'));
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn nothing_of_a_server_outlives_the_program() {
    let settings = server(&["grandchild"], "env = { WITNESS = \"witness.txt\" }");
    let told = told(&settings, "mcp__lab__echo", &json!({"text": "x"}), &[]);
    assert_eq!(told.answer, "it says: x");
    let pids = fs::read_to_string(told.project.root().join("witness.txt")).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    for pid in pids.lines() {
        assert!(!is_running(pid), "{pid} is still running");
    }
}

#[test]
fn tools_that_come_later_are_not_for_the_run_that_goes_on() {
    use attache_testkit::scripted_server::{ScriptedServer, WireApi};
    let model = ScriptedServer::start();
    model.answer(WireApi::Chat.answer(&calls("mcp__lab__change", &json!({}))));
    model.answer(WireApi::Chat.answer(&calls("mcp__lab__added", &json!({}))));
    model.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{}", server(&[], ""))).unwrap();
    project.agent("helper", "description: d");
    assert_eq!(project.run(&["run", "helper", "x"]).code, Some(0));
    let requests = model.requests();
    let tools = |index: usize| {
        let body: serde_json::Value = serde_json::from_slice(&requests[index].body).unwrap();
        body["tools"].clone()
    };
    assert_eq!(tools(0), tools(2));
    let last = String::from_utf8(requests[2].body.clone()).unwrap();
    assert!(last.contains("mcp__lab__added"), "{last}");
}

#[test]
fn two_hundred_tools_are_searched_and_called_and_do_not_fill_the_prompt() {
    use attache_testkit::scripted_server::{ScriptedServer, WireApi};
    let inner = |tool: &str| json!({"tool": tool, "arguments": {"text": "mars"}});
    let model = ScriptedServer::start();
    for (tool, arguments) in [
        ("mcp_search", json!({"query": "find a planet"})),
        ("mcp_call", inner("mcp__lab__find_planet")),
        ("mcp_call", inner("mcp__lab__note")),
        ("mcp_call", inner("mcp__lab__none")),
    ] {
        model.answer(WireApi::Chat.answer(&calls(tool, &arguments)));
    }
    model.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{}", server(&["many"], ""))).unwrap();
    project.agent("helper", "description: d");
    let ran = project.run(&["run", "helper", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let requests: Vec<serde_json::Value> = model
        .requests()
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    let tools = offered(&requests[0]);
    assert!(!tools.iter().any(|name| name.starts_with("mcp__")), "{tools:?}");
    assert!(requests[0].to_string().len() < 20_000, "{}", requests[0].to_string().len());
    assert!(requests.iter().all(|request| request["tools"] == requests[0]["tools"]));
    let answers: Vec<&str> = requests[4]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    assert!(
        answers[0].contains("mcp__lab__find_planet") && answers[0].contains("\"text\""),
        "{answers:?}"
    );
    assert_eq!(answers[1], "it says: mars");
    assert!(answers[2].contains("not approved"), "{answers:?}");
    assert!(answers[3].contains("mcp_search"), "{answers:?}");
    assert!(!project.root().join("notes.txt").exists());
}
