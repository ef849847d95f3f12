//! Spare placeholders: empty directories that are moved into a workspace and back, instead of being created and
//! removed for every command. On some file systems removing a directory waits for the disk.
//!
//! They lie in a directory that commands cannot reach. Invariant: whoever moves a spare owns it alone, since it
//! is renamed first; and only an empty directory is moved into a workspace.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// What the names of spares begin with.
const FREE: &str = "spare-";

/// The spares that are kept.
const MOST: usize = 64;

/// The spares of one command.
#[derive(Debug)]
pub(super) struct Spares {
    directory: PathBuf,
    device: u64,
    free: Vec<PathBuf>,
    /// How many were claimed or given back, for names that nobody else uses.
    moved: usize,
}

impl Spares {
    /// Those in that directory, which is created if it does not exist. `None`: it cannot be used.
    pub(super) fn in_directory(directory: &Path) -> Option<Self> {
        fs::create_dir_all(directory).ok()?;
        let device = fs::symlink_metadata(directory).ok().filter(fs::Metadata::is_dir)?.dev();
        let entries = fs::read_dir(directory).ok()?.flatten();
        let free = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(FREE));
        let free = free.map(|entry| entry.path()).collect();
        Some(Self { directory: directory.to_owned(), device, free, moved: 0 })
    }

    /// An empty directory on the file system of `place`, which belongs to the caller now.
    pub(super) fn claim(&mut self, place: &Path) -> Option<PathBuf> {
        if !self.serves(place) {
            return None;
        }
        while let Some(spare) = self.free.pop() {
            let claimed = self.own_name("claimed");
            if is_moved(&spare, &claimed) && is_empty(&claimed) {
                return Some(claimed);
            }
        }
        None
    }

    /// Takes a directory out of a workspace. Whether it did: it stays if there is something in it.
    pub(super) fn take_back(&mut self, place: &Path) -> bool {
        if self.free.len() >= MOST || !self.serves(place) || !is_empty(place) {
            return false;
        }
        let taken = self.own_name("taken");
        if !is_moved(place, &taken) {
            return false;
        }
        if !is_empty(&taken) {
            // Somebody was faster: it is theirs.
            return is_moved(&taken, place);
        }
        self.release(&taken);
        true
    }

    /// Makes a directory that was claimed free again.
    pub(super) fn release(&mut self, claimed: &Path) {
        let free = self.directory.join(format!("{FREE}{}-{}", std::process::id(), self.moved));
        self.moved += 1;
        if is_moved(claimed, &free) {
            self.free.push(free);
        } else {
            drop(fs::remove_dir(claimed));
        }
    }

    fn serves(&self, place: &Path) -> bool {
        let above = place.parent().and_then(|above| fs::metadata(above).ok());
        above.is_some_and(|above| above.dev() == self.device)
    }

    fn own_name(&mut self, purpose: &str) -> PathBuf {
        self.moved += 1;
        self.directory.join(format!("{purpose}-{}-{}", std::process::id(), self.moved))
    }
}

fn is_moved(from: &Path, to: &Path) -> bool {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).is_ok()
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}
