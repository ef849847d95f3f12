//! Locks: a transcript has one writer at a time, across processes.
//!
//! Asking whether a file is locked takes the lock for a moment, so asking, taking and removing are done
//! under a lock on the session's folder: nobody who asks is ever mistaken for a writer.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::{Errno, retry_on_intr},
};

/// The right to lock, ask about and remove what is in a folder; held for a moment only.
#[derive(Debug)]
pub(super) struct FolderLock {
    _folder: File,
}

impl FolderLock {
    /// Waits for the others, who are quick.
    pub(super) fn take(folder: &Path) -> io::Result<Self> {
        let folder = File::open(folder)?;
        match retry_on_intr(|| flock(&folder, FlockOperation::LockExclusive)) {
            // Some network file systems lock no folders; files they do, and that is what counts.
            Ok(()) | Err(_) => Ok(Self { _folder: folder }),
        }
    }

    /// The lock, if nobody else has it.
    pub(super) fn try_take(folder: &Path) -> Option<Self> {
        let folder = File::open(folder).ok()?;
        let taken = retry_on_intr(|| flock(&folder, FlockOperation::NonBlockingLockExclusive));
        taken.is_ok().then_some(Self { _folder: folder })
    }
}

/// Makes its caller the one writer of a file, until the file is closed; false if there is one.
pub(super) fn acquire(file: &File, _guard: &FolderLock) -> io::Result<bool> {
    match retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether somebody writes a file.
pub(super) fn is_held(file: &File, folder: &Path) -> bool {
    let _guard = FolderLock::take(folder);
    is_locked(file)
}

/// The same for a caller that holds the lock of the folder.
pub(super) fn is_locked(file: &File) -> bool {
    let tried = retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockShared));
    if tried.is_ok() {
        release(file);
    }
    tried == Err(Errno::WOULDBLOCK)
}

/// Ends a lock now; closing the file would do the same, a little later.
pub(super) fn release(file: &File) {
    flock(file, FlockOperation::Unlock).unwrap_or_default();
}

/// The process that writes a file, where the system says so and is sure.
pub(super) fn owner(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `3: FLOCK  ADVISORY  WRITE 4711 08:02:1234 0 EOF`
    let mut owners = locks.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words.as_slice() else { return None };
        (place.rsplit(':').next() == Some(inode.as_str())).then(|| pid.parse().ok()).flatten()
    });
    let owner = owners.next();
    owner.filter(|_| owners.next().is_none())
}
