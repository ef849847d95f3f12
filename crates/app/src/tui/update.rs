//! The update: a message changes the state and asks for effects. It does nothing itself.

mod blocks;
mod commands;
mod keys;
mod leaving;
mod page;

use std::sync::Arc;

use attache_kernel::{
    id::{QuestionId, RunId},
    run::event::{Event, observed::RunEvent},
};
use attache_runtime::internal::approvals::{ApprovalAnswer, Question};
use crossterm::event::KeyEvent;

pub(crate) use self::leaving::unasked;
use super::{
    replay::Replay,
    state::{
        Hint, Offer, Request, State,
        agent::Agent,
        blocks::Blocks,
        completion::Completion,
        page::{ListKind, ListPage, Page, TextPage},
        question::Asked,
        session::Session,
    },
};
use crate::print::palette::Tone;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key was pressed.
    Key(KeyEvent, Pace),
    /// A text was pasted.
    Pasted(String),
    /// The wheel moved that many lines down.
    Wheel(isize),
    /// A run tells.
    Happened(Arc<RunEvent>),
    /// A run asks.
    Asked(Question),
    /// An MCP server wants a value, which is called so.
    AskedForValue(Question, String),
    /// Nobody waits for that answer any more.
    Withdrawn(QuestionId),
    /// A run was started; what the caller should know of it.
    Started(Vec<String>),
    /// An agent fits what was sent.
    Offered(Offer),
    /// What was sent could not be started.
    Refused {
        /// What was sent.
        text: String,
        /// Why.
        why: String,
    },
    /// The files of the project.
    Files(Vec<String>),
    /// Something to tell.
    Told(Tone, String),
    /// A full screen, or what it shows now.
    Loaded(Page),
    /// What the full screen that is open shows now.
    Refreshed(Page),
    /// An earlier conversation, which goes on.
    Resumed(Replay),
    /// An agent to try.
    Try(String),
    /// Time has passed.
    Tick,
}

/// When a key came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Right after another one, as letters of a word do.
    Flowing,
    /// After a pause.
    Fresh,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Start a run with this message.
    Send(String, Route),
    /// Leave a message for the run under way.
    Tell(String),
    /// Stop the turn under way; background agents go on.
    Stop,
    /// Keep a text for later sessions.
    Remember(String),
    /// Leave; these agents go on in processes of their own.
    Leave(Vec<Kept>),
    /// Answer a question.
    Answer(QuestionId, ApprovalAnswer),
    /// Send these agents to the background.
    ToBackground(Vec<RunId>),
    /// List the files of the project.
    ListFiles,
    /// Change the model from the next message on.
    Model(String),
    /// Change what is done about calls that need approval.
    Approve(String),
    /// Begin a new conversation.
    Clear,
    /// Read what a full screen shows.
    Load(Load),
    /// Read it again.
    Refresh(Load),
    /// Stop a run, in whatever process it goes on.
    StopRun(String),
    /// Leave a message for a run, in whatever process it goes on.
    Post(String, String),
    /// Go on with an earlier conversation; with a turn, branch off after it.
    Resume(String, Option<u32>),
    /// Begin a message to an agent.
    Try(String),
    /// Open the file of an agent in an editor.
    Edit(String),
    /// Draw everything again.
    Repaint,
    /// Stop the program, as a shell's Ctrl-Z does, until somebody continues it.
    Suspend,
    /// Leave.
    Quit,
}

/// An agent that goes on when the UI is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) id: RunId,
    pub(crate) description: String,
}

impl Kept {
    fn new(agent: &Agent) -> Self {
        Self { id: agent.id.clone(), description: agent.description.clone() }
    }
}

/// What a full screen shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Load {
    /// Every run.
    Tasks,
    /// Earlier conversations.
    Conversations,
    /// The agents there are.
    Agents,
    /// One agent.
    Agent(String),
    /// What a run did.
    Transcript(String),
    /// What the conversation changed.
    Changes,
}

/// Who gets a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// The main agent, unless another fits and somebody agrees.
    Offer,
    /// The main agent.
    Main,
    /// The main agent, which is asked to use that agent.
    Through(String),
}

