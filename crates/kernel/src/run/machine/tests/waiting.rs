//! What happens while a run waits: approvals, cancellation, failures and retries, news from outside.

use super::*;
use crate::run::{
    ModelFailure, Stage,
    event::Attendance,
    outcome::{RecoveredFrom, Status},
    subagent::SubagentNote,
};

fn transient(message: &str) -> ModelFailure {
    ModelFailure::Transient {
        message: message.to_owned(),
        stage: Stage::Request,
        retry_after: None,
    }
}

#[test]
fn cancellation_ends_the_run_at_once_and_keeps_the_text() {
    let mut script = Script::begin(assignment());
    script.replies(vec![AssistantPart::text("So far."), read("a", "x")]);
    script.returns("a", "text").passes(1000).does(Run::cancelled);
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Aborted);
    assert_eq!((outcome.ending.result.as_str(), outcome.ending.partial), ("So far.", true));
    assert_eq!(outcome.ending.error.as_deref(), Some("cancelled"));
    assert_eq!((outcome.turns_used, outcome.duration_ms), (2, 1000));
}

#[test]
fn time_does_not_pass_while_a_server_asks_the_user() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    let before = script.run.deadline().unwrap();
    // Nobody is asked before a call has begun, nor twice at once.
    assert_eq!(script.does(|run, now| run.server_asks(None, now)), []);
    script.begins("a");
    let asks = script.does(|run, now| run.server_asks(Some("notes".to_owned()), now));
    assert_eq!(asks, [Event::ServerAsks { server: "notes".to_owned() }]);
    assert_eq!(script.does(|run, now| run.server_asks(Some("other".to_owned()), now)), []);
    assert_eq!(script.run.deadline(), None);
    script.passes(5000);
    assert_eq!(script.does(|run, now| run.server_asks(None, now)), [Event::ServerAnswered]);
    assert_eq!(script.run.deadline(), Some(before + Duration::from_secs(5)));
    // A call that ends answers what was still asked.
    script.does(|run, now| run.server_asks(Some("notes".to_owned()), now));
    script.passes(1000);
    let answer = ToolAnswer { text: "text".to_owned(), ..ToolAnswer::default() };
    script.does(|run, now| run.tool_returned(&ToolCallId::new("a"), answer, now));
    assert_eq!(script.run.deadline(), Some(before + Duration::from_secs(6)));
}

#[test]
fn cancellation_answers_for_calls_that_are_under_way() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x"), call("b", "shell", "{}"), read("c", "x")]);
    script.returns("a", "text");
    script.does(|run, now| run.begin_call(&ToolCallId::new("b"), now));
    script.does(Run::cancelled);
    assert_eq!(
        script.results(),
        results(&[
            ("a", "text"),
            ("b", "Stopped: the run was cancelled. Whether it took effect is not known."),
            ("c", "Not executed: the run was cancelled."),
        ])
    );
    assert_eq!(script.outcome().ending.status, Status::Aborted);
}

#[test]
fn cancellation_reaches_runs_that_have_not_begun_and_last_chances() {
    let request = RunRequest { assignment: assignment(), fork: None, guard: guard() };
    let (mut run, _) = Run::new(request).unwrap();
    run.cancelled(Duration::ZERO);
    assert_eq!(run.outcome().unwrap().ending.status, Status::Aborted);
    assert_eq!(run.start(Duration::ZERO), []);

    let mut script = Script::begin(with_limits(|limits| limits.max_turns = 0));
    script.does(Run::cancelled);
    assert_eq!(script.outcome().ending.status, Status::Aborted);
}

#[test]
fn what_had_arrived_of_an_answer_is_kept_when_it_is_cancelled() {
    let mut script = Script::begin(assignment());
    script.does(|run, now| run.reply_cut_off("The answer is", now));
    script.does(Run::cancelled);
    let ending = script.outcome().ending;
    assert_eq!((ending.result.as_str(), ending.partial), ("The answer is", true));
}

#[test]
fn what_had_arrived_of_a_broken_answer_is_kept_once_nobody_tries_again() {
    let broken = || ModelFailure::Transient {
        message: "it broke off".to_owned(),
        stage: Stage::Stream,
        retry_after: None,
    };
    let mut script = Script::begin(assignment());
    for attempt in 1..6 {
        let text = format!("attempt {attempt}");
        let events = script.does(|run, now| run.model_broke_off(&text, broken(), 0.5, now));
        assert!(matches!(events[..], [Event::Retrying { .. }]), "{events:?}");
        script.passes(60_000 / 5);
    }
    script.does(|run, now| run.model_broke_off("The answer is", broken(), 0.5, now));
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.partial), (Status::Error, true));
    assert_eq!(ending.result, "The answer is");
    assert_eq!(ending.error.as_deref(), Some("it broke off (given up after 6 attempts)"));
}

