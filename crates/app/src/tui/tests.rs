//! Screens from recorded events: the conversation, agents in every phase, many agents, questions.

use std::{path::Path, sync::Arc};

use attache_kernel::{
    agent::definition::Definition,
    id::{AgentName, QuestionId, RunId, ToolCallId},
    model::usage::Usage,
    rights::tool_name::BuiltinTool,
    run::{
        assignment::{Assignment, Finish},
        event::{
            Event, Progress, StopReason,
            observed::{Detail, RunEvent},
        },
        message::{AssistantPart, Message, ToolCall, ToolResult},
        outcome::{Ending, RecoveredFrom, Status},
    },
};
use attache_runtime::internal::{approvals::Question, store::RunState};
use attache_testkit::{assignment::assignment_of, golden};
use ratatui::layout::Size;
use serde_json::{Value, json};

use super::{
    state::{
        Offer, State,
        page::{ListKind, ListPage, Page, TextPage},
        question::{Asked, Stage},
        session::Session,
    },
    theme::Theme,
    view::{self, Moment},
};
use crate::print::palette::Colours;

/// The moment at which screens are drawn: 12 s after the events.
const NOW: u64 = 1_794_045_612_000;
const THEN: &str = "2026-11-07T10:00:00.000Z";

fn run(id: &str, agent: &str, task: &str, parent: Option<&str>) -> Arc<Assignment> {
    let mut run = assignment_of(Definition::named(AgentName::new(agent)), task);
    run.agent_id = RunId::new(id);
    run.parent_id = parent.map(RunId::new);
    run.depth = u32::from(parent.is_some());
    if parent.is_none() {
        run.finish = Finish::TextAnswer;
    }
    Arc::new(run)
}

fn worker(number: u32) -> Arc<Assignment> {
    run(&format!("agent-w{number}"), "worker", &format!("look at part {number}"), Some("agent-1"))
}

fn happened(session: &mut Session, run: &Arc<Assignment>, events: impl IntoIterator<Item = Event>) {
    for event in events {
        let (run, ts) = (Arc::clone(run), THEN.to_owned());
        session.apply(&RunEvent { run, seq: 1, ts, event, detail: Detail::None });
    }
}

fn opened() -> Event {
    Event::Opened { messages: Vec::new(), opening: None, background: Vec::new(), reopened: None }
}

fn turn(turn: u32) -> Event {
    let progress =
        Progress { turns_completed: turn - 1, max_turns: 50, elapsed_seconds: 3, max_seconds: 300 };
    Event::TurnStarted { turn, grace: false, progress }
}

fn replied(text: &str, calls: &[(&str, &str, Value)]) -> Event {
    let mut content = vec![AssistantPart::text(text)];
    content.extend(calls.iter().map(|(id, name, arguments)| AssistantPart::ToolCall {
        call: ToolCall::new(ToolCallId::new(*id), *name, arguments.to_string()),
    }));
    Event::Replied {
        message: Arc::new(Message::Assistant { content }),
        dispositions: Vec::new(),
        stop: StopReason::ToolUse,
        usage: Usage { input_tokens: 1200, output_tokens: 34, ..Usage::default() },
        cost_usd: Some(0.01),
    }
}

fn started(id: &str, tool: &str) -> Event {
    Event::ToolStarted { call_id: ToolCallId::new(id), tool_name: tool.to_owned() }
}

fn returned(id: &str, tool: &str, text: &str, took: Option<u64>, is_error: bool) -> Event {
    Event::ToolReturned {
        tool_name: tool.to_owned(),
        result: ToolResult {
            call_id: ToolCallId::new(id),
            text: text.to_owned(),
            is_error,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: None,
        },
        duration_ms: took,
        changes: Vec::new(),
        delivers: Vec::new(),
    }
}

fn ended(status: Status, result: &str, error: Option<&str>) -> Event {
    Event::Ended {
        ending: Ending {
            status,
            recovered_from: None,
            partial: false,
            result: result.to_owned(),
            output: None,
            error: error.map(str::to_owned),
        },
    }
}

