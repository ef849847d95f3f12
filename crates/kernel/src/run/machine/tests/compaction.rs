//! Making room: results go first, then all becomes a summary, then turns go; and it always ends.

use super::*;
use crate::run::{
    ModelFailure, Stage,
    event::{Disposition, activity::EventType, compaction::Compaction},
    machine::prose,
    outcome::{RecoveredFrom, Status},
    transcript::{fold, resume},
};

const LONG: usize = 1000;

fn too_long() -> ModelFailure {
    ModelFailure::ContextLength { message: "prompt is too long".to_owned() }
}

fn busy() -> ModelFailure {
    ModelFailure::Transient { message: "529".to_owned(), stage: Stage::Request, retry_after: None }
}

fn with_window(tokens: u64) -> Assignment {
    let mut assignment = assignment();
    assignment.model_limits.context_window = Some(tokens);
    assignment
}

/// A reply that leaves the conversation at so many tokens.
fn at(tokens: u64, content: Vec<AssistantPart>) -> Reply {
    let mut reply = reply(content);
    reply.usage.input_tokens = tokens - reply.usage.output_tokens;
    reply
}

/// A turn of one call, in which a text says what it is for.
fn step(id: &str) -> Vec<AssistantPart> {
    vec![AssistantPart::text(format!("Step {id}. ").repeat(60)), read(id, id)]
}

impl Script {
    fn refuses(&mut self) -> &mut Self {
        self.does(|run, now| run.model_failed(too_long(), 0.5, now));
        self
    }

    /// So many turns whose results are too short to be cut.
    fn steps(&mut self, ids: &[&str]) -> &mut Self {
        for id in ids {
            self.replies(step(id)).returns(id, "text");
        }
        self
    }

    fn summarises(&self) -> bool {
        self.run.state.phase == super::super::state::Phase::Summary
    }

    fn kinds(&self) -> Vec<&'static str> {
        let kind = |event: &Event| match event {
            Event::Compacted(Compaction::Trimmed { .. }) => Some("trimmed"),
            Event::Compacted(Compaction::Summarised { .. }) => Some("summarised"),
            Event::Compacted(Compaction::Dropped { .. }) => Some("dropped"),
            Event::SummaryRequested { .. } => Some("requested"),
            _ => None,
        };
        self.events().filter_map(kind).collect()
    }

    fn told(&self) -> Vec<Message> {
        let messages = self.run.conversation().messages();
        messages.iter().map(|message| (**message).clone()).collect()
    }

    fn last_compaction(&self) -> Compaction {
        let compactions = self.events().filter_map(|event| match event {
            Event::Compacted(compaction) => Some(compaction.clone()),
            _ => None,
        });
        compactions.last().unwrap()
    }
}

