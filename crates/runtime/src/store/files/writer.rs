//! The writer of a transcript: one at a time, from the header to the end.
//!
//! Lines go to the system in one piece, their ends included, before anybody sees them; so a process
//! that is killed leaves whole lines and at most one unfinished one, which is cut off later.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use attache_kernel::{
    id::RunId,
    run::transcript::{Entry, Header},
};
use serde::Serialize;

use super::{Durability, Shared, disk_queue::SyncState, ends_a_turn, names};
use crate::store::{JournalWriter, StoreError, StoreFuture};

/// A buffer that grew beyond this for one line is given back.
const KEPT_BUFFER: usize = 64 * 1024;

/// The one writer of a transcript, until it and its `Syncer`s are dropped.
#[derive(Debug)]
pub struct FileWriter {
    journal: Arc<OpenJournal>,
    run: RunId,
    shared: Arc<Shared>,
    sync_state: SyncState,
    halted: bool,
}

/// A transcript that this process writes. Its lock ends when the last copy of the `Arc` is dropped.
#[derive(Debug)]
pub(super) struct OpenJournal {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// The device and the number of the file, once they were asked for.
    identity: OnceLock<(u64, u64)>,
    /// The length of all whole lines.
    whole: AtomicU64,
    folders_are_on_disk: AtomicBool,
}

/// Brings what was written onto the disk, from any thread and in parallel to writing.
#[derive(Debug, Clone)]
pub struct Syncer(Arc<OpenJournal>);

/// A line that is borrowed, written exactly as the kernel's own.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BorrowedLine<'a> {
    Header(&'a Header),
    Event(&'a Entry),
}

impl OpenJournal {
    /// A locked file, with the number of bytes of its whole lines.
    pub(super) fn new(file: File, path: PathBuf, whole: u64) -> Self {
        let (whole, folders_are_on_disk) = (AtomicU64::new(whole), AtomicBool::default());
        Self { file, path, identity: OnceLock::new(), whole, folders_are_on_disk }
    }

    pub(super) fn whole(&self) -> u64 {
        self.whole.load(Ordering::Acquire)
    }

    /// Fails if the file is no longer where readers look for it: it was removed, moved or replaced.
    fn check_in_place(&self) -> Result<(), StoreError> {
        let identity = if let Some(known) = self.identity.get() {
            *known
        } else {
            let open = self.file.metadata();
            let open = open.map_err(|source| StoreError::read(&self.path, source))?;
            *self.identity.get_or_init(|| (open.dev(), open.ino()))
        };
        match fs::symlink_metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == identity => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::read(&self.path, error))
            }
            Ok(_) | Err(_) => Err(StoreError::Removed { path: self.path.clone() }),
        }
    }
}

impl FileWriter {
    /// The writer of a new file, which gets its header.
    pub(super) fn begin(
        journal: OpenJournal,
        shared: &Arc<Shared>,
        header: &Header,
    ) -> Result<Self, StoreError> {
        let mut writer = Self::go_on(journal, shared, header.run.agent_id.clone());
        writer.write_lines(&[BorrowedLine::Header(header)])?;
        if shared.options.durability == Durability::Machine {
            writer.sync()?;
        }
        Ok(writer)
    }

    /// The writer of a file that goes on where it ends.
    pub(super) fn go_on(journal: OpenJournal, shared: &Arc<Shared>, run: RunId) -> Self {
        let journal = Arc::new(journal);
        shared.open().insert(run.clone(), Arc::downgrade(&journal));
        let (shared, sync_state) = (Arc::clone(shared), SyncState::default());
        Self { journal, run, shared, sync_state, halted: false }
    }

    /// Writes an entry as [`FileWriter::write_all`] does.
    pub fn write(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.write_all(std::slice::from_ref(entry))
    }

    /// Writes entries in one piece, all of them or none, and does not wait for the disk. Chunks, which
    /// are not recorded, are skipped.
    ///
    /// After an error the transcript is as it was before, and the same entries may be tried again.
    pub fn write_all(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        let recorded = entries.iter().filter(|entry| entry.event.is_recorded());
        let lines: Vec<_> = recorded.map(BorrowedLine::Event).collect();
        if lines.is_empty() { Ok(()) } else { self.write_lines(&lines) }
    }

