//! Why a path could not be opened, said so that a model can do better.
//!
//! Nothing is told about what lies outside the roots, not even whether it exists.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use attache_kernel::id::nearest;
use rustix::io::Errno;

use super::{Directory, Next, PathError, Seen, Workspace, beneath::Root, shown};

/// How many links to nothing are followed before giving up.
const MAX_LINKS: usize = 40;
/// How many names are compared when looking for one that was meant.
const MAX_NAMES: usize = 10_000;
/// How many files are looked at for one of the same name elsewhere.
const MAX_WALK: usize = 20_000;
/// How many other places are named.
const MAX_NEAR: usize = 3;

/// The search for what was wrong with one path.
#[derive(Debug)]
pub(super) struct Diagnosis<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) given: &'a str,
}

/// What became of a path that could not be made canonical.
pub(super) enum Traced {
    /// What was meant, made canonical.
    Found(PathBuf),
    /// Nothing is there, and no link is in the way.
    Missing(Missing),
}

/// A path that stops existing beneath a root.
pub(super) struct Missing {
    pub(super) root: Arc<Root>,
    /// The part that exists, below the root.
    pub(super) relative: PathBuf,
    end: End,
    /// The names in the directory of the missing part.
    names: Vec<OsString>,
}

/// Where a path stops existing.
struct End {
    /// The longest part of it that exists, canonical.
    real: PathBuf,
    /// The part after that.
    missing: PathBuf,
    /// What remains after the missing part.
    rest: PathBuf,
}

