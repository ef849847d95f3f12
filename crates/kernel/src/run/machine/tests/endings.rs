//! How a run ends by itself: with an answer, with silence, or with a failure.

use super::*;
use crate::{
    agent::definition::OutputConfig,
    run::{
        ModelFailure,
        event::{Disposition, life::Life},
        outcome::{RecoveredFrom, Status},
    },
};

fn with_schema() -> Assignment {
    let mut assignment = assignment();
    Arc::make_mut(&mut assignment.definition).output_config = Some(OutputConfig {
        output_name: "report".to_owned(),
        description: "What was found".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"score": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["score"],
        }),
    });
    assignment
}

fn report(id: &str, report: &Value) -> AssistantPart {
    call(id, "complete_task", &json!({"report": report}).to_string())
}

#[test]
fn complete_task_ends_the_run() {
    let mut script = Script::begin(assignment());
    script.passes(500).reads("a", "x").passes(1500);
    script.replies(vec![AssistantPart::text("Done."), complete("b", "All is well.")]);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Goal);
    assert_eq!(outcome.ending.result, "All is well.");
    assert_eq!((outcome.ending.partial, outcome.ending.recovered_from), (false, None));
    assert_eq!((outcome.ending.output, outcome.ending.error), (None, None));
    assert_eq!((outcome.turns_used, outcome.duration_ms, outcome.tool_uses), (2, 2000, 1));
    assert_eq!((outcome.usage.total_tokens(), outcome.cost_usd), (220, Some(0.5)));
    assert_eq!(script.results(), results(&[("b", "Accepted.")]));
}

#[test]
fn an_answer_that_was_filtered_ends_the_run() {
    let filtered = |content| Reply { stop: StopReason::ContentFilter, ..reply(content) };
    let mut script = Script::begin(assignment());
    script.does(|run, now| {
        run.model_replied(filtered(vec![AssistantPart::text("I was about")]), now)
    });
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.partial), (Status::Error, true));
    assert_eq!(ending.result, "I was about");
    assert_eq!(ending.error.unwrap(), "the provider's content filter stopped the answer");
    // A call that came whole is made.
    let mut script = Script::begin(assignment());
    script.does(|run, now| run.model_replied(filtered(vec![complete("a", "done")]), now));
    assert_eq!(script.outcome().ending.status, Status::Goal);
}

#[test]
fn nothing_is_taken_in_after_the_end() {
    let mut script = Script::begin(assignment());
    script.replies(vec![complete("a", "x")]);
    let outcome = script.outcome();
    let id = ToolCallId::new("a");
    for events in [
        script.does(|run, now| run.model_replied(reply(vec![complete("b", "y")]), now)),
        script.does(|run, now| run.tool_returned(&id, ToolAnswer::default(), now)),
        script.does(Run::cancelled),
        script.does(Run::clock),
        script.does(Run::start),
        script.does(|run, now| run.announce("news", now)),
        script.does(|run, now| run.tree_budget_spent(TreeAllowance::default(), now)),
        script.does(Run::taken_over),
    ] {
        assert_eq!(events, []);
    }
    assert_eq!(script.outcome(), outcome);
}

#[test]
fn a_structured_answer_is_handed_back_as_value_and_text() {
    let mut script = Script::begin(with_schema());
    script.replies(vec![report("a", &json!({"score": 3}))]);
    let ending = script.outcome().ending;
    assert_eq!(ending.output, Some(json!({"score": 3})));
    assert_eq!(ending.result, "{\n  \"score\": 3\n}");
    let mut script = Script::begin(with_schema());
    script.replies(vec![report("a", &json!("{\"score\": 3}"))]);
    assert_eq!(script.outcome().ending.output, Some(json!({"score": 3})));
}

#[test]
fn an_answer_that_does_not_fit_is_refused_and_may_be_corrected() {
    let mut script = Script::begin(with_schema());
    script.replies(vec![report("a", &json!({"score": "3", "note": 1}))]);
    assert_eq!(
        script.results(),
        results(&[(
            "a",
            "The output was not accepted:\n\
             - report/score: \"3\" is not of type \"integer\"\n\
             - report/note: 1 is not of type \"string\"\n\
             Correct it and call `complete_task` again."
        )])
    );
    script.replies(vec![report("b", &json!({"score": 3}))]);
    assert_eq!(script.outcome().ending.status, Status::Goal);
    assert_eq!(script.outcome().turns_used, 2);
}

#[test]
fn calls_beside_complete_task_are_not_executed() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), complete("b", "done"), read("c", "y")]);
    let beside = "Not executed: `complete_task` was called in the same turn.";
    assert_eq!(script.results(), results(&[("a", beside), ("b", "Accepted."), ("c", beside)]));
    assert_eq!(script.outcome().tool_uses, 0);
}

