//! Transcripts on disk: one file a run, `<sessions>/<session>/<agent_id>.jsonl`, only ever appended to.
//!
//! Invariants: a run has one writer at a time, in whatever process; a line is whole or it does not
//! count; no secret is ever written; and what runs is never removed. The files and folders are their
//! owner's alone.

mod clean;
mod error;
mod follow;
mod journal;
mod lock;
mod names;
mod reading;
mod secrets;
mod spending;
mod summary;

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use attache_kernel::{
    id::SessionId,
    run::{
        assignment::Assignment,
        event::Event,
        transcript::{Entry, Header, Line},
    },
};
use rustix::fs::OFlags;

pub use self::{
    clean::{Cleaned, Removed},
    error::TranscriptError,
    follow::Follower,
    journal::{Journal, Syncer},
    secrets::Secrets,
    spending::{RunSpending, TurnSpending},
    summary::{RunState, Summary},
};
use self::{lock::FolderLock, names::Place};

/// Where transcripts lie and how they are written. A copy shares everything.
#[derive(Debug, Clone)]
pub struct TranscriptStore {
    sessions: Arc<Path>,
    options: Arc<Options>,
}

/// How transcripts are written.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What an entry survives once it is written.
    pub durability: Durability,
    /// What is never written.
    pub secrets: Secrets,
}

/// What an entry survives once it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, however it comes. What a machine loses when its power fails is bounded
    /// by the last [`Journal::sync`].
    #[default]
    Process,
    /// The end of the machine, up to the last finished turn: writing the end of a turn or of the run
    /// waits until it is on the disk.
    Machine,
}

/// A transcript as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Where it lies.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// Every other line.
    pub entries: Vec<Entry>,
    /// Whether it had an unfinished end, which was not read.
    pub torn: bool,
    /// What has become of the run.
    pub state: RunState,
}

impl Transcript {
    /// The number of the last entry.
    pub fn last_seq(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.seq)
    }

    /// Its lines, as the kernel folds and resumes them.
    pub fn into_lines(self) -> impl Iterator<Item = Line> {
        let header = Line::Header(Box::new(self.header));
        std::iter::once(header).chain(self.entries.into_iter().map(Line::Event))
    }
}

impl TranscriptStore {
    /// The store below a folder of sessions, which need not exist.
    pub fn new(sessions: impl Into<PathBuf>, options: Options) -> Self {
        Self { sessions: sessions.into().into(), options: Arc::new(options) }
    }

    /// What is never written.
    pub fn secrets(&self) -> &Secrets {
        &self.options.secrets
    }

    /// The folder of sessions.
    pub fn sessions(&self) -> &Path {
        &self.sessions
    }

    /// Begins a run's transcript with its header.
    pub fn create(&self, header: &Header) -> Result<Journal, TranscriptError> {
        let folder = self.folder_of(&header.run)?;
        let path = folder.join(names::file_name(header.run.agent_id.as_str()));
        let file = self.new_locked_file(&folder, &path)?;
        let begun = Journal::begin(file, path.clone(), self.options.clone(), header);
        if begun.is_err() {
            // Without its header it is no transcript; what cannot be removed is not read either.
            fs::remove_file(&path).unwrap_or_default();
        }
        begun
    }