impl Diagnosis<'_> {
    /// The canonical path if it can be guessed safely; else what is wrong.
    pub(super) fn recover(&self, wanted: &Path, error: &io::Error) -> Result<PathBuf, PathError> {
        match self.trace(wanted, error, MAX_LINKS)? {
            Traced::Found(real) => Ok(real),
            Traced::Missing(missing) => Err(self.not_found(wanted, &missing)),
        }
    }

    /// Where the path stops existing, if nothing but that is wrong with it.
    pub(super) fn find_gap(&self, wanted: &Path, error: &io::Error) -> Result<Traced, PathError> {
        self.trace(wanted, error, MAX_LINKS)
    }

    fn trace(&self, wanted: &Path, error: &io::Error, links: usize) -> Result<Traced, PathError> {
        let Some(end) = End::in_path(wanted) else {
            return Err(self.outside());
        };
        let Some((root, relative)) = self.workspace.root_of(&end.real) else {
            return Err(self.outside());
        };
        if end.real.is_file() {
            return Err(PathError::NotADirectory {
                given: self.given(),
                file: root.show(&relative),
            });
        }
        if let Ok(target) = fs::read_link(end.real.join(&end.missing)) {
            let resolved = end.real.join(&target);
            return Err(if self.leads_out(&resolved, links) {
                self.outside()
            } else {
                self.bad_link(&target, error)
            });
        }
        if error.kind() != io::ErrorKind::NotFound {
            return Err(self.system(error));
        }
        let names = root
            .open_directory(&relative)
            .and_then(|handle| Directory::new(handle).names(MAX_NAMES))
            .unwrap_or_default();
        let missing = shown(&end.missing);
        // A name that is no UTF-8 can only be given as it was shown.
        let mut same = names.iter().filter(|name| shown(Path::new(name)) == missing);
        if let (Some(name), None) = (same.next(), same.next()) {
            let meant = end.completed(end.real.join(name));
            return match (fs::canonicalize(&meant), links.checked_sub(1)) {
                (Ok(real), _) => Ok(Traced::Found(real)),
                (Err(error), Some(links)) => self.trace(&meant, &error, links),
                (Err(error), None) => Err(self.system(&error)),
            };
        }
        Ok(Traced::Missing(Missing { root, relative, end, names }))
    }

    /// That nothing is there, with the paths that may have been meant.
    fn not_found(&self, wanted: &Path, missing: &Missing) -> PathError {
        let Missing { root, relative, end, names } = missing;
        let names: Vec<String> = names.iter().map(|name| shown(Path::new(name))).collect();
        let sibling = nearest(&shown(&end.missing), names.iter().map(String::as_str)).map(|name| {
            let sibling = relative.join(name);
            let whole = end.completed(sibling.clone());
            root.show(if root.holds(&whole) { &whole } else { &sibling })
        });
        let mut near: Vec<String> = sibling.into_iter().collect();
        for elsewhere in self.same_name_elsewhere(wanted) {
            if near.len() < MAX_NEAR && !near.contains(&elsewhere) {
                near.push(elsewhere);
            }
        }
        PathError::NotFound { given: self.given(), near }
    }

    /// Whether the end of a chain of links lies outside; then nothing else is said about it.
    fn leads_out(&self, resolved: &Path, links: usize) -> bool {
        let (Some(links), Err(error)) = (links.checked_sub(1), fs::canonicalize(resolved)) else {
            return false;
        };
        let traced = self.trace(resolved, &error, links);
        matches!(traced, Err(PathError::Outside { .. }))
    }

    fn bad_link(&self, target: &Path, error: &io::Error) -> PathError {
        let given = self.given();
        if Errno::from_io_error(error) == Some(Errno::LOOP) {
            return PathError::Loop { given };
        }
        PathError::BrokenLink { given, target: shown(target) }
    }

    /// Files of the same name in other directories of the workspace.
    fn same_name_elsewhere(&self, wanted: &Path) -> Vec<String> {
        let Some(name) = wanted.file_name() else {
            return Vec::new();
        };
        let looked_at = AtomicUsize::new(0);
        let found: Mutex<Vec<PathBuf>> = Mutex::default();
        self.workspace.top().walk(1, || {
            |seen: &Seen<'_>| {
                if seen.absolute.file_name() == Some(name) {
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.push(seen.relative.to_owned());
                }
                let looked_at = looked_at.fetch_add(1, Ordering::Relaxed);
                if looked_at < MAX_WALK { Next::GoOn } else { Next::Quit }
            }
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort();
        found.iter().take(MAX_NEAR).map(|path| self.workspace.root.show(path)).collect()
    }

    pub(super) fn given(&self) -> String {
        shown(Path::new(self.given))
    }

    pub(super) fn outside(&self) -> PathError {
        PathError::Outside { given: self.given() }
    }

    pub(super) fn special(&self, file_type: fs::FileType) -> PathError {
        PathError::Special {
            given: self.given(),
            kind: if file_type.is_fifo() {
                "FIFO"
            } else if file_type.is_socket() {
                "socket"
            } else {
                "device"
            },
        }
    }

    pub(super) fn system(&self, error: &io::Error) -> PathError {
        PathError::System { given: self.given(), reason: reason(error) }
    }
}

impl Missing {
    /// The part that is missing.
    pub(super) fn rest(&self) -> PathBuf {
        self.end.completed(self.end.missing.clone())
    }
}

impl End {
    fn in_path(wanted: &Path) -> Option<Self> {
        wanted.ancestors().skip(1).find_map(|ancestor| {
            let real = fs::canonicalize(ancestor).ok()?;
            let mut parts = wanted.strip_prefix(ancestor).ok()?.components();
            let missing = parts.next()?.as_os_str().into();
            Some(Self { real, missing, rest: parts.as_path().to_owned() })
        })
    }

    /// A path with what remains after the missing part.
    fn completed(&self, path: PathBuf) -> PathBuf {
        // Joining nothing would add a slash, which only a directory can bear.
        if self.rest.as_os_str().is_empty() {
            return path;
        }
        path.join(&self.rest)
    }
}

/// What went wrong with an open that had been checked before.
pub(super) fn open_error(given: String, error: &io::Error) -> PathError {
    let swapped =
        [Errno::LOOP, Errno::XDEV, Errno::NOTDIR, Errno::NOENT, Errno::NXIO, Errno::ISDIR];
    match Errno::from_io_error(error) {
        Some(errno) if swapped.contains(&errno) => PathError::Changed { given },
        _ => PathError::System { given, reason: reason(error) },
    }
}

/// The system's reason, without the number that only a programmer needs.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}
