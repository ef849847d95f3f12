//! `attache clean`.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::Stdio,
    time::{Duration, SystemTime},
};

use attache_testkit::{
    other_writer::OtherWriter,
    project::TestProject,
    scripted_server::{ScriptedServer, WireApi, tool_call},
};
use serde_json::json;

use crate::providers::lab;

/// A project whose temporary directories are its own.
fn project() -> TestProject {
    with_temporary(crate::project()).0
}

/// The same project with a place of its own for temporary directories, and that place.
fn with_temporary(project: TestProject) -> (TestProject, PathBuf) {
    let temporary = project.root().join("../tmp-of-test");
    fs::create_dir(&temporary).unwrap();
    let temporary = temporary.canonicalize().unwrap();
    (project.with_env("TMPDIR", temporary.to_str().unwrap()), temporary)
}

const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

/// A transcript that nothing was written to for so many days.
fn transcript(project: &TestProject, id: &str, days: u64) -> PathBuf {
    let path = project.file(&format!("~/.attache/sessions/s-{id}/{id}.jsonl"), GOLDEN);
    let then = SystemTime::now().checked_sub(Duration::from_hours(days * 24)).unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    path
}

#[test]
fn what_is_older_than_a_month_goes_and_is_named() {
    let project = project();
    let old = transcript(&project, "agent-old", 31);
    let young = transcript(&project, "agent-young", 29);
    project.file("~/.attache/sessions/s-agent-old/agent-old.artifacts/full.txt", "x".repeat(4096));
    let ran = project.run(&["clean", "--dry-run"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("would remove agent-old (8.") && old.exists(), "{}", ran.stdout);
    let ran = project.run(&["clean"]);
    assert!(ran.stdout.contains("removed agent-old (8."), "{}", ran.stdout);
    assert!(ran.stdout.contains("removed 1 transcript, 8."), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("; 1 kept\n"), "{}", ran.stdout);
    assert!(!old.parent().unwrap().exists() && young.exists());
    let ran = project.run(&["clean"]);
    assert_eq!(ran.stdout, "nothing is that old; 1 kept\n");
}

#[test]
fn the_age_comes_from_the_command_line_or_the_settings() {
    let project = project();
    for days in [1, 3, 10] {
        transcript(&project, &format!("agent-{days}"), days);
    }
    let removed = |arguments: &[&str]| {
        let ran = project.json(arguments);
        assert_eq!(ran["dry_run"], true);
        ran["removed"].as_array().unwrap().len()
    };
    let dry = ["clean", "--dry-run", "--json"];
    assert_eq!(removed(&dry), 0);
    assert_eq!(removed(&[&dry[..], &["-c", "retention_days=5"]].concat()), 1);
    assert_eq!(removed(&[&dry[..], &["--older-than", "2d"]].concat()), 2);
    assert_eq!(removed(&[&dry[..], &["--older-than", "12h"]].concat()), 3);
    assert_eq!(removed(&[&dry[..], &["--older-than", "90m"]].concat()), 3);
    for wrong in ["5", "-1d", "soon"] {
        let ran = project.run(&["clean", &format!("--older-than={wrong}")]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{wrong}");
        assert!(ran.stderr.contains("30d, 12h"), "{}", ran.stderr);
    }
}

#[test]
fn json_says_what_went() {
    let project = project();
    let path = transcript(&project, "agent-1", 40);
    let bytes = fs::metadata(&path).unwrap().len();
    let cleaned = project.json(&["clean", "--json"]);
    let expected = serde_json::json!({
        "removed": [{"agent_id": "agent-1", "session_id": "s-agent-1", "path": path, "bytes": bytes}],
        "kept": 0,
        "running": 0,
        "unread": 0,
        "bytes": bytes,
        "dry_run": false,
        "worktrees": [],
        "temporary": [],
        "failed": [],
    });
    assert_eq!(cleaned, expected);
    assert!(!path.exists());
}

#[test]
fn a_run_that_goes_on_stays() {
    let project = project();
    let path = transcript(&project, "agent-1", 40);
    let writer = OtherWriter::holding(&path);
    let ran = project.run(&["clean", "--older-than", "0s"]);
    assert!(ran.stdout.contains("1 kept, 1 of them because they still run"), "{}", ran.stdout);
    assert!(path.exists());
    writer.end();
    assert!(project.run(&["clean", "--older-than", "0s"]).stdout.contains("removed agent-1"));
}

#[test]
fn the_temporary_directory_of_a_killed_run_goes() {
    let server = ScriptedServer::start();
    let command = json!({ "command": "echo x > $TMPDIR/mine; echo begun; sleep 600" });
    server.answer(WireApi::Chat.answer(&tool_call("call_1", "shell", &command)));
    let (project, temporary) = with_temporary(lab(&server, WireApi::Chat, ""));
    let agents = r#"{"smith": {"description": "d", "prompt": "You forge."}}"#;
    let words = ["run", "smith", "go", "--agents", agents, "--approve", "all", "--output-format"];
    let words = [&words[..], &["stream-json"]].concat();
    let mut run = project.command(&words);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let begun = lines
        .map_while(Result::ok)
        .find(|line| line.contains("TOOL_OUTPUT_CHUNK") && line.contains("begun"));
    assert!(begun.is_some());
    let there = || -> Vec<_> {
        let entries = fs::read_dir(&temporary).unwrap().flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("attache-"))
            .collect()
    };
    assert_eq!(there().len(), 1);
    // A run that goes on keeps its directory.
    assert_eq!(project.json(&["clean", "--json"])["temporary"], json!([]));
    run.kill().unwrap();
    run.wait().unwrap();
    let left = there()[0].path();
    let dry = project.json(&["clean", "--dry-run", "--json"]);
    assert_eq!(dry["temporary"], json!([left]));
    assert_eq!(there().len(), 1);
    let ran = project.run(&["clean"]);
    assert!(ran.stdout.contains(&format!("removed the temporary directory {}", left.display())));
    assert!(there().is_empty(), "{ran:?}");
}
