//! The model without a language model, on real folders through the real tools.

mod languages;
mod outputs;

use std::path::{Path, PathBuf};

use attache_kernel::run::{
    assignment::Finish,
    message::Message,
    outcome::{RecoveredFrom, Status},
};
use attache_offline::OfflineModel;
use attache_testkit::driving::{Done, Task, project};
use proptest::prelude::*;
use tempfile::TempDir;

const DISCLAIMER: &str = "no language model was used";

/// This repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A small project.
fn rings() -> TempDir {
    project(&[
        ("README.md", "# Rings\n\nA library of ring buffers for small machines.\n"),
        (
            "src/ring_buffer.c",
            "#include \"ring_buffer.h\"\n\nint ring_push(int v) {\n  return v;\n}\n",
        ),
        ("src/main.c", "int main(void) {\n  return ring_push(1);\n}\n"),
        ("src/lexer.c", "int lex(void) {\n  return 0;\n}\n"),
    ])
}

/// A run that reached its goal.
fn done(task: &Task) -> Done {
    let done = task.done_by(&OfflineModel);
    assert_eq!(done.outcome.ending.status, Status::Goal, "{:?}", done.outcome);
    done
}

fn report(task: &Task) -> String {
    done(task).outcome.ending.result
}

fn asked(folder: &Path, task: &str) -> String {
    let report = report(&Task::new(folder, task));
    assert!(report.contains(DISCLAIMER), "{report}");
    report
}

/// `path:line` of the line of a file of this repository that begins so.
fn place(path: &str, line: &str) -> String {
    let text = std::fs::read_to_string(repository().join(path)).unwrap();
    let at = text.lines().position(|text| text.starts_with(line)).unwrap();
    format!("{path}:{}", at + 1)
}

fn section<'r>(report: &'r str, heading: &str) -> &'r str {
    let after = report.split(&format!("## {heading}\n")).nth(1);
    after.unwrap_or_else(|| panic!("no {heading} in {report}")).split("\n## ").next().unwrap()
}

#[test]
fn it_finds_what_is_asked_for_in_this_repository() {
    let report = asked(&repository(), "where is the tool filter implemented and what calls it?");
    let filter = place("crates/kernel/src/rights/filter.rs", "pub fn filter(");
    let (first, _) = report.split_once('\n').unwrap();
    assert!(first.contains("`filter`") && first.contains("rights/filter.rs"), "{first}");
    let places = section(&report, "Where");
    assert!(places.contains(&filter), "{places}");
    assert!(
        places.contains("pub fn filter(request: &FilterRequest<'_>) -> Filtered {"),
        "{places}"
    );
    assert!(report.contains("crates/kernel/src/rights/filter/tool_set.rs"), "{report}");
    assert!(report.contains("crates/kernel/src/rights/filter/withheld.rs"), "{report}");
    let uses = section(&report, "Used by");
    assert!(uses.contains("crates/runtime/src/host/rights.rs:"), "{uses}");
    assert!(uses.contains("filter(&FilterRequest {"), "{uses}");
}

#[test]
fn it_finds_how_something_is_done() {
    let report = asked(&repository(), "how are transcripts folded into a run?");
    let fold = place("crates/kernel/src/run/transcript.rs", "pub fn fold(");
    assert!(
        report.lines().next().unwrap().contains("crates/kernel/src/run/transcript.rs"),
        "{report}"
    );
    assert!(section(&report, "Where").contains(&fold), "{report}");
}

#[test]
fn what_is_absent_is_said_to_be() {
    // In two pieces, or this file would have it.
    let wanted = concat!("kaf", "ka con", "sumer");
    let report = asked(&repository(), &format!("where is the {wanted}?"));
    let first = report.lines().next().unwrap();
    assert!(first.starts_with("Nothing was found for"), "{report}");
    assert!(first.contains(wanted), "{report}");
    assert!(first.contains("none of the files searched has it in its name or text"), "{report}");
    assert!(report.contains("Searched for") && report.contains("(0 files)"), "{report}");
    assert!(!report.contains("## Where"), "{report}");
}

/// It says what it looked at, and claims no absence beyond that.
#[test]
fn absence_is_claimed_only_of_what_was_looked_at() {
    let folder = project(&[
        ("src/retry.rs", "pub fn again() {}\n"),
        ("src/lib.rs", "mod retry;\n"),
        (".gitignore", "secret/\n"),
        ("secret/frobnicator.rs", "frobnicator\n"),
    ]);
    let ask =
        |task: &str, tools: &[&str]| report(&Task::new(folder.path(), task).with_tools(tools));
    let text = ask("where is the retry logic?", &["read_file"]);
    assert!(text.contains("no search was made") && !text.contains("no file"), "{text}");
    for (tools, says) in [
        (&["glob_files"][..], "file contents were not searched"),
        (&["list_dir", "read_file"], "file contents were not searched"),
        (&["grep_files"], "file names were not searched"),
        (&["grep_files", "glob_files"], "none of the files searched has it in its name or text"),
    ] {
        let text = ask("where is the frobnicator?", tools);
        let first = text.lines().next().unwrap();
        assert!(first.starts_with("Nothing was found for `frobnicator`"), "{tools:?}: {text}");
        assert!(first.contains(says), "{tools:?}: {text}");
        let left_out = "Not looked at: `.git` and files that ignore rules name (1 entry here)";
        assert!(text.contains(left_out), "{tools:?}: {text}");
    }
}