    /// Blocks until everything written so far is on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.syncer().sync()
    }

    /// What syncs from another thread. The transcript stays locked until it is dropped as well.
    pub fn syncer(&self) -> Syncer {
        Syncer(Arc::clone(&self.journal))
    }

    /// Where the transcript lies.
    pub fn path(&self) -> &Path {
        &self.journal.path
    }

    /// Where the run's artifacts belong; it is removed together with the transcript.
    pub fn artifacts_dir(&self) -> PathBuf {
        self.path().with_file_name(names::artifacts_name(self.run.as_str()))
    }

    fn write_lines(&mut self, lines: &[BorrowedLine<'_>]) -> Result<(), StoreError> {
        if self.halted {
            return Err(StoreError::Halted { path: self.path().to_path_buf() });
        }
        let shared = Arc::clone(&self.shared);
        let mut buffer = shared.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.clear();
        for line in lines {
            self.add_line(line, &mut buffer)?;
        }
        let whole = self.journal.whole();
        // One call for all of it. If the system takes only a part, it is asked once more: it takes the
        // rest or says why not.
        let written = (&self.journal.file).write_all(&buffer);
        match written {
            Ok(()) => {
                let whole = whole + buffer.len() as u64;
                self.journal.whole.store(whole, Ordering::Release);
            }
            // A file that cannot be put right takes nothing more: another line would make the
            // unfinished one look like damage.
            Err(_) => self.halted = self.journal.file.set_len(whole).is_err(),
        }
        if buffer.capacity() > KEPT_BUFFER {
            *buffer = Vec::new();
        }
        written.map_err(|source| StoreError::write(self.path(), source))
    }

    fn add_line(&self, line: &BorrowedLine<'_>, buffer: &mut Vec<u8>) -> Result<(), StoreError> {
        let path = || self.journal.path.clone();
        let start = buffer.len();
        serde_json::to_writer(&mut *buffer, line)
            .map_err(|source| StoreError::Line { path: path(), source })?;
        let written = buffer.get(start..).unwrap_or_default();
        let masked = self.shared.options.secrets.mask_line(written);
        if let Some(masked) =
            masked.map_err(|_unmaskable| StoreError::Unmaskable { path: path() })?
        {
            buffer.truncate(start);
            buffer.extend_from_slice(masked.as_bytes());
        }
        buffer.push(b'\n');
        Ok(())
    }

    /// The end of a turn: checks that the transcript is still there, writes, and syncs as promised.
    fn write_turn_end(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        self.journal.check_in_place()?;
        self.write_all(entries)
    }
}

impl JournalWriter for FileWriter {
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> StoreFuture<'a, ()> {
        // Writing into the page cache does not wait for the disk, so it needs no other thread.
        if !entries.iter().any(|entry| ends_a_turn(&entry.event)) {
            return Box::pin(std::future::ready(self.write_all(entries)));
        }
        if let Err(error) = self.write_turn_end(entries) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let syncer = self.syncer();
        match self.shared.options.durability {
            Durability::Process => {
                self.shared.queue.sync_soon(syncer, &self.sync_state);
                Box::pin(std::future::ready(Ok(())))
            }
            Durability::Machine => Box::pin(async move {
                let path = syncer.0.path.clone();
                let synced = tokio::task::spawn_blocking(move || syncer.sync()).await;
                synced.unwrap_or_else(|stopped| {
                    Err(StoreError::write(&path, io::Error::other(stopped)))
                })
            }),
        }
    }

    fn location(&self) -> String {
        self.path().display().to_string()
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        let mut open = self.shared.open();
        let ours = Arc::downgrade(&self.journal);
        if open.get(&self.run).is_some_and(|found| found.ptr_eq(&ours)) {
            open.remove(&self.run);
        }
    }
}

impl Syncer {
    /// Blocks until everything written so far is on the disk.
    pub fn sync(&self) -> Result<(), StoreError> {
        let journal = &self.0;
        let failed = |source| StoreError::write(&journal.path, source);
        if !journal.folders_are_on_disk.load(Ordering::Acquire) {
            for folder in self.folders() {
                sync_folder(folder).map_err(failed)?;
            }
            journal.folders_are_on_disk.store(true, Ordering::Release);
        }
        journal.file.sync_data().map_err(failed)
    }

    /// Blocks until as much as possible of what was written to these files is on the disk. A directory
    /// that many of them are new in is synced once.
    pub(super) fn sync_all(syncers: &[Self]) {
        let is_new = |syncer: &&Self| !syncer.0.folders_are_on_disk.load(Ordering::Acquire);
        let mut folders: Vec<&Path> =
            syncers.iter().filter(is_new).flat_map(Self::folders).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.retain(|folder| sync_folder(folder).is_ok());
        for syncer in syncers {
            if is_new(&syncer) && syncer.folders().all(|folder| folders.contains(&folder)) {
                syncer.0.folders_are_on_disk.store(true, Ordering::Release);
            }
            syncer.sync().unwrap_or_default();
        }
    }

    /// The directories in which the file and its session are entered: a file without an entry is lost as
    /// well.
    fn folders(&self) -> impl Iterator<Item = &Path> {
        self.0.path.ancestors().skip(1).take(2)
    }
}

/// Blocks until the entries of a directory are on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems have nothing to sync in a directory.
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use attache_kernel::run::transcript::Line;

    use super::*;

    const GOLDEN: &str = include_str!("../../../../kernel/tests/it/golden/transcript.jsonl");

    #[test]
    fn a_borrowed_line_is_written_like_an_owned_one() {
        for text in GOLDEN.lines() {
            let line = Line::parse(text).unwrap();
            let borrowed = match &line {
                Line::Header(header) => BorrowedLine::Header(header),
                Line::Event(entry) => BorrowedLine::Event(entry),
            };
            assert_eq!(serde_json::to_string(&borrowed).unwrap(), text);
        }
    }
}
