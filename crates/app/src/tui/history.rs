//! What was sent in earlier sessions, in this folder: a file under the program's home that only its owner can
//! read, a line of JSON each.
//!
//! It is a convenience: where it cannot be read or written, there is none, and nothing else fails.

use std::{
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use attache_runtime::internal::store::Secrets;
use serde::{Deserialize, Serialize};

/// How many texts are kept when the file is written anew.
const MOST: usize = 1_000;
/// A larger file is not read.
const LARGEST: u64 = 16 * 1024 * 1024;
/// A longer text is not kept.
const LONGEST: usize = 64 * 1024;

/// The file, and the folder whose texts are wanted.
#[derive(Debug, Clone)]
pub(crate) struct History {
    file: PathBuf,
    folder: String,
    secrets: Secrets,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    cwd: String,
    text: String,
}

impl History {
    pub(crate) fn new(home: &Path, folder: &Path, secrets: Secrets) -> Self {
        let folder = folder.display().to_string();
        Self { file: home.join("history.jsonl"), folder, secrets }
    }

    /// What was sent in this folder, the oldest first.
    pub(crate) fn read(&self) -> Vec<String> {
        let is_small = fs::metadata(&self.file).is_ok_and(|file| file.len() <= LARGEST);
        let text = is_small.then(|| fs::read_to_string(&self.file).ok()).flatten();
        let text = text.unwrap_or_default();
        if text.lines().count() > MOST * 2 {
            self.shorten(&text);
        }
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Entry>(line).ok());
        entries.filter(|entry| entry.cwd == self.folder).map(|entry| entry.text).collect()
    }

    /// Keeps a text; a key in it is masked.
    pub(crate) fn add(&self, text: &str) {
        if text.trim().is_empty() || text.len() > LONGEST {
            return;
        }
        let text = self.secrets.mask(text).into_owned();
        let entry = Entry { cwd: self.folder.clone(), text };
        let Ok(line) = serde_json::to_string(&entry) else { return };
        let mut options = OpenOptions::new();
        let opened = options.append(true).create(true).mode(0o600).open(&self.file);
        // One write, so that two sessions do not mix their lines.
        opened
            .and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
            .unwrap_or_default();
    }

    fn shorten(&self, text: &str) {
        let lines: Vec<&str> = text.lines().collect();
        let kept =
            lines.get(lines.len().saturating_sub(MOST)..).unwrap_or_default().join("\n") + "\n";
        let new = self.file.with_extension("jsonl.new");
        let mut options = OpenOptions::new();
        let written = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| file.write_all(kept.as_bytes()));
        written.and_then(|()| fs::rename(&new, &self.file)).unwrap_or_default();
    }
}
