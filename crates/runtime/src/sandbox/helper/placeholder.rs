//! Placeholders: empty directories where a protected path does not exist yet. Two files of git would break it as
//! directories; they are files that say what their absence says.
//!
//! Only what exists can be mounted over, so a missing protected path exists, empty and read-only, while a
//! command runs. Commands share placeholders: each holds a lock on them, and the last one removes them. The
//! kernel drops the locks of a supervisor that was killed; the end of its run removes what it left, or the next
//! command of that workspace.
//! A placeholder in which somebody outside of the sandbox created something is not removed.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread::yield_now,
};

use rustix::fs::{
    CWD, FlockOperation, RenameFlags, Timespec, Timestamps, flock, futimens, renameat_with,
};

use super::{setup_error::SetupError, spares::Spares};
use crate::sandbox::protected::Protected;

/// When placeholders were last changed, so that they are recognised.
const MARK: Timespec = Timespec { tv_sec: 1, tv_nsec: 617_474_163 };

/// Names that stand for files, with a content that changes nothing.
const FILES: [(&str, &str); 2] = [("commondir", ".\n"), ("config.worktree", "")];

/// How often it is tried to get hold of a placeholder that others keep removing.
const TRIES: usize = 10_000;

/// The placeholders that a command holds.
#[derive(Debug, Default)]
pub(in crate::sandbox) struct Placeholders {
    held: Vec<(PathBuf, File)>,
    spares: Option<Spares>,
}

impl Placeholders {
    /// Creates what is missing. A path that cannot be created here is one that the command cannot create either;
    /// if that is not so, protecting it fails later.
    pub(super) fn create(
        protected: &[Protected],
        spares: Option<&Path>,
    ) -> Result<Self, SetupError> {
        let mut placeholders = Self { held: Vec::new(), spares: None };
        let is_missing = |path: &&Protected| matches!(path, Protected::ReadOnly(path) if path.symlink_metadata().is_err());
        if protected.iter().any(|path| is_missing(&path)) {
            placeholders.spares = spares.and_then(Spares::in_directory);
        }
        for protected in protected {
            let Protected::ReadOnly(path) = protected else { continue };
            if let Some(held) = hold(path, placeholders.spares.as_mut())? {
                placeholders.held.push((path.clone(), held));
            }
        }
        Ok(placeholders)
    }

    /// Those that nobody holds: what a supervisor left behind that was killed.
    pub(in crate::sandbox) fn left_behind(protected: &[Protected]) -> Self {
        let paths = protected.iter().filter_map(|protected| match protected {
            Protected::ReadOnly(path) => Some(path),
            Protected::InPlace(_) => None,
        });
        let held = paths.filter_map(|path| {
            let found = path.symlink_metadata().ok().filter(is_placeholder)?;
            let held = File::open(path).ok()?;
            (found.ino() == held.metadata().ok()?.ino()).then(|| (path.clone(), held))
        });
        Self { held: held.collect(), spares: None }
    }

    /// Removes those that no other command holds.
    pub(in crate::sandbox) fn remove(mut self) {
        for (path, held) in self.held {
            let is_last = flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok();
            if !is_last || !is_same(&path, &held) {
                continue;
            }
            if content_of(&path).is_none() {
                let spares = self.spares.as_mut();
                if !spares.is_some_and(|spares| spares.take_back(&path)) {
                    // Fails if somebody created something in it.
                    drop(fs::remove_dir(&path));
                }
            } else if held.metadata().is_ok_and(|found| is_placeholder(&found)) {
                drop(fs::remove_file(&path));
            }
        }
    }
}

/// Gets hold of the placeholder at a path, which is created if there is nothing. `None`: there is something of
/// its own, or nothing can be created.
fn hold(path: &Path, mut spares: Option<&mut Spares>) -> Result<Option<File>, SetupError> {
    for _ in 0..TRIES {
        match path.symlink_metadata() {
            Ok(found) if !is_placeholder(&found) => return Ok(None),
            Ok(_) => {
                let held = File::open(path).ok().filter(|held| {
                    // It is refused while the last holder removes it.
                    flock(held, FlockOperation::NonBlockingLockShared).is_ok()
                        && is_same(path, held)
                });
                if held.is_some() {
                    return Ok(held);
                }
            }
            Err(_) => match create(path, spares.as_deref_mut()) {
                Created::Held(held) => return Ok(Some(held)),
                Created::Impossible => return Ok(None),
                Created::TooLate => {}
            },
        }
        yield_now();
    }
    // To go on without it would leave the path unprotected.
    Err(SetupError::new(format!("protect {}", path.display()), io::ErrorKind::ResourceBusy.into()))
}

enum Created {
    Held(File),
    /// There is something at the path by now.
    TooLate,
    Impossible,
}

/// Creates a placeholder under another name and moves it into place, so that nobody finds it without its mark
/// and its lock. A spare one need not be created.
fn create(path: &Path, mut spares: Option<&mut Spares>) -> Created {
    let content = content_of(path);
    if content.is_none()
        && let Some(spares) = spares.as_mut()
        && let Some(spare) = spares.claim(path)
    {
        match moved_into_place(&spare, path) {
            Ok(held) => return Created::Held(held),
            Err(error) => {
                spares.release(&spare);
                if error.kind() == io::ErrorKind::AlreadyExists {
                    return Created::TooLate;
                }
            }
        }
    }
    let prepared = path.with_file_name(format!(".attache-placeholder-{}", std::process::id()));
    let made = match content {
        Some(content) => fs::write(&prepared, content),
        None => fs::create_dir(&prepared),
    };
    if made.is_err() {
        return Created::Impossible;
    }
    moved_into_place(&prepared, path).map_or_else(
        |_| {
            drop(match content {
                Some(_) => fs::remove_file(&prepared),
                None => fs::remove_dir(&prepared),
            });
            Created::TooLate
        },
        Created::Held,
    )
}

fn moved_into_place(prepared: &Path, path: &Path) -> io::Result<File> {
    let held = File::open(prepared)?;
    futimens(&held, &Timestamps { last_access: MARK, last_modification: MARK })?;
    flock(&held, FlockOperation::NonBlockingLockShared)?;
    renameat_with(CWD, prepared, CWD, path, RenameFlags::NOREPLACE)?;
    Ok(held)
}

/// Whether this is a placeholder, of whichever command.
pub(in crate::sandbox) fn is_placeholder(found: &fs::Metadata) -> bool {
    let is_possible = found.is_dir() || found.is_file();
    is_possible && found.mtime() == MARK.tv_sec && found.mtime_nsec() == MARK.tv_nsec
}

/// What a placeholder contains, if it is a file.
fn content_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?;
    FILES.iter().find(|(file, _)| name == *file).map(|(_, content)| *content)
}

/// Whether the path still leads to what is held.
fn is_same(path: &Path, held: &File) -> bool {
    let (Ok(there), Ok(here)) = (path.symlink_metadata(), held.metadata()) else { return false };
    there.dev() == here.dev() && there.ino() == here.ino()
}
