//! Cleaning up: transcripts that nothing was written to for long go, with their artifacts.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::Serialize;

use super::{
    claim,
    lock::{self, FolderLock},
    names::Place,
    open_to_read,
};

/// What was removed and what was not.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// The runs that went.
    pub removed: Vec<Removed>,
    /// How many stayed, those that run among them.
    pub kept: usize,
    /// How many stayed for the only reason that they run.
    pub running: usize,
    /// How many bytes went, artifacts included.
    pub bytes: u64,
    /// What could not be removed, and why.
    pub failed: Vec<(PathBuf, io::Error)>,
}

/// A run that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// The run.
    pub agent_id: String,
    /// Its session.
    pub session_id: String,
    /// Where its transcript lay.
    pub path: PathBuf,
    /// How many bytes went, artifacts included.
    pub bytes: u64,
}

/// Whether anything is really removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    Done,
    OnlyCounted,
}

/// What becomes of one run.
enum Fate {
    TooYoung,
    Running,
    /// Somebody else removed it.
    Gone,
    Removed(u64),
}

pub(super) fn clean(
    places: &[Place],
    older_than: Duration,
    now: SystemTime,
    removal: Removal,
) -> Cleaned {
    let mut cleaned = Cleaned::default();
    for place in places {
        match settle(place, older_than, now, removal) {
            Ok(Fate::Gone) => {}
            Ok(Fate::TooYoung) => cleaned.kept += 1,
            Ok(Fate::Running) => {
                cleaned.kept += 1;
                cleaned.running += 1;
            }
            Ok(Fate::Removed(bytes)) => {
                cleaned.bytes = cleaned.bytes.saturating_add(bytes);
                cleaned.removed.push(Removed {
                    agent_id: place.id.clone(),
                    session_id: place.session(),
                    path: place.path.clone(),
                    bytes,
                });
            }
            Err(error) => {
                cleaned.kept += 1;
                cleaned.failed.push((place.path.clone(), error));
            }
        }
    }
    cleaned
}

fn settle(
    place: &Place,
    older_than: Duration,
    now: SystemTime,
    removal: Removal,
) -> io::Result<Fate> {
    // Whoever wants to take the run up waits for this, and then finds it or does not.
    let guard = match FolderLock::take(&place.folder) {
        Ok(guard) => guard,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fate::Gone),
        Err(error) => return Err(error),
    };
    let file = match open_to_read(&place.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fate::Gone),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    // A time in the future is no age at all.
    let age = now.duration_since(metadata.modified()?).unwrap_or_default();
    if age < older_than {
        return Ok(Fate::TooYoung);
    }
    // A resumed run still reads the artifacts of the earlier one.
    if !lock::acquire(&file, &guard)? || claim::is_held(&place.folder, &guard, &place.id) {
        return Ok(Fate::Running);
    }
    let artifacts = place.artifacts();
    let bytes = metadata.len().saturating_add(size(&artifacts));
    if removal == Removal::Done {
        // The transcript goes last: if this is cut off, the next clean-up finds both.
        match fs::remove_dir_all(&artifacts) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        claim::remove(&place.folder, &place.id)?;
        fs::remove_file(&place.path)?;
    }
    drop::<File>(file);
    drop::<FolderLock>(guard);
    Ok(Fate::Removed(bytes))
}

/// The bytes of a folder's files; links are not followed, what cannot be read counts nothing.
fn size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() { size(&entry.path()) } else { metadata.len() })
    });
    sizes.fold(0, u64::saturating_add)
}

/// Removes the folders of sessions that hold nothing any more.
pub(super) fn remove_empty_folders(sessions: &Path, folders: &[PathBuf]) {
    for folder in folders {
        // Whoever begins a run holds this until the run's file is in its folder.
        let _sessions = FolderLock::take(sessions);
        let guard = FolderLock::take(folder);
        if let Ok(guard) = &guard {
            claim::remove_stale(folder, guard);
        }
        // A folder with something in it stays, and so does one that cannot be removed.
        fs::remove_dir(folder).unwrap_or_default();
        drop(guard);
    }
}
