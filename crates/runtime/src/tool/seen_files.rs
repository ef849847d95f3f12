//! Seen files: what an agent knows of the files it read or wrote, so that it does not overwrite what
//! somebody else wrote meanwhile.
//!
//! Stamps and hashes are kept, and the texts of a few small files to show what changed. A run that is
//! resumed has seen nothing.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::text_file::TextFile;
use crate::tool::workspace::{Location, Stamp};

/// How many files are remembered; beyond that, files count as never read.
const MAX_FILES: usize = 10_000;

/// How many bytes of texts are kept, over all files.
const MAX_TEXT: usize = 32 * 1024;

/// The files an agent has seen. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct SeenFiles {
    files: Arc<Mutex<Files>>,
}

#[derive(Debug, Default)]
struct Files {
    seen: HashMap<PathBuf, Seen>,
    /// How many bytes of texts are kept.
    kept: usize,
}

/// What was seen of a file.
#[derive(Debug, Clone)]
struct Seen {
    stamp: Stamp,
    /// The content, where all of it was read.
    content: Option<Content>,
}

#[derive(Debug, Clone)]
struct Content {
    hash: u64,
    lines: usize,
    /// The text, as long as there is room for it.
    text: Option<Arc<str>>,
}

/// What an agent knows of a file, compared with what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It never saw the file.
    None,
    /// The file is as it saw it.
    Current,
    /// The file is another now; what is known of how it was.
    Stale(Earlier),
}

/// A file as it was when the agent saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Earlier {
    pub(super) lines: Option<usize>,
    pub(super) text: Option<Arc<str>>,
}

impl SeenFiles {
    /// The agent sees a file with this stamp; with its content, where all of it was read.
    pub(super) fn saw(&self, place: &Location, stamp: Stamp, content: Option<&[u8]>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let path = place.absolute();
        files.forget(&path);
        if files.seen.len() >= MAX_FILES {
            return;
        }
        let content = content.map(|content| {
            let fits = files.kept + content.len() <= MAX_TEXT;
            let text = std::str::from_utf8(content).ok().filter(|_| fits);
            files.kept += text.map_or(0, str::len);
            let lines = content.split_inclusive(|byte| *byte == b'\n').count();
            Content { hash: hash(content), lines, text: text.map(Arc::from) }
        });
        files.seen.insert(path, Seen { stamp, content });
    }

    /// The file is gone.
    pub(super) fn forget(&self, place: &Location) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.forget(&place.absolute());
    }

    /// What the agent knows of a file that is now like this.
    pub(super) fn knowledge(&self, place: &Location, now: &TextFile) -> Knowledge {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = files.seen.get(&place.absolute()) else {
            return Knowledge::None;
        };
        let content = seen.content.as_ref();
        let is_same = now.stamp.is_some_and(|now| seen.stamp.is_same_content(&now))
            || content.is_some_and(|content| content.hash == hash(now.text.as_bytes()));
        if is_same {
            return Knowledge::Current;
        }
        let earlier = content
            .map(|content| Earlier { lines: Some(content.lines), text: content.text.clone() });
        Knowledge::Stale(earlier.unwrap_or_default())
    }
}

impl Files {
    fn forget(&mut self, path: &Path) {
        let text = self.seen.remove(path).and_then(|seen| seen.content?.text);
        self.kept -= text.map_or(0, |text| text.len());
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}
