//! Limits, and the last chance that follows on them.

use super::*;
use crate::run::{
    Demand, ModelFailure, Stage,
    machine::compaction::fill::Fill,
    outcome::{RecoveredFrom, Status},
};

fn grace_warning(script: &Script) -> String {
    script.last_said()
}

#[test]
fn used_up_turns_lead_to_a_last_chance() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 2));
    script.reads("a", "x");
    assert_eq!(script.model_request().demand, Demand::Free);
    script.reads("b", "y");
    assert_eq!(script.offered(), ["complete_task"]);
    assert_eq!(script.model_request().demand, Demand::AnyTool);
    assert_eq!(
        grace_warning(&script),
        "All turns are used up. This is your last chance: call `complete_task` now with the best \
         answer you have. No other tool will run."
    );
    script.replies(vec![complete("c", "saved")]);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Goal);
    assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::MaxTurns));
    assert_eq!((outcome.turns_used, outcome.usage.total_tokens()), (2, 330));
}

#[test]
fn a_last_chance_not_taken_keeps_the_original_status() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 1));
    script.replies(vec![AssistantPart::text("Half."), read("a", "x")]);
    script.returns("a", "text").says("I need more time.");
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.recovered_from), (Status::MaxTurns, None));
    assert_eq!((ending.result.as_str(), ending.partial), ("I need more time.", true));
    assert_eq!(ending.error.as_deref(), Some("the limit of 1 turn was reached"));
}

#[test]
fn pending_results_stay_and_the_warning_comes_after_them() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 1));
    script.replies(vec![read("a", "x"), read("b", "y")]);
    script.returns("b", "second").returns("a", "first");
    assert_eq!(script.results(), results(&[("a", "first"), ("b", "second")]));
    let messages = script.run.conversation().messages();
    let [_, _, assistant, tool, warning] = messages else {
        panic!("{messages:?}");
    };
    assert!(matches!(**assistant, Message::Assistant { .. }));
    assert!(matches!(**tool, Message::Tool { .. }));
    assert!(matches!(**warning, Message::User { .. }));
}

#[test]
fn an_answer_that_does_not_fit_gets_a_second_try_and_no_third() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    script.replies(vec![call("a", "complete_task", "{}")]);
    assert_eq!(script.offered(), ["complete_task"]);
    script.replies(vec![complete("b", "saved")]);
    assert_eq!(script.outcome().ending.status, Status::Goal);

    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    script.replies(vec![call("a", "complete_task", "{}")]);
    script.replies(vec![call("b", "complete_task", "{")]);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::MaxTurns);
    assert_eq!((outcome.turns_used, outcome.usage.total_tokens()), (0, 220));
}

#[test]
fn other_calls_are_not_executed_in_a_last_chance() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    script.replies(vec![read("a", "x")]);
    assert_eq!(script.results(), results(&[("a", "Not executed: only `complete_task` is left.")]));
    script.replies(vec![read("b", "x"), complete("c", "saved")]);
    assert_eq!(script.outcome().ending.result, "saved");
    assert_eq!(script.outcome().tool_uses, 0);
}

#[test]
fn the_time_limit_counts_between_turns() {
    let mut script = Script::begin(assignment());
    script.passes(99_999).reads("a", "x");
    assert_eq!(script.offered().len(), 4);
    script.replies(vec![read("b", "x")]).passes(1).returns("b", "late");
    assert_eq!(script.offered(), ["complete_task"]);
    assert_eq!(script.results(), results(&[("b", "late")]));
    let deadline = script.model_request().deadline;
    assert_eq!(deadline, Some(Duration::from_secs(110)));
    script.replies(vec![complete("c", "saved")]);
    assert_eq!(script.outcome().ending.recovered_from, Some(RecoveredFrom::Timeout));
}

#[test]
fn the_time_limit_stops_a_model_that_does_not_answer() {
    let mut script = Script::begin(assignment());
    script.passes(99_999);
    assert_eq!(script.does(Run::clock), []);
    script.passes(1).does(|run, now| run.reply_cut_off("So far: ", now));
    script.does(Run::clock);
    assert!(grace_warning(&script).starts_with("The time is up."));
    // What had arrived is the result so far; the conversation holds whole answers alone.
    assert_eq!(script.run.conversation().len(), 3);
    script.passes(9_999);
    assert_eq!(script.does(Run::clock), []);
    script.passes(1).does(Run::clock);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Timeout);
    assert_eq!((outcome.ending.result.as_str(), outcome.ending.partial), ("So far: ", true));
    assert_eq!(outcome.ending.error.as_deref(), Some("the time limit of 100 s was reached"));
    assert_eq!(outcome.duration_ms, 110_000);
}

