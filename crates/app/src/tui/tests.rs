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
            compaction::Compaction,
            observed::{Detail, RunEvent},
        },
        message::{self, AssistantPart, ToolCall, ToolResult},
        outcome::{Ending, Outcome, RecoveredFrom, Status},
    },
};
use attache_runtime::internal::{
    approvals::{ApprovalAnswer, Question},
    store::RunState,
};
use attache_testkit::{assignment::assignment_of, golden};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;
use serde_json::{Value, json};

use super::{
    state::{
        Offer, State,
        page::{Cell, ListKind, ListPage, Page, Row, TextPage},
        question::{Asked, Stage},
        session::Session,
    },
    theme::Theme,
    update::{Effect, Message, Pace, update},
    view::{self, Moment},
};
use crate::print::palette::{Colours, Tone};

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
        let detail = match &event {
            Event::Ended { ending } => Detail::Outcome(Box::new(outcome(ending))),
            _ => Detail::None,
        };
        let (run, ts) = (Arc::clone(run), THEN.to_owned());
        session.apply(&RunEvent { run, seq: 1, ts, event, detail });
    }
}

/// What the runtime tells of a run that has ended.
fn outcome(ending: &Ending) -> Outcome {
    Outcome {
        ending: ending.clone(),
        turns_used: 1,
        duration_ms: 3_740,
        tool_uses: 0,
        usage: Usage::default(),
        cost_usd: None,
        artifacts: Vec::new(),
        changes: Vec::new(),
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
        message: Arc::new(message::Message::Assistant { content }),
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
fn turns_of_a_last_chance_are_not_counted_and_an_end_read_back_has_its_time() {
    let mut state = State { session: conversation(), ..State::default() };
    let grace = Event::GraceStarted {
        reason: RecoveredFrom::MaxTurns,
        grace_ms: 60_000,
        messages: Vec::new(),
    };
    let last = match turn(4) {
        Event::TurnStarted { turn, progress, .. } => {
            Event::TurnStarted { turn, grace: true, progress }
        }
        other => other,
    };
    happened(&mut state.session, &worker(1), [Event::Started, turn(3), grace, last]);
    assert!(shown(&state, 80, 24).contains("  Grace turn (15s/300s)\n"), "{state:?}");
    assert!(shown(&state, 40, 24).contains("  grace 15s\n"), "{state:?}");
    // A journal has the event, not the totals.
    state.session.apply(&RunEvent {
        run: worker(1),
        seq: 9,
        ts: "2026-11-07T10:00:06.250Z".to_owned(),
        event: ended(Status::MaxTurns, "", Some("no answer")),
        detail: Detail::None,
    });
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("Failed (max_turns) after 6.2 s (3 turns)"), "{screen}");
    // An answer that was handed in only then does not look like any other.
    let saved = match ended(Status::Goal, "what there is", None) {
        Event::Ended { ending } => Event::Ended {
            ending: Ending { recovered_from: Some(RecoveredFrom::MaxTurns), ..ending },
        },
        other => other,
    };
    happened(&mut state.session, &worker(2), [Event::Started, turn(3), saved]);
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("Completed in grace (max_turns), "), "{screen}");
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
fn ctrl_b_is_for_the_block_with_the_focus_only_while_its_agent_works() {
    let mut state = State { session: conversation(), ..State::default() };
    for number in 1..=3 {
        happened(&mut state.session, &worker(number), [opened(), Event::Started, turn(1)]);
    }
    let press = |state: &mut State| {
        let key = KeyEvent::new(KeyCode::Char('b'), KeyModifiers::CONTROL);
        update(state, Message::Key(key, Pace::Fresh))
    };
    let background = |numbers: &[u32]| {
        let ids = numbers.iter().map(|number| worker(*number).agent_id.clone());
        [Effect::ToBackground(ids.collect())]
    };
    state.blocks.step(-1, &state.session);
    assert_eq!(press(&mut state), background(&[3]));
    happened(&mut state.session, &worker(3), [ended(Status::Goal, "It is in a.rs.", None)]);
    assert_eq!(state.blocks.focus(), Some(&worker(3).agent_id));
    assert_eq!(press(&mut state), background(&[1, 2]));
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
    let run = |id: &str, state: RunState, place: &str| Row {
        id: id.to_owned(),
        cells: vec![
            Cell::new(Tone::Name, format!("{:<11}", state.as_str()), "●"),
            Cell::same(Tone::Name, "worker"),
            Cell::same(None, format!("look at {id} in every file of the project")),
            Cell::same(Tone::Faint, "5s"),
            Cell::new(Tone::Faint, place, place.get(..4).unwrap_or_default()),
            Cell::new(Tone::Faint, "2 turns", "2t"),
            Cell::new(Tone::Faint, "6,280 tokens", "7k"),
            Cell::same(Tone::Faint, "agent-1234abcd"),
        ],
        state: Some(state),
        turns: 2,
    };
    let runs =
        vec![run("one", RunState::Running, "elsewhere"), run("two", RunState::Completed, "")];
    let agent = |name: &str, problems: &str, about: &str| Row {
        id: name.to_owned(),
        cells: vec![
            Cell::same(Tone::Name, name),
            Cell::new(Tone::Warning, "active, untrusted", "untrusted"),
            Cell::same(Tone::Faint, "project"),
            Cell::new(Tone::Warning, problems, problems.replace(" problem", "!")),
            Cell::new(Tone::Name, "overrides 1", "^1"),
            Cell::same(None, about),
        ],
        state: None,
        turns: 0,
    };
    let agents = vec![
        agent("lawyer", "", "Knows contracts and leases, and reads them"),
        agent("baker", "1 problem", "Bakes bread"),
    ];
    let list = |kind, rows: &[Row]| State {
        page: Some(Page::List(ListPage::new(kind, rows.to_vec()))),
        ..State::default()
    };
    check("board", &list(ListKind::Tasks, &runs));
    check("agents-list", &list(ListKind::Agents, &agents));
    check("conversations", &list(ListKind::Conversations, &runs));
    let text = Page::Text(TextPage::new("Transcript of worker", &"a line of it\n".repeat(40)));
    check("transcript", &State { page: Some(text), ..State::default() });
}

#[test]
fn the_end_of_a_text_is_reached_on_a_narrow_screen() {
    let text: Vec<String> =
        (0..20).map(|line| format!("line {line} {}", "word ".repeat(15))).collect();
    let mut page = TextPage::new("Transcript", &text.join("\n"));
    page.step(isize::MAX / 2, Size::new(40, 12));
    let state = State { page: Some(Page::Text(page)), ..State::default() };
    let screen = shown(&state, 40, 15);
    assert!(screen.contains("line 19") && screen.contains("20 of 20 lines"), "{screen}");
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

fn asked() -> Question {
    Question {
        request_id: QuestionId::new("agent-1/1"),
        agent_id: RunId::new("agent-1"),
        agent_type: AgentName::new("fixer"),
        call_id: ToolCallId::new("c1"),
        tool: BuiltinTool::EditFile.into(),
        arguments: json!({"path": "src/a.rs"}),
        reason: "it writes a file".to_owned(),
        preview: Some("@@ -1 +1 @@\n-old\n+new".to_owned()),
    }
}

#[test]
fn questions_name_the_agent_the_change_and_the_reason() {
    let questions = vec![Asked::new(asked()), Asked::new(asked())];
    let mut state = State { questions, ..State::default() };
    check("question", &state);
    state.questions[0].stage = Stage::Words("not there".to_owned());
    check("question-words", &state);
}

fn board() -> Page {
    let row = |id: &str, state: RunState| Row {
        id: id.to_owned(),
        cells: vec![Cell::same(Tone::Name, format!("{:<11} {id}", state.as_str()))],
        state: Some(state),
        turns: 2,
    };
    let rows = [row("agent-1", RunState::Running), row("agent-2", RunState::Completed)];
    Page::List(ListPage::new(ListKind::Tasks, rows.to_vec()))
}

#[test]
fn esc_stops_the_turn_while_a_question_is_open() {
    let pressed = |state: &mut State, code| {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        update(state, Message::Key(key, Pace::Fresh))
    };
    let questions = vec![Asked::new(asked())];
    let mut state = State { session: conversation(), questions, ..State::default() };
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("[n]o  [a]bort  Esc stops the turn"), "{screen}");
    // Where words are written, it goes back to the keys.
    pressed(&mut state, KeyCode::Char('n'));
    assert_eq!(state.questions[0].stage, Stage::Words(String::new()));
    assert_eq!(pressed(&mut state, KeyCode::Esc), []);
    assert_eq!(state.questions[0].stage, Stage::Choosing);
    assert_eq!(pressed(&mut state, KeyCode::Esc), [Effect::Stop]);
    // Nothing is lost of what is typed when a question comes up.
    let mut state = State { session: conversation(), ..State::default() };
    pressed(&mut state, KeyCode::Char('e'));
    update(&mut state, Message::Asked(asked()));
    let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
    let sent = update(&mut state, Message::Key(enter, Pace::Flowing));
    assert!(sent.contains(&Effect::Tell("e".to_owned())), "{sent:?}");
}

#[test]
fn the_board_is_used_while_a_question_is_open() {
    let press = |state: &mut State, code, modifiers| {
        update(state, Message::Key(KeyEvent::new(code, modifiers), Pace::Fresh))
    };
    let open = || {
        let mut question = asked();
        question.preview = Some("a line\n".repeat(60));
        let questions = vec![Asked::new(question)];
        let size = Size::new(80, 24);
        State { page: Some(board()), questions, screen: size, ..State::default() }
    };
    let none = KeyModifiers::NONE;
    for (code, modifiers) in [
        (KeyCode::Esc, none),
        (KeyCode::Char('q'), none),
        (KeyCode::Char('t'), KeyModifiers::CONTROL),
    ] {
        let mut state = open();
        assert_eq!(press(&mut state, code, modifiers), []);
        assert!(state.page.is_none() && state.questions.len() == 1, "{code:?}");
    }
    let mut state = open();
    press(&mut state, KeyCode::Down, none);
    let Some(Page::List(list)) = &state.page else { panic!("{:?}", state.page) };
    assert_eq!((list.chosen, state.questions[0].scroll), (1, 0));
    // All of the change would cover the board.
    press(&mut state, KeyCode::Char('v'), none);
    check("board-question", &state);
    // Letters of a message are not answers.
    press(&mut state, KeyCode::Char('m'), none);
    assert_eq!(press(&mut state, KeyCode::Char('y'), none), []);
    assert!(shown(&state, 80, 24).contains(" message: y"), "{}", shown(&state, 80, 24));
    press(&mut state, KeyCode::Esc, none);
    let answer = Effect::Answer(QuestionId::new("agent-1/1"), ApprovalAnswer::Session);
    assert_eq!(press(&mut state, KeyCode::Char('s'), none), [answer]);
    assert!(state.page.is_some() && state.questions.is_empty());
}

#[test]
fn the_clocks_of_an_agent_that_asks_and_of_those_that_wait_for_it_stand_still() {
    let mut state = State { session: conversation(), ..State::default() };
    let asks = Event::ApprovalRequested {
        request_id: QuestionId::new("agent-w1/1"),
        call_id: ToolCallId::new("c1"),
        tool_name: "write_file".to_owned(),
        reason: "it writes".to_owned(),
        preview: None,
    };
    happened(&mut state.session, &worker(1), [Event::Started, turn(2), asks]);
    happened(&mut state.session, &worker(2), [Event::Started, turn(2)]);
    let screen = shown(&state, 80, 24);
    // Twelve seconds after the events: only the second agent's time goes on.
    assert!(screen.contains("Turn 2/50 (3s/300s) paused"), "{screen}");
    assert!(screen.contains("Turn 2/50 (15s/300s)\n"), "{screen}");
    assert!(screen.contains("Waits for your answer · its clock is paused at 0s"), "{screen}");
    check("asking", &state);
    // In the background, nobody waits for it.
    let main = run("agent-1", "attache", "why does the test fail?", None);
    let detached = Event::SubAgentDetached { agent_id: RunId::new("agent-w1") };
    happened(&mut state.session, &main, [detached]);
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("Working 12s"), "{screen}");
    assert!(screen.contains("(3s/300s) paused"), "{screen}");
}

