//! Rules that are added to the settings while a run goes on.

use std::fs;

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, tool_call},
};
use serde_json::json;

use crate::providers::{completes, lab};

/// A trusted agent lists a directory; then something happens to the settings; then it writes `after.txt`,
/// searches for a word that is in `secret.txt`, and reads that file with a program of its own. The last
/// request of the model.
fn with_meanwhile(how: &[&str], meanwhile: impl FnOnce(&TestProject)) -> (TestProject, String) {
    let (server, gate, api) = (ScriptedServer::start(), Gate::new(), WireApi::Chat);
    server.answer(api.answer(&tool_call("first", "shell", &json!({"command": "true"}))));
    let command = "f=secret; awk '{ print \"by a program: \" $0 }' $f.txt";
    let then = tool_call("write", "write_file", &json!({"path": "after.txt", "content": "x"}))
        .then_tool_call("search", "grep_files", &json!({"pattern": "hidden"}))
        .then_tool_call("run", "shell", &json!({"command": command}));
    server.answer(api.answer(&then).gated(&gate, 0));
    server.answer(api.answer(&completes("Done.")));
    let project = lab(&server, api, "");
    project.file("secret.txt", "hidden treasure\n");
    project.agent("worker", "description: d\ntools: Grep, Write, Bash");
    assert_eq!(project.run(&["trust", "worker", "--yes"]).code, Some(0));
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| project.run(&[&["run", "worker", "go"], how].concat()));
        gate.wait_until_reached(1);
        meanwhile(&project);
        gate.open();
        run.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    (project, told)
}

fn add_to_settings(project: &TestProject, text: &str) {
    let path = project.home().join(".attache/config.toml");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{before}\n{text}\n")).unwrap();
}

#[test]
fn without_a_new_rule_everything_goes_on() {
    let (project, told) =
        with_meanwhile(&["--approve", "all"], |project| add_to_settings(project, "# nothing"));
    assert!(project.root().join("after.txt").exists(), "{told}");
    assert!(told.contains("by a program: hidden treasure"), "{told}");
}

#[test]
fn a_rule_that_denies_counts_for_the_next_call_and_for_every_way_to_the_file() {
    let (project, told) = with_meanwhile(&["--approve", "all"], |project| {
        add_to_settings(
            project,
            "[permissions]\ndeny = [\"Write(after.txt)\", \"Read(secret.txt)\"]",
        );
    });
    assert!(!project.root().join("after.txt").exists(), "{told}");
    assert!(told.contains("the rule `Write(after.txt)`"), "{told}");
    assert!(!told.contains("hidden treasure"), "{told}");
}

#[test]
fn rules_of_claude_files_that_appear_count_too() {
    let (project, told) = with_meanwhile(&["--approve", "all"], |project| {
        let rules = r#"{"permissions": {"deny": ["Edit"]}}"#;
        project.file(".claude/settings.local.json", rules);
    });
    assert!(!project.root().join("after.txt").exists(), "{told}");
}

#[test]
fn a_rule_that_asks_and_settings_that_cannot_be_read_ask() {
    let allow = ["--approve", "deny", "-c", "permissions.allow=[\"Write\", \"Bash\"]"];
    let (project, told) = with_meanwhile(&allow, |_| {});
    assert!(project.root().join("after.txt").exists(), "{told}");
    for (written, reason) in [
        ("[permissions]\nask = [\"Write\"]", "the rule `Write`"),
        ("[permissions\n", "the rule `*`"),
        ("[permissions]\ndenny = []", "there is no setting `permissions.denny`"),
    ] {
        let (project, told) = with_meanwhile(&allow, |project| add_to_settings(project, written));
        assert!(!project.root().join("after.txt").exists(), "{written}: {told}");
        assert!(told.contains(reason), "{written}: {told}");
    }
}
