//! What servers ask in the middle of a call: values of the user, and an answer of the run's model.

use std::fs;

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, Turn, WireApi, text},
};
use serde_json::{Value, json};

use super::{calls, server, told};
use crate::{
    providers::{completes, lab, used},
    terminal::{Streams, Terminal},
};

/// A project whose agent uses the server of the tests, and whose model gives those answers.
fn project(model: &ScriptedServer, turns: &[Turn]) -> TestProject {
    for turn in turns {
        model.answer(WireApi::Chat.answer(turn));
    }
    let project = lab(model, WireApi::Chat, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{}", server(&[], ""))).unwrap();
    project.agent("helper", "description: d");
    project
}

/// What the model was told as the answer of its call.
fn answer(model: &ScriptedServer) -> Value {
    let requests = model.requests();
    let last: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    let messages = last["messages"].as_array().unwrap();
    let answer = messages.iter().find(|message| message["role"] == "tool").unwrap();
    let answer = answer["content"].as_str().unwrap();
    serde_json::from_str(answer).unwrap_or_else(|_| panic!("{answer}"))
}

#[test]
fn without_anybody_to_ask_a_server_is_refused() {
    let sampled = told(&server(&[], ""), "mcp__lab__ask", &json!({}), &[]);
    assert!(sampled.answer.contains("was not approved"), "{}", sampled.answer);
    for options in [&[][..], &["--approve", "all"]] {
        let elicited = told(&server(&[], ""), "mcp__lab__form", &json!({}), options);
        let answer: Value = serde_json::from_str(&elicited.answer).unwrap();
        assert_eq!(answer, json!({"action": "decline"}));
    }
}

#[test]
fn a_server_that_asks_for_roots_is_told_the_workspace_alone() {
    let told = told(&server(&[], ""), "mcp__lab__roots", &json!({}), &[]);
    let answer: Value = serde_json::from_str(&told.answer).unwrap();
    let root = format!("file://{}", told.project.root().canonicalize().unwrap().display());
    assert_eq!(answer, json!({"roots": [{"uri": root, "name": "workspace"}]}));
}

/// The kinds of the events of the last run that are about calls, in order.
fn events_of_calls(project: &TestProject) -> Vec<String> {
    let transcript = project.run(&["transcript", "last", "--json"]).stdout;
    let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let kinds = lines.filter_map(|line| Some(line["event"]["type"].as_str()?.to_owned()));
    kinds.filter(|kind| kind.starts_with("tool_") || kind.starts_with("server_")).collect()
}

#[test]
fn somebody_at_the_terminal_fills_in_a_form() {
    // Also for an agent that an instance of its own runs, with servers of its own.
    for mode in ["lightweight", "full_codex"] {
        let model = ScriptedServer::start();
        let project = project(&model, &[calls("mcp__lab__form", &json!({})), completes("done")]);
        project.agent("helper", &format!("description: d\nexecutionMode: {mode}"));
        let mut terminal =
            Terminal::controlling(&project, &["run", "helper", "do it"], Streams::Terminal);
        terminal.wait_for_silence();
        terminal.types(b"y");
        terminal.wait_for_echo(true);
        terminal.types(b"\nRome\nmany\n2\n");
        let (code, shown, _) = terminal.end();
        assert_eq!(code, Some(0), "{shown}");
        for part in [
            "[helper] the MCP server lab asks you:",
            "Where to?",
            "it gets: City, nights",
            "a value is needed",
            "type a whole number",
        ] {
            assert!(shown.contains(part), "{mode}: {part:?} is not in {shown}");
        }
        let filled = json!({"action": "accept", "content": {"city": "Rome", "nights": 2}});
        assert_eq!(answer(&model), filled, "{mode}");
        // Meanwhile the run's clock stood.
        let stood = ["tool_started", "server_asks", "server_answered", "tool_returned"];
        assert_eq!(events_of_calls(&project)[..4], stood, "{mode}");
    }
}

#[test]
fn a_no_at_the_terminal_sends_nothing() {
    let model = ScriptedServer::start();
    let project = project(&model, &[calls("mcp__lab__form", &json!({})), completes("done")]);
    let mut terminal =
        Terminal::controlling(&project, &["run", "helper", "do it"], Streams::Terminal);
    terminal.wait_for_silence();
    terminal.types(b"n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(answer(&model), json!({"action": "decline"}));
}

#[test]
fn the_runs_model_answers_a_server_once_somebody_approved_it() {
    let model = ScriptedServer::start();
    let turns =
        [calls("mcp__lab__ask", &json!({})), text(["Mars"]).using(used(50)), completes("done")];
    let project = project(&model, &turns);
    let ran = project.run(&["run", "helper", "do it", "--approve", "all", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let sampled = answer(&model);
    assert_eq!(sampled["content"]["text"], "Mars", "{sampled}");
    assert_eq!(sampled["stopReason"], "endTurn", "{sampled}");
    let request: Value = serde_json::from_slice(&model.requests()[1].body).unwrap();
    assert_eq!(request["max_tokens"], 4096, "bounded: {request}");
    assert_eq!(request["messages"][0]["content"], "You know planets.", "{request}");
    assert!(request.get("tools").is_none(), "{request}");
    // What it used is part of the run's usage.
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let transcript = fs::read_to_string(result["transcript"].as_str().unwrap()).unwrap();
    let spent = transcript.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let usage = &line["event"]["usage"];
        Some(usage["input_tokens"].as_u64()? + usage["output_tokens"].as_u64()?)
    });
    assert_eq!(result["total_tokens"], spent.sum::<u64>(), "{result}");
    assert!(transcript.contains("\"model_lent\""), "{transcript}");
}
