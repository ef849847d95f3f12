//! One connection for all agents, servers that are started side by side, and what becomes of one that crashes.

use std::{collections::BTreeSet, fs, process::Command};

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, Turn, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use super::{calls, offered, script, server, told};
use crate::providers::{completes, lab, used};

fn project(model: &ScriptedServer, turns: &[Turn], settings: &str) -> TestProject {
    for turn in turns {
        model.answer(WireApi::Chat.answer(turn));
    }
    let project = lab(model, WireApi::Chat, "");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{settings}")).unwrap();
    project
}

/// What the model was told as the answers of its calls, up to its last request.
fn answers(model: &ScriptedServer) -> Vec<String> {
    let last: Value = serde_json::from_slice(&model.requests().last().unwrap().body).unwrap();
    let messages = last["messages"].as_array().unwrap().iter();
    let answers = messages.filter(|message| message["role"] == "tool");
    answers.filter_map(|answer| Some(answer["content"].as_str()?.to_owned())).collect()
}

/// The processes that were started as the server.
fn started(project: &TestProject) -> BTreeSet<String> {
    let pids = fs::read_to_string(project.root().join("witness.txt")).unwrap();
    pids.lines().map(str::to_owned).collect()
}

const WITNESS: &str = "env = { WITNESS = \"witness.txt\" }";

#[test]
fn all_agents_of_a_program_share_one_connection() {
    let model = ScriptedServer::start();
    let task = json!({"subagent_type": "helper", "prompt": "do it", "description": "do it"});
    let echo = || calls("mcp__lab__echo", &json!({"text": "x"}));
    let delegates = || tool_call("call_1", "Task", &task).using(used(100));
    let turns = [
        delegates(),
        echo(),
        completes("one"),
        delegates(),
        echo(),
        completes("two"),
        text(["Done."]).using(used(10)),
    ];
    let project = project(&model, &turns, &server(&[], WITNESS));
    project.agent("helper", "description: d\ntools: mcp__lab__echo\nmcpServers:\n  - lab");
    let ran = project.run(&["exec", "go"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "Done."), "{ran:?}");
    let said = model
        .requests()
        .into_iter()
        .filter(|sent| String::from_utf8_lossy(&sent.body).contains("it says: x"));
    assert_eq!(said.count(), 2, "each of the two agents was answered");
    assert_eq!(started(&project).len(), 1);
}

#[test]
fn servers_are_started_side_by_side() {
    let model = ScriptedServer::start();
    // Each of the two answers only once the other has been started.
    let entry = |name: &str, how: &str| {
        format!(
            "[mcp_servers.{name}]\ncommand = \"python3\"\nargs = [\"{}\", \"{how}\"]\nstartup_timeout_sec = 20\n",
            script()
        )
    };
    let settings = format!("{}{}", entry("one", "meets-first"), entry("two", "meets-second"));
    let project = project(&model, &[completes("done")], &settings);
    let place = project.root().join("meeting");
    assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
    project.agent("helper", "description: d");
    let ran = project.run(&["run", "helper", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request: Value = serde_json::from_slice(&model.requests()[0].body).unwrap();
    let tools = offered(&request);
    for tool in ["mcp__one__echo", "mcp__two__echo"] {
        assert!(tools.iter().any(|name| name == tool), "{tool}: {}", ran.stderr);
    }
}

#[test]
fn a_server_that_crashed_is_started_again_by_the_next_call() {
    let model = ScriptedServer::start();
    let turns = [
        calls("mcp__lab__die", &json!({})),
        calls("mcp__lab__echo", &json!({"text": "again"})),
        completes("done"),
    ];
    let project = project(&model, &turns, &server(&[], WITNESS));
    project.agent("helper", "description: d");
    let ran = project.run(&["run", "helper", "x"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let answers = answers(&model);
    assert!(answers[0].contains("the outcome of this call is unknown"), "{answers:?}");
    assert_eq!(answers[1], "it says: again");
    assert_eq!(started(&project).len(), 2);
}

#[test]
fn progress_of_a_call_is_shown() {
    let told =
        told(&server(&[], ""), "mcp__lab__work", &json!({}), &["--output-format", "stream-json"]);
    assert_eq!(told.answer, "worked");
    assert!(told.ran.stdout.contains("2 of 3: step 2"), "{}", told.ran.stdout);
}

#[test]
fn servers_of_every_version_of_the_protocol_are_used() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let settings = server(&[&format!("version={version}")], "");
        let told = told(&settings, "mcp__lab__echo", &json!({"text": version}), &[]);
        assert_eq!(told.answer, format!("it says: {version}"));
    }
}
