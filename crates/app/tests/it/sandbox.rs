//! Commands of agents in the sandbox, as the settings and `--sandbox` want it.

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{ScriptedServer, WireApi, tool_call},
};
use serde_json::json;

use crate::{
    project,
    providers::{completes, lab, used},
};

const WORKER: &str =
    r#"{"worker": {"description": "works", "prompt": "Work.", "tools": ["shell"]}}"#;

/// Lets an agent run a command, and returns what its model was told.
fn told(settings: &str, prepare: impl Fn(&TestProject), command: &str, more: &[&str]) -> String {
    let server = ScriptedServer::start();
    let call = tool_call("call_1", "shell", &json!({ "command": command })).using(used(10));
    server.answer(WireApi::Chat.answer(&call));
    server.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, settings);
    prepare(&project);
    let arguments = ["--agents", WORKER, "run", "worker", "work", "--approve", "all", "-q"];
    let ran = project.run(&[&arguments, more].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    server.assert_done();
    String::from_utf8(server.requests()[1].body.clone()).unwrap()
}

fn nothing(_: &TestProject) {}

/// Whether the program says that the sandbox is whole here.
fn is_whole() -> bool {
    let report = project().json(&["doctor", "--json"]);
    let checks = report["checks"].as_array().unwrap();
    let sandbox = checks.iter().find(|check| check["name"] == "sandbox").unwrap();
    if sandbox["level"] != "ok" {
        println!("not checked: {}", sandbox["detail"]);
    }
    sandbox["level"] == "ok"
}

#[test]
fn modes_say_where_a_command_writes() {
    if !is_whole() {
        return;
    }
    // The request repeats the command, but not with the number.
    let command = "echo x > inside && echo wrote-$((40 + 2))-inside; \
                   echo x > ~/outside && echo wrote-$((40 + 2))-outside; \
                   echo x > $TMPDIR/t && echo wrote-$((40 + 2))-temp; true";
    for (settings, more, inside, outside) in [
        ("", &[][..], true, false),
        ("", &["--sandbox", "read-only"][..], false, false),
        ("", &["--sandbox", "danger-full-access"][..], true, true),
        ("sandbox_mode = \"read-only\"", &[][..], false, false),
        ("sandbox_mode = \"read-only\"", &["--sandbox", "workspace-write"][..], true, false),
        ("[sandbox_workspace_write]\nwritable_roots = [\"~\"]", &[][..], true, true),
    ] {
        let told = told(settings, nothing, command, more);
        let what = format!("{settings} {more:?}: {told}");
        assert_eq!(told.contains("wrote-42-inside"), inside, "{what}");
        assert_eq!(told.contains("wrote-42-outside"), outside, "{what}");
        assert!(told.contains("wrote-42-temp"), "{what}");
    }
}

#[test]
fn a_resumed_run_has_no_wider_sandbox_than_before() {
    if !is_whole() {
        return;
    }
    let server = ScriptedServer::start();
    let call = |id| tool_call(id, "shell", &json!({"command": "echo x > made"})).using(used(10));
    for turn in [call("call_1"), completes("one"), call("call_2"), completes("two")] {
        server.answer(WireApi::Chat.answer(&turn));
    }
    let project = lab(&server, WireApi::Chat, "");
    let run = |arguments: &[&str]| {
        let all = ["--agents", WORKER, "run", "--approve", "all", "--json", "-q"];
        let ran = project.run(&[&all, arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let result: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        result["agent_id"].as_str().unwrap().to_owned()
    };
    let first = run(&["worker", "work", "--sandbox", "read-only"]);
    run(&["--resume", &first, "go on"]);
    server.assert_done();
    assert!(!project.root().join("made").exists());
}

#[test]
fn keys_and_the_programs_own_files_are_hidden() {
    if !is_whole() {
        return;
    }
    let with_keys = |project: &TestProject| {
        project.file("~/.ssh/id", "secret-key-1");
        project.file("~/.aws/credentials", "secret-key-2");
        project.file("~/notes", "secret-key-3");
        project.file("~/plain", "plain-text");
    };
    let command = "cat ~/.attache/config.toml ~/.ssh/id ~/.aws/credentials ~/notes ~/plain";
    let settings = "sandbox_deny_read = [\"~/notes\"]";
    let hidden = told(settings, with_keys, command, &[]);
    assert!(hidden.contains("plain-text"), "{hidden}");
    assert!(!hidden.contains("secret-key") && !hidden.contains("base_url"), "{hidden}");
    let open = told(settings, with_keys, command, &["--sandbox", "danger-full-access"]);
    assert_eq!(open.matches("secret-key").count(), 3, "the control: {open}");
}

#[test]
fn nobody_works_in_a_folder_that_is_hidden() {
    let project = project();
    for hidden in [project.root(), project.root().parent().unwrap().to_owned()] {
        let setting = format!("sandbox_deny_read=[\"{}\"]", hidden.display());
        for command in [&["run", "Explore", "x"][..], &["may", "Explore", "read_file", "x"]] {
            let ran = project.run(&[command, &["-c", &setting]].concat());
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains("`sandbox_deny_read` hides "), "{ran:?}");
        }
    }
}

#[test]
fn refused_command_is_told_how_to_ask() {
    if !is_whole() {
        return;
    }
    let told = told("", nothing, "echo x > /etc/attache-test", &[]);
    assert!(told.contains("The sandbox probably refused this"), "{told}");
}

#[test]
fn unknown_mode_is_refused() {
    let ran: Ran = project().run(&["run", "Explore", "x", "--sandbox", "open"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("workspace-write"), "{ran:?}");
}

#[test]
fn level_is_told_when_a_run_begins() {
    let server = ScriptedServer::start();
    server.always(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, "");
    let started = |arguments: &[&str]| {
        let ran = project.run(&[arguments, &["--output-format", "stream-json"]].concat());
        let line = ran.stdout.lines().find(|line| line.contains("\"STARTED\"")).unwrap().to_owned();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["data"]["sandbox"].clone()
    };
    let level = if is_whole() { "whole" } else { return };
    let worker = ["--agents", WORKER, "run", "worker", "work"];
    assert_eq!(started(&worker), json!({"mode": "workspace-write", "level": level}));
    let open = [&worker[..], &["--sandbox", "danger-full-access"]].concat();
    assert_eq!(started(&open), json!({"mode": "danger-full-access", "level": "none"}));
    assert_eq!(started(&["run", "Explore", "x"]), json!(null), "it has no commands");
}
