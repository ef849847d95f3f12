//! Whatever a model, its tools, the clock and the user do: the run ends within its limits, its
//! conversation stays whole, its sums are right, and its transcript makes it again at every line.

use proptest::prelude::*;

use super::*;
use crate::{
    agent::definition::OutputConfig,
    model::usage::Cost,
    run::{
        ModelFailure, Stage,
        conversation::{Conversation, work},
        event::Attendance,
        state::Phase,
        subagent::SubagentNote,
        transcript::fold,
    },
};

#[derive(Debug, Clone)]
enum Act {
    Reply(Reply),
    Return {
        which: usize,
        long: bool,
    },
    Start {
        which: usize,
    },
    Begin,
    Decide {
        decision: ApprovalDecision,
    },
    Fail(ModelFailure),
    Passes(u64),
    CutOff,
    Announce,
    /// A background agent begins.
    Delegate(usize),
    /// The result of a background agent is told.
    Deliver(usize),
    /// The tree has this many tokens left for the run.
    SpendTree(u64),
    Cancel,
}

fn part() -> impl Strategy<Value = AssistantPart> {
    let id = prop::sample::select(vec!["", "a", "b", "c", "a-2"]);
    let name = prop::sample::select(vec![
        "read_file",
        "Read",
        "shell",
        "write_file",
        "nothing",
        "complete_task",
    ]);
    let arguments = prop::sample::select(vec![
        "{}",
        "{\"path\":\"x\"}",
        "{\"path\":\"y\"}",
        "{\"command\":\"rm x\"}",
        "{\"command\":\"make\"}",
        "{\"command\":\"make all\"}",
        "{\"result\":\"done\"}",
        "{\"result\":{\"score\":1}}",
        "{\"result\":\"\"}",
        "{\"result\":\"cut",
        "[]",
        "",
    ]);
    prop_oneof![
        2 => prop::sample::select(vec!["", " ", "I see."]).prop_map(AssistantPart::text),
        1 => Just(AssistantPart::Thinking {
            text: "hm".to_owned(),
            signature: Some("s".to_owned()),
            provider_data: None,
        }),
        5 => (id, name, arguments).prop_map(|(id, name, arguments)| call(id, name, arguments)),
    ]
}

fn replies() -> impl Strategy<Value = Reply> {
    let stop = prop::sample::select(vec![StopReason::EndTurn, StopReason::Length]);
    let cost = prop_oneof![Just(None), (0.0..1.0f64).prop_map(Some)];
    (prop::collection::vec(part(), 0..4), stop, 0..500u64, cost).prop_map(
        |(content, stop, tokens, cost_usd)| Reply {
            content,
            stop,
            usage: Usage {
                input_tokens: tokens,
                output_tokens: tokens / 3,
                cache_read_input_tokens: tokens / 2,
                ..Usage::default()
            },
            cost_usd,
        },
    )
}

fn act() -> impl Strategy<Value = Act> {
    let failure = prop_oneof![
        4 => Just(ModelFailure::Transient { message: "529".to_owned(), stage: Stage::Stream, retry_after: None }),
        4 => Just(ModelFailure::ContextLength { message: "too long".to_owned() }),
        1 => Just(ModelFailure::Fatal { message: "401".to_owned() }),
    ];
    let decision = prop::sample::select(vec![
        ApprovalDecision::ApprovedOnce,
        ApprovalDecision::ApprovedOnce,
        ApprovalDecision::ApprovedForSession,
        ApprovalDecision::Denied,
        ApprovalDecision::Aborted,
    ]);
    prop_oneof![
        12 => replies().prop_map(Act::Reply),
        12 => (0..4usize, any::<bool>()).prop_map(|(which, long)| Act::Return { which, long }),
        3 => (0..4usize).prop_map(|which| Act::Start { which }),
        4 => Just(Act::Begin),
        4 => decision.prop_map(|decision| Act::Decide { decision }),
        5 => failure.prop_map(Act::Fail),
        4 => (0..6000u64).prop_map(Act::Passes),
        1 => Just(Act::CutOff),
        1 => Just(Act::Announce),
        2 => (0..3usize).prop_map(Act::Delegate),
        2 => (0..3usize).prop_map(Act::Deliver),
        1 => (0..2000u64).prop_map(Act::SpendTree),
        1 => Just(Act::Cancel),
    ]
}

