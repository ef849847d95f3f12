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
    ledger::Ledger,
    lock::{self, FolderLock},
    mail,
    names::{self, Place},
    open_to_read,
    spending::spending_of,
};
use crate::store::StoreError;

/// What was removed and what was not.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// The runs that went.
    pub removed: Vec<Removed>,
    /// How many stayed, those that run among them.
    pub kept: usize,
    /// How many stayed for the only reason that they run.
    pub running: usize,
    /// How many stayed because they have messages to read when they are resumed.
    pub unread: usize,
    /// How many bytes went, artifacts included.
    pub bytes: u64,
    /// What could not be removed, and why.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// Why what the removed runs spent could not be kept, if it could not.
    pub not_kept: Option<StoreError>,
    /// How many somebody else removed meanwhile.
    gone: usize,
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

/// What is old enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Age {
    pub(super) older_than: Duration,
    pub(super) now: SystemTime,
}

/// What becomes of one run.
enum Fate {
    TooYoung,
    Running,
    /// It was sent messages that it has not read.
    HasMail,
    /// Somebody else removed it.
    Gone,
    /// It can go; nobody takes it up while this is held.
    Due(Due),
}

struct Due {
    file: File,
    /// How long the transcript is.
    length: u64,
    _guard: FolderLock,
}

/// What would be removed.
pub(super) fn would_clean(places: &[Place], age: Age) -> Cleaned {
    let mut cleaned = Cleaned::default();
    for place in places {
        cleaned.count(place, judge(place, age), |due| Ok(Some(bytes(place, &due))));
    }
    cleaned.kept = places.len().saturating_sub(cleaned.removed.len() + cleaned.gone);
    cleaned
}

/// Writes down what old runs spent, then removes them.
pub(super) fn clean(places: &[Place], age: Age, ledger: Option<&Ledger>) -> Cleaned {
    let mut cleaned = Cleaned::default();
    let (mut due, mut spent) = (Vec::new(), Vec::new());
    for place in places {
        cleaned.count(place, judge(place, age), |found| {
            let length = found.length;
            if ledger.is_some() {
                // Of a broken transcript nobody knows what it spent; `usage` said so while it was there.
                let spending = spending_of(found.file, &place.path).ok().flatten();
                spent.extend(spending.map(|spending| (place.clone(), spending)));
            }
            due.push((place, length));
            Ok(None)
        });
    }
    let written = ledger.map_or(Ok(()), |ledger| ledger.append(&spent));
    for (place, length) in due {
        cleaned.count(place, judge(place, age), |found| {
            // Written since it was counted: it stays until the next clean-up.
            if found.length != length {
                return Ok(None);
            }
            let bytes = bytes(place, &found);
            remove(place)?;
            Ok(Some(bytes))
        });
    }
    cleaned.kept = places.len().saturating_sub(cleaned.removed.len() + cleaned.gone);
    // A full disk has room now.
    let again = written.or_else(|_| ledger.map_or(Ok(()), |ledger| ledger.append(&spent)));
    cleaned.not_kept = again.err();
    cleaned
}

impl Cleaned {
    /// Counts one run. `settle` says how many bytes went of one that is due; none if it stays.
    fn count(
        &mut self,
        place: &Place,
        fate: io::Result<Fate>,
        settle: impl FnOnce(Due) -> io::Result<Option<u64>>,
    ) {
        let settled = fate.and_then(|fate| match fate {
            Fate::Due(due) => settle(due),
            Fate::TooYoung => Ok(None),
            Fate::Running => {
                self.running += 1;
                Ok(None)
            }
            Fate::HasMail => {
                self.unread += 1;
                Ok(None)
            }
            Fate::Gone => {
                self.gone += 1;
                Ok(None)
            }
        });
        match settled {
            Ok(Some(bytes)) => {
                self.bytes = self.bytes.saturating_add(bytes);
                self.removed.push(Removed {
                    agent_id: place.id.clone(),
                    session_id: place.session(),
                    path: place.path.clone(),
                    bytes,
                });
            }
            Ok(None) => {}
            Err(error) => self.failed.push((place.path.clone(), error)),
        }
    }
}

fn judge(place: &Place, age: Age) -> io::Result<Fate> {
    // A process that wants to take over the run waits for this lock, and then finds the run or not.
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
    // A time in the future has no age.
    if age.now.duration_since(metadata.modified()?).unwrap_or_default() < age.older_than {
        return Ok(Fate::TooYoung);
    }
    if mail::waiting(&place.folder, &place.id) > 0 {
        return Ok(Fate::HasMail);
    }
    // A resumed run still reads the artifacts of the earlier one.
    if !lock::acquire(&file, &guard)? || claim::is_held(&place.folder, &guard, &place.id) {
        return Ok(Fate::Running);
    }
    Ok(Fate::Due(Due { file, length: metadata.len(), _guard: guard }))
}

fn bytes(place: &Place, due: &Due) -> u64 {
    due.length.saturating_add(size(&place.artifacts()))
}

/// The transcript goes last: if this is cut off, the next clean-up finds both.
fn remove(place: &Place) -> io::Result<()> {
    match fs::remove_dir_all(place.artifacts()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    claim::remove(&place.folder, &place.id)?;
    mail::remove_letters(&place.folder, &place.id);
    match fs::remove_file(place.log()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    fs::remove_file(&place.path)
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
        // A process that begins a run holds this lock until the run's file is in its folder.
        let _sessions = FolderLock::take(sessions);
        let guard = FolderLock::take(folder);
        if let Ok(guard) = &guard {
            claim::remove_stale(folder, guard);
            if names::transcripts(folder).is_empty() {
                mail::remove_folder(folder);
            }
        }
        // A folder with something in it stays, and so does one that cannot be removed.
        fs::remove_dir(folder).unwrap_or_default();
        drop(guard);
    }
}
