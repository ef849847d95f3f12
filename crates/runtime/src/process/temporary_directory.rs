//! The directory for temporary files of a run's commands. It is removed with the run.
//!
//! Its owner holds a lock on it, which the kernel drops when the owner dies. So what a program that was killed
//! left behind is recognised, and the next run removes it.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FlockOperation, flock},
    process::geteuid,
};
use tempfile::TempDir;

/// What its name begins with.
const PREFIX: &str = "attache-";

/// A directory that is younger may not be locked yet.
const GRACE: Duration = Duration::from_mins(1);

/// The leftovers that one run looks at.
const MOST_LEFTOVERS: usize = 64;

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct TemporaryDirectory {
    directory: TempDir,
    _lock: File,
}

impl TemporaryDirectory {
    /// Creates one below a root, and removes what dead programs left there.
    pub(super) fn create(root: &Path) -> io::Result<Self> {
        remove_leftovers(root);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
        let lock = File::open(directory.path())?;
        flock(&lock, FlockOperation::NonBlockingLockShared)?;
        Ok(Self { directory, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes directories of this user that nobody holds. What cannot be removed stays.
fn remove_leftovers(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for entry in named.take(MOST_LEFTOVERS) {
        let path = entry.path();
        if is_left_over(&path) {
            drop(fs::remove_dir_all(&path));
        }
    }
}

fn is_left_over(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return false };
    let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    let is_own = found.is_dir() && found.uid() == geteuid().as_raw();
    let is_old = age.is_some_and(|age| age > GRACE);
    is_own
        && is_old
        && File::open(path)
            .is_ok_and(|opened| flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Timespec, Timestamps, futimens};

    use super::*;

    #[test]
    fn what_a_dead_program_left_is_removed_and_what_is_held_or_young_stays() {
        let root = tempfile::tempdir().unwrap();
        let made = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            path
        };
        let age = |path: &Path| {
            let old = Timespec { tv_sec: 1_000_000, tv_nsec: 0 };
            let times = Timestamps { last_access: old, last_modification: old };
            futimens(File::open(path).unwrap(), &times).unwrap();
        };
        let (left, young, other) = (made("attache-left"), made("attache-young"), made("other"));
        let held = TemporaryDirectory::create(root.path()).unwrap();
        for path in [&left, &other, &held.path().to_owned()] {
            age(path);
        }
        let second = TemporaryDirectory::create(root.path()).unwrap();
        assert!(!left.exists());
        for path in [&young, &other, held.path(), second.path()] {
            assert!(path.exists(), "{}", path.display());
        }
    }
}
