//! The terminal that the program was started from, for questions.
//!
//! Invariant: its modes are as they were found once this is dropped, however the question ended.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
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

/// How long nobody may type before a key answers a question.
const PAUSE: Duration = Duration::from_millis(400);
/// `VMIN` while keys are dropped. A key that counts is awaited with 1.
const DROPPING: u8 = 255;

/// What reading a terminal fails with whose other end is gone: EIO.
const GONE: i32 = 5;

/// What happens while a key is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// A letter, in lower case.
    Letter(char),
    /// The program was stopped and goes on: what was asked may be out of sight.
    Continued,
    /// Ctrl-D.
    End,
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

    /// Drops what was typed before a question and in its first moments: nobody can have read it yet. A
    /// key that is held down answers nothing.
    pub(super) async fn settle(&self) -> io::Result<()> {
        self.settle_after(|| tokio::time::sleep(PAUSE)).await
    }

    /// Drops what is typed until nothing was typed during a whole pause.
    async fn settle_after<P: Future<Output = ()>>(
        &self,
        mut pause: impl FnMut() -> P,
    ) -> io::Result<()> {
        let _modes = Modes::set(self, &self.single_keys(DROPPING))?;
        // A terminal that cannot forget is asked all the same.
        tcflush(&self.file, QueueSelector::IFlush).unwrap_or_default();
        loop {
            pause().await;
            if !self.dropped_keys()? {
                return Ok(());
            }
        }
    }

    /// Drops what was typed, and says whether something was. A terminal that is gone types nothing.
    fn dropped_keys(&self) -> io::Result<bool> {
        let mut dropped = false;
        loop {
            match (&self.file).read(&mut [0; 256]) {
                Ok(0) => return Ok(false),
                Ok(_) => dropped = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(dropped),
                Err(error) if error.raw_os_error() == Some(GONE) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// Modes in which keys come one by one and are not shown. Interrupts still come as signals.
    fn single_keys(&self, least: u8) -> Termios {
        let mut modes = self.usual.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.local_modes.insert(LocalModes::ISIG);
        modes.special_codes[SpecialCodeIndex::VMIN] = least;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        modes
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
        let _modes = Modes::set(self, &self.single_keys(1))?;
        loop {
            let read = tokio::select! {
                read = self.read() => read?,
                _ = continued.recv() => return Ok(Pressed::Continued),
            };
            match read.as_slice() {
                [] => return Ok(Pressed::Gone),
                [4] => return Ok(Pressed::End),
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rustix::{
        io::ioctl_fionread,
        pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    };

    use super::*;

    /// A terminal, and the keyboard at its other end.
    fn terminal() -> (Tty, File) {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(flags).open(name).unwrap();
        let usual = tcgetattr(&file).unwrap();
        (Tty { file, usual, entered: AtomicBool::new(false) }, File::from(keyboard))
    }

    /// Types, and waits until the terminal has it.
    fn types(tty: &Tty, mut keyboard: &File, text: &[u8]) {
        keyboard.write_all(text).unwrap();
        while ioctl_fionread(&tty.file).unwrap() < text.len() as u64 {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn keys_in_the_first_moments_of_a_question_do_not_answer_it() {
        let (tty, keyboard) = terminal();
        let pauses = Cell::new(0);
        let pause = || {
            pauses.set(pauses.get() + 1);
            match pauses.get() {
                1 => types(&tty, &keyboard, b"y"),
                2 => types(&tty, &keyboard, b"yyyy"),
                _ => {}
            }
            std::future::ready(())
        };
        tty.settle_after(pause).await.unwrap();
        assert_eq!(pauses.get(), 3, "a pause in which somebody typed is not the last");
        (&keyboard).write_all(b"n").unwrap();
        assert_eq!(tty.key().await.unwrap(), Pressed::Letter('n'));
    }

    #[tokio::test]
    async fn the_end_of_input_is_not_the_end_of_the_terminal() {
        let (tty, keyboard) = terminal();
        tty.settle_after(|| std::future::ready(())).await.unwrap();
        assert!(tcgetattr(&tty.file).unwrap().local_modes.contains(LocalModes::ECHO));
        let _modes = Modes::set(&tty, &tty.single_keys(1)).unwrap();
        types(&tty, &keyboard, b"\x04");
        assert_eq!(tty.key().await.unwrap(), Pressed::End);
    }
}