fn assignments() -> impl Strategy<Value = Assignment> {
    (
        (0..6u32, 0..20u32, 0..4u32),
        prop::option::of(0..2000u64),
        prop::option::of(0.0..3.0f64),
        prop::option::of(100..1000u64),
        (any::<bool>(), any::<bool>()),
    )
        .prop_map(|((turns, seconds, grace), tokens, cost, window, (main, schema))| {
            let mut assignment = with_limits(|limits| {
                *limits = RunLimits {
                    max_turns: turns,
                    max_time_seconds: seconds,
                    grace_period_seconds: grace,
                    max_tokens: tokens,
                    max_cost_usd: cost,
                    ..*limits
                };
            });
            assignment.model_limits.context_window = window;
            if main {
                assignment.finish = Finish::TextAnswer;
            }
            if schema {
                Arc::make_mut(&mut assignment.definition).output_config = Some(OutputConfig {
                    output_name: "result".to_owned(),
                    description: String::new(),
                    schema: json!({"type": "object", "required": ["score"]}),
                });
            }
            assignment
        })
}

/// The script, and what the test knows about it without asking the run.
struct Play {
    script: Script,
    opening: Vec<Arc<Message>>,
    replies: usize,
    summaries: usize,
    failures: usize,
    usage: Usage,
    cost: Cost,
    transitions: Vec<(usize, Duration)>,
}

impl Play {
    fn new(assignment: Assignment) -> Self {
        let script = Script::begin(assignment);
        Self {
            opening: opening_of(&script),
            replies: 0,
            summaries: 0,
            failures: 0,
            usage: Usage::default(),
            cost: Cost::default(),
            transitions: vec![(1, Duration::ZERO), (2, Duration::ZERO)],
            script,
        }
    }

    fn feed(&mut self, feed: impl FnOnce(&mut Run, Duration) -> Vec<Event>) {
        self.transitions.push((self.script.lines.len(), self.script.now()));
        self.script.does(feed);
        assert_whole(&self.script.run);
        let messages = self.script.run.conversation().messages();
        assert_eq!(messages[..self.opening.len()], self.opening);
    }

    fn open_id(&self, which: usize) -> ToolCallId {
        let open = self.script.open();
        ToolCallId::new(open.get(which % open.len().max(1)).map_or("a", String::as_str))
    }

    fn act(&mut self, act: Act) {
        let phase = self.script.run.state.phase;
        let model = matches!(phase, Phase::Model | Phase::Summary);
        match act {
            Act::Reply(reply) => {
                if model {
                    self.replies += usize::from(phase == Phase::Model);
                    self.summaries += usize::from(phase == Phase::Summary);
                    self.usage.add(&reply.usage);
                    self.cost.add(reply.cost_usd);
                }
                self.feed(|run, now| run.model_replied(reply, now));
            }
            Act::Return { which, long } => {
                let id = self.open_id(which);
                let output = ToolAnswer {
                    text: if long { "x".repeat(300) } else { "text".to_owned() },
                    ..ToolAnswer::default()
                };
                self.feed(|run, now| run.begin_call(&id, now));
                self.feed(|run, now| run.tool_returned(&id, output, now));
            }
            Act::Start { which } => {
                let id = self.open_id(which);
                self.feed(|run, now| run.begin_call(&id, now));
            }
            Act::Begin => {
                // One by one: what begins together is no single decision.
                for id in self.script.open() {
                    self.feed(|run, now| run.begin_call(&ToolCallId::new(id), now));
                }
            }
            Act::Decide { decision } => {
                if let Step::Ask(question) = self.script.run.next_step() {
                    let (id, words) = (question.request_id, Some("words".to_owned()));
                    self.feed(|run, now| run.approval_answered(&id, decision, words, now));
                }
            }
            Act::Fail(failure) => {
                self.failures += usize::from(model);
                self.feed(|run, now| run.model_failed(failure, 0.5, now));
            }
            Act::Passes(milliseconds) => {
                self.script.passes(milliseconds);
                self.feed(Run::clock);
            }
            Act::CutOff => self.feed(|run, now| run.reply_cut_off("So f", now)),
            Act::Announce => self.feed(|run, now| run.announce("news", now)),
            Act::Delegate(which) => self.feed(|run, now| {
                let note = SubagentNote::Started {
                    agent_id: child(which),
                    name: AgentName::new("helper"),
                    description: "help".to_owned(),
                    attendance: Attendance::Background,
                };
                run.subagent(note, now)
            }),
            Act::Deliver(which) => {
                self.feed(|run, now| run.announce_results("done", vec![child(which)], now));
            }
            Act::SpendTree(tokens) => {
                let left = TreeAllowance { tokens: Some(tokens), cost_usd: None };
                self.feed(|run, now| run.tree_budget_spent(left, now));
            }
            // Every other time only the turn is stopped.
            Act::Cancel if self.script.events().count().is_multiple_of(2) => {
                self.feed(Run::turn_stopped);
            }
            Act::Cancel => self.feed(Run::cancelled),
        }
    }

