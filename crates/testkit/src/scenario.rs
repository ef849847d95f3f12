//! Scenarios: whole runs as folders, `NNN_name/{scenario.toml,input/,expected/}`, and their one runner.
//!
//! A scenario is played on the real runtime in a copy of its `input/`; only the model, the person who
//! is asked and the clock are scripted. What the run shows, what the model was told, the result and the
//! files of the workspace must be what `expected/` says. Invariant: everything a script provides is
//! used, and nothing beyond it is asked for.

mod comparison;
mod script;
mod stage;

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use self::{
    comparison::{Names, check_files, check_json, check_lines},
    script::Script,
    stage::Stage,
};

/// Plays every scenario in that folder.
///
/// # Panics
/// If there is none, or one of them fails; each failure is shown under its scenario's name.
pub fn check_all(folder: &Path) {
    let scenarios = folders(folder);
    assert!(!scenarios.is_empty(), "there is no scenario in {}", folder.display());
    let failed: Vec<String> = scenarios
        .into_iter()
        .filter_map(|scenario| {
            let name = scenario.file_name()?.to_string_lossy().into_owned();
            let player = thread::Builder::new().name(name.clone());
            let played = player.spawn(move || check(&scenario)).expect("a thread can be started");
            played.join().is_err().then_some(name)
        })
        .collect();
    assert!(failed.is_empty(), "scenarios that fail: {}", failed.join(", "));
}

/// Plays the scenario of that folder.
///
/// # Panics
/// If it is not complete, or the run is not as it expects.
pub fn check(folder: &Path) {
    let script = Script::read(&folder.join("scenario.toml"));
    // Time is paused: nothing waits, and a clock moves only when everything else stands still.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let stage = Stage::set(&folder.join("input"));
    let played: Vec<_> = runtime.block_on(async {
        let mut played = Vec::new();
        let mut earlier = None;
        for run in script.runs() {
            let one = stage.play(&script, run, earlier.as_deref()).await;
            earlier = Some(one.result.agent_id.as_str().to_owned());
            played.push(one);
        }
        played
    });
    let names = Names::new(stage.folder(), played.iter().map(|run| &*run.result));
    let expected = folder.join("expected");
    let events = played.iter().flat_map(|run| &run.events);
    check_lines(&expected.join("events.jsonl"), events, &names);
    let told = played.iter().flat_map(|run| &run.told);
    check_lines(&expected.join("conversation.jsonl"), told, &names);
    let last = played.last().expect("a script has a run");
    check_json(&expected.join("result.json"), &*last.result, &names);
    check_files(&expected.join("files"), stage.folder());
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of the scenarios can be read");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let mut folders: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
