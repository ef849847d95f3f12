//! A store of files: one transcript a run, `<sessions>/<session>/<agent_id>.jsonl`, append only.
//!
//! Invariants: a run has one writer at a time, in any process; a line is whole or it does not count;
//! no secret is written; what runs, or is being resumed, is never removed. Files and directories belong
//! to their owner alone (0600, 0700). The methods here block; [`Store`](super::Store) is their form for
//! threads that drive runs.

mod as_store;
mod claim;
mod clean;
mod creation_queue;
mod disk_queue;
mod follow;
mod ledger;
mod listing;
mod lock;
mod mail;
mod names;
mod page;
mod post_office;
mod reading;
mod spending;
mod watching;
mod writer;

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, SystemTime},
};

use attache_kernel::{
    id::{RunId, SessionId},
    run::{
        assignment::Assignment,
        event::Event,
        transcript::{Entry, Header},
    },
};
use rustix::fs::OFlags;

pub use self::{
    clean::Cleaned,
    follow::Follower,
    spending::{RunSpending, TurnSpending},
    writer::FileWriter,
};
use self::{
    creation_queue::CreationQueue, disk_queue::DiskQueue, ledger::Ledger, lock::FolderLock,
    names::Place, post_office::PostOffice, reading::Content, spending::Spending,
    writer::OpenJournal,
};
use super::{Advance, ResumeClaim, Secrets, StoreError, Summary, Transcript};

/// The transcripts below one directory. A copy is the same store.
#[derive(Debug, Clone)]
pub struct FileStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sessions: PathBuf,
    options: Options,
    queue: DiskQueue,
    creations: CreationQueue,
    /// What lines are put together in; a run has no buffer of its own.
    buffer: Mutex<Vec<u8>>,
    post_office: PostOffice,
    /// What this store is writing, so that it is read back without being searched for.
    open: Mutex<HashMap<RunId, Weak<OpenJournal>>>,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, HashMap<RunId, Weak<OpenJournal>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How transcripts are written.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What an entry survives once it is written.
    pub durability: Durability,
    /// What is never written.
    pub secrets: Secrets,
    /// The file that keeps what removed runs spent; with `None` that is forgotten.
    pub ledger: Option<PathBuf>,
}

/// What an entry survives once it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, however it comes. A sync follows the end of each turn, and nobody waits
    /// for it; a power cut loses at most what was written since.
    #[default]
    Process,
    /// The end of the machine, up to the last finished turn: writing the end of a turn or of the run
    /// waits until it is on the disk.
    Machine,
}

impl FileStore {
    /// The store below a directory of sessions, which need not exist.
    pub fn new(sessions: impl Into<PathBuf>, options: Options) -> Self {
        Self {
            shared: Arc::new(Shared {
                sessions: sessions.into(),
                options,
                queue: DiskQueue::default(),
                creations: CreationQueue::default(),
                buffer: Mutex::default(),
                post_office: PostOffice::default(),
                open: Mutex::default(),
            }),
        }
    }

    /// The directory of sessions.
    pub fn sessions(&self) -> &Path {
        &self.shared.sessions
    }

    /// Begins a run's transcript with its header.
    pub fn create(&self, header: &Header) -> Result<FileWriter, StoreError> {
        let folder = self.folder_of(&header.run)?;
        let path = folder.join(names::file_name(header.run.agent_id.as_str()));
        let file = self.new_locked_file(&folder, &path)?;
        let journal = OpenJournal::new(file, path.clone(), 0);
        let begun = FileWriter::begin(journal, &self.shared, header);
        if begun.is_err() {
            // Without its header it is not a transcript; if it cannot be removed, it is not read.
            fs::remove_file(&path).unwrap_or_default();
        }
        begun
    }

