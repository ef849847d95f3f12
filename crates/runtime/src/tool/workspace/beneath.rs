//! Opening beneath a root: from the root's own handle downwards, following no link.
//!
//! Invariant: a handle from here is below the root, even if paths are renamed or replaced meanwhile.
//! On Linux one `openat2` call sees to it; elsewhere, and where that call is not allowed, each part
//! of the path is opened from the one before.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Component, Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{Stamp, shown};

/// For directories on the way: enough to go through, without the right to list them.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// A directory whose handle is kept, so that it stays the same if its path changes.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    /// What stands before a path below it when it is shown.
    prefix: PathBuf,
    handle: OwnedFd,
    /// The system has no `openat2`, or a sandbox forbids it.
    stepwise: AtomicBool,
    /// What is in memory can be told from what is not, and nothing else is waited for.
    tells_at_hand: AtomicBool,
}

impl Root {
    pub(super) fn open(path: &Path, prefix: PathBuf) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        let flags = PASSING | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty())?;
        let tells_at_hand = AtomicBool::new(never_asks_elsewhere(&handle));
        Ok(Self { path, prefix, handle, stepwise: AtomicBool::new(false), tells_at_hand })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the workspace itself and no other root.
    pub(super) fn is_workspace(&self) -> bool {
        self.prefix.as_os_str().is_empty()
    }

    /// How a path below the root is shown; the workspace itself is `.`.
    pub(super) fn show(&self, relative: &Path) -> String {
        let whole = self.prefix.join(relative);
        if whole.as_os_str().is_empty() {
            return ".".to_owned();
        }
        shown(&whole)
    }

    /// Opens a regular file. `NONBLOCK` keeps a pipe that took the file's place from blocking.
    pub(super) fn open_file(&self, relative: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(self.open_beneath(relative, flags)?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(Errno::NOTDIR.into()) }
    }

    #[cfg(test)]
    pub(super) fn tells_at_hand(&self) -> bool {
        self.tells_at_hand.load(Ordering::Relaxed)
    }

    /// The content of a regular file up to a maximum size, if it can be read without waiting.
    #[cfg(target_os = "linux")]
    pub(super) fn read_at_hand(&self, relative: &Path, most: usize) -> Option<(Vec<u8>, Stamp)> {
        use rustix::{fs::ResolveFlags, io::ReadWriteFlags};
        if !self.tells_at_hand.load(Ordering::Relaxed) {
            return None;
        }
        let given_up = |error| {
            if matches!(error, Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) {
                self.tells_at_hand.store(false, Ordering::Relaxed);
            }
        };
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_XDEV
            | ResolveFlags::CACHED;
        let file = rustix::fs::openat2(&self.handle, relative, flags, Mode::empty(), resolve)
            .map_err(given_up)
            .ok()?;
        let stamp = Stamp::from_stat(&rustix::fs::fstat(&file).ok()?)?;
        let size = usize::try_from(stamp.size).ok().filter(|size| *size <= most)?;
        // One byte more than its size: a file that grew is not read on the fast path.
        let mut content = vec![0; size + 1];
        let mut into = [io::IoSliceMut::new(&mut content)];
        let read = rustix::io::preadv2(&file, &mut into, 0, ReadWriteFlags::NOWAIT)
            .map_err(given_up)
            .ok()?;
        content.truncate(size);
        (read == size).then_some((content, stamp))
    }

    /// Only Linux can tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_at_hand(&self, _relative: &Path, _most: usize) -> Option<(Vec<u8>, Stamp)> {
        None
    }

    pub(super) fn open_directory(&self, relative: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        Ok(self.open_beneath(relative, flags)?)
    }

    /// Whether something is at that path, with no link on the way to it.
    pub(super) fn holds(&self, relative: &Path) -> bool {
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return true;
        };
        self.open_beneath(parent, PASSING | OFlags::DIRECTORY)
            .and_then(|parent| {
                rustix::fs::statat(parent, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
            })
            .is_ok()
    }

    /// The directory that a path lies in, which must exist, and the path's last name.
    pub(super) fn parent<'p>(&self, relative: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        Ok((self.open_beneath(parent, PASSING | OFlags::DIRECTORY)?, name))
    }

    /// The same; directories that are missing on the way are made.
    pub(super) fn parent_made<'p>(&self, relative: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        match self.parent(relative) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        let flags = PASSING | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut at = self.open_beneath(Path::new(""), PASSING | OFlags::DIRECTORY)?;
        for part in parent.components() {
            let Component::Normal(part) = part else { return Err(Errno::XDEV.into()) };
            match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            at = rustix::fs::openat(&at, part, flags, Mode::empty())?;
        }
        Ok((at, name))
    }

    fn open_beneath(&self, relative: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        if !self.stepwise.load(Ordering::Relaxed) {
            match open_at_once(self.handle.as_fd(), relative, flags) {
                Err(Errno::NOSYS | Errno::PERM) => self.stepwise.store(true, Ordering::Relaxed),
                answer => return answer,
            }
        }
        open_stepwise(self.handle.as_fd(), relative, flags)
    }
}

/// Whether the file system lies on this machine: others may ask their server on every opening.
#[cfg(target_os = "linux")]
fn never_asks_elsewhere(handle: &OwnedFd) -> bool {
    // ext2 to ext4, XFS, Btrfs, F2FS, tmpfs.
    const LOCAL: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];
    let found = rustix::fs::fstatfs(handle).ok().and_then(|found| u64::try_from(found.f_type).ok());
    found.is_some_and(|found| LOCAL.contains(&found))
}

#[cfg(not(target_os = "linux"))]
fn never_asks_elsewhere(_handle: &OwnedFd) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn open_at_once(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve)
}

fn open_stepwise(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> rustix::io::Result<OwnedFd> {
    let mut parts = relative.components().filter(|part| *part != Component::CurDir).peekable();
    let passing = PASSING | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV);
        };
        let from = at.as_ref().map_or(root, AsFd::as_fd);
        if parts.peek().is_none() {
            return rustix::fs::openat(from, name, flags | OFlags::NOFOLLOW, Mode::empty());
        }
        at = Some(rustix::fs::openat(from, name, passing, Mode::empty())?);
    }
    rustix::fs::openat(root, ".", flags, Mode::empty())
}

#[cfg(test)]
mod tests;
