//! Calls are judged in the moment they begin: refused, asked about, or made; whoever decided earlier.

use super::*;
use crate::{
    rights::filter::ToolSet,
    run::{
        outcome::Status,
        transcript::{fold, resume},
    },
};

fn shell(id: &str, command: &str) -> AssistantPart {
    call(id, "shell", &json!({"command": command}).to_string())
}

/// A call that runs beside others and needs approval.
fn read_make(id: &str) -> AssistantPart {
    call(id, "read_file", "{\"command\": \"make\"}")
}

fn started(events: &[Event]) -> Vec<String> {
    let started = events.iter().filter_map(|event| match event {
        Event::ToolStarted { call_id, .. } => Some(call_id.to_string()),
        _ => None,
    });
    started.collect()
}

/// The same run, rebuilt from its transcript by somebody with that guard.
fn taken_over(script: &mut Script, guard: SharedGuard) -> Vec<Event> {
    script.run = fold(script.lines.clone()).unwrap().with_guard(guard);
    assert_eq!(script.run.next_step(), Step::TakeOver);
    script.does(Run::taken_over)
}

#[test]
fn a_reply_settles_only_what_never_reaches_a_tool() {
    let mut script = Script::begin(assignment());
    let rm = shell("a", "rm -r /");
    script.replies(vec![rm, call("b", "nothing", "{}"), call("c", "Write", "{}")]);
    assert_eq!(script.open(), ["a"]);
    script.does(Run::begin_calls);
    assert_eq!(script.results()[0].1, "Refused: `rm` is not allowed.");
    assert_eq!(script.run.state().tool_uses, 0);
    script.model_request();
}

#[test]
fn calls_that_run_in_parallel_begin_together_up_to_the_first_that_runs_alone() {
    let mut script = Script::begin(assignment());
    script.replies(vec![
        read("a", "x"),
        call("b", "nothing", "{}"),
        read("c", "y"),
        shell("d", "ls"),
        read("e", "z"),
    ]);
    let events = script.does(Run::begin_calls);
    assert_eq!(
        (started(&events), script.under_way()),
        (vec!["a".into(), "c".into()], script.under_way())
    );
    assert_eq!(script.does(Run::begin_calls), []);
    script.returns("a", "text").returns("c", "text");
    let events = script.does(Run::begin_calls);
    assert_eq!(started(&events), ["d"]);
    assert_eq!(script.does(Run::begin_calls), []);
    script.returns("d", "text");
    assert_eq!(started(&script.does(Run::begin_calls)), ["e"]);
    script.returns("e", "text");
    assert_eq!(script.does(Run::begin_calls), []);
    script.model_request();
}

#[test]
fn a_call_that_needs_approval_is_asked_about_before_it_begins() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]);
    let events = script.does(Run::begin_calls);
    let [Event::ApprovalRequested { request_id, call_id, reason, preview, .. }] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!((request_id.as_str(), call_id.as_str()), ("agent-1/1", "a"));
    assert_eq!((reason.as_str(), preview), ("`make` runs what the project says", &None));
    let question = script.question();
    assert_eq!(question.arguments, json!({"command": "make"}));
    assert_eq!(question.agent_type, AgentName::new("tester"));
    assert_eq!(script.run.state().tool_uses, 0);
    // Nothing begins it but an answer.
    assert_eq!(script.begins("a"), []);
    assert_eq!(script.does(Run::begin_calls), []);
    script.decides(ApprovalDecision::ApprovedOnce, None);
    assert_eq!(started(&script.does(Run::begin_calls)), ["a"]);
    script.returns("a", "made");
    assert_eq!(script.results(), results(&[("a", "made")]));
}