/// The turns of a conversation by the id of their call, and whether its result is a stub.
fn turns(script: &Script) -> Vec<(String, bool)> {
    let messages = script.run.conversation().messages().iter();
    messages
        .filter_map(|message| match message.as_ref() {
            Message::Tool { results } => {
                let result = &results[0];
                Some((result.call_id.to_string(), result.text.starts_with("[removed")))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_conversation_that_is_refused_loses_its_oldest_results_first() {
    let mut script = Script::begin(assignment());
    for id in ["a", "b", "c", "d"] {
        script.replies(vec![read(id, id)]).returns(id, &"x".repeat(LONG));
    }
    for cut in [[true, true, false, false], [true, true, true, false], [true; 4]] {
        script.refuses();
        let stubs: Vec<_> = turns(&script).into_iter().map(|(_, stub)| stub).collect();
        assert_eq!(stubs, cut);
        assert!(!script.summarises());
    }
    assert_eq!(script.results(), results(&[("d", prose::STUB_UNREAD)]));
    script.refuses();
    assert!(script.summarises());
    assert_eq!(script.kinds(), ["trimmed", "trimmed", "trimmed", "requested"]);
}

#[test]
fn a_conversation_that_is_nearly_full_loses_results_then_becomes_a_summary() {
    let mut script = Script::begin(with_window(2000));
    let long = "x".repeat(LONG);
    let opening = script.told();
    for (id, tokens, kinds) in [
        ("a", 1300, &[][..]),
        ("b", 1349, &[]),
        // With the 250 tokens of the new result it is at four fifths.
        ("c", 1350, &["trimmed"]),
        ("d", 1300, &["trimmed"]),
        ("e", 1400, &["trimmed", "trimmed"]),
    ] {
        script.answers(at(tokens, vec![read(id, id)])).returns(id, &long);
        assert_eq!(script.kinds(), kinds, "{id}");
    }
    assert_eq!(
        turns(&script).iter().map(|(_, stub)| *stub).collect::<Vec<_>>(),
        [true, true, true, false, false]
    );
    script.steps(&["f"]).answers(at(1900, step("g"))).returns("g", "text");
    script.answers(at(1900, step("h"))).returns("h", "text");
    assert_eq!(script.kinds(), ["trimmed", "trimmed", "trimmed", "trimmed"]);
    let before = script.told();
    script.answers(at(1900, step("i"))).returns("i", "text");
    assert!(script.summarises());
    assert_eq!(script.told().len(), before.len() + 3);
    assert_eq!(script.last_said(), prose::SUMMARISE);
    // What is offered stays: a provider's cache begins with it.
    assert_eq!(script.offered().len(), 4);

    script.says("  All of it. ");
    let summary = Message::user(
        "Summary of the conversation so far, which was removed to save space. Go on from here.\n\n\
         All of it.",
    );
    assert_eq!(script.told(), [&opening[..], &[summary]].concat());
    let compaction = script.last_compaction();
    let Compaction::Summarised { summary, messages_replaced, freed_bytes } = compaction else {
        panic!("{compaction:?}");
    };
    assert_eq!((summary.as_str(), messages_replaced), ("All of it.", 18));
    assert!(freed_bytes > 2000, "{freed_bytes}");
    script.replies(vec![complete("j", "done")]);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Goal);
    assert_eq!(outcome.turns_used, 10);
    assert_eq!((outcome.usage.output_tokens, outcome.cost_usd), (110, Some(2.75)));
}

#[test]
fn a_result_that_cannot_fit_is_not_sent() {
    let mut script = Script::begin(with_window(100_000));
    script.replies(vec![read("a", "x")]).returns("a", &"x".repeat(500_000));
    assert_eq!(script.kinds(), ["trimmed"]);
    assert_eq!(script.results(), results(&[("a", prose::STUB_UNREAD)]));
    // What is short beside it, and what was read, is left alone.
    script.replies(vec![read("b", "y")]).returns("b", &"y".repeat(200_000));
    assert_eq!(script.kinds(), ["trimmed"]);
    script.answers(at(60_000, vec![read("c", "z")])).returns("c", &"z".repeat(200_000));
    assert_eq!(script.kinds(), ["trimmed", "trimmed"]);
    assert_eq!(script.results()[0].1.len(), 200_000);
}

/// A window that is wrong, or an opening that fills it, must not blind the agent.
#[test]
fn what_the_provider_takes_is_not_cut_before_it_is_read() {
    let mut task = with_window(1000);
    task.task = "x".repeat(8000);
    let mut script = Script::begin(task);
    for id in ["a", "b", "c"] {
        script.answers(at(2500, vec![read(id, id)]));
        script.returns(id, &"y".repeat(300));
        assert_eq!(script.results(), results(&[(id, &"y".repeat(300))]));
    }
    assert_eq!(script.kinds(), ["trimmed", "trimmed"]);
}

#[test]
fn images_count_as_what_they_are() {
    let mut script = Script::begin(with_window(10_000));
    script.replies(vec![read("a", "x")]);
    let image = crate::run::message::Image {
        media_type: "image/png".to_owned(),
        data: "A".repeat(1_000_000),
    };
    let output = ToolAnswer { images: vec![image], ..ToolAnswer::default() };
    script.does(|run, now| run.tool_returned(&ToolCallId::new("a"), output, now));
    assert!(script.kinds().is_empty());
}

#[test]
fn no_summary_is_asked_for_twice_or_without_need() {
    // As soon as there is an answer to sum up, and then not before the next.
    let mut script = Script::begin(with_window(1000));
    script.answers(at(900, step("a"))).returns("a", "text");
    assert!(script.summarises());
    script.says("First.");
    assert!(!script.summarises());
    script.answers(at(900, step("b"))).returns("b", "text");
    assert!(script.summarises());
    script.says(&"Second. ".repeat(100));
    assert_eq!(script.told().len(), 3);
    // A thought is recorded and is nothing to sum up.
    let thought =
        AssistantPart::Thinking { text: "hm".to_owned(), signature: None, provider_data: None };
    script.answers(at(900, vec![thought]));
    assert!(!script.summarises());

    // An opening that fills the window cannot be summed up.
    let mut script = Script::begin(with_window(1000));
    script.answers(at(900, vec![read("a", "x")])).returns("a", "text");
    assert!(script.kinds().is_empty());

    // A last chance is not for summaries.
    let mut task = with_window(1000);
    task.limits.max_turns = 1;
    let mut script = Script::begin(task);
    script.answers(at(900, step("a"))).returns("a", "text");
    assert_eq!(script.offered(), ["complete_task"]);
    assert!(script.kinds().is_empty());
}

#[test]
fn a_refused_turn_goes_on_after_its_summary() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 3));
    let opening = script.told();
    script.steps(&["a", "b"]);
    let said = script.told();
    script.refuses();
    assert!(script.summarises());
    // All of it would be refused again: the older half is summed up, and the newer stays as it is.
    let (older, newer) = said.split_at(opening.len() + 2);
    assert_eq!(script.told(), [older, &[Message::user(prose::SUMMARISE)]].concat());
    script.replies(vec![
        AssistantPart::text("Sum."),
        call("x", "shell", "{}"),
        complete("y", "no"),
    ]);
    // Calls are no part of a summary: nothing is executed, and nothing is complete.
    let sum = Message::user(prose::summary("Sum."));
    assert_eq!(script.told(), [&opening[..], &[sum], newer].concat());
    let text = "Not executed: a summary was asked for.".to_owned();
    let answer = Disposition::Answer { text };
    assert!(script.events().any(|event| {
        matches!(event, Event::Replied { dispositions, .. } if *dispositions == [answer.clone(), answer.clone()])
    }));
    assert_eq!(script.offered().len(), 4);
    script.replies(vec![complete("c", "done")]);
    let outcome = script.outcome();
    assert_eq!((outcome.ending.status, outcome.turns_used), (Status::Goal, 3));
    assert_eq!((outcome.tool_uses, outcome.ending.result.as_str()), (2, "done"));
    assert_eq!((outcome.usage.total_tokens(), outcome.cost_usd), (440, Some(1.0)));
}