    fn new_locked_file(&self, folder: &Path, path: &Path) -> Result<File, TranscriptError> {
        let failed = |source| TranscriptError::write(path, source);
        let made = |made: &Path| {
            let built = DirBuilder::new().recursive(true).mode(0o700).create(made);
            built.map_err(|source| TranscriptError::write(made, source))
        };
        made(&self.sessions)?;
        // While this is held, nobody who cleans up takes the folder for an empty one.
        let _sessions = FolderLock::take(&self.sessions).map_err(failed)?;
        made(folder)?;
        let guard = FolderLock::take(folder).map_err(failed)?;
        match OpenOptions::new().append(true).create_new(true).mode(0o600).open(path) {
            Ok(file) if lock::acquire(&file, &guard).map_err(failed)? => Ok(file),
            Ok(file) => Err(TranscriptError::running(path, &file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(TranscriptError::Exists { path: path.to_path_buf() })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Reads a transcript by its id, or by the beginning of one that no other id has.
    pub fn load(&self, id: &str) -> Result<Transcript, TranscriptError> {
        let place = self.find(id)?;
        let file = open_to_read(&place.path).map_err(|error| self.gone(id, &place, error))?;
        // Asked before reading: a run that ends in between is read to its end.
        let is_held = lock::is_held(&file, &place.folder);
        let content = read(&file, &place.path)?;
        let state = summary::state(content.entries.last().map(|entry| &entry.event), is_held);
        Ok(content.into_transcript(place.path, state))
    }

    /// Opens a transcript to go on writing where it ends; an unfinished last line is cut off first.
    pub fn open(&self, id: &str) -> Result<(Transcript, Journal), TranscriptError> {
        let place = self.find(id)?;
        let path = place.path.as_path();
        let failed = |source| TranscriptError::write(path, source);
        let guard = FolderLock::take(&place.folder).map_err(failed)?;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .custom_flags(no_surprises())
            .open(path)
            .map_err(|error| self.gone(id, &place, error))?;
        if !lock::acquire(&file, &guard).map_err(failed)? {
            return Err(TranscriptError::running(path, &file));
        }
        drop(guard);
        let content = read(&file, path)?;
        if content.torn {
            file.set_len(content.whole).map_err(failed)?;
        }
        let journal = Journal::go_on(file, place.path.clone(), self.options.clone(), content.whole);
        let last = content.entries.last().map(|entry| &entry.event);
        // Nobody wrote it: that was the state it was found in.
        let state = summary::state(last, false);
        Ok((content.into_transcript(place.path, state), journal))
    }

    /// Reads a transcript from its beginning while somebody else may be writing it.
    pub fn follow(&self, id: &str) -> Result<Follower, TranscriptError> {
        let place = self.find(id)?;
        let file = open_to_read(&place.path).map_err(|error| self.gone(id, &place, error))?;
        Ok(Follower::new(file, place))
    }

    /// Every run there is, newest first. Only the two ends of each file are read.
    pub fn list(&self) -> Result<Vec<Summary>, TranscriptError> {
        let mut summaries: Vec<_> = self.places()?.iter().filter_map(summary::of).collect();
        summaries.sort_by(|one, other| {
            let newest = other.started_at.cmp(&one.started_at);
            newest.then_with(|| one.path.cmp(&other.path))
        });
        Ok(summaries)
    }

    /// What each run spent so far, one after another; those that spent nothing are left out, and one
    /// that is broken is an error of its own.
    pub fn spending(
        &self,
    ) -> Result<impl Iterator<Item = Result<RunSpending, TranscriptError>>, TranscriptError> {
        Ok(spending::of_all(self.places()?))
    }

    /// The same of the runs of one session.
    pub fn spending_in(
        &self,
        session: &SessionId,
    ) -> Result<impl Iterator<Item = Result<RunSpending, TranscriptError>>, TranscriptError> {
        names::check(session.as_str())?;
        Ok(spending::of_all(names::transcripts(&self.sessions.join(session.as_str()))))
    }

    /// Removes the transcripts and artifacts that nothing was written to for that long. What runs
    /// stays.
    pub fn clean(&self, older_than: Duration, now: SystemTime) -> Result<Cleaned, TranscriptError> {
        let cleaned = clean::clean(&self.places()?, older_than, now, clean::Removal::Done);
        clean::remove_empty_folders(&self.sessions, &self.folders()?);
        Ok(cleaned)
    }

    /// What [`Self::clean`] would remove.
    pub fn would_clean(
        &self,
        older_than: Duration,
        now: SystemTime,
    ) -> Result<Cleaned, TranscriptError> {
        Ok(clean::clean(&self.places()?, older_than, now, clean::Removal::OnlyCounted))
    }

    /// Where a run's artifacts belong: beside its transcript, and removed with it.
    pub fn artifacts_dir(&self, header: &Header) -> Result<PathBuf, TranscriptError> {
        self.artifacts_of(&header.run)
    }

    pub(crate) fn artifacts_of(&self, run: &Assignment) -> Result<PathBuf, TranscriptError> {
        Ok(self.folder_of(run)?.join(names::artifacts_name(run.agent_id.as_str())))
    }

    fn folder_of(&self, run: &Assignment) -> Result<PathBuf, TranscriptError> {
        names::check(run.agent_id.as_str())?;
        names::check(run.session_id.as_str())?;
        Ok(self.sessions.join(run.session_id.as_str()))
    }

    fn folders(&self) -> Result<Vec<PathBuf>, TranscriptError> {
        names::folders(&self.sessions)
            .map_err(|source| TranscriptError::read(&self.sessions, source))
    }

    fn places(&self) -> Result<Vec<Place>, TranscriptError> {
        Ok(self.folders()?.iter().flat_map(|folder| names::transcripts(folder)).collect())
    }

    fn find(&self, id: &str) -> Result<Place, TranscriptError> {
        let places = self.places()?;
        let mut exact = Vec::new();
        let mut beginning = Vec::new();
        for place in places {
            if place.id == id {
                exact.push(place);
            } else if !id.is_empty() && place.id.starts_with(id) {
                beginning.push(place);
            }
        }
        let mut found = if exact.is_empty() { beginning } else { exact };
        match (found.pop(), found.is_empty()) {
            (Some(place), true) => Ok(place),
            (Some(place), false) => {
                found.push(place);
                let mut matches: Vec<_> = found.into_iter().map(|place| place.id).collect();
                matches.sort();
                Err(TranscriptError::Ambiguous { id: id.to_owned(), matches })
            }
            (None, _) => Err(self.unknown(id)),
        }
    }

    fn unknown(&self, id: &str) -> TranscriptError {
        const SHOWN: usize = 3;
        let ids: Vec<_> = self
            .list()
            .unwrap_or_default()
            .into_iter()
            .map(|summary| summary.agent_id.as_str().to_owned())
            .collect();
        let nearest = attache_kernel::id::nearest(id, ids.iter().map(String::as_str));
        TranscriptError::Unknown {
            id: id.to_owned(),
            nearest: nearest.map(str::to_owned),
            newest: ids.iter().take(SHOWN).cloned().collect(),
        }
    }

    /// A file that was there a moment ago may have been cleaned away since.
    fn gone(&self, id: &str, place: &Place, error: io::Error) -> TranscriptError {
        match error.kind() {
            io::ErrorKind::NotFound => self.unknown(id),
            _ => TranscriptError::read(&place.path, error),
        }
    }
}

/// Neither a link nor a pipe that somebody put in the place of a transcript.
fn no_surprises() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

fn open_to_read(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(no_surprises()).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

fn read(mut file: &File, path: &Path) -> Result<reading::Content, TranscriptError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| TranscriptError::read(path, source))?;
    reading::parse(&bytes, path)
}

/// Whether an event ends a turn or the run.
fn ends_a_turn(event: &Event) -> bool {
    matches!(event, Event::TurnCompleted { .. } | Event::Ended { .. })
}
