//! The corpus of real agent files: found beside the project, unpacked for a test, never part of it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use serde_json::Value;
use tempfile::TempDir;

/// The corpus, unpacked into a folder of its own.
#[derive(Debug)]
pub struct Corpus {
    folder: TempDir,
}

impl Corpus {
    /// The corpus, or where it was looked for. `project` is the root of the repository;
    /// `ATTACHE_CORPUS` names another folder.
    ///
    /// # Errors
    /// The folder that was looked at.
    ///
    /// # Panics
    /// If the archive is damaged.
    pub fn find(project: &Path) -> Result<Self, PathBuf> {
        #[expect(clippy::disallowed_methods, reason = "the documented way to place the corpus")]
        let place = env::var_os("ATTACHE_CORPUS")
            .map_or_else(|| project.join("../shared/corpus"), PathBuf::from);
        let archive = place.join("open.tar.gz");
        let Ok(file) = fs::File::open(&archive) else { return Err(place) };
        let folder = TempDir::new().expect("a temporary folder can be made");
        tar::Archive::new(GzDecoder::new(file))
            .unpack(folder.path())
            .expect("the archive can be unpacked");
        Ok(Self { folder })
    }

    /// Where it lies.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What is expected of each file.
    ///
    /// # Panics
    /// If the list is damaged.
    pub fn expected(&self) -> Vec<Value> {
        let list = fs::read_to_string(self.folder.path().join("open.expected.jsonl"))
            .expect("the corpus has a list");
        list.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }
}