#[test]
fn hidden_files_are_found() {
    let folder = project(&[
        (".github/workflows/ci.yml", "jobs:\n  frobnicate:\n    runs-on: x\n"),
        ("src/lib.rs", "pub fn other() {}\n"),
    ]);
    let report = asked(folder.path(), "where do we frobnicate?");
    assert!(report.contains(".github/workflows/ci.yml:2"), "{report}");
}

/// A README that is not there is not a failure: nobody asked for it.
#[test]
fn files_that_were_only_guessed_do_not_fail() {
    let folder = project(&[("Cargo.toml", "[package]\nname = \"x\"\n"), ("src/lib.rs", "\n")]);
    for tools in [&["read_file", "grep_files"][..], &["read_file"]] {
        for task in ["", "what is this project?"] {
            let text = report(&Task::new(folder.path(), task).with_tools(tools));
            assert!(
                !text.contains("failed") && !text.contains("no such file"),
                "{tools:?}: {text}"
            );
            assert!(text.contains("it has `Cargo.toml`"), "{tools:?}: {text}");
        }
    }
    let text =
        report(&Task::new(folder.path(), "explain lib/absent.py").with_tools(&["read_file"]));
    assert!(text.contains("Some calls failed: no such file or directory: lib/absent.py"), "{text}");
}

/// Only what the tools give as values counts; their text is for people.
#[test]
fn tools_are_read_as_values() {
    let folder = rings();
    let done = done(&Task::new(folder.path(), "where is the ring buffer?"));
    let values = done.written().matches("\"data\":{\"files\":[").count();
    assert!(values >= 4, "{}", done.written());
}

#[test]
fn near_names_are_given_for_what_is_absent() {
    let folder = project(&[("src/producer.py", "class MessageProducer:\n    pass\n")]);
    let report = asked(folder.path(), "where is the MessageProducr?");
    assert!(report.starts_with("Nothing was found for `MessageProducr`"), "{report}");
    assert!(report.contains("nearest names are `MessageProducer`"), "{report}");
}

#[test]
fn it_works_with_whatever_tools_there_are() {
    let folder = rings();
    let all = ["read_file", "list_dir", "glob_files", "grep_files"];
    for subset in 0..16_usize {
        let tools: Vec<&str> = all
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| subset & (1 << bit) != 0)
            .map(|(_, tool)| tool)
            .collect();
        for task in
            ["where is the ring buffer?", "what does src/main.c do?", "what is this project?", ""]
        {
            let done = done(&Task::new(folder.path(), task).with_tools(&tools));
            let text = &done.outcome.ending.result;
            assert!(text.contains(DISCLAIMER), "{tools:?} {task}: {text}");
            assert!(done.outcome.turns_used <= 4, "{tools:?} {task}");
            assert_eq!(
                tools.is_empty(),
                text.contains("Nothing was searched"),
                "{tools:?} {task}: {text}"
            );
            let finds = task.contains("ring") && tools.iter().any(|tool| *tool != "read_file");
            assert!(!finds || text.contains("ring_buffer.c"), "{tools:?}: {text}");
        }
    }
}

#[test]
fn files_that_are_named_are_read() {
    let folder = project(&[
        (
            "lib/util.py",
            "import os\n\n\ndef first(x):\n    return x\n\n\ndef second(x):\n    return x\n",
        ),
        ("other.py", "pass\n"),
    ]);
    for task in ["explain lib/util.py", "what is in `util.py`?"] {
        let report = asked(folder.path(), task);
        assert!(report.starts_with("`lib/util.py` defines 2 things"), "{task}: {report}");
        assert!(report.contains("`lib/util.py:4` `def first(x):`"), "{report}");
        assert!(report.contains("`lib/util.py:8` `def second(x):`"), "{report}");
    }
    let report = asked(folder.path(), "explain lib/absent.py");
    assert!(report.starts_with("Nothing was found for `lib/absent.py`"), "{report}");
}

#[test]
fn a_project_is_shown_as_a_whole() {
    let report = asked(&repository(), "what is this project?");
    assert!(report.starts_with("The project says of itself: Attaché runs"), "{report}");
    assert!(report.contains("## `README.md`") && report.contains("crates/"), "{report}");
}

