//! The terminal UI: a conversation with the main agent, inline in the terminal's own screen.
//!
//! Messages change the [`state`] in [`mod@update`], which asks for [`effects`]; the [`view`] shows the state.
//! At most 30 frames are drawn a second, and none while nothing happens.

mod approver;
mod effects;
mod markdown;
mod replay;
mod screen;
mod state;
mod terminal;
mod text;
mod theme;
mod update;
mod view;

#[cfg(test)]
mod tests;

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use attache_runtime::{clock, events::TreeEvents, store::FileStore};
use crossterm::event::{Event as Input, EventStream};
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use rustix::process::kill_current_process_group;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use self::{
    approver::ScreenApprover,
    effects::{Actions, Command, Conversation, Done, Pending},
    state::{State, page::Page, session::Session},
    terminal::Terminal,
    theme::Theme,
    update::{Effect, Load, Message, update},
    view::Moment,
};
use crate::{
    commands::run::Approve,
    failure::{Exit, Failure},
    print::{self, Stream, palette::Tone},
    setup::Setup,
    transcripts,
};

pub(crate) use self::replay::newest_conversation;

/// The time between two frames at least.
const FRAME: Duration = Duration::from_millis(34);
/// How often clocks are drawn again while something is under way.
const TICK: Duration = Duration::from_millis(250);
/// How often a full screen that shows runs is read again.
const REFRESH: Duration = Duration::from_secs(1);
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
        model: beginning.model,
        provider: beginning.provider,
        after: beginning.resume,
        at: None,
        handle: None,
        start: effects::Start::None,
    };
    let cannot =
        |error: io::Error| Failure::unsuccessful("cannot use the terminal").because(&error);
    let mut chat = Chat::new(state).map_err(cannot)?;
    let mut signals = Signals::new();
    let mut pending: FuturesUnordered<Pending<'_>> = FuturesUnordered::new();
    let mut events: Option<TreeEvents> = None;
    let exit = loop {
        chat.draw().map_err(cannot)?;
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
    let id = actions.after.clone();
    drop(chat);
    finish(&actions).await;
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
async fn next_event(
    events: &mut Option<TreeEvents>,
) -> Option<std::sync::Arc<attache_kernel::run::event::observed::RunEvent>> {
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
    let events = replay::events(id, store).map_err(|error| transcripts::failure(&error))?;
    for event in &events {
        state.session.apply(event);
    }
    replay::cut_off(&mut state.session);
    for item in &state.session.items {
        if let state::item::Item::User(text) = item {
            state.composer.remember(text);
        }
    }
    Ok(())
}

/// The screen, what it shows, and the keys.
struct Chat {
    terminal: Terminal,
    keys: EventStream,
    state: State,
    theme: Theme,
    /// How many items stand above the live part.
    printed: usize,
    last_frame: Option<Instant>,
    last_tick: Option<Instant>,
    is_dirty: bool,
    is_resized: bool,
}

impl Chat {
    fn new(state: State) -> io::Result<Self> {
        // The terminal is asked for its cursor before anybody reads keys.
        let terminal = Terminal::take()?;
        Ok(Self {
            terminal,
            keys: EventStream::new(),
            state,
            theme: Theme::new(Stream::Out.colours()),
            printed: 0,
            last_frame: None,
            last_tick: None,
            is_dirty: true,
            is_resized: false,
        })
    }

    /// Time has passed: clocks are drawn again, and now and then what a full screen shows is read again.
    fn ticked(&mut self) -> Option<Message> {
        self.is_dirty = true;
        let is_live = self.state.page.as_ref().is_some_and(Page::is_live);
        if !is_live || self.last_tick.is_some_and(|last| last.elapsed() < REFRESH) {
            return None;
        }
        self.last_tick = Some(Instant::now());
        Some(Message::Tick)
    }

    /// How long until the next frame: little after a change, a tick while clocks are shown.
    fn next_frame(&self) -> Option<Duration> {
        let is_live = self.state.page.as_ref().is_some_and(Page::is_live);
        let wait = match (self.is_dirty, self.state.session.is_open() || is_live) {
            (true, _) => FRAME,
            (false, true) => TICK,
            (false, false) => return None,
        };
        Some(wait.saturating_sub(self.last_frame.map_or(FRAME, |last| last.elapsed())))
    }

    fn input(&mut self, input: Input) -> Option<Message> {
        match input {
            Input::Key(key) => Some(Message::Key(key)),
            Input::Paste(text) => Some(Message::Pasted(text)),
            Input::Resize(..) => {
                self.is_resized = true;
                self.is_dirty = true;
                None
            }
            Input::FocusGained | Input::FocusLost | Input::Mouse(_) => None,
        }
    }

    /// Takes messages and does what they ask for; an exit if somebody leaves.
    fn take<'a>(
        &mut self,
        messages: Vec<Message>,
        actions: &mut Actions<'a>,
        pending: &FuturesUnordered<Pending<'a>>,
    ) -> Option<Exit> {
        for message in messages {
            self.is_dirty = true;
            if matches!(message, Message::Resumed(_)) {
                self.printed = 0;
            }
            for effect in update(&mut self.state, message) {
                match actions.perform(effect) {
                    Done::Now => {}
                    Done::Later(future) => pending.push(future),
                    Done::Yours(Command::Quit) => return Some(Exit::Success),
                    Done::Yours(Command::Repaint) => self.is_resized = true,
                    Done::Yours(Command::Suspend) => self.suspend(),
                    Done::Yours(Command::Edit(path)) => {
                        self.edit(&path, actions.setup);
                        if let Done::Later(read) = actions.perform(Effect::Refresh(Load::Agents)) {
                            pending.push(read);
                        }
                    }
                    Done::Yours(Command::Clear) => self.clear(),
                }
            }
        }
        None
    }

    /// Gives the terminal back to the shell until somebody continues the program.
    fn suspend(&mut self) {
        // Whoever reads keys would take the terminal's answers.
        self.keys = EventStream::new();
        if self.terminal.give().is_ok() {
            // Where there is no job control, the program goes on at once.
            kill_current_process_group(rustix::process::Signal::TSTP).unwrap_or_default();
        }
        // A terminal that cannot be taken back fails at the next frame.
        self.terminal.take_back().unwrap_or_default();
    }

    /// Opens a file in the user's editor and waits for it; runs go on meanwhile.
    fn edit(&mut self, path: &Path, setup: &Setup) {
        let set = |name: &str| setup.environment.get(name).filter(|value| !value.trim().is_empty());
        let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or("vi");
        self.keys = EventStream::new();
        let given = self.terminal.give();
        // The shell splits what EDITOR says, as everybody expects.
        let ended = given.and_then(|()| {
            std::process::Command::new("sh")
                .arg("-c")
                .arg(format!("{editor} \"$1\""))
                .arg("editor")
                .arg(path)
                .status()
        });
        // A terminal that cannot be taken back fails at the next frame.
        self.terminal.take_back().unwrap_or_default();
        self.is_resized = true;
        if !ended.is_ok_and(|status| status.success()) {
            let text = format!("the editor `{editor}` failed: set EDITOR");
            self.state.session.notice(Tone::Bad, text);
        }
    }

    fn clear(&mut self) {
        self.state.session = Session::default();
        self.state.session.notice(Tone::Faint, "a new conversation");
        self.printed = 0;
    }

    /// Draws, if something changed and the last frame is old enough.
    fn draw(&mut self) -> io::Result<()> {
        let is_early = self.last_frame.is_some_and(|last| last.elapsed() < FRAME);
        if !self.is_dirty || is_early {
            return Ok(());
        }
        self.last_frame = Some(Instant::now());
        self.is_dirty = false;
        self.is_resized |= self.terminal.cover(self.state.page.is_some())?;
        if std::mem::take(&mut self.is_resized) {
            let (width, height) = crossterm::terminal::size()?;
            let size = ratatui::layout::Size::new(width, height);
            let end = self.end(size);
            self.terminal.resized(size, &end)?;
            if self.state.page.is_none() {
                self.printed = self.state.session.items.len();
            }
        }
        let moment = self.moment(self.terminal.size());
        self.state.page_height = moment.height().saturating_sub(view::page::FRAME_LINES);
        let frame = view::frame(&self.state, &moment);
        if self.state.page.is_some() {
            return self.terminal.show(&[], &frame);
        }
        let items = self.state.session.items.get(self.printed..).unwrap_or_default();
        let finished = view::finished(items, self.state.is_unfolded, &moment);
        self.printed = self.state.session.items.len();
        self.terminal.show(&finished, &frame)
    }

    fn moment(&self, size: ratatui::layout::Size) -> Moment {
        let now_ms = u64::try_from(clock::now().as_millisecond()).unwrap_or_default();
        Moment { now_ms, size, theme: self.theme }
    }

    /// The end of the conversation: as many lines as a screen has.
    fn end(&self, size: ratatui::layout::Size) -> Vec<ratatui::text::Line<'static>> {
        let moment = self.moment(size);
        let mut blocks = Vec::new();
        let mut rows = 0;
        for item in self.state.session.items.iter().rev() {
            if rows >= moment.height() {
                break;
            }
            let lines = view::finished(std::slice::from_ref(item), self.state.is_unfolded, &moment);
            rows += lines.len();
            blocks.push(lines);
        }
        blocks.into_iter().rev().flatten().collect()
    }
}

/// The signals that end the program.
struct Signals {
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    interrupt: Option<Signal>,
}

impl Signals {
    fn new() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            hang_up: signal(SignalKind::hangup()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    async fn next(&mut self) {
        async fn arrival(signal: Option<&mut Signal>) -> Option<()> {
            signal?.recv().await
        }
        tokio::select! {
            Some(()) = arrival(self.terminate.as_mut()) => {}
            Some(()) = arrival(self.hang_up.as_mut()) => {}
            Some(()) = arrival(self.interrupt.as_mut()) => {}
            else => std::future::pending().await,
        }
    }
}
