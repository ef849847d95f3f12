//! Cached files: small ones that are in the page cache, read without waiting.
//!
//! Going to another thread and back costs more than reading such a file. Invariant: nothing here waits
//! for a disk or a network. The lookup ends where the system would have to ask (`RESOLVE_CACHED`), so
//! does the reading (`RWF_NOWAIT`), and file systems that may ask on opening are left out. A caller
//! that gets nothing reads the file where waiting is allowed, which also reports problems of the path.

use std::path::{Component, Path, PathBuf};

use super::{Kind, Location, Stamp, Workspace};

impl Workspace {
    /// The place, the content and the stamp of a small file of the workspace itself, if it is in the page cache.
    pub(crate) fn at_hand(&self, given: &str, most: usize) -> Option<(Location, Vec<u8>, Stamp)> {
        // Only a directory can be meant.
        if given.ends_with('/') || given.ends_with("/.") {
            return None;
        }
        let relative = plain(Path::new(given), self.root())?;
        let (content, stamp) = self.root.read_at_hand(&relative, most)?;
        let root = std::sync::Arc::clone(&self.root);
        Some((Location { root, relative, kind: Kind::File }, content, stamp))
    }

    /// Whether this system can tell what it has in memory.
    #[cfg(test)]
    pub(crate) fn tells_at_hand(&self) -> bool {
        self.root.tells_at_hand()
    }
}

/// The path below the root, of a path that goes straight down.
fn plain(given: &Path, root: &Path) -> Option<PathBuf> {
    let below = if given.is_absolute() { given.strip_prefix(root).ok()? } else { given };
    let mut plain = PathBuf::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!plain.as_os_str().is_empty()).then_some(plain)
}
