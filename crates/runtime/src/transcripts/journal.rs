//! The journal: the one writer of a transcript.
//!
//! Lines go to the system in one piece, their ends included, before anybody hears of them; so whatever
//! ends the process leaves whole lines and at most one unfinished one, which is cut off later.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use attache_kernel::run::transcript::{Entry, Header};
use serde::Serialize;

use super::{Durability, Options, TranscriptError, ends_a_turn, names};

/// A buffer that grew beyond this for one line is given back.
const KEPT_BUFFER: usize = 64 * 1024;

/// The one writer of a transcript, until it and its [`Syncer`]s are dropped.
#[derive(Debug)]
pub struct Journal {
    on_disk: Syncer,
    options: Arc<Options>,
    /// The length of all whole lines.
    whole: u64,
    buffer: Vec<u8>,
    halted: bool,
}

/// Brings what was written onto the disk, from any thread and beside the writing.
#[derive(Debug, Clone)]
pub struct Syncer {
    file: Arc<File>,
    path: Arc<Path>,
    folders_are_on_disk: Arc<AtomicBool>,
}

/// A line that is borrowed, written exactly as the kernel's own.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BorrowedLine<'a> {
    Header(&'a Header),
    Event(&'a Entry),
}

impl Journal {
    /// The writer of a new file, which gets its header.
    pub(super) fn begin(
        file: File,
        path: PathBuf,
        options: Arc<Options>,
        header: &Header,
    ) -> Result<Self, TranscriptError> {
        let mut journal = Self::go_on(file, path, options, 0);
        journal.write_lines(&[BorrowedLine::Header(header)])?;
        if journal.options.durability == Durability::Machine {
            journal.sync()?;
        }
        Ok(journal)
    }

    /// The writer of a file that has so many bytes of whole lines.
    pub(super) fn go_on(file: File, path: PathBuf, options: Arc<Options>, whole: u64) -> Self {
        let on_disk =
            Syncer { file: Arc::new(file), path: path.into(), folders_are_on_disk: Arc::default() };
        Self { on_disk, options, whole, buffer: Vec::new(), halted: false }
    }

    /// Writes an entry; pieces of a message, which belong into no transcript, are passed over. With
    /// [`Durability::Machine`] the end of a turn or of the run waits for the disk.
    ///
    /// After an error the transcript is as it was before, and the same entry may be tried again.
    pub fn append(&mut self, entry: &Entry) -> Result<(), TranscriptError> {
        self.append_all(std::slice::from_ref(entry))
    }

    /// Writes entries as [`Journal::append`] does, in one piece: all of them or none.
    pub fn append_all(&mut self, entries: &[Entry]) -> Result<(), TranscriptError> {
        let recorded = entries.iter().filter(|entry| entry.event.is_recorded());
        let lines: Vec<_> = recorded.map(BorrowedLine::Event).collect();
        if lines.is_empty() {
            return Ok(());
        }
        self.write_lines(&lines)?;
        let ends_a_turn = entries.iter().any(|entry| ends_a_turn(&entry.event));
        match self.options.durability {
            Durability::Machine if ends_a_turn => self.sync(),
            Durability::Machine | Durability::Process => Ok(()),
        }
    }

    /// Waits until everything written so far is on the disk.
    pub fn sync(&self) -> Result<(), TranscriptError> {
        self.on_disk.sync()
    }

    /// What syncs from another thread. The transcript stays locked until it is dropped as well.
    pub fn syncer(&self) -> Syncer {
        self.on_disk.clone()
    }

    /// Where the transcript lies.
    pub fn path(&self) -> &Path {
        &self.on_disk.path
    }

    /// Where the run's artifacts belong; it is removed together with the transcript.
    pub fn artifacts_dir(&self) -> PathBuf {
        let path = self.path();
        let id = path.file_stem().unwrap_or_default().to_string_lossy();
        path.with_file_name(names::artifacts_name(&id))
    }

    fn write_lines(&mut self, lines: &[BorrowedLine<'_>]) -> Result<(), TranscriptError> {
        if self.halted {
            return Err(TranscriptError::Halted { path: self.path().to_path_buf() });
        }
        self.buffer.clear();
        for line in lines {
            self.add_line(line)?;
        }
        let written = write_whole(&self.on_disk.file, &self.buffer);
        match written {
            Ok(()) => self.whole += self.buffer.len() as u64,
            // A file that cannot be put right takes nothing more: another line would make the
            // unfinished one look like damage.
            Err(_) => self.halted = self.on_disk.file.set_len(self.whole).is_err(),
        }
        if self.buffer.capacity() > KEPT_BUFFER {
            self.buffer = Vec::new();
        }
        written.map_err(|source| TranscriptError::write(self.path(), source))
    }
}

impl Journal {
    fn add_line(&mut self, line: &BorrowedLine<'_>) -> Result<(), TranscriptError> {
        let path = || self.on_disk.path.to_path_buf();
        let start = self.buffer.len();
        serde_json::to_writer(&mut self.buffer, line)
            .map_err(|source| TranscriptError::Line { path: path(), source })?;
        let written = self.buffer.get(start..).unwrap_or_default();
        let masked = self.options.secrets.mask_line(written);
        if let Some(masked) =
            masked.map_err(|_unmaskable| TranscriptError::Unmaskable { path: path() })?
        {
            self.buffer.truncate(start);
            self.buffer.extend_from_slice(masked.as_bytes());
        }
        self.buffer.push(b'\n');
        Ok(())
    }
}

impl Syncer {
    /// Waits until everything written so far is on the disk.
    pub fn sync(&self) -> Result<(), TranscriptError> {
        let failed = |source| TranscriptError::write(&self.path, source);
        if !self.folders_are_on_disk.load(Ordering::Acquire) {
            // A file without an entry in its folder is lost as well.
            for folder in self.path.ancestors().skip(1).take(2) {
                match File::open(folder).and_then(|folder| folder.sync_all()) {
                    // Some file systems have nothing to sync in a folder.
                    Err(error) if error.kind() != io::ErrorKind::InvalidInput => {
                        return Err(failed(error));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            self.folders_are_on_disk.store(true, Ordering::Release);
        }
        self.file.sync_data().map_err(failed)
    }
}

/// One call for the whole of it. If the system takes only a part of it, it is asked once more: either
/// it takes the rest or it says why not.
fn write_whole(mut file: &File, line: &[u8]) -> io::Result<()> {
    file.write_all(line)
}

#[cfg(test)]
mod tests {
    use attache_kernel::run::transcript::Line;

    use super::*;

    const GOLDEN: &str = include_str!("../../../kernel/tests/it/golden/transcript.jsonl");

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
