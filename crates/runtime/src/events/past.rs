//! The past of a run: its journal, read again from the beginning as events for readers.
//!
//! It is read in pieces of bounded length, and goes on where it stopped.

use std::{
    fmt,
    fs::OpenOptions,
    io::{self, BufRead as _, BufReader},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    sync::Arc,
};

use attache_kernel::run::{
    event::observed::RunEvent,
    transcript::{Line, Replay},
};
use rustix::fs::OFlags;

/// The number of events read at once.
const AT_ONCE: usize = 256;

/// Where the lines of a run's journal can be read again.
pub trait History: fmt::Debug + Send + Sync {
    /// The lines, from the first on, as far as they are written. Reading may block.
    fn lines(&self) -> io::Result<Lines>;
}

/// The lines of a journal.
pub type Lines = Box<dyn Iterator<Item = io::Result<String>> + Send>;

/// A journal that is a file of lines.
#[derive(Debug)]
pub(crate) struct TranscriptLines {
    path: PathBuf,
}

impl TranscriptLines {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }
}

impl History for TranscriptLines {
    fn lines(&self) -> io::Result<Lines> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let mut file = BufReader::new(file);
        Ok(Box::new(std::iter::from_fn(move || {
            let mut line = String::new();
            match file.read_line(&mut line) {
                Ok(_) => line.ends_with('\n').then_some(Ok(line)),
                Err(error) => Some(Err(error)),
            }
        })))
    }
}

/// A journal being read.
pub(super) struct Past {
    history: Arc<dyn History>,
    reading: Option<(Lines, Option<Replay>)>,
}

impl Past {
    pub(super) fn new(history: Arc<dyn History>) -> Self {
        Self { history, reading: None }
    }

    /// The next events whose numbers lie between the two, both included.
    pub(super) fn read(&mut self, from: u64, last: u64) -> io::Result<Vec<RunEvent>> {
        let (lines, replay) = match &mut self.reading {
            Some(reading) => reading,
            None => self.reading.insert((self.history.lines()?, None)),
        };
        let mut events = Vec::new();
        while events.len() < AT_ONCE {
            let Some(line) = lines.next() else { break };
            let line = Line::parse(&line?).map_err(io::Error::other)?;
            let (seq, event) = match (line, replay.as_mut()) {
                (Line::Header(header), _) => {
                    *replay = Some(Replay::new(*header).map_err(io::Error::other)?);
                    continue;
                }
                (Line::Event(_), None) => return Err(io::Error::other("no header")),
                (Line::Event(entry), Some(replay)) => {
                    (entry.seq, replay.observe(entry).map_err(io::Error::other)?)
                }
            };
            events.extend(event.filter(|_| seq >= from));
            if seq >= last {
                break;
            }
        }
        Ok(events)
    }
}

impl fmt::Debug for Past {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Past").field("history", &self.history).finish_non_exhaustive()
    }
}
