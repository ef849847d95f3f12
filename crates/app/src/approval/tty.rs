//! The terminal that the program was started from, for questions.
//!
//! Invariant: its modes are as they were found once this is dropped, however the question ended.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::OFlags,
    pipe::pipe,
    process::{Signal, getpgrp},
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetpgrp, tcgetwinsize, tcsetattr,
    },
};

use tokio::signal::unix::{SignalKind, signal};

/// The columns of a terminal that does not tell.
const USUAL_COLUMNS: usize = 80;
/// The longest answer that is read.
const MOST_BYTES: usize = 4096;

/// What reading a terminal fails with whose other end is gone: EIO.
const GONE: i32 = 5;

/// What happens while a key is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// A letter, in lower case.
    Letter(char),
    /// The program was stopped and goes on: what was asked may be out of sight.
    Continued,
    /// The terminal is gone.
    Gone,
}

/// The terminal.
pub(super) struct Tty {
    file: File,
    usual: Termios,
    /// Whether Enter came together with the last key.
    entered: AtomicBool,
}

impl Tty {
    /// Opens it. There is none for a program that runs in the background of its terminal.
    pub(super) fn open() -> io::Result<Self> {
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file =
            OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")?;
        if tcgetpgrp(&file)? != getpgrp() {
            return Err(io::Error::other("the program is in the background"));
        }
        let usual = tcgetattr(&file)?;
        Ok(Self { file, usual, entered: AtomicBool::new(false) })
    }

    pub(super) fn columns(&self) -> usize {
        let size = tcgetwinsize(&self.file).ok();
        size.map(|size| usize::from(size.ws_col))
            .filter(|columns| *columns > 0)
            .unwrap_or(USUAL_COLUMNS)
    }

    /// Forgets what was typed before there was a question.
    pub(super) fn forget_typed(&self) {
        // A terminal that cannot forget is asked all the same.
        tcflush(&self.file, QueueSelector::IFlush).unwrap_or_default();
    }

    /// Writes a text that is made for a terminal.
    pub(super) async fn write(&self, text: &str) -> io::Result<()> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match (&self.file).write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.ready(PollFlags::OUT).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next key that is a letter, or what else happens.
    pub(super) async fn key(&self) -> io::Result<Pressed> {
        // A shell that stopped the program and lets it go on has modes of its own.
        let mut continued = signal(SignalKind::from_raw(Signal::CONT.as_raw()))?;
        let mut modes = self.usual.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        // Interrupts still come as signals.
        modes.local_modes.insert(LocalModes::ISIG);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        let _modes = Modes::set(self, &modes)?;
        loop {
            let read = tokio::select! {
                read = self.read() => read?,
                _ = continued.recv() => return Ok(Pressed::Continued),
            };
            match read.as_slice() {
                // Ctrl-D is an end, too.
                [] | [4] => return Ok(Pressed::Gone),
                [letter, rest @ ..]
                    if letter.is_ascii_alphabetic() && rest.iter().copied().all(is_enter) =>
                {
                    // A script, or a fast hand, sends the key and Enter at once.
                    self.entered.store(!rest.is_empty(), Ordering::Relaxed);
                    return Ok(Pressed::Letter(char::from(*letter).to_ascii_lowercase()));
                }
                // Arrows and other keys come as several bytes; a pasted text is not an answer.
                _ => {}
            }
        }
    }

    /// A line; none if the terminal is gone. It is empty if Enter came with the key before.
    pub(super) async fn line(&self) -> io::Result<Option<String>> {
        if self.entered.swap(false, Ordering::Relaxed) {
            return Ok(Some("\n".to_owned()));
        }
        let mut modes = self.usual.clone();
        modes.local_modes.insert(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        let _modes = Modes::set(self, &modes)?;
        let mut line = Vec::new();
        while line.len() < MOST_BYTES && !line.ends_with(b"\n") {
            let read = self.read().await?;
            if read.is_empty() {
                break;
            }
            line.extend(read);
        }
        Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
    }

    async fn read(&self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 256];
        loop {
            match (&self.file).read(&mut buffer) {
                Ok(length) => return Ok(buffer.get(..length).unwrap_or_default().to_vec()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.ready(PollFlags::IN).await?;
                }
                // The other end of the terminal is gone.
                Err(error) if error.raw_os_error() == Some(GONE) => return Ok(Vec::new()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits on a thread of its own, which ends when this is dropped: its pipe is closed then.
    async fn ready(&self, wanted: PollFlags) -> io::Result<()> {
        let file = self.file.try_clone()?;
        let (dropped, _waiting) = pipe()?;
        let waited = tokio::task::spawn_blocking(move || {
            let ends = &mut [PollFd::new(&file, wanted), PollFd::new(&dropped, PollFlags::empty())];
            poll(ends, None)
        });
        match waited.await {
            Ok(polled) => polled.map(|_| ()).map_err(Into::into),
            Err(stopped) => Err(io::Error::other(stopped)),
        }
    }
}

fn is_enter(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Modes that hold until this is dropped.
struct Modes<'a> {
    tty: &'a Tty,
}

impl<'a> Modes<'a> {
    fn set(tty: &'a Tty, modes: &Termios) -> io::Result<Self> {
        tcsetattr(&tty.file, OptionalActions::Now, modes)?;
        Ok(Self { tty })
    }
}

impl Drop for Modes<'_> {
    fn drop(&mut self) {
        // A terminal that is gone has no modes.
        tcsetattr(&self.tty.file, OptionalActions::Now, &self.tty.usual).unwrap_or_default();
    }
}
