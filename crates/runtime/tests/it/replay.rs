//! Recorded runs: replayed they are the same; where they are not, it is said.

use std::{path::Path, sync::Arc};

use attache_kernel::{
    model::usage::Usage,
    run::{
        ModelFailure,
        message::Message,
        outcome::{RecoveredFrom, Status},
    },
};
use attache_runtime::internal::model::replay::{ReplayError, ReplayModel};
use attache_testkit::scripted_model::{
    ScriptedModel, Turn, calls, completes, fails, fails_for_now, says,
};
use serde_json::json;
use tempfile::TempDir;

use attache_testkit::driving::{Done, Task, project};

fn folder() -> TempDir {
    project(&[("a.txt", "first\nsecond\n"), ("b.txt", &"long line of text\n".repeat(100))])
}

fn reads(path: &str) -> Turn {
    calls("read_file", &json!({ "path": path }))
}

fn loaded(text: &str) -> Result<ReplayModel, ReplayError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    std::fs::write(&path, text).unwrap();
    ReplayModel::load(&path)
}

fn replayed(task: &Task, recorded: &Done) -> Done {
    task.done_by(&loaded(&recorded.written()).unwrap())
}

fn error(done: &Done) -> String {
    assert_eq!(done.outcome.ending.status, Status::Error);
    done.outcome.ending.error.clone().unwrap()
}

/// Replays what a script records, and holds the two against each other, entry by entry.
fn check(task: &Task, script: Vec<Turn>) {
    let recorded = task.done_by(&ScriptedModel::new(script));
    let again = replayed(task, &recorded);
    assert_eq!(again.outcome.ending, recorded.outcome.ending);
    assert_eq!(again.outcome.usage, recorded.outcome.usage);
    assert_eq!(again.outcome.cost_usd, recorded.outcome.cost_usd);
    assert_eq!(again.run.conversation(), recorded.run.conversation());
}

#[test]
fn a_run_replays_as_it_was() {
    let folder = folder();
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    check(
        &Task::new(folder.path(), "read"),
        vec![
            says("I look.").then_thinks("hm").then_calls("read_file", &json!({"path": "a.txt"})),
            reads("a.txt").then_calls("nothing", &json!({})).using(usage.clone()).costing(0.5),
            completes("done").using(usage),
        ],
    );
}

#[test]
fn retries_reminders_and_last_chances_replay() {
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    check(
        &task,
        vec![fails_for_now("busy"), reads("a.txt"), fails_for_now("busy"), completes("x")],
    );
    check(&task, vec![says("a"), says("b"), completes("late")]);
    check(
        &task,
        vec![Turn::default().then_thinks("only a thought"), reads("a.txt"), completes("x")],
    );
    check(&task, vec![completes(""), completes("x")]);
    let few = task.edit(|definition| definition.run_config.max_turns = 2);
    check(&few, vec![reads("a.txt"), reads("b.txt"), completes("late")]);
    let recorded =
        few.done_by(&ScriptedModel::new([reads("a.txt"), reads("b.txt"), completes("l")]));
    assert_eq!(recorded.outcome.ending.recovered_from, Some(RecoveredFrom::MaxTurns));
}

/// The recording had to make room; the replay makes it at the same places, or is told that it did not.
#[test]
fn room_that_was_made_replays_where_it_is_made_again() {
    let folder = folder();
    let mut task = Task::new(folder.path(), "read");
    task.assignment.model_limits.context_window = Some(1000);
    let full = Usage { input_tokens: 900, output_tokens: 10, ..Usage::default() };
    check(&task, vec![reads("b.txt"), reads("b.txt").using(full), reads("a.txt"), completes("x")]);
    let says_much =
        || says(&"I look. ".repeat(80)).then_calls("read_file", &json!({"path": "a.txt"}));
    let full = || Usage { input_tokens: 900, output_tokens: 10, ..Usage::default() };
    let summed_up = vec![
        says_much().using(full()),
        says("the sum")
            .then_calls("read_file", &json!({"path": "b.txt"}))
            .using(full())
            .costing(0.5),
        says_much().using(full()),
        says("the second sum"),
        completes("x"),
    ];
    let recorded = task.done_by(&ScriptedModel::new(summed_up.clone()));
    assert!(format!("{:?}", recorded.run.conversation()).contains("the second sum"));
    check(&task, summed_up);
    let too_long = fails(ModelFailure::ContextLength { message: "too long".to_owned() });
    let script = vec![reads("b.txt"), reads("b.txt"), too_long, completes("x")];
    let recorded = task.done_by(&ScriptedModel::new(script));
    assert_eq!(recorded.outcome.ending.status, Status::Goal);
    let error = error(&replayed(&task, &recorded));
    assert!(error.contains("the recorded model gave no answer here"), "{error}");
}

