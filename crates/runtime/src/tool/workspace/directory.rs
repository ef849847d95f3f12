//! An open directory: its entries are read from its handle, so they are those of that directory even
//! if its path has come to mean another.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::PathBuf,
};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    handle: OwnedFd,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
}

/// What a name in a directory stands for; links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, with its size in bytes.
    File(u64),
    /// A directory.
    Directory,
    /// A symbolic link, and where it points.
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Special(&'static str),
}

/// What a name in a directory stands for, as far as reading the directory tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameKind {
    File,
    Directory,
    Link,
    Special,
}

impl Directory {
    pub(super) fn new(handle: OwnedFd) -> Self {
        Self { handle }
    }

    /// The names in it, unordered, up to a maximum number.
    pub fn names(&self, most: usize) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
            if names.len() >= most {
                break;
            }
        }
        Ok(names)
    }

    /// The names in it and what they stand for, in no order.
    pub(super) fn names_and_kinds(&self) -> io::Result<Vec<(OsString, NameKind)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems tell only when asked.
                let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
                kind = stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode));
            }
            let kind = match kind {
                FileType::RegularFile => NameKind::File,
                FileType::Directory => NameKind::Directory,
                FileType::Symlink => NameKind::Link,
                _ => NameKind::Special,
            };
            names.push((OsStr::from_bytes(name.to_bytes()).to_owned(), kind));
        }
        Ok(names)
    }

    /// What a name in it stands for; `None` if it is gone.
    pub fn entry(&self, name: OsString) -> Option<Entry> {
        let stat = rustix::fs::statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File(u64::try_from(stat.st_size).unwrap_or(0)),
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link(self.target(&name)),
            FileType::Fifo => EntryKind::Special("FIFO"),
            FileType::Socket => EntryKind::Special("socket"),
            FileType::CharacterDevice | FileType::BlockDevice => EntryKind::Special("device"),
            FileType::Unknown => EntryKind::Special("special file"),
        };
        Some(Entry { name, kind })
    }

    /// Opens a directory in it; a link is refused.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, name, flags, Mode::empty())?;
        Ok(Self { handle })
    }

    fn target(&self, name: &OsStr) -> PathBuf {
        rustix::fs::readlinkat(&self.handle, name, Vec::new())
            .map(|target| PathBuf::from(OsStr::from_bytes(target.as_bytes())))
            .unwrap_or_default()
    }
}
