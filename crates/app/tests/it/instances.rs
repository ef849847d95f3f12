//! `executionMode: full_codex`: agents that a complete instance of the program runs, bridged over its streams.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use crate::{
    approvals::write,
    background::Background,
    providers::{KEY, completes, lab, looks, used},
    terminal::{Streams, Terminal},
};

const API: WireApi = WireApi::Chat;
const AGENTS: &str = r#"{
    "far": {"description": "Far.", "prompt": "You work far away.", "executionMode": "full_codex",
            "tools": ["Read", "LS", "Write", "Bash", "Task"]},
    "tame": {"description": "Tame.", "prompt": "You are tame.", "executionMode": "full_codex",
             "disabledFeatures": ["shell", "Write"]},
    "near": {"description": "Near.", "prompt": "You work here.", "tools": ["Read"]}
}"#;

fn far<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["run", "far", "look around", "--agents", AGENTS];
    words.extend(more);
    words
}

fn lines(ran: &Ran) -> Vec<Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The processes below a directory that were started as instances: their ids, command lines and environments.
fn instances(project: &TestProject) -> Vec<(String, String, String)> {
    let root = project.root().canonicalize().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        let folder = process.path();
        let words = fs::read(folder.join("cmdline")).ok()?;
        let words = String::from_utf8_lossy(&words).into_owned();
        let mut parts = words.split('\0').filter(|word| !word.is_empty());
        let is_instance = parts.nth(1) == Some("--instance");
        let is_ours = fs::read_link(folder.join("cwd")).ok()? == root;
        let environment = fs::read(folder.join("environ")).ok()?;
        let environment = String::from_utf8_lossy(&environment).into_owned();
        let id = process.file_name().to_string_lossy().into_owned();
        (is_instance && is_ours).then_some((id, words, environment))
    });
    processes.collect()
}

/// A run of the agent that is in its first model call.
fn under_way(project: &TestProject, server: &ScriptedServer, more: &[&str]) -> Child {
    let mut run = project.command(&far(more));
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.wait_for_request(1);
    run
}

fn signal(pid: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().unwrap().success());
}

#[test]
fn an_instance_runs_the_agent_and_its_events_are_those_of_any_run() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100).then_text(["Looking."])));
    server.answer(API.answer(&completes("Seen.")));
    let project = lab(&server, API, "[model_prices.lab-1]\ninput = 1.0\noutput = 10.0\n");
    let ran = project.run(&far(&["--output-format", "stream-json"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("executionMode"), "{ran:?}");
    let lines = lines(&ran);
    let (result, events) = lines.split_last().unwrap();
    let (status, answer) = (&result["status"], &result["result"]);
    assert_eq!((status, answer), (&json!("goal"), &json!("Seen.")), "{result}");
    assert_eq!(result["tree"]["total_tokens"], json!(220), "{result}");
    let types: Vec<&str> =
        events.iter().map(|event| event["event_type"].as_str().unwrap()).collect();
    let expected = [
        "STARTED",
        "TURN_START",
        "TEXT_CHUNK",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TURN_COMPLETE",
        "TURN_START",
        "TOOL_CALL_END",
        "TURN_COMPLETE",
        "COMPLETED",
    ];
    assert_eq!(types, expected);
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    // One journal, one owner.
    let journal = fs::read_to_string(result["transcript"].as_str().unwrap()).unwrap();
    assert_eq!(journal.matches(r#""type":"replied""#).count(), 2, "{journal}");
    assert_eq!(project.json(&["tasks", "--all", "--json"]).as_array().unwrap().len(), 1);
    server.assert_done();
}

#[test]
fn keys_are_in_no_command_line_and_in_no_environment() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("Seen.")).gated(&gate, 0));
    let project = lab(&server, API, "").with_env("OTHER_TOKEN", "other-token-of-somebody");
    let run = under_way(&project, &server, &["-c", "model_aliases.fast=\"lab-1\""]);
    let found = instances(&project);
    let (_, words, environment) = found.first().unwrap();
    assert!(!words.contains("model_aliases") && !words.contains("prompt"), "{words}");
    for secret in [KEY, "other-token-of-somebody"] {
        assert!(!environment.contains(secret), "{environment}");
    }
    gate.open();
    assert!(run.wait_with_output().unwrap().status.success());
    assert!(instances(&project).is_empty());
    server.assert_done();
}