/// Everything that is seen, finished lines first.
fn shown(state: &State, width: u16, height: u16) -> String {
    let size = Size::new(width, height);
    let moment = Moment { now_ms: NOW, size, theme: Theme::new(Colours::On) };
    let mut lines = view::finished(&state.session.items, &state.blocks, &moment);
    lines.extend(view::frame(state, &moment).lines);
    let widest = lines.iter().map(ratatui::text::Line::width).max().unwrap_or_default();
    assert!(widest <= usize::from(width), "a line is {widest} columns wide");
    lines.iter().map(|line| line.to_string().trim_end().to_owned() + "\n").collect()
}

fn check(name: &str, state: &State) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tui");
    golden::check(&folder.join(format!("{name}.80.txt")), &shown(state, 80, 24));
    golden::check(&folder.join(format!("{name}.40.txt")), &shown(state, 40, 24));
}

fn conversation() -> Session {
    let mut session = Session::default();
    let main = run("agent-1", "attache", "why does the test fail?", None);
    happened(
        &mut session,
        &main,
        [
            opened(),
            Event::Started,
            turn(1),
            replied(
                "I look at **the test** first.",
                &[
                    ("c1", "read_file", json!({"path": "src/parser.rs"})),
                    ("c2", "shell", json!({"command": "cargo test"})),
                    (
                        "c3",
                        "edit_file",
                        json!({"path": "a.rs", "old_string": "a\nb", "new_string": "c"}),
                    ),
                    ("c4", "shell", json!({"command": "rm -rf /"})),
                ],
            ),
            started("c1", "read_file"),
            returned("c1", "read_file", "…", Some(12), false),
            started("c2", "shell"),
            returned("c2", "shell", "1 test failed\nassertion failed", Some(65_000), true),
            started("c3", "edit_file"),
            returned("c3", "edit_file", "ok", Some(3), false),
            returned("c4", "shell", "Refused: it removes everything", None, true),
        ],
    );
    session
}

#[test]
fn a_conversation_with_calls_that_went_well_and_wrong() {
    let mut state = State { session: conversation(), ..State::default() };
    check("working", &state);
    let main = run("agent-1", "attache", "why does the test fail?", None);
    let answer = "# It was a typo\n\n| file | line |\n|---|---:|\n| a.rs | 7 |\n\n```rust\nlet x = 1; // one\n```";
    let events = [turn(2), replied(answer, &[]), ended(Status::Goal, answer, None)];
    happened(&mut state.session, &main, events);
    check("answered", &state);
}

#[test]
fn agents_in_every_phase() {
    let mut state = State { session: conversation(), ..State::default() };
    let session = &mut state.session;
    let look = ("c1", "grep_files", json!({"pattern": "typo"}));
    let queued = [opened(), Event::Queued { ahead: 2 }];
    happened(session, &worker(1), queued);
    let calls = [look];
    happened(
        session,
        &worker(2),
        [Event::Started, turn(3), replied("I search.", &calls), started("c1", "grep_files")],
    );
    let grace = Event::GraceStarted {
        reason: RecoveredFrom::Timeout,
        grace_ms: 60_000,
        messages: Vec::new(),
    };
    happened(session, &worker(3), [Event::Started, turn(9), grace]);
    let retry = Event::Retrying {
        attempt: 2,
        max_retries: 5,
        delay_ms: 1000,
        reason: "overloaded".to_owned(),
        answer_lost: false,
    };
    happened(session, &worker(4), [Event::Started, turn(1), retry]);
    happened(
        session,
        &worker(5),
        [Event::Started, turn(1), replied("", &[]), ended(Status::Goal, "It is in a.rs.", None)],
    );
    happened(
        session,
        &worker(6),
        [Event::Started, turn(1), ended(Status::Error, "", Some("the model is gone"))],
    );
    check("agents", &state);
    let all: Vec<RunId> = state.session.blocks().map(|agent| agent.id.clone()).collect();
    for id in &all {
        state.blocks.toggle(id);
    }
    check("agents-unfolded", &state);
}

#[test]
fn the_block_that_has_the_focus_is_marked_and_its_keys_are_told() {
    let mut state = State { session: conversation(), ..State::default() };
    let found = [Event::Started, turn(1), replied("I look.", &[])];
    happened(&mut state.session, &worker(1), found);
    happened(&mut state.session, &worker(1), [ended(Status::Goal, "It is in a.rs.", None)]);
    happened(&mut state.session, &worker(2), [Event::Started, turn(2)]);
    state.blocks.step(-1, &state.session);
    check("focus", &state);
    // An earlier one is shown again, because what is in the scrollback cannot change.
    state.blocks.step(-1, &state.session);
    check("focus-earlier", &state);
    state.blocks.step(1, &state.session);
    state.blocks.step(1, &state.session);
    assert_eq!(state.blocks.focus(), None, "past the newest is the input");
}