#[test]
fn a_last_chance_that_is_refused_is_summed_up() {
    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 2));
    script.steps(&["a", "b"]).refuses();
    assert!(script.summarises());
    assert_eq!(script.offered(), ["complete_task"]);
    script.says("Sum.").replies(vec![complete("c", "late")]);
    let ending = script.outcome().ending;
    assert_eq!(ending.recovered_from, Some(RecoveredFrom::MaxTurns));
}

#[test]
fn where_no_summary_can_be_had_the_oldest_turns_go() {
    let call = vec![AssistantPart::text(" "), read("z", "z")];
    for (how, answer) in
        [("nothing", Some(vec![])), ("only a call", Some(call)), ("refused again", None)]
    {
        let mut script = Script::begin(assignment());
        let opening = script.told();
        script.steps(&["a", "b", "c", "d", "e"]).refuses();
        assert!(script.summarises(), "{how}");
        match answer {
            Some(content) => script.replies(content),
            None => script.refuses(),
        };
        let ids = |script: &Script| -> String {
            turns(script).iter().map(|(id, _)| id.as_str()).collect()
        };
        assert_eq!(ids(&script), "de", "{how}");
        let note = Message::user(prose::TURNS_DROPPED);
        assert_eq!(script.told()[..3], [&opening[..], &[note]].concat(), "{how}");
        assert_eq!(script.model_request().attempt, 1);
        // The next refusal needs no second summary, and leaves one note.
        script.refuses();
        assert_eq!((ids(&script).as_str(), script.told().len()), ("e", 5), "{how}");
        script.replies(vec![complete("f", "done")]);
        assert_eq!(script.outcome().ending.status, Status::Goal, "{how}");
        assert_eq!(script.kinds(), ["requested", "dropped", "dropped"], "{how}");
    }
}

