//! Mail in files: one letter a file, `<session>/mail/<number>.<kind>.<letter id>.<agent id>`.
//!
//! A letter is written under another name first and then renamed, so it is whole or not there. Numbers are
//! given under the lock of the session's folder and grow from letter to letter of those that wait, so they
//! are read in the order in which they were left.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use attache_kernel::{
    id::LetterId,
    run::{assignment::Assignment, event::Event},
};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{
    FileStore, listing,
    lock::{self, FolderLock},
    no_surprises, open_to_read,
    post_office::Registration,
};
use crate::store::{Held, Mail, MailKind, Mailbox, Posted, StoreError, StoreFuture};

/// The words for letters of each kind.
const MESSAGE: &str = "message";
const STOP: &str = "stop";

/// The folder of a session's letters.
const FOLDER: &str = "mail";
/// Letters that may wait for a run; more are refused.
const MOST_WAITING: usize = 1024;
/// How often a mailbox is looked into where the system does not tell of changes.
const SELDOM: Duration = Duration::from_secs(1);
/// How many earlier runs back letters are looked for.
const MOST_EARLIER_RUNS: usize = 50;

/// A letter's file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LetterFile {
    number: u64,
    kind: &'static str,
    letter: LetterId,
    run: String,
    path: PathBuf,
}

impl LetterFile {
    fn new(folder: &Path, number: u64, kind: &'static str, letter: LetterId, run: &str) -> Self {
        let path = mail_folder(folder).join(format!("{number:08}.{kind}.{letter}.{run}"));
        Self { number, kind, letter, run: run.to_owned(), path }
    }

    fn parse(path: PathBuf) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let mut parts = name.splitn(4, '.');
        let number = parts.next()?.parse().ok()?;
        let kind = parts.next()?;
        let kind = [MESSAGE, STOP].into_iter().find(|known| *known == kind)?;
        let letter = LetterId::new(parts.next()?);
        let run = parts.next()?.to_owned();
        Some(Self { number, kind, letter, run, path })
    }

    fn read(&self) -> io::Result<Mail> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).custom_flags(no_surprises()).open(&self.path)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let kind = serde_json::from_str(&text).map_err(io::Error::other)?;
        Ok(Mail { id: self.letter.clone(), kind })
    }
}

pub(super) fn mail_folder(folder: &Path) -> PathBuf {
    folder.join(FOLDER)
}

/// Makes the folder of a session's letters.
pub(super) fn prepare_folder(folder: &Path) -> io::Result<PathBuf> {
    let mail = mail_folder(folder);
    DirBuilder::new().recursive(true).mode(0o700).create(&mail)?;
    Ok(mail)
}

/// The run that a letter's file is for.
pub(super) fn addressee(path: &Path) -> Option<String> {
    LetterFile::parse(path.to_path_buf()).map(|file| file.run)
}

/// The letters of a session, in order. A folder that is not there has none.
pub(super) fn letters(folder: &Path) -> Vec<LetterFile> {
    let Ok(entries) = fs::read_dir(mail_folder(folder)) else { return Vec::new() };
    let mut letters: Vec<_> =
        entries.flatten().filter_map(|entry| LetterFile::parse(entry.path())).collect();
    letters.sort();
    letters
}

/// The number of messages for a run that wait to be read.
pub(super) fn waiting(folder: &Path, run: &str) -> usize {
    let is_meant = |letter: &&LetterFile| letter.run == run && letter.kind == MESSAGE;
    letters(folder).iter().filter(is_meant).count()
}

/// Removes the folder of letters if nothing is in it.
pub(super) fn remove_folder(folder: &Path) {
    fs::remove_dir(mail_folder(folder)).unwrap_or_default();
}

/// Removes the letters of a run.
pub(super) fn remove_letters(folder: &Path, run: &str) {
    for letter in letters(folder).iter().filter(|letter| letter.run == run) {
        fs::remove_file(&letter.path).unwrap_or_default();
    }
}