#[test]
fn transient_failures_are_retried_later_and_later() {
    let mut script = Script::begin(assignment());
    let before = script.run.conversation().len();
    for (attempt, not_before) in [(2, 500), (3, 1500), (4, 3500), (5, 7500), (6, 15500)] {
        script.does(|run, now| run.model_failed(transient("529"), 0.5, now));
        let request = script.model_request();
        assert_eq!(request.attempt, attempt);
        assert_eq!(request.not_before, Duration::from_millis(not_before));
        script.now_ms = not_before;
    }
    script.reads("a", "x");
    assert_eq!((script.model_request().attempt, script.run.conversation().len()), (1, before + 2));
    for _ in 0..6 {
        script.does(|run, now| run.model_failed(transient("529"), 0.5, now));
    }
    let outcome = script.outcome();
    assert_eq!(outcome.ending.status, Status::Error);
    assert_eq!(outcome.ending.error.as_deref(), Some("529 (given up after 6 attempts)"));
    assert_eq!(outcome.turns_used, 2);
}

#[test]
fn a_retry_that_would_come_too_late_is_not_made() {
    let mut script = Script::begin(assignment());
    let failure = ModelFailure::Transient {
        message: "429".to_owned(),
        stage: Stage::Request,
        retry_after: Some(Duration::from_mins(1)),
    };
    script.does(|run, now| run.model_failed(failure.clone(), 0.5, now));
    assert_eq!(script.model_request().not_before, Duration::from_mins(1));
    script.passes(60_000).does(|run, now| run.model_failed(failure, 0.5, now));
    let ending = script.outcome().ending;
    assert_eq!(ending.status, Status::Error);
    assert_eq!(ending.error.as_deref(), Some("429 (no time left for another attempt)"));
}

#[test]
fn news_is_read_at_the_next_turn_and_never_between_calls_and_results() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    script.does(|run, now| run.announce("agent-2 is done", now));
    script.returns("a", "text");
    assert_eq!(script.results(), results(&[("a", "text")]));
    assert_eq!(script.last_said(), "agent-2 is done");
    script.does(|run, now| run.announce("agent-3 is done", now));
    assert_eq!(script.last_said(), "agent-3 is done");
}

#[test]
fn a_call_is_begun_once_and_its_time_is_taken() {
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    let id = ToolCallId::new("a");
    script.passes(100);
    assert_eq!(script.does(|run, now| run.begin_call(&id, now)).len(), 1);
    assert_eq!(script.does(|run, now| run.begin_call(&id, now)), []);
    assert_eq!(script.under_way(), ["a"]);
    script.passes(42).returns("a", "text");
    let durations: Vec<_> = script
        .events()
        .filter_map(|event| match event {
            Event::ToolReturned { duration_ms, .. } => Some(*duration_ms),
            _ => None,
        })
        .collect();
    assert_eq!(durations, [Some(42)]);
    script.replies(vec![complete("b", "x")]);
    assert_eq!(script.outcome().tool_uses, 1);
}

#[test]
fn a_clock_that_goes_backwards_does_no_harm() {
    let mut script = Script::begin(assignment());
    script.passes(50_000).reads("a", "x");
    script.now_ms = 10_000;
    script.reads("b", "x");
    script.passes(95_000).reads("c", "x");
    assert_eq!(script.offered(), ["complete_task"]);
}

#[test]
fn what_was_counted_of_a_lost_answer_counts_for_budgets() {
    let counted = Usage { input_tokens: 500, ..Usage::default() };
    let lost = || ModelFailure::Transient {
        message: "it broke off".to_owned(),
        stage: Stage::Stream,
        retry_after: None,
    };
    let limited: [fn(&mut RunLimits); 2] =
        [|limits| limits.max_cost_usd = Some(1.2), |limits| limits.max_tokens = Some(800)];
    for limit in limited {
        let mut script = Script::begin(with_limits(limit));
        script.does(|run, now| run.lost_answer_counted(counted.clone(), Some(0.5), now));
        script.does(|run, now| run.model_failed(lost(), 0.5, now));
        script.passes(60_000).reads("a", "x");
        assert_eq!(script.offered(), ["complete_task"]);
        script.replies(vec![complete("b", "done")]);
        let outcome = script.outcome();
        assert_eq!(outcome.ending.recovered_from, Some(RecoveredFrom::Budget));
        // The lost part of it stays unknown.
        assert_eq!((outcome.usage.input_tokens, outcome.cost_usd), (700, None));
    }
    // Nothing is lost that was not being answered.
    let mut script = Script::begin(assignment());
    script.replies(vec![read("a", "x")]);
    assert_eq!(script.does(|run, now| run.lost_answer_counted(counted, None, now)), []);
}