    fn new_locked_file(&self, folder: &Path, path: &Path) -> Result<File, StoreError> {
        let failed = |source| StoreError::write(path, source);
        let guard = self.prepared_folder(folder)?;
        let opened =
            OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path);
        match opened {
            Ok(file) if lock::acquire(&file, &guard).map_err(failed)? => Ok(file),
            Ok(file) => Err(owned(path, &file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(StoreError::Exists { path: path.to_path_buf() })
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Makes a session's directory, and locks it before anybody can remove it as an empty one.
    fn prepared_folder(&self, folder: &Path) -> Result<FolderLock, StoreError> {
        let made = |made: &Path| {
            let built = DirBuilder::new().recursive(true).mode(0o700).create(made);
            built.map_err(|source| StoreError::write(made, source))
        };
        let locked = |folder: &Path| {
            FolderLock::take(folder).map_err(|source| StoreError::write(folder, source))
        };
        made(self.sessions())?;
        let _sessions = locked(self.sessions())?;
        made(folder)?;
        locked(folder)
    }

    /// Reads a transcript by its id, or by the beginning of one that no other id has.
    pub fn read(&self, id: &str) -> Result<Transcript, StoreError> {
        let place = self.find(id)?;
        self.read_at(place, id)
    }

    /// Reads the transcripts of a session, one after another.
    pub fn session(
        &self,
        session: &SessionId,
    ) -> Result<impl Iterator<Item = Result<Transcript, StoreError>>, StoreError> {
        names::check(session.as_str())?;
        let places = names::transcripts(&self.sessions().join(session.as_str()));
        Ok(places.into_iter().map(|place| {
            let id = place.id.clone();
            self.read_at(place, &id)
        }))
    }

    fn read_at(&self, place: Place, id: &str) -> Result<Transcript, StoreError> {
        let file = open_to_read(&place.path).map_err(|error| self.gone(id, &place, error))?;
        // Asked before reading: a run that ends in between is read to its end.
        let is_held = lock::is_held(&file, &place.folder);
        let content = read_whole(&file, &place.path)?;
        let state = listing::state(content.entries.last().map(|entry| &entry.event), is_held);
        Ok(content.into_transcript(place.path, state))
    }

    /// Reads the next entries from a sequence number on; see [`Store::read_from`](super::Store).
    pub fn read_from(&self, run: &RunId, first_seq: u64) -> Result<Vec<Entry>, StoreError> {
        let open = self.shared.open().get(run).and_then(Weak::upgrade);
        if let Some(journal) = open {
            return page::read(&journal.file, journal.whole(), first_seq, &journal.path);
        }
        let place = self.only_one(run.as_str(), self.exactly(run.as_str())?)?;
        let failed = |error| self.gone(run.as_str(), &place, error);
        let file = open_to_read(&place.path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        page::read(&file, length, first_seq, &place.path)
    }

    /// Opens a transcript to go on writing where it ends; an unfinished last line is cut off first.
    pub fn open(&self, id: &str) -> Result<(Transcript, FileWriter), StoreError> {
        let place = self.find(id)?;
        let path = place.path.as_path();
        let failed = |source| StoreError::write(path, source);
        let guard = FolderLock::take(&place.folder).map_err(failed)?;
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .custom_flags(no_surprises())
            .open(path)
            .map_err(|error| self.gone(id, &place, error))?;
        if !lock::acquire(&file, &guard).map_err(failed)? {
            return Err(owned(path, &file));
        }
        drop(guard);
        let content = read_whole(&file, path)?;
        if content.torn {
            file.set_len(content.whole).map_err(failed)?;
        }
        let journal = OpenJournal::new(file, place.path.clone(), content.whole);
        let writer = FileWriter::go_on(journal, &self.shared, content.header.run.agent_id.clone());
        // Nobody wrote it: that is the state it was found in.
        let state = listing::state(content.entries.last().map(|entry| &entry.event), false);
        Ok((content.into_transcript(place.path, state), writer))
    }

    /// Claims the right to resume a run; see [`Store::claim_resume`](super::Store).
    pub fn claim_resume(
        &self,
        earlier: &Assignment,
        by: &RunId,
    ) -> Result<ResumeClaim, StoreError> {
        let folder = self.folder_of(earlier)?;
        let guard = self.prepared_folder(&folder)?;
        let claim = claim::take(&folder, &guard, earlier.agent_id.as_str(), by.as_str())?;
        Ok(ResumeClaim::holding(claim))
    }

    /// Reads a transcript from its beginning while somebody else may be writing it.
    pub fn follow(&self, id: &str) -> Result<Follower, StoreError> {
        let place = self.find(id)?;
        let file = open_to_read(&place.path).map_err(|error| self.gone(id, &place, error))?;
        Ok(Follower::new(file, place))
    }

    /// Every run, newest first. Only the two ends of each file are read.
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        let mut summaries: Vec<_> = self.places()?.iter().filter_map(listing::summarise).collect();
        summaries.sort_by(|one, other| {
            let newest = other.started_at.cmp(&one.started_at);
            newest.then_with(|| one.path.cmp(&other.path))
        });
        Ok(summaries)
    }

    /// How far a run has come, as far as the end of its file tells.
    pub fn advance(&self, run: &Summary) -> Advance {
        let folder = self.sessions().join(run.session_id.as_str());
        let place = names::transcript(&folder, run.agent_id.as_str());
        place.map(|place| listing::advance(&place)).unwrap_or_default()
    }

    /// What each run spent so far, one after another, those that were cleaned away included. Runs that
    /// spent nothing are left out; a broken transcript is an error of its own.
    pub fn spending(
        &self,
    ) -> Result<impl Iterator<Item = Result<RunSpending, StoreError>>, StoreError> {
        Ok(Spending::new(self.places()?, self.ledger()))
    }

    /// The same of the runs of one session.
    pub fn spending_in(
        &self,
        session: &SessionId,
    ) -> Result<impl Iterator<Item = Result<RunSpending, StoreError>>, StoreError> {
        names::check(session.as_str())?;
        let places = names::transcripts(&self.sessions().join(session.as_str()));
        let ledger = self.ledger().map(|ledger| ledger.of_session(session.as_str()));
        Ok(Spending::new(places, ledger))
    }

    /// Removes the transcripts and artifacts that nothing was written to for that long, after what they
    /// spent is in the ledger. What runs, or is being resumed, stays.
    pub fn clean(&self, older_than: Duration, now: SystemTime) -> Result<Cleaned, StoreError> {
        let age = clean::Age { older_than, now };
        let cleaned = clean::clean(&self.places()?, age, self.ledger().as_ref());
        clean::remove_empty_folders(self.sessions(), &self.folders()?);
        Ok(cleaned)
    }

    /// What [`Self::clean`] would remove.
    pub fn would_clean(
        &self,
        older_than: Duration,
        now: SystemTime,
    ) -> Result<Cleaned, StoreError> {
        Ok(clean::would_clean(&self.places()?, clean::Age { older_than, now }))
    }

    fn ledger(&self) -> Option<Ledger> {
        self.shared.options.ledger.clone().map(Ledger::new)
    }

    /// Where the process of a run in the background writes what goes wrong outside of the run.
    pub fn log_of(&self, run: &Assignment) -> Result<PathBuf, StoreError> {
        Ok(self.folder_of(run)?.join(names::log_name(run.agent_id.as_str())))
    }

    fn artifacts_of(&self, run: &Assignment) -> Result<PathBuf, StoreError> {
        Ok(self.folder_of(run)?.join(names::artifacts_name(run.agent_id.as_str())))
    }

    fn folder_of(&self, run: &Assignment) -> Result<PathBuf, StoreError> {
        names::check(run.agent_id.as_str())?;
        names::check(run.session_id.as_str())?;
        Ok(self.sessions().join(run.session_id.as_str()))
    }

    fn folders(&self) -> Result<Vec<PathBuf>, StoreError> {
        names::folders(self.sessions()).map_err(|source| StoreError::read(self.sessions(), source))
    }

    fn places(&self) -> Result<Vec<Place>, StoreError> {
        Ok(self.folders()?.iter().flat_map(|folder| names::transcripts(folder)).collect())
    }

    fn find(&self, id: &str) -> Result<Place, StoreError> {
        let exact = self.exactly(id)?;
        if !exact.is_empty() {
            return self.only_one(id, exact);
        }
        let places = self.places()?.into_iter();
        let found: Vec<_> =
            places.filter(|place| !id.is_empty() && place.id.starts_with(id)).collect();
        self.only_one(id, found)
    }

    /// Looks for one name in each session, and lists none of them.
    fn exactly(&self, id: &str) -> Result<Vec<Place>, StoreError> {
        if names::check(id).is_err() {
            return Ok(Vec::new());
        }
        let folders = self.folders()?;
        Ok(folders.iter().filter_map(|folder| names::transcript(folder, id)).collect())
    }

    fn only_one(&self, id: &str, mut found: Vec<Place>) -> Result<Place, StoreError> {
        match (found.pop(), found.is_empty()) {
            (Some(place), true) => Ok(place),
            (Some(place), false) => {
                found.push(place);
                let mut matches: Vec<_> = found.into_iter().map(|place| place.id).collect();
                matches.sort();
                Err(StoreError::Ambiguous { id: id.to_owned(), matches })
            }
            (None, _) => Err(self.unknown(id)),
        }
    }

    fn unknown(&self, id: &str) -> StoreError {
        const SHOWN: usize = 3;
        let ids: Vec<_> = self
            .list()
            .unwrap_or_default()
            .into_iter()
            .map(|summary| summary.agent_id.as_str().to_owned())
            .collect();
        let nearest = attache_kernel::id::nearest(id, ids.iter().map(String::as_str));
        StoreError::Unknown {
            id: id.to_owned(),
            nearest: nearest.map(str::to_owned),
            newest: ids.iter().take(SHOWN).cloned().collect(),
        }
    }

    /// A file that was there a moment ago may have been cleaned away since.
    fn gone(&self, id: &str, place: &Place, error: io::Error) -> StoreError {
        match error.kind() {
            io::ErrorKind::NotFound => self.unknown(id),
            _ => StoreError::read(&place.path, error),
        }
    }
}

fn owned(path: &Path, file: &File) -> StoreError {
    let run = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    StoreError::OwnedElsewhere { run, by: lock::owner(file).map(|pid| format!("process {pid}")) }
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
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

fn read_whole(mut file: &File, path: &Path) -> Result<Content, StoreError> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|source| StoreError::read(path, source))?;
    reading::parse(&bytes, path)
}

/// Whether an event ends a turn or the run.
fn ends_a_turn(event: &Event) -> bool {
    matches!(event, Event::TurnCompleted { .. } | Event::Ended { .. })
}
