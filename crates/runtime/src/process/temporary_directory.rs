//! The directory for temporary files of a run's commands. It is removed with the run.
//!
//! Its owner holds a lock on it, which the kernel drops when the owner dies. So what a program that was killed
//! left behind is recognised, and the next run or `attache clean` removes it. Invariant: a directory has its
//! final name only once it is locked, so one of that name without a lock belongs to nobody.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    process::geteuid,
};

/// What its name begins with.
const PREFIX: &str = "attache-";

/// What its name begins with until it is locked.
const UNLOCKED: &str = "attache-new-";

/// How long a directory may be without a lock while it is made.
const GRACE: Duration = Duration::from_mins(1);

/// How many letters of its name are random: no two are the same.
const RANDOM: usize = 12;

/// The leftovers that one run removes.
const MOST_LEFTOVERS: usize = 64;

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub(super) struct TemporaryDirectory {
    path: PathBuf,
    _lock: File,
}

impl TemporaryDirectory {
    /// Creates one below a root, and removes what dead programs left there.
    pub(super) fn create(root: &Path) -> io::Result<Self> {
        for left in leftovers(root).take(MOST_LEFTOVERS) {
            // What cannot be removed stays.
            drop(left.remove());
        }
        let builder = &mut tempfile::Builder::new();
        let made = builder.prefix(UNLOCKED).rand_bytes(RANDOM).tempdir_in(root)?;
        let lock = open_directory(made.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        let name = made.path().file_name().unwrap_or_default().to_string_lossy();
        let path = root.join(name.replacen(UNLOCKED, PREFIX, 1));
        fs::rename(made.path(), &path)?;
        drop(made.keep());
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What stays is found by the next run.
        drop(fs::remove_dir_all(&self.path));
    }
}

/// A directory that a program which was killed left behind. Nobody else uses it while this is held.
#[derive(Debug)]
pub struct LeftoverDirectory {
    /// Where it is.
    pub path: PathBuf,
    _lock: File,
}

impl LeftoverDirectory {
    /// Removes it with all that is in it.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

/// The directories of this user below a root that programs which were killed left behind.
pub fn leftovers(root: &Path) -> impl Iterator<Item = LeftoverDirectory> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| name.starts_with(PREFIX))?;
        let path = entry.path();
        let lock = left_over(&path, name.starts_with(UNLOCKED))?;
        Some(LeftoverDirectory { path, _lock: lock })
    })
}

/// The lock on a directory that belongs to nobody. Links are not followed, and other users' directories are
/// not looked at.
fn left_over(path: &Path, is_unlocked: bool) -> Option<File> {
    let is_own = |found: &fs::Metadata| found.is_dir() && found.uid() == geteuid().as_raw();
    path.symlink_metadata().ok().filter(is_own)?;
    let opened = open_directory(path).ok()?;
    let found = opened.metadata().ok().filter(is_own)?;
    let age = found.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
    if is_unlocked && age.is_none_or(|age| age <= GRACE) {
        return None;
    }
    flock(&opened, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Somebody may have removed it, or put another in its place, before it was locked.
    let there = path.symlink_metadata().ok()?;
    ((there.dev(), there.ino()) == (found.dev(), found.ino())).then_some(opened)
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{CWD, Timespec, Timestamps, futimens};

    use super::*;

    #[test]
    fn what_a_dead_program_left_is_removed_and_what_is_held_or_being_made_stays() {
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
        let (left, other) = (made("attache-left"), made("other"));
        let (young, old) = (made("attache-new-young"), made("attache-new-old"));
        let held = TemporaryDirectory::create(root.path()).unwrap();
        assert!(!left.exists(), "nobody holds it");
        assert!(old.exists(), "it may be about to be locked");
        for path in [&old, &other, &held.path().to_owned()] {
            age(path);
        }
        let second = TemporaryDirectory::create(root.path()).unwrap();
        assert!(!old.exists());
        for path in [&young, &other, held.path(), second.path()] {
            assert!(path.exists(), "{}", path.display());
        }
        let path = held.path().to_owned();
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn hostile_names_and_links_reach_nothing() {
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "x").unwrap();
        symlink(&precious, root.path().join("attache-link")).unwrap();
        fs::write(root.path().join("attache-file"), "x").unwrap();
        rustix::fs::mkfifoat(CWD, root.path().join("attache-fifo"), 0o600.into()).unwrap();
        let hostile = root.path().join("attache-dir");
        fs::create_dir(&hostile).unwrap();
        symlink(&precious, hostile.join("inside")).unwrap();
        let found: Vec<_> = leftovers(root.path()).collect();
        let paths: Vec<_> = found.iter().map(|left| left.path.clone()).collect();
        assert_eq!(paths, std::slice::from_ref(&hostile));
        assert_eq!(leftovers(root.path()).count(), 0, "somebody removes it already");
        for left in found {
            left.remove().unwrap();
        }
        assert!(!hostile.exists() && precious.join("file").exists());
    }
}