#[test]
fn the_run_reads_like_that_of_any_model() {
    let folder = rings();
    let done = done(&Task::new(folder.path(), "where is the ring buffer?"));
    assert!(done.outcome.turns_used <= 4);
    assert_eq!(done.outcome.usage.total_tokens(), 0);
    assert_eq!(done.outcome.cost_usd, Some(0.0));
    let turns = usize::try_from(done.outcome.turns_used).unwrap();
    assert_eq!(done.said.len(), turns, "one piece of text a turn: {:?}", done.said);
    assert!(done.said[0].contains("searching for `ring buffer`"), "{:?}", done.said);
}

#[test]
fn the_same_question_gets_the_same_report() {
    let folder = rings();
    let task = Task::new(folder.path(), "who calls ring_push?");
    let (one, other) = (done(&task), done(&task));
    assert_eq!(one.outcome.ending.result, other.outcome.ending.result);
    assert_eq!(one.run.conversation(), other.run.conversation());
}

#[test]
fn few_turns_are_enough() {
    let folder = rings();
    for (turns, searched) in [(1, false), (2, true), (3, true)] {
        let task = Task::new(folder.path(), "where is the ring buffer?")
            .edit(|definition| definition.run_config.max_turns = turns);
        let done = done(&task);
        assert_eq!(done.outcome.ending.recovered_from, None);
        let text = &done.outcome.ending.result;
        assert_eq!(text.contains("src/ring_buffer.c"), searched, "{turns}: {text}");
    }
}

#[test]
fn a_last_chance_is_used() {
    let folder = rings();
    let task = Task::new(folder.path(), "where is the ring buffer?")
        .edit(|definition| definition.run_config.max_cost_usd = Some(0.0));
    let done = task.done_by(&OfflineModel);
    assert_eq!(done.outcome.ending.status, Status::Goal, "{:?}", done.outcome);
    assert_eq!(done.outcome.ending.recovered_from, Some(RecoveredFrom::Budget));
    assert!(done.outcome.ending.result.contains(DISCLAIMER));
}

#[test]
fn a_main_agent_answers_with_text() {
    let folder = rings();
    let mut task = Task::new(folder.path(), "where is the ring buffer?");
    task.assignment.finish = Finish::TextAnswer;
    let report = report(&task);
    assert!(report.contains("ring_buffer.c") && report.contains(DISCLAIMER), "{report}");
}

#[test]
fn a_task_inside_a_query_is_found() {
    let folder = rings();
    let task = Task::new(folder.path(), "where is the ring buffer?").edit(|definition| {
        definition.prompt_config.query = Some("Answer briefly: ${prompt}".to_owned());
    });
    assert!(report(&task).contains("src/ring_buffer.c"));
}

#[test]
fn a_follow_up_is_answered_anew() {
    let folder = rings();
    let task = Task::new(folder.path(), "where is the ring buffer?");
    let first = done(&task);
    let next = task.resumed_by(&first.run, "where is the lexer?", &OfflineModel);
    assert_eq!(next.outcome.ending.status, Status::Goal);
    let text = &next.outcome.ending.result;
    assert!(text.lines().next().unwrap().contains("lexer.c"), "{text}");
    let short = task.resumed_by(&first.run, "and who calls it?", &OfflineModel);
    let text = &short.outcome.ending.result;
    assert!(text.lines().next().unwrap().contains("ring_buffer.c"), "{text}");
    let on = task.resumed_by(&first.run, "", &OfflineModel);
    assert!(on.outcome.ending.result.contains("ring_buffer.c"));
}

#[test]
fn call_ids_stay_unique_after_a_resume() {
    let folder = rings();
    let task = Task::new(folder.path(), "where is the ring buffer?");
    let next = task.resumed_by(&done(&task).run, "where is the lexer?", &OfflineModel);
    let messages = next.run.conversation().messages();
    let mut ids: Vec<_> =
        messages.iter().flat_map(|message| message.calls().map(|call| call.id.clone())).collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all);
    assert!(matches!(*messages[0].clone(), Message::System { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_task(task in any::<String>(), words in "[a-zA-Z_./:`'\"*+?(){}\\[\\]\\\\| \n工具Größe-]{0,60}") {
        let folder = project(&[("a.rs", "pub fn alpha() {}\n"), ("b/beta.py", "def beta():\n    pass\n")]);
        for task in [task.as_str(), words.as_str()] {
            let report = report(&Task::new(folder.path(), task));
            prop_assert!(report.contains(DISCLAIMER), "{}", report);
            prop_assert!(!report.contains("invalid pattern"), "{}", report);
            prop_assert!(!report.contains("invalid glob"), "{}", report);
        }
    }
}

#[test]
fn the_longest_task_is_answered() {
    let folder = project(&[("a.rs", "pub fn alpha() {}\n")]);
    let task = "fn main() { let x = a[0] / *b; } // what about alpha? \n".repeat(20_000);
    assert!(asked(folder.path(), &task).contains("a.rs"));
}