#[test]
fn a_refused_answer_says_what_was_not_executed_beside_it() {
    let mut script = Script::begin(assignment());
    script.replies(vec![
        read("a", "x"),
        call("b", "complete_task", "{}"),
        call("c", "shell", "{}"),
    ]);
    let beside = "Not executed: `complete_task` was called in the same turn.";
    let refused = "The output was not accepted:\n- result: the argument is missing\n\
        Correct it and call `complete_task` again.\nNot executed beside it: `read_file`, `shell`.";
    assert_eq!(script.results(), results(&[("a", beside), ("b", refused), ("c", beside)]));
    assert_eq!(script.offered().len(), 4);
}

#[test]
fn the_first_answer_that_fits_wins_and_all_are_answered() {
    let mut script = Script::begin(assignment());
    script.replies(vec![
        call("a", "complete_task", "{\"result\": \"\"}"),
        complete("b", "second"),
        complete("c", "third"),
    ]);
    assert_eq!(script.outcome().ending.result, "second");
    let texts = script.results();
    assert!(texts[0].1.contains("- result: it is empty"), "{texts:?}");
    assert_eq!(
        texts[1..],
        results(&[("b", "Accepted."), ("c", "Not executed: the task is complete.")])
    );
}

#[test]
fn a_truncated_answer_is_told_of_the_output_limit() {
    let mut script = Script::begin(assignment());
    script.answers(Reply {
        stop: StopReason::Length,
        ..reply(vec![call("a", "complete_task", "{\"result\": \"a long")])
    });
    assert_eq!(
        script.results(),
        results(&[(
            "a",
            "The arguments of `complete_task` cannot be used: not valid JSON: EOF while parsing a \
             string at line 1 column 18. Your answer was cut off at the output limit: write less at \
             once."
        )])
    );
}

#[test]
fn silence_is_reminded_once_then_given_a_last_chance() {
    let mut script = Script::begin(assignment());
    script.says("I think it is fine.");
    assert_eq!(
        script.last_said(),
        "You called no tool. If the task is done, call `complete_task` with your whole answer; \
         otherwise go on."
    );
    assert_eq!(script.offered().len(), 4);
    script.says("Really fine.");
    assert_eq!(script.offered(), ["complete_task"]);
    assert!(script.last_said().starts_with("Nothing has been handed in. This is your last chance"));
    script.replies(vec![complete("a", "fine")]);
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Goal);
    assert_eq!(ending.recovered_from, Some(RecoveredFrom::NoCompleteTask));
    assert_eq!((ending.partial, ending.result.as_str()), (false, "fine"));
}

#[test]
fn silence_to_the_end_keeps_the_text() {
    let mut script = Script::begin(assignment());
    script.says("One.").says("Two.").says("Three.");
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::ErrorNoCompleteTaskCall);
    assert_eq!((ending.result.as_str(), ending.partial), ("Three.", false));
    assert_eq!(
        ending.error.as_deref(),
        Some("the agent answered without calling complete_task: the result is its last text")
    );
    assert_eq!(script.outcome().turns_used, 2);
}

#[test]
fn a_text_that_was_cut_short_is_partial_and_says_so() {
    let mut script = Script::begin(assignment());
    script.says("One.").says("Two.");
    let content = vec![AssistantPart::text("Thr")];
    script.answers(Reply { stop: StopReason::Length, ..reply(content) });
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::ErrorNoCompleteTaskCall);
    assert_eq!((ending.result.as_str(), ending.partial), ("Thr", true));
    assert_eq!(
        ending.error.as_deref(),
        Some("the agent did not call complete_task, and its last text was cut short")
    );
}

#[test]
fn an_empty_answer_counts_as_silence_and_stays_out_of_the_conversation() {
    let mut script = Script::begin(assignment());
    let before = script.run.conversation().len();
    let thinking = AssistantPart::Thinking {
        text: "hm".to_owned(),
        signature: Some("s".to_owned()),
        provider_data: None,
    };
    script.replies(vec![thinking]);
    assert_eq!(script.run.conversation().len(), before + 1);
    script.replies(vec![AssistantPart::text(" \n")]).replies(vec![]);
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::ErrorNoCompleteTaskCall);
    assert_eq!((ending.result.as_str(), ending.partial), ("", true));
}

#[test]
fn a_call_between_two_silences_starts_the_count_again() {
    let mut script = Script::begin(assignment());
    script.says("One.").reads("a", "x").says("Two.");
    assert!(script.last_said().starts_with("You called no tool."));
    assert_eq!(script.offered().len(), 4);
    script.says("Three.");
    assert_eq!(script.offered(), ["complete_task"]);
}

#[test]
fn the_main_agent_ends_with_a_text_and_knows_no_complete_task() {
    let mut script = Script::begin(main_agent());
    script.replies(vec![AssistantPart::text("I look."), complete("a", "x")]);
    assert_eq!(
        script.results(),
        results(&[(
            "a",
            "There is no tool `complete_task`. Available: read_file, grep_files, shell."
        )])
    );
    script.says("It is 42.");
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "It is 42."));
    assert_eq!(ending.recovered_from, None);
}

