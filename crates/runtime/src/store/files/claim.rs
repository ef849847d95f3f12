//! Claims: the right to resume a run, held by one resumed run at a time.
//!
//! A claim is a locked file beside the transcript, `<agent_id>.resuming`, that names the run which holds
//! it. The lock ends with its process; the file goes when the claim is dropped, and one that a killed
//! process left behind is used again.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    lock::{self, FolderLock},
    names, no_surprises,
};
use crate::store::StoreError;

/// No id is longer.
const LONGEST: u64 = 1024;

/// A claim that is held.
#[derive(Debug)]
struct HeldClaim {
    file: File,
    path: PathBuf,
    folder: PathBuf,
}

impl Drop for HeldClaim {
    fn drop(&mut self) {
        // Nobody can open it between its removal and the end of the lock: both happen under this one. Who
        // has it may need this thread to go on, so it is not waited for: a file that stays is used again.
        let guard = FolderLock::try_take(&self.folder);
        if guard.is_some() {
            fs::remove_file(&self.path).unwrap_or_default();
        }
        lock::release(&self.file);
    }
}

/// Claims a run for another one.
pub(super) fn take(
    folder: &Path,
    guard: &FolderLock,
    id: &str,
    by: &str,
) -> Result<impl Send + use<>, StoreError> {
    let path = folder.join(names::claim_name(id));
    let failed = |source| StoreError::write(&path, source);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_surprises())
        .open(&path)
        .map_err(failed)?;
    if !lock::acquire(&file, guard).map_err(failed)? {
        let mut by = String::new();
        file.take(LONGEST).read_to_string(&mut by).unwrap_or_default();
        return Err(StoreError::BeingResumed { run: id.to_owned(), by });
    }
    file.set_len(0).and_then(|()| file.write_all(by.as_bytes())).map_err(failed)?;
    Ok(HeldClaim { file, path, folder: folder.to_path_buf() })
}

/// Whether somebody is resuming that run.
pub(super) fn is_held(folder: &Path, _guard: &FolderLock, id: &str) -> bool {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(no_surprises())
        .open(folder.join(names::claim_name(id)));
    opened.is_ok_and(|file| lock::is_locked(&file))
}

/// Removes what a killed process left.
pub(super) fn remove(folder: &Path, id: &str) -> io::Result<()> {
    match fs::remove_file(folder.join(names::claim_name(id))) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes what killed processes left of runs that are gone.
pub(super) fn remove_stale(folder: &Path, guard: &FolderLock) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(names::claimed) else { continue };
        if names::transcript(folder, id).is_none() && !is_held(folder, guard, id) {
            fs::remove_file(entry.path()).unwrap_or_default();
        }
    }
}