#[test]
fn the_main_agent_starts_several_side_by_side() {
    let server = ScriptedServer::start();
    let task = |prompt: &str| json!({"subagent_type": "far", "prompt": prompt, "description": "d"});
    let both = tool_call("call_1", "Task", &task("one"));
    let both = both.then_tool_call("call_2", "Task", &task("two")).using(used(1000));
    server.answer(API.answer(&both));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&completes("found it")));
    server.answer(API.answer(&text(["Both."]).using(used(2000))));
    let project = lab(&server, API, "");
    let words = ["exec", "go", "--agents", AGENTS, "--output-format", "stream-json"];
    let ran = project.run(&words);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = lines(&ran);
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(result["tree"]["agents"], 3, "{result}");
    assert_eq!(result["tree"]["total_tokens"], 3240, "{result}");
    let main = &result["agent_id"];
    let ended: Vec<&Value> =
        events.iter().filter(|event| event["event_type"] == "COMPLETED").collect();
    assert_eq!(ended.len(), 3);
    let below: Vec<_> = ended.iter().filter(|event| event["parent_id"] == *main).collect();
    assert_eq!(below.len(), 2, "{ended:?}");
    assert_ne!(below[0]["agent_id"], below[1]["agent_id"]);
    let task = server.requests()[3].json().to_string();
    assert_eq!(task.matches("found it").count(), 2, "{task}");
    server.assert_done();
}

#[test]
fn an_instance_delegates_further_and_everything_is_added_up() {
    let server = ScriptedServer::start();
    let task = json!({"subagent_type": "near", "prompt": "closer", "description": "d"});
    server.answer(API.answer(&tool_call("call_1", "Task", &task).using(used(1000))));
    server.answer(API.answer(&completes("near it")));
    server.answer(API.answer(&completes("far and near")));
    let project = lab(&server, API, "[subagents]\nmax_depth = 2\nmax_tree_tokens = 100000\n");
    let ran = project.run(&far(&["--output-format", "stream-json"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines = lines(&ran);
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(
        (&result["tree"]["agents"], &result["tree"]["total_tokens"]),
        (&json!(2), &json!(1230)),
        "{result}"
    );
    let near: Vec<&Value> = events.iter().filter(|event| event["agent_type"] == "near").collect();
    assert!(near.iter().all(|event| event["parent_id"] == result["agent_id"]), "{near:?}");
    assert_eq!(near.first().unwrap()["event_type"], "STARTED");
    assert_eq!(near.last().unwrap()["event_type"], "COMPLETED");
    let tree = project.json(&["transcript", "last", "--tree", "--json"]);
    assert_eq!(tree["total_tokens"], 1230, "{tree}");
    server.assert_done();
}

#[test]
fn disabled_features_and_refusals_hold_in_an_instance() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&write(1, "new.txt")));
    server.answer(API.answer(&completes("Not written.")));
    let project = lab(&server, API, "");
    let words = ["run", "tame", "write", "--agents", AGENTS, "--json", "-q", "--approve", "all"];
    assert_eq!(project.json(&words)["result"], "Not written.");
    let tools = server.requests()[0].json()["tools"].to_string();
    assert!(!tools.contains("shell") && !tools.contains("write_file"), "{tools}");
    assert!(!project.root().join("new.txt").exists());
    server.assert_done();
}

#[test]
fn questions_come_to_the_terminal_of_the_owner() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&write(0, "one.txt")));
    server.answer(API.answer(&write(1, "two.txt")));
    server.answer(API.answer(&completes("Done.")));
    let project = lab(&server, API, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let mut terminal = Terminal::controlling(&project, &far(&[]), Streams::Terminal);
    terminal.wait_for_silence();
    assert!(!project.root().join("one.txt").exists(), "it was written before anybody said yes");
    terminal.types(b"y");
    server.wait_for_request(2);
    terminal.wait_for_silence();
    terminal.types(b"n");
    terminal.wait_for_echo(true);
    terminal.types(b"\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("[far] asks to call write_file"), "{shown}");
    assert!(project.root().join("one.txt").exists() && !project.root().join("two.txt").exists());
    server.assert_done();
}

#[test]
fn without_anybody_to_ask_it_is_refused_and_all_may_be_approved() {
    for (flags, exists) in [(&["--approve", "all"][..], true), (&["--approve", "deny"], false)] {
        let server = ScriptedServer::start();
        server.answer(API.answer(&write(0, "one.txt")));
        server.answer(API.answer(&completes("Done.")));
        let project = lab(&server, API, "");
        let ran = project.run(&far(&[flags, &["--output-format", "stream-json"][..]].concat()));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(project.root().join("one.txt").exists(), exists, "{ran:?}");
        assert!(
            ran.stdout.contains("APPROVAL_REQUESTED") && ran.stdout.contains("APPROVAL_RESOLVED")
        );
        let result = lines(&ran).pop().unwrap();
        assert_eq!(result["changes"]["files"][0] == "one.txt", exists, "{result}");
        server.assert_done();
    }
}

#[test]
fn an_interrupt_ends_it_with_what_it_has() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = under_way(&project, &server, &["--json", "-q"]);
    signal(&run.id().to_string(), "-INT");
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let result: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(result["status"], "aborted", "{result}");
    server.wait_for_hangup(1);
    assert!(instances(&project).is_empty());
}