#[test]
fn a_summary_that_is_refused_for_another_reason_is_done_without() {
    let fatal = || ModelFailure::Fatal { message: "400: no".to_owned() };
    // In time: the conversation was never refused, so the run goes on, shorter if it can be.
    for (steps, left) in [(&["a"][..], "a"), (&["a", "b", "c", "d"], "cd")] {
        let mut script = Script::begin(with_window(1000));
        let (last, first) = steps.split_last().unwrap();
        for id in first {
            script.answers(at(500, step(id))).returns(id, "text");
        }
        script.answers(at(900, step(last))).returns(last, "text");
        assert!(script.summarises());
        script.does(|run, now| run.model_failed(fatal(), 0.5, now));
        let ids: String = turns(&script).iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, left);
        script.replies(vec![complete("z", "done")]);
        assert_eq!(script.outcome().ending.status, Status::Goal);
    }
    // The conversation itself was refused, and there is nothing to spare.
    let mut script = Script::begin(assignment());
    script.steps(&["a"]).refuses();
    if script.summarises() {
        script.does(|run, now| run.model_failed(fatal(), 0.5, now));
    }
    assert!(!script.summarises());
}

#[test]
fn where_the_provider_counts_nothing_the_size_counts() {
    let uncounted = |content| Reply { usage: Usage::default(), ..reply(content) };
    let mut script = Script::begin(with_window(10_000));
    for id in ["a", "b", "c", "d", "e", "f"] {
        script.answers(uncounted(vec![read(id, id)])).returns(id, &"x".repeat(7000));
    }
    assert!(script.kinds().contains(&"trimmed"), "{:?}", script.kinds());
    // And so do the limits.
    let mut script = Script::begin(with_limits(|limits| limits.max_tokens = Some(12_000)));
    script.answers(uncounted(vec![read("a", "a")])).returns("a", &"x".repeat(12_000));
    assert_eq!(script.offered().len(), 4);
    script.answers(uncounted(vec![read("b", "b")])).returns("b", "text");
    assert_eq!(script.offered().len(), 4);
    script.answers(uncounted(vec![read("c", "c")])).returns("c", "text");
    assert_eq!(script.offered(), ["complete_task"]);
    script.says("no").says("no");
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Budget);
    let told = ending.error.unwrap();
    assert!(told.starts_with("the budget of 12000 tokens does not pay for another turn"), "{told}");
    assert!(told.contains(", by an estimate: the provider does not count them;"), "{told}");
}

#[test]
fn a_summary_in_time_that_fails_leaves_the_newest_turn_alone() {
    let mut script = Script::begin(with_window(1000));
    script.answers(at(900, step("a"))).returns("a", "text");
    let before = script.told();
    script.replies(vec![]);
    let nothing = Compaction::Dropped { turns_dropped: 0, freed_bytes: 0 };
    assert_eq!(script.last_compaction(), nothing);
    assert_eq!(script.told(), before[..before.len() - 1]);
    assert!(!script.summarises());
    script.answers(at(900, step("b"))).returns("b", "text").replies(vec![]);
    assert_eq!(turns(&script), [("b".to_owned(), false)]);
}

#[test]
fn a_summary_that_is_refused_is_asked_for_again_without_the_newest_results() {
    let mut script = Script::begin(with_window(2000));
    script.answers(at(1500, step("a"))).returns("a", &"x".repeat(600));
    assert!(script.summarises());
    script.refuses();
    assert!(script.summarises());
    assert_eq!(script.results(), results(&[("a", prose::STUB_UNREAD)]));
    assert_eq!(script.last_said(), prose::SUMMARISE);
    script.says("Sum.");
    assert_eq!(script.kinds(), ["requested", "trimmed", "summarised"]);
    assert_eq!(script.told().len(), 3);
}

#[test]
fn a_summary_survives_the_turns_that_are_dropped_after_it() {
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b"]).refuses().says("Sum.");
    script.steps(&["c", "d"]).refuses().replies(vec![]);
    let said = script.told();
    assert_eq!(said[2], Message::user(prose::summary("Sum.")));
    assert_eq!(said[3], Message::user(prose::TURNS_DROPPED));
    assert_eq!(turns(&script), [("d".to_owned(), false)]);
}

