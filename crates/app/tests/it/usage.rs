//! What every command has in common: help, mistakes, pipes, colours.

use std::process::Stdio;

use crate::project;

const COMMANDS: [&str; 15] = [
    "list",
    "show",
    "validate",
    "suggest",
    "new",
    "trust",
    "untrust",
    "login",
    "logout",
    "transcript",
    "usage",
    "clean",
    "config",
    "doctor",
    "completions",
];

#[test]
fn help_teaches_by_example() {
    let project = project();
    for command in COMMANDS {
        let ran = project.run(&[command, "--help"]);
        assert_eq!(ran.code, Some(0), "{command}");
        assert!(ran.stdout.contains(&format!("Examples:\n  attache {command}")), "{}", ran.stdout);
    }
    let ran = project.run(&["--help"]);
    for command in COMMANDS {
        assert!(ran.stdout.contains(command), "{command}");
    }
}

#[test]
fn mistakes_on_the_command_line_are_usage_errors() {
    let project = project();
    for arguments in [&["lst"][..], &["show"], &["list", "--nope"], &["suggest"], &[]] {
        assert_eq!(project.run(arguments).code, Some(2), "{arguments:?}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let project = project();
    for index in 0..400 {
        project.agent(&format!("agent-{index}"), "description: d");
    }
    for arguments in [&["list", "--json"][..], &["list"], &["validate", "--json"]] {
        let mut child = project
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn without_a_home_the_remedy_is_named() {
    let project = project();
    let output = project.command(&["list"]).env_remove("HOME").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("ATTACHE_HOME"));
}

#[test]
fn quiet_says_nothing_beside_the_result() {
    let project = project();
    project.file(".attache/config.toml", "model_provider = \"x\"\n");
    assert!(project.run(&["list"]).stderr.contains("notice:"));
    assert_eq!(project.run(&["list", "--quiet"]).stderr, "");
}

#[test]
fn where_subagents_are_switched_off_every_command_says_so() {
    let project = project();
    project.agent("one", "description: d");
    for arguments in [&["show", "one"][..], &["suggest", "one"], &["trust", "--all", "--yes"]] {
        let off = ["-c", "subagents.enabled=false"];
        let ran = project.run(&[&off, arguments].concat());
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains("switched off"), "{}", ran.stderr);
    }
}
