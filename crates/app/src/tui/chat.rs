//! The loop's other half: takes messages, draws when something changed, and lends the terminal to others.
//!
//! Invariant: at most one frame in [`FRAME`], and none while nothing changes.

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use attache_runtime::internal::clock;
use crossterm::event::{Event as Input, EventStream, MouseEventKind};
use futures_util::stream::FuturesUnordered;
use rustix::process::kill_current_process_group;

use super::{
    effects::{Actions, Command, Done, Pending},
    state::{Request, State, blocks::Blocks, session::Session},
    terminal::Terminal,
    theme::Theme,
    update::{Message, Pace, update},
    view::{self, Moment},
};
use crate::{
    failure::Exit,
    print::{Stream, palette::Tone},
    setup::Setup,
};

/// The time between two frames at least.
const FRAME: Duration = Duration::from_millis(34);
/// How often clocks are drawn again while something is under way.
const TICK: Duration = Duration::from_millis(250);
/// How often what a full screen shows is read again.
const REFRESH: Duration = Duration::from_secs(1);

/// Letters that come faster are of one message.
const PAUSE: Duration = Duration::from_millis(600);
/// How many lines the wheel moves.
const WHEEL: isize = 3;

/// The screen, what it shows, and the keys.
pub(super) struct Chat {
    terminal: Terminal,
    pub(super) keys: EventStream,
    pub(super) state: State,
    theme: Theme,
    /// How many items stand above the live part.
    printed: usize,
    last_frame: Option<Instant>,
    last_key: Option<Instant>,
    last_tick: Option<Instant>,
    is_dirty: bool,
    is_resized: bool,
}

impl Chat {
    pub(super) fn new(state: State) -> io::Result<Self> {
        // The terminal is asked for its cursor before anybody reads keys.
        let terminal = Terminal::take()?;
        Ok(Self {
            terminal,
            keys: EventStream::new(),
            state,
            theme: Theme::new(Stream::Out.colours()),
            printed: 0,
            last_frame: None,
            last_key: None,
            last_tick: None,
            is_dirty: true,
            is_resized: false,
        })
    }

    /// Time has passed: clocks are drawn again, and now and then what a full screen shows is read again.
    pub(super) fn ticked(&mut self) -> Option<Message> {
        let Some(page) = &self.state.page else {
            self.is_dirty = true;
            return None;
        };
        let is_early = self.last_tick.is_some_and(|last| last.elapsed() < REFRESH);
        if !page.is_live() || is_early {
            return None;
        }
        self.last_tick = Some(Instant::now());
        Some(Message::Tick)
    }

    /// How long until the next frame: little after a change, a tick while clocks are shown.
    pub(super) fn next_frame(&self) -> Option<Duration> {
        let shows_clocks = match &self.state.page {
            Some(page) => page.is_live(),
            None => self.state.session.is_open() || self.state.request != Request::None,
        };
        let elapsed = |last: Option<Instant>| last.map_or(REFRESH, |last| last.elapsed());
        match (self.is_dirty, shows_clocks, &self.state.page) {
            (true, _, _) => Some(FRAME.saturating_sub(elapsed(self.last_frame))),
            (false, false, _) => None,
            (false, true, None) => Some(TICK.saturating_sub(elapsed(self.last_frame))),
            (false, true, Some(_)) => Some(REFRESH.saturating_sub(elapsed(self.last_tick))),
        }
    }

    pub(super) fn input(&mut self, input: Input) -> Option<Message> {
        match input {
            Input::Key(key) => {
                let last = self.last_key.replace(Instant::now());
                let is_flowing = last.is_some_and(|last| last.elapsed() < PAUSE);
                let pace = if is_flowing { Pace::Flowing } else { Pace::Fresh };
                Some(Message::Key(key, pace))
            }
            Input::Paste(text) => Some(Message::Pasted(text)),
            Input::Resize(..) => {
                self.is_resized = true;
                self.is_dirty = true;
                None
            }
            Input::Mouse(mouse) => match mouse.kind {
                MouseEventKind::ScrollUp => Some(Message::Wheel(-WHEEL)),
                MouseEventKind::ScrollDown => Some(Message::Wheel(WHEEL)),
                _ => None,
            },
            Input::FocusGained | Input::FocusLost => None,
        }
    }

    /// Takes messages and does what they ask for; an exit if somebody leaves.
    pub(super) fn take<'a>(
        &mut self,
        messages: Vec<Message>,
        actions: &mut Actions<'a>,
        pending: &FuturesUnordered<Pending<'a>>,
    ) -> Option<Exit> {
        for message in messages {
            self.is_dirty |= self.changes(&message);
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
                        pending.push(actions.agents_again());
                    }
                    Done::Yours(Command::Clear) => self.clear(),
                }
            }
        }
        None
    }

    /// Whether a message changes what is seen.
    fn changes(&self, message: &Message) -> bool {
        match message {
            Message::Tick => false,
            Message::Refreshed(page) => {
                self.state.page.as_ref().is_some_and(|open| !open.shows(page))
            }
            _ => true,
        }
    }

    /// Gives the terminal back to the shell until somebody continues the program.
    fn suspend(&mut self) {
        // A reader of keys would take the terminal's answers.
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
        self.state.blocks = Blocks::default();
        self.state.session.notice(Tone::Faint, "a new conversation");
        self.printed = 0;
    }

    /// Draws, if something changed and the last frame is old enough.
    pub(super) fn draw(&mut self) -> io::Result<()> {
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
            let live = view::frame(&self.state, &self.moment(size)).lines.len();
            let end = self.end(size, usize::from(height).saturating_sub(live));
            self.terminal.resized(size, &end)?;
            if self.state.page.is_none() {
                self.printed = self.state.session.items.len();
            }
        }
        let moment = self.moment(self.terminal.size());
        self.state.screen = moment.size;
        let frame = view::frame(&self.state, &moment);
        if self.state.page.is_some() {
            return self.terminal.show(&[], &frame);
        }
        let items = self.state.session.items.get(self.printed..).unwrap_or_default();
        let finished = view::finished(items, &self.state.blocks, &moment);
        self.printed = self.state.session.items.len();
        self.terminal.show(&finished, &frame)
    }

    fn moment(&self, size: ratatui::layout::Size) -> Moment {
        let now_ms = u64::try_from(clock::now().as_millisecond()).unwrap_or_default();
        Moment { now_ms, size, theme: self.theme }
    }

    /// The end of the conversation: as many lines as there is room for.
    fn end(&self, size: ratatui::layout::Size, room: usize) -> Vec<ratatui::text::Line<'static>> {
        let moment = self.moment(size);
        let mut blocks = Vec::new();
        let mut rows = 0;
        for item in self.state.session.items.iter().rev() {
            if rows >= room {
                break;
            }
            let lines = view::finished(std::slice::from_ref(item), &self.state.blocks, &moment);
            rows += lines.len();
            blocks.push(lines);
        }
        let over = rows.saturating_sub(room);
        blocks.into_iter().rev().flatten().skip(over).collect()
    }
}