#[test]
fn a_provider_that_refuses_everything_ends_the_run_with_its_words() {
    for turns in 0..9 {
        let mut script = Script::begin(assignment());
        for turn in 0..turns {
            let id = turn.to_string();
            script.replies(step(&id)).returns(&id, &"x".repeat(LONG));
        }
        let mut calls = 0;
        while !script.run.has_ended() {
            script.refuses();
            calls += 1;
            assert!(calls <= 2 * turns + 2, "{calls} calls after {turns} turns");
        }
        let ending = script.outcome().ending;
        assert_eq!(ending.status, Status::Error);
        assert_eq!(ending.error.as_deref(), Some("prompt is too long"), "{turns}");
    }
    // A model that refuses and then sums up nothing: the same, with the same words.
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b"]).refuses().replies(vec![]).refuses().refuses();
    assert_eq!(script.outcome().ending.error.as_deref(), Some("prompt is too long"));
}

#[test]
fn a_summary_is_retried_like_any_call_and_fails_like_any() {
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b"]);
    script.does(|run, now| run.model_failed(busy(), 0.5, now));
    script.refuses();
    for (attempt, not_before) in [(2, 500), (3, 1500), (4, 3500)] {
        script.does(|run, now| run.model_failed(busy(), 0.5, now));
        let request = script.model_request();
        assert!(script.summarises());
        assert_eq!(request.attempt, attempt);
        assert_eq!(request.not_before, Duration::from_millis(not_before));
        script.now_ms = not_before;
    }
    script.says("Sum.");
    assert_eq!((script.model_request().attempt, script.summarises()), (1, false));
    script.steps(&["c"]).refuses();
    for _ in 0..6 {
        script.does(|run, now| run.model_failed(busy(), 0.5, now));
    }
    let outcome = script.outcome();
    assert_eq!(outcome.ending.error.as_deref(), Some("529 (given up after 6 attempts)"));
    assert_eq!(outcome.turns_used, 4);
}

/// The request for a summary is gone, and the piece that arrived is nobody's answer.
#[test]
fn a_summary_can_be_cancelled_and_run_out_of_time() {
    for refused in [true, false] {
        let window = if refused { 100_000 } else { 1000 };
        let begun = || {
            let mut script = Script::begin(with_window(window));
            if refused {
                script.steps(&["z"]);
            }
            script.answers(at(900, step("a"))).returns("a", "text");
            let mut said = script.told();
            if refused {
                script.refuses();
            } else {
                said.pop();
            }
            assert!(script.summarises());
            (script, said)
        };
        let (mut script, said) = begun();
        assert_eq!(script.does(|run, now| run.reply_cut_off("The task wa", now)), []);
        script.does(Run::cancelled);
        let ending = script.outcome().ending;
        assert_eq!(ending.status, Status::Aborted);
        assert!(ending.partial && ending.result.starts_with("Step a."), "{ending:?}");
        assert_eq!(script.told(), said);

        let (mut script, said) = begun();
        assert_eq!(script.run.deadline(), Some(Duration::from_secs(100)));
        assert_eq!(script.does(Run::clock), []);
        script.passes(100_000).does(Run::clock);
        assert_eq!(script.offered(), ["complete_task"]);
        assert!(script.last_said().starts_with("The time is up."));
        assert_eq!(script.told()[..said.len()], said);
        assert_eq!(script.told().len(), said.len() + 1);
        script.replies(vec![complete("b", "late")]);
        let outcome = script.outcome();
        assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::Timeout));
        assert_eq!(outcome.turns_used, if refused { 3 } else { 1 });
        let turns: Vec<_> = script
            .events()
            .filter_map(|event| match event {
                Event::TurnStarted { turn, .. } => Some(('+', *turn)),
                Event::TurnCompleted { turn, .. } => Some(('-', *turn)),
                _ => None,
            })
            .collect();
        let expected: Vec<_> =
            (1..=outcome.turns_used + 1).flat_map(|turn| [('+', turn), ('-', turn)]).collect();
        assert_eq!(turns, expected);
    }
}

#[test]
fn what_a_summary_costs_counts_towards_the_budget() {
    let mut task = with_window(1000);
    task.limits.max_tokens = Some(3000);
    let mut script = Script::begin(task);
    script.answers(at(900, step("a"))).returns("a", "text");
    script.answers(at(1900, vec![AssistantPart::text("Sum.")]));
    assert_eq!(script.offered(), ["complete_task"]);
    script.replies(vec![complete("b", "x")]);
    assert_eq!(script.outcome().ending.recovered_from, Some(RecoveredFrom::Budget));
}

