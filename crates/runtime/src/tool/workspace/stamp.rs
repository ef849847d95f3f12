//! The stamp of a file: what tells whether it is still the same file with the same content, and what a
//! file that takes its place must keep.

use rustix::fs::{FileType, Mode, Stat};

/// A regular file as the system described it at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    pub(crate) size: u64,
    /// When it was last written, in seconds and nanoseconds.
    modified: (i64, i64),
    mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    /// How many names it has.
    pub(crate) links: u64,
}

impl Stamp {
    /// The stamp of a regular file; `None` for anything else.
    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::unnecessary_cast,
        reason = "the fields have other types on other systems"
    )]
    pub(super) fn from_stat(stat: &Stat) -> Option<Self> {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then_some(Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            mode: stat.st_mode as u32,
            owner: stat.st_uid,
            group: stat.st_gid,
            links: stat.st_nlink as u64,
        })
    }

    /// The permission bits.
    pub(super) fn permissions(&self) -> Mode {
        Mode::from_bits_truncate(self.mode & 0o7777)
    }

    /// Whether the owner may execute it.
    pub(crate) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// Whether nobody may write it.
    pub(super) fn is_read_only(&self) -> bool {
        self.mode & 0o222 == 0
    }

    /// Whether it is the same file with the same content, as far as the system tells.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        self.device == other.device
            && self.inode == other.inode
            && self.size == other.size
            && self.modified == other.modified
    }
}
