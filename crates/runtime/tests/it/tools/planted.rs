//! Protected paths that a command creates deeper in the workspace: they are gone when it has ended.

use std::{fs, path::Path};

use serde_json::json;

use super::Fixture;

/// What plants something in `sub`, and the path that it plants.
const WAYS: [(&str, &str); 9] = [
    ("git init -q sub && git -C sub config core.fsmonitor 'touch obeyed; false'", "sub/.git"),
    ("mkdir sub && echo 'gitdir: /tmp/evil' > sub/.git", "sub/.git"),
    ("mkdir -p sub/prepared/hooks && mv sub/prepared sub/.git", "sub/.git"),
    // Build folders are not looked at, but what comes out of them is.
    ("mkdir -p target/a/b/.git && mv target/a sub", "sub/b/.git"),
    ("mkdir -p sub/.claude/agents && echo evil > sub/.claude/agents/evil.md", "sub/.claude"),
    (
        "mkdir -p sub/.github/agents && echo evil > sub/.github/agents/x.agent.md",
        "sub/.github/agents",
    ),
    ("mkdir -p sub/a && echo '{}' > sub/a/.mcp.json", "sub/a/.mcp.json"),
    ("mkdir sub && ln -s /etc sub/.codex", "sub/.codex"),
    ("mkdir -p sub/.git && chmod 555 sub", "sub/.git"),
];

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[test]
fn whatever_a_command_plants_is_moved_away_and_told() {
    for (command, path) in WAYS {
        let control = Fixture::new();
        let answer = control.call("shell", json!({"command": command}));
        assert!(!answer.is_error, "the control of {command}: {}", answer.text);
        assert!(is_there(&control.root().join(path)), "the control of {command}");

        let fixture = Fixture::new().sandboxed();
        let answer = fixture.call("shell", json!({"command": command}));
        assert!(!is_there(&fixture.root().join(path)), "{command}: {}", answer.text);
        assert!(answer.is_error, "{command}: {}", answer.text);
        for part in ["[exit code 0, ", path, "with_escalated_permissions"] {
            assert!(answer.text.contains(part), "{command}: {part}: {}", answer.text);
        }
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        let kept = Path::new(path).with_file_name(format!("{name}.planted"));
        let places = [fixture.outer().join("artifacts/planted"), fixture.root().to_owned()];
        assert!(places.iter().any(|place| is_there(&place.join(&kept))), "{command}");
    }
}

#[test]
fn a_planted_repository_starts_nothing() {
    let (command, _) = WAYS[0];
    for (fixture, is_obeyed) in [(Fixture::new(), true), (Fixture::new().sandboxed(), false)] {
        fixture.call("shell", json!({"command": command}));
        let status = std::process::Command::new("git")
            .args(["status"])
            .env("GIT_CEILING_DIRECTORIES", fixture.root())
            .current_dir(fixture.root().join("sub"))
            .output();
        drop(status.unwrap());
        assert_eq!(fixture.root().join("sub/obeyed").exists(), is_obeyed);
    }
}

#[test]
fn what_was_there_and_what_is_escalated_stays() {
    let fixture = Fixture::with(&[("vendor/.git/config", "mine")]).sandboxed();
    let answer = fixture.call("shell", json!({"command": "mkdir -p a/b && echo x > vendor/file"}));
    assert!(!answer.is_error, "{}", answer.text);
    let escalated = json!({"command": "mkdir -p sub/.git", "with_escalated_permissions": true});
    assert!(!fixture.call("shell", escalated).is_error);
    let answer = fixture.call("shell", json!({"command": "echo x > sub/file"}));
    assert!(fixture.root().join("sub/.git").is_dir(), "{}", answer.text);
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(fixture.content("vendor/.git/config"), "mine");
}

#[test]
fn a_command_that_is_stopped_leaves_nothing_either() {
    let fixture = Fixture::new().sandboxed();
    let command = json!({"command": "mkdir -p sub/.git; sleep 1000", "timeout_ms": 1000});
    let answer = fixture.call("shell", command);
    assert!(
        answer.text.contains("killed after 1 s") && answer.text.contains("sub/.git"),
        "{}",
        answer.text
    );
    assert!(!fixture.root().join("sub/.git").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_told_when_it_ends() {
    let fixture = Fixture::new().sandboxed();
    let command = "mkdir -p sub/.git; printf 'made '; read line";
    let command = json!({"command": command, "yield_time_ms": 60_000});
    let answer = fixture.answer("exec_command", command).await;
    assert!(answer.text.contains("session_id 1"), "{}", answer.text);
    let typed = json!({"session_id": 1, "chars": "x\n", "yield_time_ms": 60_000});
    let answer = fixture.answer("write_stdin", typed).await;
    assert!(answer.is_error && answer.text.contains("sub/.git"), "{}", answer.text);
    assert!(!fixture.root().join("sub/.git").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_dropped_with_its_run_leaves_nothing() {
    let mut fixture = Fixture::new().sandboxed();
    let command = "mkdir -p sub/.git; printf 'made '; read line";
    let command = json!({"command": command, "yield_time_ms": 60_000});
    let answer = fixture.answer("exec_command", command).await;
    assert!(answer.text.contains("session_id 1"), "{}", answer.text);
    let planted = fixture.root().join("sub/.git");
    assert!(planted.is_dir(), "the control: {}", answer.text);
    fixture = fixture.with_commands(attache_runtime::internal::process::CommandSetup::default());
    while planted.exists() {
        tokio::task::yield_now().await;
    }
    let kept = fixture.outer().join("artifacts/planted");
    while fs::read_to_string(kept.join("moved.txt")).is_err() {
        tokio::task::yield_now().await;
    }
    assert!(kept.join("sub/.git.planted").is_dir());
}
