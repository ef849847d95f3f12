//! The log: `--log-file` and `ATTACHE_LOG`. It holds names and numbers, never what was said.

use std::{fs, os::unix::fs::PermissionsExt as _};

use attache_testkit::scripted_server::{ScriptedServer, WireApi, tool_call};
use serde_json::json;

use crate::{
    project,
    providers::{completes, lab, looks},
};

const KEY: &str = "sk-lab-0123456789abcdef";

#[test]
fn a_level_that_does_not_exist_is_a_usage_error_with_a_hint() {
    for arguments in [&["list"][..], &["run", "Explore", "where?"], &["list", "--json"]] {
        let ran = project().with_env("ATTACHE_LOG", "nonsense").run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("ATTACHE_LOG is `nonsense`"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("use off, error, warn, info, debug or trace"),
            "{}",
            ran.stderr
        );
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_a_usage_error_with_a_hint() {
    let ran = project().run(&["list", "--log-file", "no/such/folder/log.txt"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot write the log no/such/folder/log.txt"), "{}", ran.stderr);
    assert!(ran.stderr.contains("give --log-file a path"), "{}", ran.stderr);
}

#[test]
fn a_log_has_runs_turns_and_calls_with_names_and_numbers_and_no_content() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let reads = tool_call("call_2", "read_file", &json!({ "path": "secret-plan.txt" }));
    server.answer(api.answer(&looks(100)));
    server.answer(api.answer(&reads));
    server.answer(api.answer(&completes("The verdict is purple.")));
    let project = lab(&server, api, "");
    project.file("secret-plan.txt", "the content of the plan is orange\n");
    let ran = project.run(&["run", "Explore", "find the tangerine", "--log-file", "log.txt", "-q"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("The verdict is purple."), "{}", ran.stdout);

    let path = project.root().join("log.txt");
    let log = fs::read_to_string(&path).unwrap();
    let closed = |span: &str| log.lines().filter(|line| line.contains(span)).count();
    assert!(closed("subagent.run{") > 0, "{log}");
    assert!(closed(":turn{attempt=1 ") >= 3, "{log}");
    assert!(closed(":call{tool=list_dir ") >= 1, "{log}");
    assert!(closed(":call{tool=read_file ") >= 1, "{log}");
    let run = log.lines().last().unwrap();
    for told in
        ["name=Explore", "model=\"lab-1\"", "provider=\"lab\"", "status=\"goal\"", "turns=3"]
    {
        assert!(run.contains(told), "{told} is missing: {run}");
    }
    for unsaid in ["tangerine", "orange", "purple", "secret-plan", KEY] {
        assert!(!log.contains(unsaid), "{unsaid} is in the log:\n{log}");
    }
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_level_decides_what_is_in_the_log_and_without_a_file_it_goes_to_stderr() {
    for (level, runs, turns) in
        [("off", false, false), ("info", true, false), ("debug", true, true)]
    {
        let server = ScriptedServer::start();
        server.answer(WireApi::Chat.answer(&completes("Found.")));
        let project = lab(&server, WireApi::Chat, "").with_env("ATTACHE_LOG", level);
        let ran = project.run(&["run", "Explore", "where?", "-q"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("subagent.run{"), runs, "{level}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains(":turn{"), turns, "{level}: {}", ran.stderr);
    }
}

#[test]
fn a_log_on_a_full_disk_is_told_once_and_stops_nothing() {
    let project = project();
    project.file("a.txt", "zebra\n");
    let ran = project.run(&["run", "Explore", "zebra", "--log-file", "/dev/full"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("cannot write the log /dev/full").count(), 1, "{}", ran.stderr);
}
