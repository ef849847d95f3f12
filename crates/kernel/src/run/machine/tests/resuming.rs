//! Going on after an end or a crash: in the same run, or in a new one.

use super::*;
use crate::run::{
    outcome::Status,
    transcript::{FoldError, fold, resume},
};

fn resumed(script: &Script, task: &str) -> Script {
    let lines = script.lines.clone();
    Script::begun(resume(lines, RunId::new("agent-2"), task, guard()).unwrap())
}

fn make(id: &str) -> AssistantPart {
    call(id, "shell", r#"{"command": "make"}"#)
}

fn messages(script: &Script) -> Vec<Message> {
    let messages = script.run.conversation().messages();
    messages.iter().map(|message| (**message).clone()).collect()
}

#[test]
fn a_run_that_ended_goes_on_with_everything_it_knew() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 2));
    script.reads("a", "x").replies(vec![complete("b", "first")]);
    let mut second = resumed(&script, "And now?");
    let earlier = messages(&script);
    assert_eq!(messages(&second)[..earlier.len()], earlier);
    assert_eq!(messages(&second)[earlier.len()..], [Message::user("And now?")]);
    let assignment = second.run.assignment();
    assert_eq!(assignment.resumed_from, Some(RunId::new("agent-1")));
    assert_eq!(assignment.agent_id, RunId::new("agent-2"));
    assert_eq!(assignment.tools, script.run.assignment().tools);
    second.reads("c", "y").replies(vec![complete("d", "second")]);
    let outcome = second.outcome();
    assert_eq!((outcome.ending.result.as_str(), outcome.turns_used), ("second", 2));
    assert_eq!(outcome.usage.total_tokens(), 220);
    let third = resumed(&second, "  ");
    assert_eq!(third.last_said(), "Go on.");
}

#[test]
fn an_answer_that_was_cut_off_is_in_the_resumed_conversation_until_another_one_came() {
    let mut script = Script::begin(assignment());
    script.reads("a", "x");
    script.does(|run, now| run.reply_cut_off("So far I found", now));
    script.does(Run::cancelled);
    let second = messages(&resumed(&script, "And?"));
    let end = &second[second.len() - 2..];
    let told = "(Your last answer was cut off.)\n\nAnd?";
    assert_eq!(end, [Message::assistant("So far I found"), Message::user(told)]);

    let mut script = Script::begin(assignment());
    script.passes(100_000).does(|run, now| run.reply_cut_off("So far I found", now));
    script.does(Run::clock);
    script.replies(vec![complete("b", "all")]);
    let second = messages(&resumed(&script, "And?"));
    assert!(!second.contains(&Message::assistant("So far I found")), "{second:?}");
}

#[test]
fn a_run_that_was_killed_goes_on_and_knows_what_it_does_not_know() {
    let mut script = Script::begin(assignment());
    script.replies(vec![
        read("a", "x"),
        call("b", "shell", "{}"),
        read("c", "y"),
        read("d", "z"),
        call("e", "nothing", "{}"),
    ]);
    script.returns("a", "text");
    for id in ["b", "c"] {
        script.does(|run, now| run.begin_call(&ToolCallId::new(id), now));
    }
    let second = resumed(&script, "Go on, please.");
    let texts = second.results();
    assert_eq!(texts[0].1, "text");
    assert!(texts[1].1.contains("whether it took effect is not known"), "{texts:?}");
    assert!(texts[2].1.contains("Call it again if you still need it"), "{texts:?}");
    assert_eq!(texts[3].1, "Not executed: the run was cut off.");
    assert!(texts[4].1.starts_with("There is no tool"), "{texts:?}");
    assert_eq!(second.last_said(), "Go on, please.");
}

#[test]
fn a_question_that_was_open_is_asked_again_and_the_task_comes_after_the_results() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), make("b"), read("c", "y")]);
    script.returns("a", "text");
    script.begins("b");
    let asked = script.question().request_id;
    let mut second = resumed(&script, "Go on, please.");
    // Nothing is said to the model before the calls have their results.
    assert!(matches!(second.run.next_step(), Step::BeginCalls), "{:?}", second.run.next_step());
    second.does(Run::begin_calls);
    let again = second.question().request_id;
    assert_ne!(again, asked);
    second.decides(ApprovalDecision::ApprovedOnce, None);
    second.does(Run::begin_calls);
    second.returns("b", "done").does(Run::begin_calls);
    second.returns("c", "more");
    assert_eq!(second.results(), results(&[("a", "text"), ("b", "done"), ("c", "more")]));
    assert_eq!(second.last_said(), "Go on, please.");
    assert!(matches!(second.run.next_step(), Step::CallModel(_)));
    let folded = fold(second.lines.clone()).unwrap();
    assert_eq!(folded.conversation(), second.run.conversation());
    second.replies(vec![complete("d", "second")]);
    assert_eq!(second.outcome().turns_used, 1);
}

#[test]
fn a_reopened_call_whose_tool_is_gone_is_answered_and_a_cancelled_one_too() {
    let mut script = Script::begin(assignment());
    script.replies(vec![make("b")]);
    script.begins("b");
    let earlier = fold(script.lines.clone()).unwrap();
    let mut without = earlier.assignment().resumed_as(RunId::new("agent-2"), "Go on.");
    without.tools.retain(|spec| spec.name.to_string() != "shell");
    let second = Script::begun(earlier.resume(without, guard()).unwrap());
    assert_eq!(second.results(), results(&[("b", "Not executed: the run was cut off.")]));

    let mut third = resumed(&script, "Go on.");
    third.does(Run::cancelled);
    assert_eq!(third.results(), results(&[("b", "Not executed: the run was cancelled.")]));
    assert_eq!(third.outcome().ending.status, Status::Aborted);
}

