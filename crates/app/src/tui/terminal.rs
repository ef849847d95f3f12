//! The terminal while the UI has it.
//!
//! Invariant: it is as it was found once this is dropped, after a panic too; signals are the caller's.

use std::{
    io::{self, BufWriter, Stdout, Write as _},
    panic,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, Ordering},
    },
};

use crossterm::{
    cursor,
    event::{DisableBracketedPaste, EnableBracketedPaste},
    execute, queue,
    style::Print,
    terminal::{
        BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
        LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
    },
};
use ratatui::{backend::CrosstermBackend, layout::Size, text::Line};

use super::screen::{Frame, Screen};

/// The wheel moves through full screens; in the conversation it is the terminal's, for its scrollback. Only buttons are
/// asked for, not every movement. (The mode that turns the wheel into arrow keys does nothing in tmux.)
const WHEEL_ON: &str = "\x1b[?1000h\x1b[?1006h";
const WHEEL_OFF: &str = "\x1b[?1006l\x1b[?1000l";

type Out = CrosstermBackend<BufWriter<Stdout>>;

/// The terminal, with its screen.
pub(crate) struct Terminal {
    screen: Screen<Out>,
    /// Where the conversation's live part begins, while a full screen covers it.
    covered: Option<u16>,
    held: Held,
}

impl Terminal {
    /// Takes the terminal.
    pub(crate) fn take() -> io::Result<Self> {
        let held = Held::take()?;
        // A terminal that does not tell where its cursor is gets a new line at its end.
        let top = match cursor::position() {
            Ok((0, row)) => row,
            Ok((_, row)) => row.saturating_add(1),
            Err(_) => u16::MAX,
        };
        let mut backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let rows = crossterm::terminal::size()?.1;
        if top >= rows {
            queue!(backend, cursor::MoveTo(0, rows.saturating_sub(1)), Print("\n"))?;
        }
        Ok(Self { screen: Screen::new(backend, top)?, covered: None, held })
    }

    pub(crate) fn size(&self) -> Size {
        self.screen.size()
    }

    /// Prints finished lines and draws the live part, at once.
    pub(crate) fn show(&mut self, finished: &[Line<'static>], frame: &Frame) -> io::Result<()> {
        queue!(self.screen.backend_mut(), BeginSynchronizedUpdate)?;
        self.screen.print(finished)?;
        self.screen.draw(frame)?;
        if self.covered.is_none() {
            self.held.top.store(self.screen.top(), Ordering::Relaxed);
        }
        execute!(self.screen.backend_mut(), EndSynchronizedUpdate)
    }

    /// The terminal has another size; `end` is the end of the conversation in the new width.
    pub(crate) fn resized(&mut self, size: Size, end: &[Line<'static>]) -> io::Result<()> {
        if self.covered.is_some() {
            self.covered = Some(u16::MAX);
            return self.screen.resized(size, &[]);
        }
        self.screen.resized(size, end)
    }

    /// Covers the conversation with a full screen, or uncovers it. Tells whether the conversation has to
    /// be laid out again, because the size changed meanwhile.
    pub(crate) fn cover(&mut self, is_covered: bool) -> io::Result<bool> {
        if is_covered == self.covered.is_some() {
            return Ok(false);
        }
        let Some(top) = self.covered.take() else {
            self.covered = Some(self.screen.top());
            self.held.is_covered.store(true, Ordering::Relaxed);
            execute!(self.screen.backend_mut(), EnterAlternateScreen, Print(WHEEL_ON))?;
            self.screen.replaced(0);
            return Ok(false);
        };
        self.held.is_covered.store(false, Ordering::Relaxed);
        execute!(self.screen.backend_mut(), Print(WHEEL_OFF), LeaveAlternateScreen)?;
        self.screen.replaced(top);
        Ok(top == u16::MAX)
    }

    /// Gives the terminal to another program until [`Self::take_back`].
    pub(crate) fn give(&mut self) -> io::Result<()> {
        if !self.held.is_taken.load(Ordering::Relaxed) {
            // It was given back when something panicked.
            return Ok(());
        }
        self.cover(false)?;
        self.screen.finish()?;
        self.held.give()
    }

    /// Takes the terminal back.
    pub(crate) fn take_back(&mut self) -> io::Result<()> {
        self.held.enter()?;
        let row = cursor::position().map_or(u16::MAX, |(_, row)| row);
        self.screen.replaced(row);
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // There is nobody to tell.
        drop(self.give());
    }
}

/// The modes of the terminal.
struct Held {
    is_taken: Arc<AtomicBool>,
    is_covered: Arc<AtomicBool>,
    /// The row at which the live part of the conversation begins.
    top: Arc<AtomicU16>,
}

impl Held {
    fn take() -> io::Result<Self> {
        let held =
            Self { is_taken: Arc::default(), is_covered: Arc::default(), top: Arc::default() };
        held.enter()?;
        let (is_taken, is_covered) = (Arc::clone(&held.is_taken), Arc::clone(&held.is_covered));
        let top = Arc::clone(&held.top);
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            if is_taken.swap(false, Ordering::Relaxed) {
                // The panic is told either way, below the conversation, where the live part was.
                drop(restored(is_covered.swap(false, Ordering::Relaxed)));
                let from = cursor::MoveTo(0, top.load(Ordering::Relaxed));
                drop(execute!(io::stdout(), from, Clear(ClearType::FromCursorDown)));
            }
            usual(panicked);
        }));
        Ok(held)
    }

    fn enter(&self) -> io::Result<()> {
        enable_raw_mode()?;
        self.is_taken.store(true, Ordering::Relaxed);
        execute!(io::stdout(), EnableBracketedPaste)
    }

    fn give(&self) -> io::Result<()> {
        if self.is_taken.swap(false, Ordering::Relaxed) {
            return restored(self.is_covered.swap(false, Ordering::Relaxed));
        }
        Ok(())
    }
}

/// Puts the modes back.
fn restored(is_covered: bool) -> io::Result<()> {
    let mut out = io::stdout();
    if is_covered {
        queue!(out, Print(WHEEL_OFF), LeaveAlternateScreen)?;
    }
    queue!(out, EndSynchronizedUpdate, DisableBracketedPaste, cursor::Show)?;
    out.flush()?;
    disable_raw_mode()
}

#[cfg(test)]
mod tests;