#[test]
fn what_happens_to_the_context_is_told() {
    let mut state = State { session: conversation(), ..State::default() };
    let trimmed = || Compaction::Trimmed { call_ids: Vec::new(), freed_bytes: 9 };
    let main = run("agent-1", "attache", "why does the test fail?", None);
    happened(&mut state.session, &main, [Event::Compacted(trimmed())]);
    let events = [Event::Started, turn(2), Event::Compacted(trimmed())];
    happened(&mut state.session, &worker(1), events);
    let screen = shown(&state, 80, 24);
    assert!(screen.contains("old tool results were shortened to free context"), "{screen}");
    assert!(screen.contains("│ its context was freed"), "{screen}");
}

#[test]
fn letters_of_a_message_do_not_answer_a_question_that_comes_up() {
    let key = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
    let pressed = |state: &mut State, letter, pace| update(state, Message::Key(key(letter), pace));
    let mut state = State::default();
    pressed(&mut state, 'e', Pace::Flowing);
    update(&mut state, Message::Asked(asked()));
    assert_eq!(pressed(&mut state, 'a', Pace::Flowing), []);
    assert_eq!(pressed(&mut state, 's', Pace::Flowing), []);
    assert_eq!((state.composer.text(), state.questions.len()), ("eas", 1));
    let answer = Effect::Answer(QuestionId::new("agent-1/1"), ApprovalAnswer::Once);
    let answers = [answer];
    assert_eq!(pressed(&mut state, 'y', Pace::Fresh), answers);
    // A letter that is no answer begins a message, and the letters that follow it are of that.
    let mut state = State::default();
    update(&mut state, Message::Asked(asked()));
    let is_answer = |effect: &Effect| matches!(effect, Effect::Answer(..));
    assert!(!pressed(&mut state, '@', Pace::Fresh).iter().any(is_answer));
    for letter in "sys yes".chars() {
        assert!(!pressed(&mut state, letter, Pace::Flowing).iter().any(is_answer));
    }
    assert_eq!((state.composer.text(), state.questions.len()), ("@sys yes", 1));
    assert_eq!(pressed(&mut state, 'y', Pace::Fresh), answers);
    // With an empty input the first key counts; with Ctrl held, none does.
    let mut state = State::default();
    update(&mut state, Message::Asked(asked()));
    for letter in ['a', 's', 'y', 'n'] {
        let held = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(update(&mut state, Message::Key(held, Pace::Fresh)), []);
    }
    assert_eq!(pressed(&mut state, 'y', Pace::Flowing), answers);
}

#[test]
fn the_same_events_give_the_same_session() {
    assert_eq!(conversation(), conversation());
}