#[test]
fn the_time_limit_answers_for_tools_that_do_not_return() {
    let mut script = Script::begin(assignment());
    script.replies(vec![
        read("a", "x"),
        read("b", "y"),
        call("c", "shell", "{}"),
        call("d", "shell", "{}"),
    ]);
    for id in ["a", "b", "c"] {
        script.does(|run, now| run.begin_call(&ToolCallId::new(id), now));
    }
    script.returns("a", "done").passes(100_000).does(Run::clock);
    assert_eq!(
        script.results(),
        results(&[
            ("a", "done"),
            ("b", "Stopped: the time is up."),
            ("c", "Stopped: the time is up. Whether it took effect is not known."),
            ("d", "Not executed: the time is up."),
        ])
    );
    assert_eq!(script.offered(), ["complete_task"]);
    let late = script
        .does(|run, now| run.tool_returned(&ToolCallId::new("b"), ToolAnswer::default(), now));
    assert_eq!(late, []);
    script.replies(vec![complete("e", "saved")]);
    assert_eq!(script.outcome().ending.recovered_from, Some(RecoveredFrom::Timeout));
}

#[test]
fn an_answer_that_comes_late_but_fits_is_taken() {
    let mut script = Script::begin(assignment());
    script.passes(500_000).replies(vec![complete("a", "late")]);
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.recovered_from), (Status::Goal, None));
}

#[test]
fn without_a_grace_period_the_end_is_at_once() {
    let mut script = Script::begin(with_limits(|limits| {
        limits.max_turns = 1;
        limits.grace_period_seconds = 0;
    }));
    script.reads("a", "x");
    assert_eq!(script.outcome().ending.status, Status::MaxTurns);
    assert_eq!(script.run.conversation().len(), 4);
}

#[test]
fn a_token_budget_leads_to_a_last_chance() {
    let mut script = Script::begin(with_limits(|limits| limits.max_tokens = Some(600)));
    for id in ["a", "b", "c"] {
        script.reads(id, id);
        assert_eq!(script.offered().len(), 4);
    }
    script.reads("d", "d");
    assert!(grace_warning(&script).starts_with("The budget is spent."));
    script.says("No.");
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Budget);
    assert_eq!(
        outcome.ending.error.as_deref(),
        Some(
            "the budget of 600 tokens was reached: 550 were used, and another turn needs about 120"
        )
    );
    assert!(outcome.usage.total_tokens() <= 600);
}

/// The first turn is expected to cost more than there is, so the run has its last chance alone.
#[test]
fn a_budget_with_something_left_is_not_called_reached() {
    let two_turns = 2 * Script::begin(assignment()).run.expected_tokens();
    let cap = two_turns - 1;
    let mut script = Script::begin(with_limits(|limits| limits.max_tokens = Some(cap)));
    assert_eq!(script.offered(), ["complete_task"]);
    script.says("No.");
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Budget);
    assert!(outcome.usage.total_tokens() < cap / 2, "{:?} of {cap}", outcome.usage);
    let told = outcome.ending.error.unwrap();
    assert!(told.contains("does not pay for another turn") && told.contains("raise"), "{told}");
}

/// Providers count more than the text: each message has a frame, each call a name and an id.
#[test]
fn a_provider_that_counts_more_than_the_text_does_not_exceed_the_budget() {
    for cap in (1500..6000).step_by(97) {
        let mut script = Script::begin(with_limits(|limits| {
            limits.max_tokens = Some(cap);
            limits.max_turns = 100;
        }));
        for turn in 0..100 {
            if script.run.has_ended() {
                break;
            }
            let conversation = script.run.conversation();
            let frames = 25 * u64::try_from(conversation.len()).unwrap();
            let tools = script.run.tools_bytes / 4;
            let input_tokens = Fill::guessed(conversation).tokens() + tools + frames;
            let id = format!("call-{turn}");
            let mut reply = reply(vec![read(&id, &id)]);
            reply.usage = Usage { input_tokens, output_tokens: 20, ..Usage::default() };
            script.answers(reply);
            if script.open().contains(&id) {
                script.returns(&id, "text");
            }
        }
        // A token is lost to rounding here and there.
        let spent = script.run.state.tokens_spent();
        assert!(spent <= cap + 5, "{spent} of {cap}");
        assert!(spent > cap / 2, "{spent} of {cap}");
    }
}

