//! Names: what a session and a run may be called, and what their files are called.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::store::StoreError;

const ENDING: &str = ".jsonl";
const CLAIM: &str = ".resuming";
const LONGEST: usize = 200;

/// A transcript that was found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The run's id.
    pub(super) id: String,
    /// The session's folder.
    pub(super) folder: PathBuf,
    /// The file.
    pub(super) path: PathBuf,
}

impl Place {
    pub(super) fn artifacts(&self) -> PathBuf {
        self.folder.join(artifacts_name(&self.id))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.folder.join(log_name(&self.id))
    }

    pub(super) fn session(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

pub(super) fn file_name(id: &str) -> String {
    format!("{id}{ENDING}")
}

pub(super) fn artifacts_name(id: &str) -> String {
    format!("{id}.artifacts")
}

/// What the process of a run in the background writes to standard error.
pub(super) fn log_name(id: &str) -> String {
    format!("{id}.log")
}

pub(super) fn claim_name(id: &str) -> String {
    format!("{id}{CLAIM}")
}

/// The run that a claim's file is about.
pub(super) fn claimed(name: &str) -> Option<&str> {
    name.strip_suffix(CLAIM)
}

/// Passes ids that are plain file names.
pub(super) fn check(id: &str) -> Result<(), StoreError> {
    let problem = if id.is_empty() {
        "it is empty"
    } else if id.len() > LONGEST {
        "it is too long"
    } else if id.starts_with('.') {
        "it begins with a dot"
    } else if id.contains(['/', '\\']) {
        "it holds a slash"
    } else if id.chars().any(char::is_control) {
        "it holds a control character"
    } else {
        return Ok(());
    };
    Err(StoreError::InvalidId { id: id.to_owned(), problem })
}

/// The folders of all sessions, in order; none if there is no folder for them yet.
pub(super) fn folders(sessions: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry?;
        // A link leads out of the store; it is not one of its directories.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        }
    }
    folders.sort();
    Ok(folders)
}

/// The transcript of one run in a session; none if there is no such file.
pub(super) fn transcript(folder: &Path, id: &str) -> Option<Place> {
    let path = folder.join(file_name(id));
    let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    is_file.then(|| Place { id: id.to_owned(), folder: folder.to_path_buf(), path })
}

/// The transcripts of a session, in order. A folder that was removed meanwhile has none.
pub(super) fn transcripts(folder: &Path) -> Vec<Place> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut places: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let id = name.strip_suffix(ENDING)?;
            check(id).ok()?;
            let (id, path) = (id.to_owned(), entry.path());
            Some(Place { id, folder: folder.to_path_buf(), path })
        })
        .collect();
    places.sort_by(|one, other| one.id.cmp(&other.id));
    places
}