#[test]
fn what_is_known_of_a_call_that_was_cut_off_is_its_answer() {
    let known = || ToolAnswer { text: "half".to_owned(), is_error: true, ..ToolAnswer::default() };
    for (act, status) in [
        (Run::cancelled as fn(&mut Run, Duration) -> Vec<Event>, Status::Aborted),
        (Run::clock, Status::Timeout),
    ] {
        for both in [true, false] {
            let mut script = Script::begin(assignment());
            script.replies(vec![read("a", "x"), read("b", "y")]);
            script.begins("a");
            script.begins("b");
            script.passes(100_000).does(|run, now| {
                let cut_off = if both { vec!["a", "b", "c"] } else { vec!["a"] };
                let cut_off = cut_off.into_iter().map(|id| (ToolCallId::new(id), known()));
                run.calls_cut_off(cut_off.collect(), now)
            });
            script.does(act);
            assert_eq!(script.results()[0].1, "half");
            assert_eq!(script.results()[1].1 == "half", both);
            if status == Status::Timeout {
                assert_eq!(script.offered(), ["complete_task"]);
                script.says("No.");
            }
            let outcome = script.outcome();
            assert_eq!((outcome.ending.status, outcome.turns_used), (status, 1));
        }
    }
}

fn launches(script: &mut Script, id: &str) {
    let note = SubagentNote::Started {
        agent_id: RunId::new(id),
        name: AgentName::new("helper"),
        description: "help".to_owned(),
        attendance: Attendance::Background,
    };
    script.does(|run, now| run.subagent(note, now));
}

fn ends(script: &mut Script, id: &str) {
    let delivers = vec![RunId::new(id)];
    script.does(|run, now| run.announce_results("It ended: found.", delivers, now));
}

#[test]
fn an_agent_that_hands_in_waits_for_its_background_agents_and_is_told() {
    let mut script = Script::begin(assignment());
    launches(&mut script, "agent-7");
    launches(&mut script, "agent-8");
    script.replies(vec![complete("a", "too early")]);
    assert_eq!(script.run.next_step(), Step::Await);
    assert!(script.results()[0].1.contains("call complete_task again"), "{:?}", script.results());
    ends(&mut script, "agent-7");
    assert_eq!(script.last_said(), "It ended: found.");
    script.replies(vec![complete("b", "still too early")]);
    assert_eq!(script.run.next_step(), Step::Await);
    ends(&mut script, "agent-8");
    script.replies(vec![complete("c", "with what they found")]);
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "with what they found"));
    assert_eq!(ending.recovered_from, None);
}

#[test]
fn background_agents_are_told_of_in_the_last_chance_when_turns_are_used_up() {
    let limited = |agent: Assignment| {
        let limits = RunLimits { max_turns: 1, ..agent.limits };
        Assignment { limits, ..agent }
    };
    for (agent, answers) in [(main_agent(), true), (main_agent(), false), (assignment(), false)] {
        let mut script = Script::begin(limited(agent));
        launches(&mut script, "agent-7");
        if answers {
            script.says("They work.");
        } else {
            script.replies(vec![read("a", "x")]).returns("a", "text");
        }
        assert_eq!(script.run.next_step(), Step::Await);
        ends(&mut script, "agent-7");
        let said = format!("{:?}", script.run.conversation().messages());
        assert!(said.find("It ended: found.") < said.find("All turns are used up"), "{said}");
        match script.run.assignment().finish {
            Finish::TextAnswer => script.says("All of it."),
            Finish::CompleteTask => script.replies(vec![complete("z", "All of it.")]),
        };
        let ending = script.outcome().ending;
        assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "All of it."));
        assert_eq!(ending.recovered_from, Some(RecoveredFrom::MaxTurns));
    }
}

#[test]
fn the_wall_clock_bounds_the_waiting_for_background_agents() {
    for agent in [main_agent(), assignment()] {
        let mut script = Script::begin(agent);
        launches(&mut script, "agent-7");
        match script.run.assignment().finish {
            Finish::TextAnswer => script.says("They work."),
            Finish::CompleteTask => script.replies(vec![complete("a", "They work.")]),
        };
        assert_eq!(script.run.next_step(), Step::Await);
        script.passes(100_000).does(Run::clock);
        ends(&mut script, "agent-7");
        match script.run.assignment().finish {
            Finish::TextAnswer => script.says("What there is."),
            Finish::CompleteTask => script.replies(vec![complete("z", "What there is.")]),
        };
        let ending = script.outcome().ending;
        assert_eq!((ending.status, ending.result.as_str()), (Status::Goal, "What there is."));
        assert_eq!(ending.recovered_from, Some(RecoveredFrom::Timeout));
    }
}