#[test]
fn news_that_comes_during_a_summary_is_not_lost_in_it() {
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b"]).refuses();
    script.does(|run, now| run.announce("agent-2 is done", now));
    assert_eq!(script.last_said(), prose::SUMMARISE);
    let killed = resumed(&script, "Go on.");
    let said = killed.told();
    let end = [Message::user("agent-2 is done"), Message::user("Go on.")];
    assert_eq!(said[said.len() - 2..], end);
    assert!(!said.contains(&Message::user(prose::SUMMARISE)));
    script.says("Sum.");
    assert_eq!(script.last_said(), "agent-2 is done");
    assert_eq!(script.told().len(), 6);
    let mut script = Script::begin(with_window(1000));
    script.answers(at(900, step("a"))).returns("a", "text");
    script.does(|run, now| run.announce("agent-2 is done", now));
    script.says("Sum.");
    assert_eq!(script.last_said(), "agent-2 is done");
    assert_eq!(script.told().len(), 4);
}

fn resumed(script: &Script, task: &str) -> Script {
    let lines = script.lines.clone();
    Script::begun(resume(lines, RunId::new("agent-2"), task, guard()).unwrap())
}

#[test]
fn a_run_that_was_summed_up_goes_on_with_the_short_conversation() {
    let mut script = Script::begin(with_window(1000));
    let opening = script.told();
    script.answers(at(900, step("a"))).returns("a", "text").says("First sum.");
    script.steps(&["b"]).replies(vec![complete("c", "done")]);
    let mut second = resumed(&script, "And now?");
    let said = script.told();
    assert_eq!(said.len(), opening.len() + 1 + 4);
    let task = Message::user("And now?");
    assert_eq!(second.told(), [&said[..], std::slice::from_ref(&task)].concat());
    // What it began with and the new task stay, everything between and after them does not.
    second.answers(at(900, step("d"))).returns("d", "text").says("Second sum.");
    let sum = Message::user(prose::summary("Second sum."));
    let expected = [&opening[..], &[task.clone(), sum]].concat();
    assert_eq!(second.told(), expected);
    second.steps(&["e"]).replies(vec![complete("f", "done again")]);
    let said = second.told();
    let mut third = resumed(&second, "Once more.");
    // Not even the first call goes through: the older part of what the earlier runs did is summed up.
    third.refuses();
    assert!(third.summarises());
    third.says("Third sum.");
    let sum = Message::user(prose::summary("Third sum."));
    let newest = &said[said.len() - 2..];
    let last = [Message::user("Once more.")];
    assert_eq!(third.told(), [&opening[..], &[task, sum], newest, &last].concat());
    third.steps(&["g"]).refuses().says("Fourth sum.");
    assert_eq!(third.told()[opening.len() + 1], last[0]);
}

#[test]
fn the_task_stays_wherever_it_is_when_turns_are_dropped() {
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b", "c", "d"]).replies(vec![complete("e", "done")]);
    let mut second = resumed(&script, "And now?");
    let task = Message::user("And now?");
    let place = |script: &Script| script.told().iter().position(|message| *message == task);
    assert_eq!(place(&second), Some(12));
    second.steps(&["f"]).refuses().replies(vec![]);
    assert_eq!(turns(&second).len(), 3);
    assert_eq!(place(&second), Some(7));
    second.refuses();
    assert_eq!(turns(&second).len(), 1);
    assert_eq!(place(&second), Some(3));
    second.refuses();
    assert_eq!((turns(&second).len(), place(&second)), (0, Some(3)));
    second.refuses();
    assert_eq!(second.outcome().ending.error.as_deref(), Some("prompt is too long"));
}

