//! The ledger: what runs spent whose transcripts are removed, one JSON line a run.
//!
//! A line is written before the transcript is removed. A run counts once: from its transcript while
//! there is one, and else from its last line here. A clean-up that is cut off between the two therefore
//! counts nothing twice.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{File, OpenOptions},
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use attache_kernel::{
    id::{AgentName, RunId},
    model::usage::Usage,
    run::{event::spent::Spent, outcome::ModelUsed},
};
use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};
use serde::{Deserialize, Serialize};

use super::{
    RunSpending, TurnSpending, names::Place, no_surprises, open_to_read, spending::RunKey,
};
use crate::store::StoreError;

/// The version of a line's format.
const VERSION: u32 = 1;

/// A file of what removed runs spent.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    path: PathBuf,
    /// Only the runs of this session are read.
    session: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct LedgerLine {
    version: u32,
    session: String,
    run: String,
    agent: AgentName,
    model: ModelUsed,
    turns: Vec<LedgerTurn>,
}

#[derive(Serialize, Deserialize)]
struct LedgerTurn {
    at: String,
    usage: Usage,
    cost_usd: Option<f64>,
    #[serde(default)]
    answer_lost: bool,
}

impl Ledger {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, session: None }
    }

    /// The same file, read for one session.
    pub(super) fn of_session(self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..self }
    }

    /// Writes down what these runs spent, and waits until it is on the disk.
    pub(super) fn append(&self, runs: &[(Place, RunSpending)]) -> Result<(), StoreError> {
        if runs.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (place, run) in runs {
            serde_json::to_writer(&mut lines, &LedgerLine::new(place, run))
                .map_err(|source| StoreError::Line { path: self.path.clone(), source })?;
            lines.push(b'\n');
        }
        self.write(lines).map_err(|source| StoreError::write(&self.path, source))
    }

    fn write(&self, mut lines: Vec<u8>) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(no_surprises())
            .open(&self.path)?;
        retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
        let length = file.metadata()?.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.read_exact_at(&mut last, length - 1)?;
        }
        // A line that was cut off ends here, and is not read.
        if last != [b'\n'] {
            lines.insert(0, b'\n');
        }
        let written = file.write_all(&lines).and_then(|()| file.sync_data());
        if written.is_err() {
            // As it was before; a part that stays is not read.
            file.set_len(length).unwrap_or_default();
        }
        written
    }

    /// What is written of runs that are not counted yet, each once.
    pub(super) fn read(&self, counted: &HashSet<RunKey>) -> Vec<Result<RunSpending, StoreError>> {
        let file = match open_to_read(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(source) => return vec![Err(StoreError::read(&self.path, source))],
        };
        let mut runs = BTreeMap::new();
        let mut broken = Vec::new();
        if let Err(error) = self.read_lines(file, &mut runs, &mut broken) {
            broken.push(error);
        }
        let is_asked_for =
            |key: &RunKey| self.session.as_ref().is_none_or(|session| *session == key.session);
        runs.retain(|key, _| !counted.contains(key) && is_asked_for(key));
        runs.into_values().map(Ok).chain(broken.into_iter().map(Err)).collect()
    }

    fn read_lines(
        &self,
        file: File,
        runs: &mut BTreeMap<RunKey, RunSpending>,
        broken: &mut Vec<StoreError>,
    ) -> Result<(), StoreError> {
        let mut lines = BufReader::new(file);
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            lines
                .read_until(b'\n', &mut bytes)
                .map_err(|source| StoreError::read(&self.path, source))?;
            match (bytes.pop(), bytes.is_empty()) {
                (Some(b'\n'), false) => {}
                (Some(b'\n'), true) => continue,
                // The end, or a line that is being written.
                (Some(_) | None, _) => break,
            }
            match LedgerLine::parse(&bytes).and_then(|line| line.spending(&self.path)) {
                Ok((key, run)) => drop(runs.insert(key, run)),
                Err(problem) => {
                    let path = self.path.clone();
                    broken.push(StoreError::Broken { path, line: number, problem });
                }
            }
        }
        Ok(())
    }
}

impl LedgerLine {
    fn new(place: &Place, run: &RunSpending) -> Self {
        let RunKey { session, run: id } = RunKey::new(place);
        let turns = run.turns.iter().map(|turn| LedgerTurn {
            at: turn.at.to_string(),
            usage: turn.spent.usage.clone(),
            cost_usd: turn.spent.cost_usd,
            answer_lost: turn.spent.answer_lost,
        });
        Self {
            version: VERSION,
            session,
            run: id,
            agent: run.agent_type.clone(),
            model: run.model.clone(),
            turns: turns.collect(),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let line: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if line.version != VERSION {
            return Err(format!("version {} is not known", line.version));
        }
        Ok(line)
    }

    fn spending(self, path: &Path) -> Result<(RunKey, RunSpending), String> {
        let mut turns = Vec::new();
        for turn in self.turns {
            let LedgerTurn { at, usage, cost_usd, answer_lost } = turn;
            let at = at.parse().map_err(|error: jiff::Error| error.to_string())?;
            turns.push(TurnSpending { at, spent: Spent { usage, cost_usd, answer_lost } });
        }
        let spending = RunSpending {
            agent_id: RunId::new(self.run.as_str()),
            agent_type: self.agent,
            model: self.model,
            turns,
            path: path.to_path_buf(),
        };
        Ok((RunKey { session: self.session, run: self.run }, spending))
    }
}
