//! Seen files: what an agent knows of the files it read or wrote, so that it does not overwrite what
//! somebody else wrote meanwhile.
//!
//! Only stamps and hashes are kept, no text. A run that is resumed has seen nothing.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use super::text_file::TextFile;
use crate::tool::workspace::{Location, Stamp};

/// How many files are remembered; beyond that, files count as never read.
const MAX_FILES: usize = 10_000;

/// The files an agent has seen. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SeenFiles {
    files: Arc<Mutex<HashMap<PathBuf, Seen>>>,
}

/// What was seen of a file.
#[derive(Debug, Clone, Copy)]
struct Seen {
    stamp: Stamp,
    /// The hash and the number of lines of its content, where all of it was at hand.
    content: Option<(u64, usize)>,
}

/// What an agent knows of a file, compared with what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It never saw the file.
    None,
    /// The file is as it saw it.
    Current,
    /// The file is another now; how many lines it had then, where that is known.
    Stale(Option<usize>),
}

impl SeenFiles {
    /// The agent sees a file with this stamp; with its content, where all of it is at hand.
    pub(super) fn saw(&self, place: &Location, stamp: Stamp, content: Option<&[u8]>) {
        let content = content
            .map(|content| (hash(content), content.split_inclusive(|byte| *byte == b'\n').count()));
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let path = place.absolute();
        if files.len() < MAX_FILES || files.contains_key(&path) {
            files.insert(path, Seen { stamp, content });
        }
    }

    /// The file is gone.
    pub(super) fn forget(&self, place: &Location) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.remove(&place.absolute());
    }

    /// What the agent knows of a file that is now like this.
    pub(super) fn knowledge(&self, place: &Location, now: &TextFile) -> Knowledge {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = files.get(&place.absolute()) else {
            return Knowledge::None;
        };
        let is_same = now.stamp.is_some_and(|now| seen.stamp.is_same_content(&now))
            || seen.content.is_some_and(|(seen, _)| seen == hash(now.text.as_bytes()));
        if is_same {
            return Knowledge::Current;
        }
        Knowledge::Stale(seen.content.map(|(_, lines)| lines))
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