#[test]
fn a_cost_budget_counts_what_is_known() {
    let mut script = Script::begin(with_limits(|limits| limits.max_cost_usd = Some(1.2)));
    script.answers(Reply { cost_usd: None, ..reply(vec![read("a", "x")]) });
    script.returns("a", "text").reads("b", "y");
    assert_eq!(script.offered().len(), 4);
    script.reads("c", "z");
    assert_eq!(script.offered().len(), 4);
    script.reads("d", "z");
    assert_eq!(script.offered(), ["complete_task"]);
    script.replies(vec![complete("e", "saved")]);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::Budget));
    assert_eq!(outcome.cost_usd, None);
}

#[test]
fn prices_that_are_no_numbers_are_no_prices() {
    for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
        let mut script = Script::begin(assignment());
        script.answers(Reply { cost_usd: Some(nonsense), ..reply(vec![complete("a", "x")]) });
        assert_eq!(script.outcome().cost_usd, None);
    }
}

#[test]
fn the_last_chance_is_trimmed_until_the_budget_pays_for_it() {
    let mut script = Script::begin(with_limits(|limits| limits.max_tokens = Some(5000)));
    let long = |tokens| {
        let mut reply = reply(vec![read("a", "x")]);
        reply.usage.input_tokens = tokens;
        reply
    };
    script.answers(long(2000)).returns("a", &"x".repeat(4000));
    assert_eq!(script.offered(), ["complete_task"]);
    assert!(
        !script.results()[0].1.contains("xxx"),
        "a last chance with 1000 tokens more is too long"
    );
    let expected = script.run.expected_tokens();
    assert!(2010 + expected <= 5000, "{expected}");
    script.replies(vec![complete("b", "saved")]);
    assert_eq!(script.outcome().ending.status, Status::Goal);
}

#[test]
fn a_request_that_the_budget_cannot_pay_for_is_not_sent() {
    let unpaid: [fn(&mut RunLimits); 3] = [
        |limits| limits.max_tokens = Some(0),
        |limits| limits.max_tokens = Some(10),
        |limits| limits.tree.tokens = Some(10),
    ];
    let priced = |limits: &mut RunLimits| limits.max_cost_usd = Some(0.0);
    for limit in unpaid.into_iter().chain([priced as fn(&mut RunLimits)]) {
        let mut assignment = with_limits(limit);
        assignment.model_limits.input_usd_per_million = Some(2.0);
        let script = Script::begin(assignment);
        let outcome = script.outcome();
        assert_eq!((outcome.ending.status, outcome.usage.total_tokens()), (Status::Budget, 0));
    }
}

#[test]
fn a_cap_that_pays_for_the_question_but_not_for_an_answer_sends_nothing() {
    let needed = Script::begin(assignment()).run.expected_tokens();
    let without_grace = |limits: &mut RunLimits, cap| {
        limits.grace_period_seconds = 0;
        limits.max_tokens = Some(cap);
    };
    let script = Script::begin(with_limits(|limits| without_grace(limits, needed)));
    assert!(!script.run.has_ended(), "{needed} tokens are enough");
    let script = Script::begin(with_limits(|limits| without_grace(limits, needed - 1)));
    let outcome = script.outcome();
    assert_eq!((outcome.ending.status, outcome.usage.total_tokens()), (Status::Budget, 0));
    assert!(needed > 64, "an answer is expected, too: {needed}");
}

#[test]
fn a_turn_that_the_tree_does_not_pay_for_is_not_begun() {
    let mut script = Script::begin(assignment());
    script.reads("a", "x");
    let left = TreeAllowance { tokens: Some(script.run.expected_tokens() + 100), cost_usd: None };
    script.does(|run, now| run.tree_budget_spent(left, now));
    assert_eq!(script.offered(), ["complete_task"]);
    script.replies(vec![complete("b", "saved")]);
    let outcome = script.outcome();
    assert_eq!(outcome.turns_used, 1, "the second turn was not asked of the model");
    let ending = outcome.ending;
    assert_eq!((ending.status, ending.recovered_from), (Status::Goal, Some(RecoveredFrom::Budget)));
}

