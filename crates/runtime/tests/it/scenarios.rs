//! Whole runs: every folder of `tests/scenarios/` is played on the real runtime.

use std::{fs, panic::catch_unwind, path::Path};

use attache_testkit::{
    golden,
    scenario::{check, check_all},
};
use tempfile::TempDir;

#[test]
fn every_scenario_runs_as_it_expects() {
    check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios"));
}

const SCRIPT: &str = r#"
what = "An agent hands in its answer."
agents.tester = { description = "Tests.", prompt = "You test." }

[[run]]
agent = "tester"
task = "Test it."

[[run.turn]]
calls = [{ tool = "complete_task", arguments = { result = "Tested." } }]
"#;

/// A scenario of that script that passed once, as far as it can.
fn scenario(script: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("scenario.toml"), script).unwrap();
    // Each play writes one of the expected files that are missing.
    for _ in 0..3 {
        assert!(fails(folder.path()), "expectations were missing");
    }
    folder
}

fn fails(folder: &Path) -> bool {
    catch_unwind(|| check(folder)).is_err()
}

#[test]
fn a_folder_without_a_scenario_or_expectations_fails() {
    if golden::is_update() {
        return;
    }
    let empty = TempDir::new().unwrap();
    assert!(fails(empty.path()));
    assert!(catch_unwind(|| check_all(empty.path())).is_err());
    fs::create_dir(empty.path().join("001_empty")).unwrap();
    assert!(catch_unwind(|| check_all(empty.path())).is_err());
    let complete = scenario(SCRIPT);
    assert!(!fails(complete.path()));
    fs::remove_file(complete.path().join("expected/events.jsonl")).unwrap();
    assert!(fails(complete.path()));
}

#[test]
fn a_scenario_that_expects_something_else_fails() {
    if golden::is_update() {
        return;
    }
    for file in ["events.jsonl", "conversation.jsonl", "result.json", "files/extra.txt"] {
        let complete = scenario(SCRIPT);
        assert!(!fails(complete.path()));
        let path = complete.path().join("expected").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "something else\n").unwrap();
        assert!(fails(complete.path()), "{file}");
    }
}

#[test]
fn a_script_that_is_not_used_up_fails() {
    if golden::is_update() {
        return;
    }
    let one_turn_more = format!("{SCRIPT}\n[[run.turn]]\nsays = \"Never said.\"\n");
    let one_answer_more = SCRIPT.replace("task =", "approvals = [\"once\"]\ntask =");
    let no_turn = SCRIPT.split("[[run.turn]]").next().unwrap();
    let unknown_key = SCRIPT.replace("task =", "tusk = 1\ntask =");
    for script in [one_turn_more.as_str(), &one_answer_more, no_turn, &unknown_key] {
        let folder = scenario(script);
        assert!(fails(folder.path()), "{script}");
    }
}