    /// Every question is answered with yes, and every call returns.
    fn let_calls_return(&mut self, long: bool) {
        loop {
            match self.script.run.next_step() {
                Step::Ask(_) => {
                    self.act(Act::Decide { decision: ApprovalDecision::ApprovedOnce });
                }
                Step::BeginCalls => {
                    self.script.does(Run::begin_calls);
                }
                Step::CallTools(calls) => {
                    let id = calls[0].id.clone();
                    let text = if long { "x".repeat(300) } else { "text".to_owned() };
                    let answer = ToolAnswer { text, ..ToolAnswer::default() };
                    self.feed(|run, now| run.tool_returned(&id, answer, now));
                }
                Step::Start
                | Step::TakeOver
                | Step::CallModel(_)
                | Step::Await
                | Step::Finished(_) => return,
            }
        }
    }

    /// A run that waits for its background agents is told of each.
    fn let_background_agents_end(&mut self) {
        while self.script.run.next_step() == Step::Await {
            let agents = self.script.run.background().cloned().collect();
            self.feed(|run, now| run.announce_results("done", agents, now));
        }
    }

    /// The model goes on with the same answers over and over; tools return.
    fn go_on(&mut self, answers: &[Reply]) {
        for answer in answers.iter().cycle().take(100) {
            match self.script.run.next_step() {
                Step::CallModel(_) => self.act(Act::Reply(answer.clone())),
                Step::Ask(_) | Step::BeginCalls | Step::CallTools(_) => {
                    self.let_calls_return(false);
                }
                Step::Await => self.let_background_agents_end(),
                Step::Finished(_) => return,
                step @ (Step::Start | Step::TakeOver) => panic!("{step:?}"),
            }
        }
        panic!("the run does not end");
    }
}

fn child(which: usize) -> RunId {
    RunId::new(format!("agent-{which}"))
}

/// What must stay at the beginning of the conversation, word for word.
fn opening_of(script: &Script) -> Vec<Arc<Message>> {
    let opened = script.events().find_map(|event| match event {
        Event::Opened { messages, opening, .. } => Some((messages, opening)),
        _ => None,
    });
    let (messages, opening) = opened.unwrap();
    let opening = opening.map_or(messages.len(), |opening| usize::try_from(opening).unwrap());
    messages[..opening].to_vec()
}

/// Every call is answered once, in order, before the model speaks again.
fn assert_whole(run: &Run) {
    for conversation in [run.conversation(), &run.state.conversation] {
        assert_all_answered(conversation, run.state.phase);
    }
}