#[test]
fn the_wall_clock_is_paused_while_somebody_is_asked() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]);
    script.passes(50_000).does(Run::begin_calls);
    assert_eq!(script.run.deadline(), None);
    script.passes(500_000);
    assert_eq!(script.does(Run::clock), []);
    script.decides(ApprovalDecision::ApprovedOnce, None);
    assert_eq!(script.run.deadline(), Some(Duration::from_mins(10)));
    script.does(Run::begin_calls);
    script.passes(50_000).does(Run::clock);
    assert_eq!(script.offered(), ["complete_task"]);
    script.replies(vec![complete("c", "x")]);
    assert_eq!(script.outcome().duration_ms, 600_000);
}

#[test]
fn a_refusal_is_told_in_its_words_and_the_agent_goes_on() {
    for (words, text) in [
        (Some("use ninja"), "Refused: not approved: use ninja."),
        (Some(" "), "Refused: not approved."),
        (None, "Refused: not approved."),
    ] {
        let mut script = Script::begin(assignment());
        script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
        script.decides(ApprovalDecision::Denied, words);
        assert_eq!(script.results(), results(&[("a", text)]));
        script.model_request();
        assert_eq!(script.run.state().tool_uses, 0);
    }
}

#[test]
fn an_abort_cancels_the_run() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make"), read("b", "x")]).does(Run::begin_calls);
    script.decides(ApprovalDecision::Aborted, None);
    assert_eq!(script.outcome().ending.status, Status::Aborted);
    let why = "Not executed: the run was cancelled.";
    assert_eq!(script.results(), results(&[("a", why), ("b", why)]));
}

#[test]
fn a_cancellation_answers_for_the_call_that_is_asked_about() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    script.passes(1000).does(Run::cancelled);
    assert_eq!(script.outcome().ending.status, Status::Aborted);
    assert_eq!(script.results(), results(&[("a", "Not executed: the run was cancelled.")]));
}

#[test]
fn questions_come_in_the_order_of_the_calls_after_what_needs_none() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read_make("a"), read("b", "x"), read_make("c"), shell("d", "make")]);
    assert_eq!(started(&script.does(Run::begin_calls)), ["b"]);
    assert_eq!(script.under_way(), ["b"]);
    script.returns("b", "text").does(Run::begin_calls);
    assert_eq!(script.question().call_id.as_str(), "a");
    script.decides(ApprovalDecision::ApprovedOnce, None);
    script.does(Run::begin_calls);
    assert_eq!(script.question().request_id.as_str(), "agent-1/2");
    assert_eq!(script.question().call_id.as_str(), "c");
    script.decides(ApprovalDecision::ApprovedForSession, None);
    assert_eq!(started(&script.does(Run::begin_calls)), ["a", "c"]);
    script.returns("a", "text").returns("c", "text").does(Run::begin_calls);
    assert_eq!(script.question().call_id.as_str(), "d");
}

#[test]
fn a_refusal_wins_over_an_approval_given_earlier() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    script.decides(ApprovalDecision::ApprovedForSession, None);
    script.run = fold(script.lines.clone()).unwrap().with_guard(refusing());
    script.does(Run::taken_over);
    assert_eq!(started(&script.does(Run::begin_calls)), Vec::<String>::new());
    assert_eq!(script.results(), results(&[("a", "Refused: trust was withdrawn.")]));
}

#[test]
fn an_approval_is_still_good_after_a_takeover() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    script.decides(ApprovalDecision::ApprovedOnce, None);
    assert_eq!(taken_over(&mut script, guard()), []);
    assert_eq!(started(&script.does(Run::begin_calls)), ["a"]);
}

#[test]
fn a_question_that_was_open_is_asked_again_by_whoever_takes_over() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    let question = script.question();
    assert_eq!(taken_over(&mut script, guard()), []);
    assert_eq!(script.question(), question);
    script.decides(ApprovalDecision::ApprovedOnce, None);
    assert_eq!(started(&script.does(Run::begin_calls)), ["a"]);

    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    taken_over(&mut script, refusing());
    assert_eq!(script.results(), results(&[("a", "Refused: trust was withdrawn.")]));
    assert!(script.run.deadline().is_some(), "the clock goes on");
}