/// Changes the state, and says what to do.
pub(crate) fn update(state: &mut State, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key, pace) => keys::pressed(state, key, pace),
        Message::Pasted(text) => pasted(state, &text),
        Message::Wheel(by) => {
            page::wheeled(state, by);
            Vec::new()
        }
        Message::Happened(event) => {
            happened(state, &event);
            Vec::new()
        }
        Message::Asked(question) => asked(state, Asked::new(question)),
        Message::AskedForValue(question, label) => asked(state, Asked::for_value(question, label)),
        Message::Withdrawn(id) => {
            state.questions.retain(|asked| asked.question.request_id != id);
            Vec::new()
        }
        Message::Started(notices) => {
            for notice in notices {
                state.session.notice(Tone::Warning, format!("notice: {notice}"));
            }
            Vec::new()
        }
        Message::Offered(offer) => {
            state.has_settled();
            state.offer = Some(offer);
            Vec::new()
        }
        Message::Refused { text, why } => {
            state.has_settled();
            state.session.notice(Tone::Bad, why);
            if state.composer.is_empty() {
                state.composer.set(text);
            }
            Vec::new()
        }
        Message::Files(files) => {
            state.facts.files = Some(files);
            complete(state)
        }
        Message::Told(tone, text) => {
            if state.page.is_some() {
                state.hint = Some(Hint::Said(text.clone()));
            }
            state.session.notice(tone, text);
            Vec::new()
        }
        Message::Loaded(page) => {
            loaded(state, page);
            Vec::new()
        }
        Message::Refreshed(page) => {
            if state.page.is_some() {
                loaded(state, page);
            }
            Vec::new()
        }
        Message::Resumed(replay) => {
            state.session = replay.session(Session::default());
            state.blocks = Blocks::default();
            state.page = None;
            Vec::new()
        }
        Message::Try(agent) => {
            state.composer.set(format!("@{agent} "));
            Vec::new()
        }
        Message::Tick => refreshed(state.page.as_ref()),
    }
}

/// A question comes up. Letters of a message that is being written do not answer it.
fn asked(state: &mut State, mut asked: Asked) -> Vec<Effect> {
    let is_typing = state.page.is_none() && !state.composer.is_empty();
    asked.is_guarded = is_typing && state.questions.is_empty();
    state.questions.push(asked);
    Vec::new()
}

/// What a full screen that changes by itself reads again.
fn refreshed(page: Option<&Page>) -> Vec<Effect> {
    let load = match page {
        Some(Page::List(list)) => match list.kind {
            ListKind::Tasks => Load::Tasks,
            ListKind::Agents => Load::Agents,
            ListKind::Conversations => return Vec::new(),
        },
        Some(Page::Text(TextPage { run: Some(run), .. })) => Load::Transcript(run.to_string()),
        Some(Page::Text(TextPage { agent: Some(agent), .. })) => Load::Agent(agent.clone()),
        Some(Page::Text(_)) | None => return Vec::new(),
    };
    vec![Effect::Refresh(load)]
}

/// Opens a full screen, or brings the one that is open up to date.
fn loaded(state: &mut State, page: Page) {
    state.page = Some(match (state.page.take(), page) {
        (Some(Page::List(mut list)), Page::List(new)) if list.kind == new.kind => {
            list.refresh(new.rows);
            Page::List(list)
        }
        (Some(Page::Text(old)), Page::Text(new)) if old.title == new.title => {
            Page::Text(TextPage { scroll: old.scroll, follows: old.follows, back: old.back, ..new })
        }
        (Some(Page::List(list)), Page::Text(new)) => {
            Page::Text(TextPage { back: Some(Box::new(list)), ..new })
        }
        // What was read for a screen that was left meanwhile.
        (Some(old @ Page::Text(_)), Page::List(_)) => old,
        (_, page) => page,
    });
}

fn pasted(state: &mut State, text: &str) -> Vec<Effect> {
    // A full screen takes no text, unless a message is being written there.
    if let Some(Page::List(ListPage { message: Some(words), .. })) = &mut state.page {
        words.push_str(&text.replace(['\r', '\n'], " "));
        return Vec::new();
    }
    if let Some(question) = state.questions.first_mut() {
        // A text that was pasted is not an answer; it may be words for one.
        if let super::state::question::Stage::Words(words) = &mut question.stage {
            words.push_str(&text.replace(['\r', '\n'], " "));
        }
        return Vec::new();
    }
    if state.page.is_some() {
        return Vec::new();
    }
    state.composer.insert(text);
    state.completion = None;
    Vec::new()
}

fn happened(state: &mut State, event: &RunEvent) {
    let is_main = state.session.is_main(event);
    state.session.apply(event);
    if !is_main {
        return;
    }
    match &event.event {
        Event::Opened { .. } if state.request == Request::Starting => state.has_settled(),
        Event::Opened { .. } => state.sending = None,
        Event::Announced { delivers, .. } if delivers.is_empty() && !state.waiting.is_empty() => {
            state.waiting.remove(0);
        }
        Event::Awaiting { .. } => state.has_settled(),
        Event::Ended { .. } => {
            state.has_settled();
            // What was not read is not lost.
            let unread = std::mem::take(&mut state.waiting).join("\n");
            if !unread.is_empty() {
                state.composer.insert(&unread);
            }
        }
        _ => {}
    }
}

/// Looks for what can be completed at the cursor.
fn complete(state: &mut State) -> Vec<Effect> {
    let before = state.composer.before_cursor();
    let is_mention = matches!(
        super::state::completion::wanted(before),
        Some(super::state::completion::Wanted::Mention(_))
    );
    let files = state.facts.files.as_deref().unwrap_or_default();
    state.completion = Completion::find(before, &state.facts.agents, files);
    if is_mention && state.facts.files.is_none() { vec![Effect::ListFiles] } else { Vec::new() }
}

/// What the user is told instead of the status line.
fn hint(state: &mut State, text: impl Into<String>) -> Vec<Effect> {
    state.hint = Some(Hint::Said(text.into()));
    Vec::new()
}