#[test]
fn a_turn_whose_second_attempt_the_tree_does_not_pay_for_was_asked() {
    let mut script = Script::begin(assignment());
    let left = TreeAllowance { tokens: Some(script.run.expected_tokens() + 100), cost_usd: None };
    let message = "503".to_owned();
    let failure = ModelFailure::Transient { message, stage: Stage::Request, retry_after: None };
    script.does(|run, now| run.model_failed(failure, 0.5, now));
    script.does(|run, now| run.tree_budget_spent(left, now));
    script.replies(vec![complete("b", "saved")]);
    assert_eq!(script.outcome().turns_used, 1);
}

#[test]
fn a_last_chance_keeps_within_what_the_tree_has_left() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]).returns("a", &"x".repeat(4000));
    let left = TreeAllowance { tokens: Some(script.run.expected_tokens() - 500), cost_usd: None };
    script.does(|run, now| run.tree_budget_spent(left, now));
    assert_eq!(script.offered(), ["complete_task"]);
    assert!(!script.results()[0].1.contains("xxx"), "{:?}", script.results());
    assert!(script.run.expected_tokens() <= left.tokens.unwrap());
    script.says("No.");
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Budget);
    assert_eq!(ending.error.as_deref(), Some("the budget of the whole tree of agents was reached"));
}

#[test]
fn a_tree_with_nothing_left_ends_the_run_without_a_request() {
    for left in [
        TreeAllowance { tokens: Some(0), cost_usd: None },
        TreeAllowance { tokens: None, cost_usd: Some(0.0) },
    ] {
        let mut assignment = assignment();
        assignment.model_limits.input_usd_per_million = Some(2.0);
        let mut script = Script::begin(assignment);
        script.reads("a", "x");
        script.does(|run, now| run.tree_budget_spent(left, now));
        assert_eq!(script.outcome().ending.status, Status::Budget, "{left:?}");
    }
}

#[test]
fn nothing_is_short_while_no_request_is_to_be_sent() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    let left = TreeAllowance { tokens: Some(0), cost_usd: None };
    assert_eq!(script.does(|run, now| run.tree_budget_spent(left, now)), []);
}

#[test]
fn a_model_that_fails_in_its_last_chance_leaves_the_original_status() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    script.does(|run, now| {
        let message = "500".to_owned();
        run.model_failed(ModelFailure::Fatal { message }, 0.5, now)
    });
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::MaxTurns);
    assert_eq!(
        ending.error.as_deref(),
        Some("the limit of 0 turns was reached; then the model failed: 500")
    );
}

#[test]
fn a_last_chance_is_told_from_start_to_end() {
    for (reply, expected) in [(complete("a", "x"), true), (AssistantPart::text("no"), false)] {
        let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
        script.replies(vec![reply]);
        let told: Vec<_> = script
            .events()
            .filter_map(|event| match event {
                Event::GraceStarted { reason, grace_ms, .. } => Some((*reason, Err(*grace_ms))),
                Event::GraceEnded { reason, recovered } => Some((*reason, Ok(*recovered))),
                _ => None,
            })
            .collect();
        let reason = RecoveredFrom::MaxTurns;
        assert_eq!(told, [(reason, Err(10_000)), (reason, Ok(expected))]);
    }
}

#[test]
fn a_main_agent_gets_its_last_chance_in_text() {
    let mut script = Script::begin(Assignment {
        finish: Finish::TextAnswer,
        ..with_limits(|limits| limits.max_turns = 1)
    });
    script.reads("a", "x");
    assert_eq!(script.offered(), [] as [&str; 0]);
    script.replies(vec![read("b", "x")]);
    assert_eq!(script.results(), results(&[("b", "Not executed: only a text answer is left.")]));
    script.says("As far as I see: 42.");
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Goal);
    assert_eq!(ending.recovered_from, Some(RecoveredFrom::MaxTurns));
    assert_eq!(ending.result, "As far as I see: 42.");
}