#[test]
fn what_had_begun_is_judged_again_by_whoever_takes_over() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), shell("b", "ls")]);
    script.begins("a");
    taken_over(&mut script, refusing());
    assert_eq!(script.open(), ["b"]);
    assert_eq!(script.run.next_step(), Step::BeginCalls);
    script.does(Run::begin_calls);
    let refused = "Refused: trust was withdrawn.";
    assert_eq!(script.results(), results(&[("a", refused), ("b", refused)]));
}

#[test]
fn a_repeatable_call_that_needs_approval_now_is_asked_about_before_it_is_made_again() {
    struct AskAlways;
    impl CallGuard for AskAlways {
        fn check(&self, _tool: &ToolName, _arguments: &Value, _: &Foresight) -> Permission {
            Permission::Ask { reason: "the rules changed".to_owned() }
        }
    }
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), read("b", "y")]);
    script.does(Run::begin_calls);
    taken_over(&mut script, Arc::new(AskAlways));
    assert_eq!(script.question().call_id.as_str(), "a");
    script.decides(ApprovalDecision::Denied, None);
    assert_eq!(script.question().call_id.as_str(), "b");
    script.decides(ApprovalDecision::ApprovedOnce, None);
    assert_eq!(started(&script.does(Run::begin_calls)), ["b"]);
    script.returns("b", "text");
    assert_eq!(script.results(), results(&[("a", "Refused: not approved."), ("b", "text")]));
}

#[test]
fn a_run_never_passes_what_its_own_rights_refuse() {
    let rights = ToolSet::of_host([BuiltinTool::ReadFile.into()]);
    let mut script = Script::begin(Assignment { rights, ..assignment() });
    script.replies(vec![shell("a", "ls"), read("b", "x")]);
    script.does(Run::begin_calls);
    assert_eq!(script.open(), ["b"]);
    script.returns("b", "text");
    assert_eq!(script.results()[0].1, "Refused: the tool `shell` is not available to this agent.");
}

#[test]
fn a_new_run_after_a_cut_asks_again() {
    let mut script = Script::begin(assignment());
    script.replies(vec![shell("a", "make")]).does(Run::begin_calls);
    let lines = script.lines.clone();
    let mut second =
        Script::begun(resume(lines, RunId::new("agent-2"), "Go on.", guard()).unwrap());
    second.does(Run::begin_calls);
    assert_eq!(second.question().request_id.as_str(), "agent-2/1");
}

#[test]
fn a_resumed_run_has_only_what_both_the_header_and_today_allow() {
    let parent = Some(RunId::new("agent-0"));
    let before = Assignment { depth: 3, parent_id: parent.clone(), ..assignment() };
    let today = ToolSet::of_host([BuiltinTool::Shell.into(), BuiltinTool::WriteFile.into()]);
    let limits = RunLimits { max_turns: 7, max_time_seconds: 1000, ..before.limits };
    let after = before.resumed_as(RunId::new("agent-2"), "Go on.").narrowed_to(&today, limits);
    assert_eq!(after.rights, ToolSet::of_host([BuiltinTool::Shell.into()]));
    assert_eq!((after.limits.max_turns, after.limits.max_time_seconds), (7, 100));
    assert_eq!((after.depth, after.parent_id), (3, parent));
    assert!(after.withheld_tools.iter().any(|withheld| withheld.tool == "write_file"
        && withheld.reason == "the run that this one continues did not have it"));
    assert_eq!(after.definition, before.definition);
}

#[test]
fn a_namespace_before_a_tools_name_is_left_out() {
    let mut script = Script::begin(assignment());
    script.replies(vec![call("a", "functions.read_file", r#"{"path": "x"}"#)]);
    script.returns("a", "text");
    assert_eq!(script.results(), results(&[("a", "text")]));
}
