//! `attache new`.

use std::fs;

use crate::{project, terminal::Terminal};

#[test]
fn a_new_agent_is_sound_from_the_start() {
    let project = project();
    let ran = project.run(&[
        "new",
        "Code Reviewer",
        "--description",
        "Reviews: everything",
        "--tools",
        "Read,Grep",
        "--model",
        "inherit",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ".attache/agents/code-reviewer.md\n"));
    let record = project.json(&["show", "code-reviewer", "--json"]);
    assert_eq!(record["status"], "active");
    assert_eq!(record["diagnostics"], serde_json::json!([]));
    assert_eq!(record["definition"]["whenToUse"], "Reviews: everything");
    assert_eq!(record["definition"]["tools"], serde_json::json!(["Read", "Grep"]));
    assert_eq!(project.run(&["validate", "--strict"]).code, Some(0));
}

#[test]
fn nothing_is_overwritten_unasked() {
    let project = project();
    let path = project.file(".attache/agents/one.md", "precious");
    let ran = project.run(&["new", "one", "--description", "d"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--force"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(project.run(&["new", "one", "--description", "d", "--force"]).code, Some(0));
    assert!(fs::read_to_string(&path).unwrap().starts_with("---\nname: one\n"));
}

#[test]
fn off_a_terminal_the_description_is_asked_for_in_the_error() {
    let ran = project().run(&["new", "one"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--description"));
}

#[test]
fn bad_answers_leave_no_file() {
    let project = project();
    for arguments in [
        &["new", "!!!", "--description", "d"][..],
        &["new", "one", "--description", "  "],
        &["new", "one", "--description", "d", "--tools", "Frobnicate"],
    ] {
        assert_eq!(project.run(arguments).code, Some(2), "{arguments:?}");
    }
    assert!(!project.root().join(".attache").exists());
}

#[test]
fn the_users_and_claudes_folders() {
    let project = project();
    let path = |arguments: &[&str]| {
        let mut all = vec!["new", "one", "--json", "--description", "d"];
        all.extend(arguments);
        project.json(&all)["path"].as_str().unwrap().to_owned()
    };
    assert!(path(&["--user"]).ends_with("/home/.attache/agents/one.md"));
    assert!(path(&["--claude"]).ends_with("/project/.claude/agents/one.md"));
    assert!(path(&["--user", "--claude"]).ends_with("/home/.claude/agents/one.md"));
}

#[test]
fn tools_are_split_outside_of_brackets() {
    let project = project();
    let tools = "Read, Bash(git log, git diff),";
    let ran = project.run(&["new", "historian", "--description", "d", "--tools", tools]);
    assert_eq!((ran.code, ran.stderr.contains("warning")), (Some(0), false), "{}", ran.stderr);
    let record = project.json(&["show", "historian", "--json"]);
    assert_eq!(
        record["definition"]["tools"],
        serde_json::json!(["Read", "Bash(git log, git diff)"])
    );
}

#[test]
fn a_path_is_not_a_name() {
    let project = project();
    for name in ["agents/one", ".attache/agents/one.md", "one.md", "../one", "a/", "C:\\one.yaml"] {
        let ran = project.run(&["new", name, "--description", "d"]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.stderr.contains("is a path, not a name"), "{name}: {}", ran.stderr);
    }
    assert!(!project.root().join(".attache").exists());
    assert_eq!(project.run(&["new", "v1.2 helper", "--description", "d"]).code, Some(0));
}

#[test]
fn a_new_agent_that_hides_another_or_is_hidden_says_so() {
    let project = project();
    let new = |arguments: &[&str]| {
        let ran = project.run(&[&["new", "--description", "d"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    let told = new(&["explore"]);
    assert!(
        told.contains("notice: `explore` now means the new agent, and no longer the builtin agent"),
        "{told}"
    );
    assert!(!new(&["fresh"]).contains("notice:"));
    let told = new(&["fresh", "--user"]);
    assert!(told.contains("`fresh` still means .attache/agents/fresh.md (project)"), "{told}");
}

#[test]
fn an_empty_answer_is_asked_for_again() {
    let project = project();
    let mut terminal = Terminal::with(&project, &["new", "one"]);
    terminal.types(b"\nReviews diffs\n\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(shown.matches("When should it be used?").count(), 2, "{shown}");
    assert_eq!(
        project.json(&["show", "one", "--json"])["definition"]["whenToUse"],
        "Reviews diffs"
    );
}