/// Cut off anywhere, also between a summary's request, its answer and its taking effect.
#[test]
fn a_run_cut_off_in_a_summary_takes_it_up_again() {
    let mut script = Script::begin(with_window(1000));
    script.answers(at(900, step("a"))).returns("a", "text");
    script.says("Sum.");
    let at_kind = |wanted: fn(&Event) -> bool| {
        script.lines.iter().position(|line| match line {
            Line::Event(entry) => wanted(&entry.event),
            Line::Header(_) => false,
        })
    };
    let request = at_kind(|event| matches!(event, Event::SummaryRequested { .. })).unwrap();
    let effect = at_kind(|event| matches!(event, Event::Compacted(_))).unwrap();
    assert_eq!(effect, request + 2);
    // Before the request it is decided again, after it the model is asked again.
    for cut in [request, request + 1] {
        let mut run = fold(script.lines[..cut].to_vec()).unwrap().with_guard(guard());
        if cut == request {
            assert_eq!(run.next_step(), Step::TakeOver);
            run.taken_over(Duration::ZERO);
        }
        let Step::CallModel(request) = run.next_step() else {
            panic!("the model is not called");
        };
        let last = request.messages.messages().last().unwrap();
        assert_eq!(**last, Message::user(prose::SUMMARISE));
        run.model_replied(reply(vec![AssistantPart::text("Sum.")]), Duration::ZERO);
        assert_eq!(run, script.run);
    }
    // After the answer nothing is asked again.
    let mut run = fold(script.lines[..effect].to_vec()).unwrap();
    assert_eq!(run.next_step(), Step::TakeOver);
    run.taken_over(Duration::ZERO);
    assert_eq!(run, script.run);
    let mut stopped = fold(script.lines[..effect].to_vec()).unwrap();
    stopped.cancelled(Duration::ZERO);
    assert_eq!(stopped.outcome().unwrap().ending.status, Status::Aborted);
}

#[test]
fn events_of_a_summary_fit_only_where_one_is_due() {
    let mut script = Script::begin(assignment());
    script.steps(&["a", "b"]).refuses().says("Sum.");
    let without = |wanted: fn(&Event) -> bool| {
        let lines = script.lines.iter().filter(|line| match line {
            Line::Event(entry) => !wanted(&entry.event),
            Line::Header(_) => true,
        });
        fold(lines.cloned().collect::<Vec<_>>())
    };
    without(|event| matches!(event, Event::SummaryRequested { .. })).unwrap_err();
    let answer = |event: &Event| match event {
        Event::Replied { message, .. } => message.calls().count() == 0,
        _ => false,
    };
    without(answer).unwrap_err();
}

#[test]
fn watchers_are_told_what_went() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "a")]).returns("a", &"x".repeat(LONG));
    script.refuses().steps(&["b", "c"]).refuses();
    for chunk in [
        Event::TextChunk { text: "The ta".to_owned() },
        Event::ThoughtChunk { text: "hm".to_owned() },
    ] {
        assert_eq!(script.run.observed(chunk.clone(), 1, ""), None);
    }
    script.says("Sum.").steps(&["d", "e"]).refuses().replies(vec![]);
    let chunk = Event::TextChunk { text: "I see".to_owned() };
    assert!(script.run.observed(chunk, 1, "").is_some());
    let shown =
        script.events().filter_map(|event| script.run.observed(event.clone(), 1, "")?.activity());
    let told: Vec<_> = shown
        .filter(|activity| activity.event_type == EventType::Compacted)
        .map(|activity| Value::Object(activity.data))
        .collect();
    let step_bytes = 60 * "Step b. ".len() + "read_file".len() + "{\"path\":\"b\"}".len() + 4;
    let first_bytes = "read_file".len() + "{\"path\":\"a\"}".len() + prose::STUB_UNREAD.len();
    assert_eq!(
        told,
        [
            json!({"kind": "trimmed", "results_removed": 1, "freed_bytes": 1000}),
            json!({"kind": "summarised", "summary": "Sum.", "messages_replaced": 2,
                "freed_bytes": first_bytes}),
            json!({"kind": "dropped", "turns_dropped": 2, "freed_bytes": 2 * step_bytes}),
        ]
    );
}

#[test]
fn a_compaction_without_a_kind_is_a_trimming() {
    let old = r#"{"type":"event","seq":9,"ts":"","at_ms":0,"event":{"type":"compacted","call_ids":["a"],"freed_bytes":7}}"#;
    let Line::Event(entry) = Line::parse(old).unwrap() else {
        panic!("no event");
    };
    let call_ids = vec![ToolCallId::new("a")];
    assert_eq!(entry.event, Event::Compacted(Compaction::Trimmed { call_ids, freed_bytes: 7 }));
    assert_eq!(
        serde_json::to_value(&entry.event).unwrap(),
        json!({"type": "compacted", "kind": "trimmed", "call_ids": ["a"], "freed_bytes": 7})
    );
}
