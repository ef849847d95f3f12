//! The terminal UI: a conversation with the main agent, inline in the terminal's own screen.
//!
//! Messages change the [`state`] in [`mod@update`], which asks for [`effects`]; the [`view`] shows the state.
//! At most 30 frames are drawn a second, and none while nothing happens.

mod approver;
mod chat;
mod effects;
mod history;
pub(crate) mod markdown;
mod replay;
mod screen;
mod signals;
mod state;
mod terminal;
mod text;
pub(crate) mod theme;
mod update;
mod view;

#[cfg(test)]
mod tests;

use std::{ffi::OsString, io, sync::Arc, time::Duration};

use attache_kernel::run::event::observed::RunEvent;
use attache_runtime::internal::{
    events::TreeEvents,
    store::{FileStore, Store as _},
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::{
    approver::ScreenApprover,
    chat::Chat,
    effects::{Actions, Conversation, Pending},
    history::History,
    signals::Signals,
    state::{State, session::Session},
    update::{Message, unasked},
};
use crate::{
    commands::run::Approve,
    failure::{Exit, Failure},
    print::{self, Stream, palette::Tone},
    setup::Setup,
    transcripts,
};

pub(crate) use self::replay::newest_conversation;

/// How many events are taken before the screen is looked at again.
const MOST_AT_ONCE: usize = 512;
/// How long the end waits for runs that were told to stop, and for the disk.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a conversation begins with.
#[derive(Debug, Default)]
pub(crate) struct Beginning {
    /// The run that it continues.
    pub(crate) resume: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) approve: Option<Approve>,
    /// The global options, for processes in the background.
    pub(crate) globals: Vec<OsString>,
}

/// Whether there is a terminal for it.
pub(crate) fn has_terminal() -> bool {
    let is_dumb = crate::environment::terminal_is_dumb();
    Stream::Out.is_terminal() && io::IsTerminal::is_terminal(&io::stdin()) && !is_dumb
}

/// Talks until somebody leaves.
pub(crate) async fn talk(beginning: Beginning, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    let runtime = setup.runtime(store.clone())?;
    let (messages, mut told) = mpsc::unbounded_channel();
    let (started, mut starts) = mpsc::unbounded_channel();
    let approver = ScreenApprover::new(messages.clone(), beginning.approve.unwrap_or(Approve::Ask));
    let mut state =
        State { facts: effects::facts(setup, &runtime, beginning.approve), ..State::default() };
    let history =
        History::new(&setup.attache_home, &setup.working_directory, store.secrets().clone());
    history.read().iter().for_each(|text| state.composer.remember(text));
    greet(&mut state.session, setup);
    if let Some(id) = &beginning.resume {
        resumed(&mut state, id, &store)?;
    }
    let mut actions = Actions {
        setup,
        runtime,
        store,
        approver,
        messages,
        started,
        chosen: (beginning.model.clone(), beginning.provider.clone()),
        model: beginning.model,
        provider: beginning.provider,
        after: beginning.resume,
        at: None,
        handle: None,
        start: effects::Start::None,
        unwanted: CancellationToken::new(),
        history,
        globals: beginning.globals,
        kept: Vec::new(),
    };
    let cannot =
        |error: io::Error| Failure::unsuccessful("cannot use the terminal").because(&error);
    let mut chat = Chat::new(state).map_err(cannot)?;
    let mut signals = Signals::new();
    let mut pending: FuturesUnordered<Pending<'_>> = FuturesUnordered::new();
    let mut events: Option<TreeEvents> = None;
    let exit = loop {
        if chat.draw().is_err() {
            // The terminal is gone; runs are stopped as for any other end.
            break Exit::Interrupted;
        }
        let due = chat.next_frame();
        let message = tokio::select! {
            input = chat.keys.next() => match input {
                Some(Ok(input)) => chat.input(input),
                // The terminal is gone.
                Some(Err(_)) | None => break Exit::Interrupted,
            },
            Some(message) = told.recv() => Some(message),
            Some(conversation) = starts.recv() => {
                actions.began(&conversation);
                chat.state.session.answered_by(conversation.handle.id());
                let Conversation { events: own, .. } = conversation;
                events = Some(own);
                None
            }
            event = next_event(&mut events) => event.map(Message::Happened),
            Some(message) = pending.next(), if !pending.is_empty() => Some(message),
            () = sleep(due) => chat.ticked(),
            () = signals.next() => break Exit::Interrupted,
        };
        let mut messages: Vec<Message> = message.into_iter().collect();
        let more = std::iter::from_fn(|| events.as_mut()?.try_next());
        messages.extend(more.take(MOST_AT_ONCE).map(Message::Happened));
        if let Some(exit) = chat.take(messages, &mut actions, &pending) {
            break exit;
        }
    };
    if exit == Exit::Interrupted {
        actions.kept = unasked(&chat.state);
    }
    let id = actions.after.clone();
    drop(chat);
    finish(&actions).await;
    for line in actions.hand_over(exit).await {
        print::aside(&line);
    }
    if let Some(id) = id.filter(|_| !setup.quiet) {
        print::aside(&format!("resume with: attache chat --resume {id}"));
    }
    Ok(exit)
}

/// Sleeps; for ever without a time.
async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

/// The next event of the run; never without one.
async fn next_event(events: &mut Option<TreeEvents>) -> Option<Arc<RunEvent>> {
    let Some(reading) = events else { return std::future::pending().await };
    let event = reading.next().await;
    if event.is_none() {
        *events = None;
    }
    event
}

/// Stops what is under way, and waits a moment for what was written to reach the disk.
async fn finish(actions: &Actions<'_>) {
    let ending = async {
        if let Some(handle) = &actions.handle {
            handle.cancel();
            // The runtime lives until the end of this function.
            drop(handle.result().await);
        }
        actions.runtime.settled().await;
    };
    tokio::time::timeout(PATIENCE, ending).await.unwrap_or_default();
}

fn greet(session: &mut Session, setup: &Setup) {
    let version = env!("CARGO_PKG_VERSION");
    let folder = &setup.working_directory;
    session.notice(
        Tone::Faint,
        format!("attache {version} in {} · /help lists keys and commands", folder.display()),
    );
}

/// Brings a conversation back as it looked.
fn resumed(state: &mut State, id: &str, store: &FileStore) -> Result<(), Failure> {
    let replay = replay::read(id, store).map_err(|error| transcripts::failure(&error))?;
    state.session = replay.session(std::mem::take(&mut state.session));
    for item in &state.session.items {
        if let state::item::Item::User(text) = item {
            state.composer.remember(text);
        }
    }
    Ok(())
}