#[test]
fn a_main_agent_without_a_word_is_reminded_then_asked_then_failed() {
    let mut script = Script::begin(main_agent());
    script.replies(vec![]);
    assert_eq!(script.last_said(), "Your answer was empty. Answer in text, or go on.");
    script.replies(vec![]);
    assert_eq!(script.offered(), [] as [&str; 0]);
    assert!(script.last_said().contains("Answer now, in text"));
    script.replies(vec![]);
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Error);
    assert_eq!(ending.error.as_deref(), Some("the model gave no answer"));
    assert!(!ending.partial);
}

#[test]
fn a_text_answer_that_was_cut_off_is_not_the_goal() {
    let cut = |script: &mut Script, stop: StopReason| {
        let content = vec![AssistantPart::text("There are three: 1. the")];
        script.does(|run, now| run.model_replied(Reply { stop, ..reply(content) }, now));
    };
    let mut script = Script::begin(main_agent());
    cut(&mut script, StopReason::Length);
    assert!(script.last_said().starts_with("Your answer was cut off"), "{}", script.last_said());
    script.says("One, two, three.");
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "One, two, three."));
    let mut script = Script::begin(main_agent());
    for _ in 0..3 {
        cut(&mut script, StopReason::Length);
    }
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.partial), (Status::Error, true));
    assert_eq!(ending.result, "There are three: 1. the");
    assert!(ending.error.unwrap().contains("output limit"));
    let mut script = Script::begin(main_agent());
    cut(&mut script, StopReason::ContentFilter);
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.partial), (Status::Error, true));
}

#[test]
fn a_fatal_failure_ends_the_run_with_the_providers_words() {
    let mut script = Script::begin(assignment());
    script.replies(vec![AssistantPart::text("Half."), read("a", "x")]);
    script.returns("a", "text");
    script.does(|run, now| {
        let message = "401: no such key".to_owned();
        run.model_failed(ModelFailure::Fatal { message }, 0.5, now)
    });
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Error);
    assert_eq!(outcome.ending.error.as_deref(), Some("401: no such key"));
    assert_eq!((outcome.ending.result.as_str(), outcome.ending.partial), ("Half.", true));
    assert_eq!(outcome.turns_used, 2);
    let mut script = Script::begin(assignment());
    script.does(|run, now| {
        let message = "401".to_owned();
        run.model_failed(ModelFailure::Fatal { message }, 0.5, now)
    });
    assert!(!script.outcome().ending.partial);
}

#[test]
fn turns_are_opened_and_closed_in_pairs() {
    let mut script = Script::begin(assignment());
    script.passes(1000).reads("a", "x").passes(1500).says("Hm.");
    script.replies(vec![complete("b", "x")]);
    let turns: Vec<_> = script
        .events()
        .filter_map(|event| match event {
            Event::TurnStarted { turn, progress, .. } => {
                Some(("start", *turn, progress.turns_completed, progress.elapsed_seconds))
            }
            Event::TurnCompleted { turn, progress, .. } => {
                Some(("end", *turn, progress.turns_completed, progress.elapsed_seconds))
            }
            _ => None,
        })
        .collect();
    let expected = [
        ("start", 1, 0, 0),
        ("end", 1, 1, 1),
        ("start", 2, 1, 1),
        ("end", 2, 2, 2),
        ("start", 3, 2, 2),
        ("end", 3, 3, 2),
    ];
    assert_eq!(turns, expected);
    let Some(Event::Ended { .. }) = script.events().last() else {
        panic!("nothing follows the end");
    };
}

#[test]
fn a_life_is_read_from_the_events() {
    let mut script = Script::begin(assignment());
    let life = |script: &Script| script.events().fold(Life::default(), Life::after);
    assert_eq!(Life::default(), Life::Initializing);
    assert_eq!(life(&script), Life::Active);
    script.replies(vec![complete("a", "x")]);
    assert_eq!(life(&script), Life::Completed);
    let mut script = Script::begin(assignment());
    script.does(Run::cancelled);
    assert_eq!(life(&script), Life::Error);
    assert_eq!(life(&script).after(&Event::Started), Life::Error);
}

#[test]
fn what_becomes_of_calls_is_recorded_with_the_reply() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), call("b", "nothing", "{}")]);
    let dispositions = script.events().find_map(|event| match event {
        Event::Replied { dispositions, .. } => Some(dispositions.clone()),
        _ => None,
    });
    let [Disposition::Execute { tool }, Disposition::Answer { .. }] = &dispositions.unwrap()[..]
    else {
        panic!("one verdict for each call");
    };
    assert_eq!(*tool, ToolName::Builtin(BuiltinTool::ReadFile));
}
