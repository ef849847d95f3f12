//! Spending: what each run used and paid, turn by turn, without reading what was said.
//!
//! A transcript is read line by line, and of a line only what it spent. Unfinished ends do not count, as
//! everywhere; a transcript with any other line that cannot be parsed is an error, and the other
//! transcripts are still read.

use std::{
    collections::HashSet,
    fs::File,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use attache_kernel::{
    id::{AgentName, RunId},
    run::{
        event::spent::{Spent, SpentLine},
        outcome::ModelUsed,
        transcript::FORMAT,
    },
};
use jiff::Timestamp;
use memchr::{memchr, memmem::Finder};
use serde::Deserialize;

use super::{ledger::Ledger, names::Place, open_to_read};
use crate::store::StoreError;

/// How much of a file is read at once.
const PIECE: usize = 64 * 1024;

/// What one run spent.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSpending {
    /// The run.
    pub agent_id: RunId,
    /// The agent.
    pub agent_type: AgentName,
    /// The model.
    pub model: ModelUsed,
    /// Each call of the model that was answered, or whose answer was lost, in order; at least one.
    pub turns: Vec<TurnSpending>,
    /// Where its transcript lies.
    pub path: PathBuf,
}

/// What one call of a model spent.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnSpending {
    /// When the answer was there, or was given up.
    pub at: Timestamp,
    /// What it spent.
    pub spent: Spent,
}

type Marks = [Finder<'static>; 2];

/// Which run it is, in any file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RunKey {
    pub(super) session: String,
    pub(super) run: String,
}

impl RunKey {
    pub(super) fn new(place: &Place) -> Self {
        Self { session: place.session(), run: place.id.clone() }
    }
}

/// What runs spent, one after another: those with a transcript, then those that were removed.
#[derive(Debug)]
pub(super) struct Spending {
    places: std::vec::IntoIter<Place>,
    counted: HashSet<RunKey>,
    ledger: Option<Ledger>,
    removed: std::vec::IntoIter<Result<RunSpending, StoreError>>,
    marks: Marks,
}

impl Spending {
    pub(super) fn new(places: Vec<Place>, ledger: Option<Ledger>) -> Self {
        let (counted, removed) = (HashSet::new(), Vec::new().into_iter());
        Self { places: places.into_iter(), counted, ledger, removed, marks: marks() }
    }
}

impl Iterator for Spending {
    type Item = Result<RunSpending, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        for place in self.places.by_ref() {
            let file = match open_to_read(&place.path) {
                Ok(file) => file,
                // Cleaned away since it was found: it is in the ledger.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Some(Err(StoreError::read(&place.path, source))),
            };
            self.counted.insert(RunKey::new(&place));
            let spent = read_spending(file, &place.path, &self.marks).transpose();
            if spent.is_some() {
                return spent;
            }
        }
        // Read last, so that no run is missed that is cleaned away meanwhile.
        if let Some(ledger) = self.ledger.take() {
            self.removed = ledger.read(&self.counted).into_iter();
        }
        self.removed.next()
    }
}

/// What one run spent; none if it was nothing.
pub(super) fn spending_of(file: File, path: &Path) -> Result<Option<RunSpending>, StoreError> {
    read_spending(file, path, &marks())
}

fn marks() -> Marks {
    SpentLine::MARKS.map(Finder::new)
}

fn read_spending(
    file: File,
    path: &Path,
    marks: &Marks,
) -> Result<Option<RunSpending>, StoreError> {
    let mut lines = Lines { file: BufReader::with_capacity(PIECE, file), number: 0, path };
    let mut line = Vec::new();
    match (lines.next_into(&mut line)?, line.is_empty()) {
        (true, _) => {}
        // It was cut off before it began, or is about to begin.
        (false, true) => return Ok(None),
        (false, false) => return Err(StoreError::NoHeader { path: path.to_path_buf() }),
    }
    let head = lines.head(&line)?;
    let mut turns = Vec::new();
    while lines.next_into(&mut line)? {
        match turn(&line, marks) {
            Ok(spent) => turns.extend(spent),
            Err(problem) => {
                let number = lines.number;
                if lines.next_into(&mut line)? {
                    let path = path.to_path_buf();
                    return Err(StoreError::Broken { path, line: number, problem });
                }
                // Nothing follows it: the end of a process that was killed.
            }
        }
    }
    if turns.is_empty() {
        return Ok(None);
    }
    Ok(Some(RunSpending {
        agent_id: head.agent_id,
        agent_type: head.definition.agent_type,
        model: head.model,
        turns,
        path: path.to_path_buf(),
    }))
}

fn turn(line: &[u8], marks: &Marks) -> Result<Option<TurnSpending>, String> {
    if !(line.starts_with(b"{") && line.ends_with(b"}")) {
        return Err("it is not an object".to_owned());
    }
    if marks.iter().all(|mark| mark.find(line).is_none()) {
        return Ok(None);
    }
    let Some(spent) = SpentLine::parse(line).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let at = spent.ts.parse().map_err(|error: jiff::Error| error.to_string())?;
    Ok(Some(TurnSpending { at, spent: spent.spent }))
}

/// The whole lines of a transcript.
struct Lines<'path> {
    file: BufReader<File>,
    /// Which line was read last, from 1.
    number: usize,
    path: &'path Path,
}

impl Lines<'_> {
    /// Reads the next line, without its end; false if there is no whole one any more.
    fn next_into(&mut self, line: &mut Vec<u8>) -> Result<bool, StoreError> {
        line.clear();
        self.file.read_until(b'\n', line).map_err(|source| StoreError::read(self.path, source))?;
        self.number += 1;
        // JSON never holds a zero: it is what a lost block reads as.
        Ok(line.pop() == Some(b'\n') && memchr(0, line).is_none())
    }

    fn head(&self, line: &[u8]) -> Result<Head, StoreError> {
        let path = || self.path.to_path_buf();
        let broken = |problem: String| StoreError::Broken { path: path(), line: 1, problem };
        let read = |error: serde_json::Error| broken(error.to_string());
        let Version { format } = serde_json::from_slice(line).map_err(read)?;
        match format {
            Some(format) if format > u64::from(FORMAT) => {
                Err(StoreError::NewerFormat { path: path(), format })
            }
            Some(_) => Ok(serde_json::from_slice::<Header>(line).map_err(read)?.run),
            None => Err(broken("it is not a header".to_owned())),
        }
    }
}

/// What is asked of a header first: a newer one may hold nothing else that is known.
#[derive(Deserialize)]
struct Version {
    format: Option<u64>,
}

#[derive(Deserialize)]
struct Header {
    run: Head,
}

#[derive(Deserialize)]
struct Head {
    agent_id: RunId,
    definition: HeadDefinition,
    model: ModelUsed,
}

#[derive(Deserialize)]
struct HeadDefinition {
    #[serde(rename = "agentType")]
    agent_type: AgentName,
}