fn next_number(letters: &[LetterFile]) -> u64 {
    letters.iter().map(|letter| letter.number).max().unwrap_or_default() + 1
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl FileStore {
    /// Leaves a letter for a run; see [`Store::post`](crate::store::Store::post).
    pub fn post(&self, id: &str, kind: &MailKind) -> Result<Posted, StoreError> {
        let place = self.find(id)?;
        let failed = |source| StoreError::write(&mail_folder(&place.folder), source);
        let _guard = FolderLock::take(&place.folder).map_err(failed)?;
        let file = open_to_read(&place.path).map_err(|error| self.gone(id, &place, error))?;
        if let Some(status) = listing::end_of(&file) {
            return Ok(Posted::Ended(status));
        }
        if !lock::is_locked(&file) {
            return Ok(Posted::Abandoned);
        }
        let letters = letters(&place.folder);
        if letters.iter().filter(|letter| letter.run == place.id).count() >= MOST_WAITING {
            return Err(StoreError::MailboxFull { run: place.id.clone(), most: MOST_WAITING });
        }
        let mail = prepare_folder(&place.folder).map_err(failed)?;
        let letter = LetterId::new(Uuid::new_v4().simple().to_string());
        let (kind, word) = match kind {
            MailKind::Message { text } => {
                let text = self.shared.options.secrets.mask(text).into_owned();
                (MailKind::Message { text }, MESSAGE)
            }
            MailKind::Stop => (MailKind::Stop, STOP),
        };
        let written = serde_json::to_vec(&kind).map_err(|error| failed(io::Error::other(error)))?;
        let draft = mail.join(format!(".{letter}"));
        let target = LetterFile::new(&place.folder, next_number(&letters), word, letter, &place.id);
        let mut options = OpenOptions::new();
        let mut file =
            options.write(true).create_new(true).mode(0o600).open(&draft).map_err(failed)?;
        let left = file.write_all(&written).and_then(|()| file.sync_data());
        let left = left.and_then(|()| fs::rename(&draft, &target.path));
        if left.is_err() {
            fs::remove_file(&draft).unwrap_or_default();
        }
        left.map_err(failed)?;
        Ok(Posted::Left(target.letter))
    }

    /// Hands the letters that an earlier run did not read to the one that resumes it; see
    /// [`Store::inherit_mail`](crate::store::Store::inherit_mail).
    pub fn inherit_mail(
        &self,
        earlier: &Assignment,
        by: &Assignment,
    ) -> Result<Vec<Mail>, StoreError> {
        let folder = self.folder_of(earlier)?;
        let target = self.folder_of(by)?;
        if letters(&folder).is_empty() {
            return Ok(Vec::new());
        }
        // A run that was cut off while it inherited has not got everything from the one before it.
        let mut heard = BTreeMap::new();
        let mut next = Some(earlier.agent_id.clone());
        while let Some(id) = next.take().filter(|_| heard.len() < MOST_EARLIER_RUNS) {
            let Ok(transcript) = self.read(id.as_str()) else { break };
            let journalled = transcript.entries.iter().filter_map(|entry| match &entry.event {
                Event::Announced { letter, .. } => letter.clone(),
                _ => None,
            });
            heard.insert(id.as_str().to_owned(), journalled.collect::<BTreeSet<_>>());
            next = transcript
                .header
                .run
                .resumed_from
                .filter(|_| transcript.header.run.at_turn.is_none());
        }
        let failed = |source| StoreError::write(&mail_folder(&folder), source);
        let _guard = FolderLock::take(&folder).map_err(failed)?;
        let all = letters(&folder);
        let mut number = next_number(&all);
        prepare_folder(&target).map_err(failed)?;
        let mut inherited = Vec::new();
        for file in all {
            let Some(heard) = heard.get(&file.run) else { continue };
            if file.kind == STOP || heard.contains(&file.letter) {
                remove_file(&file.path).map_err(failed)?;
                continue;
            }
            let (letter, run) = (file.letter.clone(), by.agent_id.as_str());
            let moved = LetterFile::new(&target, number, file.kind, letter, run);
            fs::rename(&file.path, &moved.path).map_err(failed)?;
            number += 1;
            inherited.extend(moved.read().ok());
        }
        Ok(inherited)
    }

    /// The mailbox of a run that this process drives.
    pub(super) fn mailbox_of(&self, run: &Assignment) -> Result<FileMailbox, StoreError> {
        Ok(FileMailbox {
            inner: Arc::new(Inner {
                store: self.clone(),
                folder: self.folder_of(run)?,
                run: run.agent_id.as_str().to_owned(),
                wake: Arc::default(),
                state: Mutex::default(),
            }),
        })
    }
}

/// The mailbox of a run that this process drives.
#[derive(Debug)]
pub(super) struct FileMailbox {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: FileStore,
    folder: PathBuf,
    run: String,
    wake: Arc<Notify>,
    state: Mutex<State>,
}

/// Whether the system tells of new letters.
#[derive(Debug, Default)]
enum MailWatch {
    /// Nobody has looked yet.
    #[default]
    NotAsked,
    /// It does, until this is dropped.
    Told(#[expect(dead_code, reason = "held until the mailbox is dropped")] Registration),
    /// It does not.
    NotTold,
}

#[derive(Debug, Default)]
struct State {
    watch: MailWatch,
    handed_out: BTreeSet<LetterId>,
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn own(&self) -> impl Iterator<Item = LetterFile> {
        letters(&self.folder).into_iter().filter(|letter| letter.run == self.run)
    }

    /// Watches first, so that nothing is missed, and hands out what is new; with whether the system tells
    /// of changes.
    fn look(&self) -> (Vec<Mail>, bool) {
        let mut state = self.state();
        if matches!(state.watch, MailWatch::NotAsked) {
            state.watch = self.watch().map_or(MailWatch::NotTold, MailWatch::Told);
        }
        let is_told = matches!(state.watch, MailWatch::Told(_));
        let fresh = self.own().filter(|letter| !state.handed_out.contains(&letter.letter));
        // One that cannot be read is not a letter.
        let fresh: Vec<Mail> = fresh.filter_map(|letter| letter.read().ok()).collect();
        state.handed_out.extend(fresh.iter().map(|mail| mail.id.clone()));
        (fresh, is_told)
    }

    fn watch(&self) -> Option<Registration> {
        let office = &self.store.shared.post_office;
        let mail = mail_folder(&self.folder);
        prepare_folder(&self.folder).ok()?;
        office.register(mail, &self.run, &self.wake)
    }

    fn remove(&self, ids: &[LetterId]) -> Result<(), StoreError> {
        for letter in self.own().filter(|letter| ids.contains(&letter.letter)) {
            remove_file(&letter.path).map_err(|source| StoreError::write(&letter.path, source))?;
        }
        Ok(())
    }

    fn hold(&self) -> Result<Held, StoreError> {
        let guard = FolderLock::take(&self.folder);
        Ok(self.held(guard.map_err(|source| StoreError::write(&self.folder, source))?))
    }

    fn held(&self, guard: FolderLock) -> Held {
        let found = self.own().filter_map(|letter| letter.read().ok()).collect();
        Held::new(found, guard)
    }
}

impl FileMailbox {
    /// Reading a small folder is quicker done than handed to another thread; setting up a watch is not.
    async fn look(&self) -> (Vec<Mail>, bool) {
        let inner = Arc::clone(&self.inner);
        if inner.store.shared.post_office.is_watched(&mail_folder(&inner.folder)) {
            return inner.look();
        }
        tokio::task::spawn_blocking(move || inner.look()).await.unwrap_or_default()
    }
}

impl Mailbox for FileMailbox {
    fn next(&self) -> Pin<Box<dyn Future<Output = Vec<Mail>> + Send + '_>> {
        Box::pin(async move {
            loop {
                let (fresh, is_told) = self.look().await;
                if !fresh.is_empty() {
                    return fresh;
                }
                if is_told {
                    self.inner.wake.notified().await;
                } else {
                    let notified = self.inner.wake.notified();
                    tokio::time::timeout(SELDOM, notified).await.unwrap_or_default();
                }
            }
        })
    }

    fn remove<'a>(&'a self, letters: &'a [LetterId]) -> StoreFuture<'a, ()> {
        let (inner, letters) = (Arc::clone(&self.inner), letters.to_vec());
        self.inner.store.off_thread(move |_| inner.remove(&letters))
    }

    fn hold(&self) -> StoreFuture<'_, Held> {
        // Where nobody has to be waited for, it is quicker done than handed to another thread.
        if let Some(guard) = FolderLock::try_take(&self.inner.folder) {
            return Box::pin(std::future::ready(Ok(self.inner.held(guard))));
        }
        let inner = Arc::clone(&self.inner);
        self.inner.store.off_thread(move |_| inner.hold())
    }
}
