//! Transcripts: a run as it lies on disk, the contract of `docs/formats/transcript.md`.
//!
//! The first line is a header with the assignment, every other an event with its number and time.
//! Taking in any first part of a transcript makes exactly the run of that moment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    id::RunId,
    rights::permission::SharedGuard,
    run::{
        Run, RunError,
        assignment::Assignment,
        event::{Event, observed::RunEvent},
        milliseconds,
    },
};

/// The version of the format this program writes.
pub const FORMAT: u32 = 1;

/// One line of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one header, and all other lines are events"
)]
pub enum Line {
    /// The first line.
    Header(Box<Header>),
    /// Every other line.
    Event(Entry),
}

/// The first line: the version, and what is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// When the run was made, as an RFC 3339 timestamp.
    pub ts: String,
    /// Which agent does what.
    pub run: Assignment,
}

/// An event with its number and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number in the run; it grows from line to line.
    pub seq: u64,
    /// When, as an RFC 3339 timestamp.
    pub ts: String,
    /// When, in milliseconds on the run's clock: the `now` that was fed in.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// A newer program wrote it.
    #[error("the transcript has format {0}; this program reads up to {FORMAT}")]
    NewerFormat(u64),
    /// It is not a line of a transcript; the last line of a run that was killed may be torn.
    #[error("not a line of a transcript: {0}")]
    Json(#[from] serde_json::Error),
}

/// Why a transcript makes no run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The first line is not a header.
    #[error("the transcript does not begin with a header")]
    NoHeader,
    /// There is a second header.
    #[error("the transcript has a second header after event {0}")]
    SecondHeader(u64),
    /// A newer program wrote it.
    #[error("the transcript has format {0}; this program reads up to {FORMAT}")]
    NewerFormat(u32),
    /// The numbers do not grow.
    #[error("event {seq} follows on event {after}")]
    OutOfOrder {
        /// The number.
        seq: u64,
        /// The number before.
        after: u64,
    },
    /// An event cannot follow on what came before it.
    #[error("event {seq} does not fit: {problem}")]
    Misfit {
        /// Its number.
        seq: u64,
        /// Why.
        problem: &'static str,
    },
    /// The assignment makes no run.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Header {
    /// The header of a run that was made then.
    pub fn new(ts: impl Into<String>, run: Assignment) -> Self {
        Self { format: FORMAT, ts: ts.into(), run }
    }
}

impl Entry {
    /// An event that a run gave out when it was fed at that moment of its clock.
    pub fn new(seq: u64, ts: impl Into<String>, now: Duration, event: Event) -> Self {
        Self { seq, ts: ts.into(), at_ms: milliseconds(now), event }
    }
}

impl Line {
    /// A line as it was written.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        #[derive(Deserialize)]
        struct Version {
            #[serde(default)]
            format: u64,
        }
        match serde_json::from_str(text) {
            Ok(line) => Ok(line),
            // A newer header may not parse at all; what counts is that it is newer.
            Err(problem) => match serde_json::from_str::<Version>(text) {
                Ok(Version { format }) if format > u64::from(FORMAT) => {
                    Err(LineError::NewerFormat(format))
                }
                Ok(_) | Err(_) => Err(LineError::Json(problem)),
            },
        }
    }

    /// The line as it is to be written, without the line break.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

/// A transcript being taken in, event by event.
#[derive(Debug, PartialEq)]
pub struct Replay {
    run: Run,
    last_seq: Option<u64>,
}

impl Replay {
    /// Before the first event.
    pub fn new(header: Header) -> Result<Self, FoldError> {
        if header.format > FORMAT {
            return Err(FoldError::NewerFormat(header.format));
        }
        Ok(Self { run: Run::unguarded(header.run)?, last_seq: None })
    }

    /// Takes in an entry, and gives what readers of the run see of it.
    pub fn observe(&mut self, entry: Entry) -> Result<Option<RunEvent>, FoldError> {
        self.take_in(&entry)?;
        Ok(self.run.observed(entry.event, entry.seq, entry.ts))
    }

    /// Takes in an entry.
    pub fn take_in(&mut self, entry: &Entry) -> Result<(), FoldError> {
        let seq = entry.seq;
        if let Some(after) = self.last_seq.filter(|last| *last >= seq) {
            return Err(FoldError::OutOfOrder { seq, after });
        }
        self.run
            .replay(&entry.event, entry.at_ms)
            .map_err(|problem| FoldError::Misfit { seq, problem })?;
        self.last_seq = Some(seq);
        Ok(())
    }

    /// The number of the last event.
    pub fn last_seq(&self) -> Option<u64> {
        self.last_seq
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run, which may call no tool until it is given a guard.
    pub fn into_run(self) -> Run {
        self.run
    }
}

/// The run a transcript makes, or the first part of one.
pub fn fold(lines: impl IntoIterator<Item = Line>) -> Result<Run, FoldError> {
    let mut lines = lines.into_iter();
    let Some(Line::Header(header)) = lines.next() else {
        return Err(FoldError::NoHeader);
    };
    let mut replay = Replay::new(*header)?;
    for line in lines {
        match line {
            Line::Header(_) => {
                let after = replay.last_seq.unwrap_or_default();
                return Err(FoldError::SecondHeader(after));
            }
            Line::Event(entry) => replay.take_in(&entry)?,
        }
    }
    Ok(replay.run)
}

/// The run as it was when that turn was over, and how many turns there are; none of a run if there is no
/// such turn, or it is not over.
pub fn fold_through_turn(
    lines: impl IntoIterator<Item = Line>,
    turn: u32,
) -> Result<(Option<Run>, u32), FoldError> {
    let mut lines: Vec<Line> = lines.into_iter().collect();
    let over = |line: &Line| match line {
        Line::Event(Entry { event: Event::TurnCompleted { turn, .. }, .. }) => Some(*turn),
        Line::Event(_) | Line::Header(_) => None,
    };
    let turns = lines.iter().filter_map(over).max().unwrap_or_default();
    let Some(end) = lines.iter().position(|line| over(line) == Some(turn)) else {
        return Ok((None, turns));
    };
    lines.truncate(end + 1);
    Ok((Some(fold(lines)?), turns))
}

/// A new run that goes on with everything a transcript holds, and the event that opens its own.
pub fn resume(
    lines: impl IntoIterator<Item = Line>,
    agent_id: RunId,
    task: &str,
    guard: SharedGuard,
) -> Result<(Run, Vec<Event>), FoldError> {
    let earlier = fold(lines)?;
    let assignment = earlier.assignment().resumed_as(agent_id, task);
    Ok(earlier.resume(assignment, guard)?)
}
