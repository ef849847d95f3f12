//! The lease on a worktree: a locked file beside it that says which repository it belongs to.
//!
//! Invariant: while a run works in a worktree its lease is locked, and a lease that nobody locks
//! belongs to a run that ended without putting its worktree away.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use attache_kernel::run::assignment::WorktreeFacts;
use rustix::{
    fs::{FlockOperation, flock},
    io::{Errno, retry_on_intr},
};
use serde::{Deserialize, Serialize};

/// What the file of a lease says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Leased {
    /// Whether the files are all there.
    pub(super) is_ready: bool,
    /// What the worktree belongs to.
    pub(super) facts: WorktreeFacts,
}

/// The right to work in a worktree, until it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    file: File,
    path: PathBuf,
}

/// The file of a worktree's lease.
pub(super) fn path_of(worktree: &Path) -> PathBuf {
    worktree.with_added_extension("json")
}

impl Lease {
    /// Takes the lease; `None` if somebody has it.
    pub(super) fn take(worktree: &Path) -> io::Result<Option<Self>> {
        let path = path_of(worktree);
        loop {
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path)?;
            match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            // The former holder may have removed the file in the meantime.
            let is_there = fs::metadata(&path);
            if is_there.is_ok_and(|there| there.ino() == file.metadata().map_or(0, |it| it.ino())) {
                return Ok(Some(Self { file, path }));
            }
        }
    }

    /// Writes down what the worktree belongs to.
    pub(super) fn write(&mut self, leased: &Leased) -> io::Result<()> {
        let text = serde_json::to_vec(leased)?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }

    /// What the worktree belongs to, if that was written.
    pub(super) fn read(&mut self) -> Option<Leased> {
        let mut text = String::new();
        self.file.rewind().ok()?;
        self.file.read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Removes the lease: the worktree is gone.
    pub(super) fn remove(self) {
        // A file that stays is found by the next clean-up.
        fs::remove_file(&self.path).unwrap_or_default();
    }
}