#[test]
fn many_agents_that_ended_have_a_line_each() {
    let mut state = State { session: conversation(), ..State::default() };
    for number in 1..=6 {
        happened(&mut state.session, &worker(number), [Event::Started, turn(1)]);
    }
    for number in 1..=5 {
        let (status, error) =
            if number == 3 { (Status::Error, Some("no")) } else { (Status::Goal, None) };
        happened(&mut state.session, &worker(number), [ended(status, "Found it.", error)]);
    }
    check("crowd", &state);
}

#[test]
fn a_turn_that_was_stopped_leaves_background_agents_in_sight() {
    let mut state = State { session: conversation(), ..State::default() };
    let main = run("agent-1", "attache", "why does the test fail?", None);
    let background = RunId::new("agent-w1");
    let begun = Event::SubAgentStart {
        agent_id: background.clone(),
        name: "worker".to_owned(),
        description: "look".to_owned(),
        origin: attache_kernel::run::event::StartedBy::Main,
        attendance: attache_kernel::run::event::Attendance::Background,
    };
    happened(&mut state.session, &main, [begun]);
    happened(&mut state.session, &worker(1), [Event::Started, turn(1)]);
    let stopped = Event::Cancelled { answer_lost: true, turn_only: true };
    let events = [turn(2), stopped, Event::Awaiting { agents: vec![background] }];
    happened(&mut state.session, &main, events);
    check("stopped", &state);
}

#[test]
fn a_run_that_another_one_had_started_answers_when_it_is_resumed() {
    let mut session = Session::default();
    let resumed = worker(1);
    session.answered_by(&resumed.agent_id);
    happened(&mut session, &resumed, [opened(), Event::Started, turn(1)]);
    assert!(session.is_busy() && session.agents.is_empty());
}

#[test]
fn full_screens_fit_wide_and_narrow_terminals() {
    let row = |id: &str, state| super::state::page::Row {
        id: id.to_owned(),
        text: format!(
            "running     worker   5s here   2 turns   6,280 tokens  look at {id}  agent-1"
        ),
        short: format!("● worker look at {id} 5s"),
        state: Some(state),
        turns: 2,
    };
    let rows = vec![row("one", RunState::Running), row("two", RunState::Completed)];
    let page = |kind| Page::List(ListPage::new(kind, rows.clone()));
    let list = |kind| State { page: Some(page(kind)), ..State::default() };
    check("board", &list(ListKind::Tasks));
    check("agents-list", &list(ListKind::Agents));
    check("conversations", &list(ListKind::Conversations));
    let text = Page::Text(TextPage::new("Transcript of worker", &"a line of it\n".repeat(40)));
    check("transcript", &State { page: Some(text), ..State::default() });
}

#[test]
fn an_offer_needs_a_yes() {
    let offer = Offer {
        agent: "lawyer".to_owned(),
        keyword: "contract".to_owned(),
        text: "read the contract".to_owned(),
    };
    check("offer", &State { offer: Some(offer), ..State::default() });
}

#[test]
fn many_agents_have_a_line_each() {
    let mut state = State { session: conversation(), ..State::default() };
    for number in 1..=200 {
        happened(&mut state.session, &worker(number), [Event::Started, turn(1)]);
    }
    check("many", &state);
}

#[test]
fn questions_name_the_agent_the_change_and_the_reason() {
    let question = Question {
        request_id: QuestionId::new("agent-1/1"),
        agent_id: RunId::new("agent-1"),
        agent_type: AgentName::new("fixer"),
        call_id: ToolCallId::new("c1"),
        tool: BuiltinTool::EditFile.into(),
        arguments: json!({"path": "src/a.rs"}),
        reason: "it writes a file".to_owned(),
        preview: Some("@@ -1 +1 @@\n-old\n+new".to_owned()),
    };
    let questions = vec![Asked::new(question.clone()), Asked::new(question)];
    let mut state = State { questions, ..State::default() };
    check("question", &state);
    state.questions[0].stage = Stage::Words("not there".to_owned());
    check("question-words", &state);
}

#[test]
fn the_same_events_give_the_same_session() {
    assert_eq!(conversation(), conversation());
}