fn assert_all_answered(conversation: &Conversation, phase: Phase) {
    let mut messages = conversation.messages().iter().peekable();
    assert!(matches!(**messages.next().unwrap(), Message::System { .. }));
    let mut ids = std::collections::BTreeSet::new();
    while let Some(message) = messages.next() {
        let called: Vec<_> = message.calls().map(|call| call.id.clone()).collect();
        for id in &called {
            assert!(!id.as_str().is_empty() && ids.insert(id.clone()), "{id} is taken");
        }
        let answered: Vec<_> = match messages.peek().map(AsRef::as_ref) {
            Some(Message::Tool { results }) => {
                results.iter().map(|result| result.call_id.clone()).collect()
            }
            Some(_) | None => Vec::new(),
        };
        match message.as_ref() {
            Message::System { .. } => panic!("instructions in the middle"),
            Message::Assistant { content } => assert!(!content.is_empty()),
            Message::User { .. } | Message::Tool { .. } => {}
        }
        if messages.peek().is_none() && phase == Phase::Tools {
            assert!(!called.is_empty());
        } else {
            assert_eq!(called, answered);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_within_its_limits(
        assignment in assignments(),
        acts in prop::collection::vec(act(), 0..40),
        answers in prop::collection::vec(replies(), 1..4),
    ) {
        let max_turns = usize::try_from(assignment.limits.max_turns).unwrap();
        let mut play = Play::new(assignment);
        for act in acts {
            play.act(act);
        }
        play.go_on(&answers);

        let outcome = play.script.outcome();
        prop_assert!(play.replies <= max_turns + 2);
        prop_assert!(play.summaries <= play.replies);
        prop_assert!(usize::try_from(outcome.turns_used).unwrap() <= max_turns);
        prop_assert_eq!(&outcome.usage, &play.usage);
        // Whatever was begun and lost was paid for, and nobody knows how much.
        let may_be_lost = |event: &Event| match event {
            Event::Retrying { answer_lost, .. } | Event::Failed { answer_lost, .. } => *answer_lost,
            event => matches!(event, Event::TimeUp { .. } | Event::Cancelled { .. }),
        };
        match outcome.cost_usd {
            Some(cost) => prop_assert_eq!(Some(cost), play.cost.usd()),
            None => prop_assert!(
                play.cost.usd().is_none() || play.script.events().any(may_be_lost)
            ),
        }
        let ends = play.script.events().filter(|event| matches!(event, Event::Ended { .. }));
        prop_assert_eq!(ends.count(), 1);
        let goal = outcome.ending.status == crate::run::outcome::Status::Goal;
        prop_assert_eq!(outcome.ending.error.is_none(), goal);
        prop_assert!(goal || outcome.ending.recovered_from.is_none());
        prop_assert!(!(goal && outcome.ending.partial));
    }

    /// No request is sent that a cap cannot pay for, so a cap is exceeded by one answer at most, and by
    /// no more than that answer was longer than expected.
    #[test]
    fn a_cap_is_exceeded_only_by_what_one_answer_was_longer_than_expected(
        mut assignment in assignments(),
        cap in 0..6000u64,
        acts in prop::collection::vec(act(), 0..40),
        answers in prop::collection::vec(replies(), 1..4),
    ) {
        assignment.limits.max_tokens = Some(cap);
        let mut play = Play::new(assignment);
        let mut longer = 0;
        // What arrives while the model answers is not in the request that it answers.
        let mut arrived_amid = false;
        let mut expected = 0;
        let mut all = acts.into_iter().chain(answers.iter().cycle().take(100).cloned().map(Act::Reply));
        while let (Some(act), false) = (all.next(), play.script.run.has_ended()) {
            play.let_calls_return(false);
            let state = &play.script.run.state;
            let is_asked = matches!(state.phase, Phase::Model | Phase::Summary);
            let spent = state.tokens_spent();
            if is_asked && !arrived_amid {
                expected = play.script.run.expected_tokens();
                prop_assert!(spent + expected <= cap, "{spent} and {expected} of {cap}");
            }
            let is_reply = matches!(act, Act::Reply(_));
            let arrives = matches!(act, Act::Announce | Act::Deliver(_));
            play.act(act);
            let is_still_asked = matches!(play.script.run.state.phase, Phase::Model | Phase::Summary);
            arrived_amid = (arrived_amid || arrives) && is_asked && !is_reply && is_still_asked;
            let used = play.script.run.state.tokens_spent() - spent;
            if is_asked && is_reply {
                longer = longer.max(used.saturating_sub(expected));
            }
        }
        let spent = play.script.run.state.tokens_spent();
        prop_assert!(spent <= cap + longer, "{spent} of {cap}, {longer} longer than expected");
    }

    /// Whatever a conversation has come to, each refusal makes it shorter.
    #[test]
    fn every_run_ends_when_its_provider_takes_nothing_more(
        assignment in assignments(),
        acts in prop::collection::vec(act(), 0..40),
    ) {
        let mut play = Play::new(assignment);
        for act in acts {
            play.act(act);
        }
        play.let_calls_return(true);
        play.let_background_agents_end();
        let parts = |message: &Arc<Message>| match message.as_ref() {
            Message::Tool { results } => results.len(),
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => 1,
        };
        let most: usize = play.script.run.conversation().messages().iter().map(parts).sum();
        let mut calls = 0;
        while !play.script.run.has_ended() {
            let message = "too long".to_owned();
            play.act(Act::Fail(ModelFailure::ContextLength { message }));
            calls += 1;
            prop_assert!(calls <= most + 2, "{} calls", calls);
        }
    }

    #[test]
    fn every_first_part_of_a_transcript_makes_the_run_of_that_moment(
        assignment in assignments(),
        acts in prop::collection::vec(act(), 0..25),
    ) {
        let mut play = Play::new(assignment);
        for act in acts {
            play.act(act);
        }
        let lines = &play.script.lines;
        let mut ends = play.transitions.iter().skip(1).map(|(start, _)| *start).collect::<Vec<_>>();
        ends.push(lines.len());
        for ((start, now), end) in play.transitions.iter().zip(ends) {
            // Whatever was decided after the first event is decided again from any point on.
            for cut in start + 1..=end {
                let mut run = fold(lines[..cut].to_vec()).unwrap();
                let written = lines[cut..end].iter().map(|line| match line {
                    Line::Event(entry) => entry.event.clone(),
                    Line::Header(_) => panic!("a second header"),
                });
                prop_assert_eq!(run.settle(*now), written.collect::<Vec<_>>());
                prop_assert_eq!(&run, &fold(lines[..end].to_vec()).unwrap());
            }
        }
        prop_assert_eq!(&fold(lines.clone()).unwrap(), &play.script.run);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn every_first_part_of_a_transcript_can_be_resumed(
        assignment in assignments(),
        acts in prop::collection::vec(act(), 0..25),
        answers in prop::collection::vec(replies(), 1..4),
    ) {
        let mut play = Play::new(assignment);
        for act in acts {
            play.act(act);
        }
        let lines = play.script.lines.clone();
        for cut in (1..=lines.len()).step_by(1 + lines.len() / 8) {
            let run = fold(lines[..cut].to_vec()).unwrap();
            let next = run.assignment().resumed_as(RunId::new("agent-2"), "Go on.");
            let (resumed, opened) = run.resume(next, guard()).unwrap();
            let has_open_calls =
                matches!(&opened[..], [Event::Opened { reopened: Some(_), .. }]);
            if !has_open_calls {
                assert_whole(&resumed);
            }
            let mut play = Play::new(assignment_of_nothing());
            play.script = Script::begun((resumed, opened));
            play.opening = opening_of(&play.script);
            play.go_on(&answers);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    /// Whatever was under way, asked about or approved: a run that is taken over makes no call that the
    /// guard of now refuses.
    #[test]
    fn a_run_that_is_taken_over_makes_no_call_that_is_refused_now(
        assignment in assignments(),
        acts in prop::collection::vec(act(), 0..25),
    ) {
        let mut play = Play::new(assignment);
        for act in acts {
            play.act(act);
        }
        let lines = play.script.lines.clone();
        for cut in 1..=lines.len() {
            let mut run = fold(lines[..cut].to_vec()).unwrap().with_guard(refusing());
            let now = run.last_moment();
            let mut steps = 0;
            while let step @ (Step::TakeOver | Step::BeginCalls | Step::Ask(_)) = run.next_step() {
                let events = match step {
                    Step::TakeOver => run.taken_over(now),
                    _ => run.begin_calls(now),
                };
                let begins = |event: &Event| {
                    matches!(event, Event::ToolStarted { .. } | Event::ApprovalRequested { .. })
                };
                prop_assert!(!events.iter().any(begins), "{events:?}");
                steps += 1;
                prop_assert!(steps < 50, "{:?}", run.next_step());
            }
            prop_assert!(!matches!(run.next_step(), Step::CallTools(_)));
        }
    }
}

fn assignment_of_nothing() -> Assignment {
    with_limits(|limits| limits.max_turns = 0)
}

/// Drives so many turns and gives how many messages were looked at or moved.
fn work_of(turns: u32) -> usize {
    let request = RunRequest {
        assignment: with_limits(|limits| limits.max_turns = u32::MAX),
        fork: None,
        guard: guard(),
    };
    let (mut run, _) = Run::new(request).unwrap();
    let now = Duration::ZERO;
    run.start(now);
    let before = work::TOUCHED.get();
    for turn in 0..turns {
        let Step::CallModel(request) = run.next_step() else {
            panic!("the model is called");
        };
        drop(request);
        run.model_replied(reply(vec![read("same", &turn.to_string())]), now);
        for event in run.begin_calls(now) {
            run.observed(event, 1, "").unwrap().activity().unwrap();
        }
        let Step::CallTools(calls) = run.next_step() else {
            panic!("a tool is called");
        };
        let events = run.tool_returned(&calls[0].id, ToolAnswer::default(), now);
        for event in &events {
            run.observed(event.clone(), 1, "").and_then(|event| event.activity());
        }
    }
    work::TOUCHED.get() - before
}

#[test]
fn a_turn_costs_no_more_in_a_long_run_than_in_a_short_one() {
    let short = work_of(100);
    assert!(short < 100 * 10, "{short} messages in a hundred turns");
    assert_eq!(work_of(10_000), short * 100);
}

#[test]
fn the_parts_of_a_run_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Run>();
    check::<Step>();
    check::<Event>();
    check::<RunRequest>();
    check::<Line>();
}