#[test]
fn a_killed_instance_is_an_error_and_the_run_can_be_resumed() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = under_way(&project, &server, &["--json", "-q"]);
    let found = instances(&project);
    signal(&found.last().unwrap().0, "-KILL");
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(result["status"], "error", "{result}");
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("instance") && error.contains("SIGKILL"), "{error}");
    let id = result["agent_id"].as_str().unwrap();
    server.answer(API.answer(&completes("After all.")));
    let resumed = project.json(&["run", "--resume", id, "--agents", AGENTS, "--json", "-q"]);
    assert_eq!((&resumed["result"], &resumed["resumed_from"]), (&json!("After all."), &json!(id)));
    server.assert_done();
}

#[test]
fn an_instance_ends_with_its_owner_also_if_that_is_killed() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let mut run = under_way(&project, &server, &["-q"]);
    run.kill().unwrap();
    run.wait().unwrap();
    // Its connection is closed, so it is gone.
    server.wait_for_hangup(1);
    let tasks = project.json(&["tasks", "--all", "--json"]);
    assert_eq!(tasks[0]["status"], "interrupted", "{tasks}");
    server.answer(API.answer(&completes("After all.")));
    let words = ["run", "--resume", "last", "--agents", AGENTS, "--json", "-q"];
    assert_eq!(project.json(&words)["result"], "After all.");
    server.assert_done();
}

#[test]
fn it_runs_in_the_background_and_reads_messages_once() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("Too early.")).gated(&gate, 0));
    server.answer(API.answer(&completes("With the news.")));
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["far", "x", "--agents", AGENTS]);
    server.wait_for_request(1);
    assert_eq!(project.run(&["send", &run.id, "there is news"]).code, Some(0));
    gate.open();
    let told = project.run(&["output", &run.id, "--wait", "--timeout", "1m"]);
    assert_eq!(told.stdout, "With the news.\n", "{told:?}");
    let second = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert_eq!(second.matches("there is news").count(), 1, "{second}");
    server.assert_done();
}

#[test]
fn started_by_hand_an_instance_says_what_it_is() {
    let project = lab(&ScriptedServer::start(), API, "");
    let ran = project.run_with_input(&["--instance"], "hello\n");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("not a message of the bridge"), "{ran:?}");
}

#[test]
fn a_budget_of_the_tree_holds_for_instances_side_by_side() {
    let server = ScriptedServer::start();
    let task = |number: usize| {
        let prompt = format!("worker {number}");
        json!({"subagent_type": "far", "prompt": prompt, "description": "look around"})
    };
    let first = tool_call("call_0", "Task", &task(0));
    let many = (1..6).fold(first, |calls, number| {
        calls.then_tool_call(&format!("call_{number}"), "Task", &task(number))
    });
    server.answer(API.answer(&many.using(used(5000))));
    let look = tool_call("call_9", "read_file", &json!({"path": "a.txt"}));
    server.always(API.answer(&look.using(used(400))));
    let project = lab(&server, API, "[subagents]\nmax_tree_tokens = 24000\n");
    project.file("a.txt", "a\n");
    let ran = project.run(&["exec", "look", "--agents", AGENTS, "--json", "-q"]);
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let total = result["tree"]["total_tokens"].as_u64().unwrap();
    assert!(total > 12_000 && total <= 24_000, "{result}");
    assert_eq!(result["tree"]["agents"], 7, "{result}");
    let requests = u64::try_from(server.requests().len()).unwrap() - 1;
    assert_eq!(5010 + requests * 410, total, "what was sent was counted");
    assert!(instances(&project).is_empty());
}

#[test]
fn a_question_of_an_instance_costs_the_main_agent_no_time() {
    let server = ScriptedServer::start();
    let task = json!({"subagent_type": "far", "prompt": "write", "description": "write it"});
    server.answer(API.answer(&tool_call("call_1", "Task", &task).using(used(1000))));
    server.answer(API.answer(&write(0, "one.txt")));
    server.answer(API.answer(&completes("Written.")));
    server.answer(API.answer(&text(["Done."]).using(used(2000))));
    let project = lab(&server, API, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let words = ["exec", "go", "--agents", AGENTS, "--timeout", "4"];
    let mut terminal = Terminal::controlling(&project, &words, Streams::Terminal);
    server.wait_for_request(2);
    terminal.wait_for_silence();
    // Longer than the main agent may take.
    let waited = project.run(&["output", "last", "--wait", "--timeout", "6"]);
    assert!(waited.stderr.contains("still runs after 6 s"), "{waited:?}");
    terminal.types(b"y");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(project.root().join("one.txt").exists(), "{shown}");
    let result = project.json(&["output", "last", "--json"]);
    assert_eq!((&result["result"], &result["recovered_from"]), (&json!("Done."), &Value::Null));
    server.assert_done();
}