#[test]
fn reopened_calls_that_are_not_those_of_the_last_message_are_an_error() {
    let mut script = Script::begin(assignment());
    script.replies(vec![make("b")]);
    script.begins("b");
    let mut lines = resumed(&script, "Go on.").lines;
    let Some(Line::Event(entry)) = lines.get_mut(1) else { panic!("no event") };
    let Event::Opened { reopened: Some(reopened), .. } = &mut entry.event else {
        panic!("{entry:?}")
    };
    reopened.calls.push(reopened.calls[0].clone());
    assert!(matches!(fold(lines), Err(FoldError::Misfit { seq: 1, .. })));
}

#[test]
fn what_had_arrived_of_an_answer_is_not_taken_for_a_whole_one() {
    let mut script = Script::begin(assignment());
    script.does(|run, now| run.reply_cut_off("The answer is", now));
    script.does(Run::cancelled);
    assert_eq!(script.outcome().ending.result, "The answer is");
    let second = resumed(&script, "Go on.");
    let messages = messages(&second);
    let told = "(Your last answer was cut off.)\n\nGo on.";
    assert_eq!(messages[2..], [Message::assistant("The answer is"), Message::user(told)]);
}

#[test]
fn a_worker_takes_over_without_repeating_what_may_have_taken_effect() {
    let mut script = Script::begin(assignment());
    script.passes(5000).replies(vec![call("a", "shell", "{}"), read("b", "x")]);
    for id in ["a", "b"] {
        script.does(|run, now| run.begin_call(&ToolCallId::new(id), now));
    }
    let run = fold(script.lines.clone()).unwrap().with_guard(guard());
    assert_eq!(run.last_moment(), Duration::from_secs(5));
    script.run = run;
    script.passes(1000).does(Run::taken_over);
    assert_eq!(script.under_way(), ["b"]);
    script.returns("b", "text");
    assert!(script.results()[0].1.contains("whether it took effect is not known"));
    script.replies(vec![complete("c", "x")]);
    assert_eq!(script.outcome().ending.status, Status::Goal);
}

#[test]
fn a_rebuilt_run_passes_no_call_before_it_has_a_guard() {
    let script = Script::begin(assignment());
    let mut run = fold(script.lines).unwrap();
    run.model_replied(reply(vec![read("a", "x")]), Duration::ZERO);
    assert_eq!(run.next_step(), Step::TakeOver);
    run.taken_over(Duration::ZERO);
    assert_eq!(run.next_step(), Step::BeginCalls);
    run.begin_calls(Duration::ZERO);
    assert!(matches!(run.next_step(), Step::CallModel(_)));
    let last = run.conversation().messages().last().unwrap().clone();
    let Message::Tool { results } = &*last else {
        panic!("{last:?}");
    };
    assert_eq!(results[0].text, "Refused: this run has no tools yet.");
}

#[test]
fn a_run_cut_off_between_two_decisions_asks_to_be_taken_over() {
    let mut script = Script::begin(assignment());
    script.replies(vec![complete("a", "x")]);
    let all = script.lines.len();
    let cut = script.lines[..all - 2].to_vec();
    let mut run = fold(cut).unwrap();
    assert_eq!(run.next_step(), Step::TakeOver);
    let events = run.taken_over(Duration::ZERO);
    assert_eq!(events.len(), 2);
    assert_eq!(run, script.run);
}

#[test]
fn a_state_written_down_is_the_state_read_back() {
    let mut script = Script::begin(assignment());
    script.reads("a", "x").replies(vec![read("b", "y"), read("c", "z")]);
    let written = serde_json::to_string(script.run.state()).unwrap();
    let state = serde_json::from_str(&written).unwrap();
    let run = Run::restored(assignment(), state).unwrap();
    assert_eq!(run, script.run);
}

#[test]
fn transcripts_that_make_no_run_are_errors() {
    let mut script = Script::begin(assignment());
    script.reads("a", "x");
    let lines = || script.lines.clone();
    let without = |position: usize| {
        let mut lines = lines();
        lines.remove(position);
        lines
    };
    assert_eq!(fold(vec![]), Err(FoldError::NoHeader));
    assert_eq!(fold(without(0)), Err(FoldError::NoHeader));
    assert_eq!(
        fold(lines().into_iter().chain(lines())),
        Err(FoldError::SecondHeader(u64::try_from(lines().len()).unwrap() - 1))
    );
    let mut swapped = lines();
    swapped.swap(1, 2);
    assert!(matches!(fold(swapped), Err(FoldError::Misfit { seq: 2, .. })));
    let doubled = lines().into_iter().flat_map(|line| match line {
        Line::Header(_) => vec![line],
        Line::Event(_) => vec![line.clone(), line],
    });
    assert_eq!(fold(doubled), Err(FoldError::OutOfOrder { seq: 1, after: 1 }));
    // The last event only opens the next turn: a transcript may end before it, but lack no other.
    for position in 1..lines().len() - 1 {
        let result = fold(without(position));
        assert!(matches!(result, Err(FoldError::Misfit { .. })), "{position}");
    }
    let mut newer = lines();
    if let Line::Header(header) = &mut newer[0] {
        header.format = 2;
    }
    assert_eq!(fold(newer), Err(FoldError::NewerFormat(2)));
    assert!(Line::parse("{\"type\":\"header\",\"format\":2}").is_err_and(|error| {
        error.to_string() == "the transcript has format 2; this program reads up to 1"
    }));
    assert!(Line::parse("{\"type\":\"event\",\"seq\":1,\"ts\":\"2026").is_err());
}