#[test]
fn the_instructions_may_differ() {
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    let recorded = task.done_by(&ScriptedModel::new([reads("a.txt"), completes("x")]));
    let other = task.edit(|definition| {
        definition.prompt_config.system_prompt = Some("Another day, another directory.".to_owned());
    });
    assert_eq!(replayed(&other, &recorded).outcome.ending.status, Status::Goal);
}

#[test]
fn a_departure_says_where_and_what() {
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    let recorded = task.done_by(&ScriptedModel::new([reads("a.txt"), completes("x")]));
    let other = Task::new(folder.path(), "read something else");
    let first = error(&replayed(&other, &recorded));
    assert!(first.contains("departs from the recording"), "{first}");
    assert!(first.contains("message 2 is another"), "{first}");
    assert!(first.contains("read something else"), "{first}");
    std::fs::write(folder.path().join("a.txt"), "first\nchanged\n").unwrap();
    let second = error(&replayed(&task, &recorded));
    assert!(second.contains("message 4 is another"), "{second}");
    assert!(second.contains("second") && second.contains("changed"), "{second}");
    assert!(second.chars().count() < 600, "{second}");
}

#[test]
fn a_recording_that_ends_says_so() {
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    let mut recorded = task.done_by(&ScriptedModel::new([reads("a.txt"), completes("x")]));
    recorded.lines.truncate(8);
    let cut = error(&replayed(&task, &recorded));
    assert!(cut.contains("no answer here") || cut.contains("no further reply"), "{cut}");
    recorded.lines.truncate(7);
    let shorter = error(&replayed(&task, &recorded));
    assert!(
        shorter.contains("no answer here") || shorter.contains("no further reply"),
        "{shorter}"
    );
}

#[test]
fn a_resumed_run_replays_from_its_own_recording() {
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    let first = task.done_by(&ScriptedModel::new([reads("a.txt"), completes("x")]));
    let second =
        task.resumed_by(&first.run, "more", &ScriptedModel::new([reads("b.txt"), completes("y")]));
    let model = loaded(&second.written()).unwrap();
    let again = task.resumed_by(&first.run, "more", &model);
    assert_eq!(again.outcome.ending, second.outcome.ending);
}

#[test]
fn recordings_that_are_none_are_refused() {
    let missing = ReplayModel::load(Path::new("/nonexistent/run.jsonl")).unwrap_err();
    assert!(missing.to_string().contains("cannot read the recording"), "{missing}");
    let folder = folder();
    let task = Task::new(folder.path(), "read");
    let whole = task.done_by(&ScriptedModel::new([completes("x")])).written();
    let lines: Vec<&str> = whole.lines().collect();
    let newer = whole.replacen("\"format\":1", "\"format\":99", 1);
    for (text, expected) in [
        (String::new(), "holds no answer"),
        ("{}\n".to_owned(), "line 1"),
        ("not json\n".to_owned(), "line 1"),
        (newer, "format 99"),
        (lines[1..].join("\n") + "\n", "does not begin with a header"),
        (lines[..3].join("\n") + "\n", "holds no answer"),
        ([lines[0], lines[0], ""].join("\n"), "second header"),
        ([lines[0], lines[2], ""].join("\n"), "does not fit"),
    ] {
        let error = loaded(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let torn = whole.clone() + "{\"type\":\"event\",\"se";
    assert!(loaded(&torn).is_ok());
}

#[test]
fn the_scripted_model_remembers_what_it_was_asked() {
    let folder = folder();
    let model = ScriptedModel::new([reads("a.txt"), completes("x"), completes("never")]);
    Task::new(folder.path(), "read").done_by(&model);
    let requests = model.requests();
    assert_eq!((requests.len(), model.turns_left()), (2, 1));
    let first: Vec<Arc<Message>> = requests[0].messages.messages().to_vec();
    assert_eq!(*first[1], Message::user("read"));
    assert_eq!(requests[1].messages.len(), 4);
}