#[test]
fn without_a_last_chance_an_answer_before_its_background_agents_end_is_a_piece() {
    let limits = |limits: &mut RunLimits| limits.grace_period_seconds = 0;
    let agent = Assignment { limits: with_limits(limits).limits, ..main_agent() };
    let mut script = Script::begin(agent);
    launches(&mut script, "agent-7");
    script.says("They work.").passes(100_000).does(Run::clock);
    let ending = script.outcome().ending;
    assert_eq!((ending.status, ending.partial), (Status::Timeout, true));
    assert_eq!(ending.result, "They work.");
    let told = ending.error.unwrap();
    assert!(told.contains("while agents were pending: agent-7 (`attache output ID`"), "{told}");
}

#[test]
fn asking_for_an_agent_that_still_works_is_no_loop() {
    let output = BuiltinTool::TaskOutput;
    let tools = [tool(output, Concurrency::Parallel, Repeatability::Repeatable)];
    let agent = assignment().with_tools(tools.to_vec());
    let agent = Assignment { limits: RunLimits { max_turns: 30, ..agent.limits }, ..agent };
    let mut script = Script::begin(agent);
    launches(&mut script, "agent-7");
    let polls = |script: &mut Script, times: u32| {
        for number in 0..times {
            let id = format!("{number}-{}", script.now_ms);
            let asked = call(&id, "TaskOutput", r#"{"agent_id": "agent-7"}"#);
            script.replies(vec![asked]).returns(&id, "running").passes(1);
        }
    };
    polls(&mut script, 8);
    assert!(!format!("{:?}", script.run.conversation()).contains("in a row"));
    assert!(script.offered().len() > 1, "no last chance");
    ends(&mut script, "agent-7");
    polls(&mut script, 6);
    assert_eq!(script.offered(), ["complete_task"], "it has the answer already");
}

#[test]
fn waiting_for_a_command_is_no_loop() {
    let stdin = BuiltinTool::WriteStdin;
    let tools = [tool(stdin, Concurrency::Exclusive, Repeatability::Once)];
    let agent = assignment().with_tools(tools.to_vec());
    let agent = Assignment { limits: RunLimits { max_turns: 30, ..agent.limits }, ..agent };
    let mut script = Script::begin(agent);
    let writes = |script: &mut Script, times: u32, arguments: &str| {
        for number in 0..times {
            let id = format!("{number}-{}", script.now_ms);
            script.replies(vec![call(&id, "write_stdin", arguments)]);
            script.returns(&id, "[still running]").passes(1);
        }
    };
    writes(&mut script, 8, r#"{"session_id": 1}"#);
    assert!(script.offered().len() > 1, "no last chance");
    writes(&mut script, 6, r#"{"session_id": 1, "chars": "y\n"}"#);
    assert_eq!(script.offered(), ["complete_task"]);
}

#[test]
fn the_clock_stands_while_an_agent_that_is_waited_for_waits_for_an_answer() {
    let clock = |script: &mut Script, stands: bool| {
        let note = SubagentNote::Clock { agent_id: RunId::new("agent-7"), stands };
        script.does(|run, now| run.subagent(note, now));
    };
    // It works on while the agent asks: the time counts.
    let output = tool(BuiltinTool::TaskOutput, Concurrency::Parallel, Repeatability::Repeatable);
    let mut script = Script::begin(main_agent().with_tools(vec![output]));
    launches(&mut script, "agent-7");
    clock(&mut script, true);
    assert!(!script.run.clock_stands());
    script.passes(10_000);
    // It waits for the agent's result.
    script.replies(vec![call("a", "TaskOutput", r#"{"agent_id": "agent-7"}"#)]);
    assert!(!script.run.clock_stands());
    script.begins("a");
    assert!(script.run.clock_stands());
    assert_eq!(script.run.deadline(), None);
    script.passes(1_000_000).returns("a", "it still runs");
    assert!(!script.run.clock_stands());
    assert_eq!(script.run.deadline(), Some(Duration::from_secs(1100)));
    // It has nothing else to do.
    script.says("It works.");
    assert_eq!((script.run.next_step(), script.run.clock_stands()), (Step::Await, true));
    clock(&mut script, false);
    assert!(!script.run.clock_stands());
    clock(&mut script, true);
    script.passes(1_000_000);
    let ended = SubagentNote::Ended {
        agent_id: RunId::new("agent-7"),
        name: AgentName::new("helper"),
        success: true,
    };
    script.does(|run, now| run.subagent(ended, now));
    assert!(!script.run.clock_stands(), "an agent that has ended asks nobody");
    assert_eq!(script.run.deadline(), Some(Duration::from_mins(35)));
}
