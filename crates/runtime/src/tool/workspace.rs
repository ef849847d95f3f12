//! The workspace: the directory a run works in, and the other roots it may look into.
//!
//! A path that a model gives becomes a handle only through here. Invariant: no handle ever lies
//! outside the roots, also if links are swapped meanwhile. The canonical path
//! picks the root; the open then walks down from that root's own handle and follows no link.

mod at_hand;
mod beneath;
mod destination;
mod diagnosis;
mod directory;
mod glob_bounds;
mod ignore_rules;
mod path_error;
mod stamp;
mod walk;
mod writing;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use attache_kernel::rights::rule::RealPath;

pub use self::path_error::PathError;
use self::{beneath::Root, diagnosis::Diagnosis};
pub(crate) use self::{
    destination::{Destination, Occupant},
    diagnosis::reason,
    directory::NameKind,
    directory::{Directory, EntryKind},
    glob_bounds::{GlobBoundError, check_glob},
    ignore_rules::IgnoreRules,
    stamp::Stamp,
    walk::{Next, Seen, Walked},
    writing::WriteError,
};

/// The longest path that is looked up; the kernel takes none longer.
const MAX_PATH_BYTES: usize = 4096;

/// The directory a run works in, and the other roots it may look into.
#[derive(Debug)]
pub struct Workspace {
    root: Arc<Root>,
    others: Vec<LateRoot>,
}

/// A root that need not exist yet; it is looked for until it does.
#[derive(Debug)]
struct LateRoot {
    path: PathBuf,
    access: Access,
    root: OnceLock<Arc<Root>>,
}

/// What a root may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    ReadAndWrite,
}

/// Why a directory cannot be a workspace.
#[derive(Debug, thiserror::Error)]
#[error("cannot work in {}", path.display())]
pub struct WorkspaceError {
    /// The directory.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// A place beneath a root: found, but not opened yet.
#[derive(Debug, Clone)]
pub struct Location {
    root: Arc<Root>,
    /// The real path below the root, without links.
    relative: PathBuf,
    kind: Kind,
}

impl Workspace {
    /// A workspace at a directory, which must exist.
    pub fn new(root: &Path) -> Result<Self, WorkspaceError> {
        let opened = Root::open(root, PathBuf::new())
            .map_err(|source| WorkspaceError { path: root.to_owned(), source })?;
        Ok(Self { root: Arc::new(opened), others: Vec::new() })
    }

    /// The workspace's own directory as a place.
    pub fn top(&self) -> Location {
        Location { root: Arc::clone(&self.root), relative: PathBuf::new(), kind: Kind::Directory }
    }

    /// The same workspace with another root that may be read.
    ///
    /// The root need not exist yet: it counts from the moment it does, so that a directory made on
    /// demand, such as that of the artifacts, can be allowed beforehand.
    #[must_use]
    pub fn allowing(self, root: PathBuf) -> Self {
        self.with_root(root, Access::Read)
    }

    /// The same workspace with another root that may be read and written. It need not exist yet.
    #[must_use]
    pub fn allowing_writes(self, root: PathBuf) -> Self {
        self.with_root(root, Access::ReadAndWrite)
    }

    fn with_root(mut self, path: PathBuf, access: Access) -> Self {
        self.others.push(LateRoot { path, access, root: OnceLock::new() });
        self
    }

    /// The directory itself, canonical.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Finds what a path given by a model means; relative paths start at the workspace.
    ///
    /// This reads the disk: call it where blocking is allowed.
    pub fn resolve(&self, given: &str) -> Result<Location, PathError> {
        check_text(given)?;
        let found = self.locate(given, given);
        let trimmed = given.trim();
        if trimmed.len() != given.len() && matches!(found, Err(PathError::NotFound { .. })) {
            return self.locate(given, trimmed);
        }
        found
    }

    fn locate(&self, given: &str, path: &str) -> Result<Location, PathError> {
        let wanted = self.root().join(path);
        let diagnosis = Diagnosis { workspace: self, given };
        let real = match fs::canonicalize(&wanted) {
            Ok(real) => real,
            Err(error) => diagnosis.recover(&wanted, &error)?,
        };
        let (root, relative) = self.root_of(&real).ok_or_else(|| diagnosis.outside())?;
        let file_type =
            fs::symlink_metadata(&real).map_err(|error| diagnosis.system(&error))?.file_type();
        let kind = if file_type.is_file() {
            Kind::File
        } else if file_type.is_dir() {
            Kind::Directory
        } else {
            return Err(diagnosis.special(file_type));
        };
        Ok(Location { root, relative, kind })
    }

    /// Whether a path, links and all, leads to a regular file beneath a root.
    pub(crate) fn leads_to_file(&self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|real| self.root_of(&real).is_some() && real.is_file())
    }

    /// The root a canonical path lies beneath, and the path below it.
    fn root_of(&self, real: &Path) -> Option<(Arc<Root>, PathBuf)> {
        beneath(&self.root, real)
            .or_else(|| self.others.iter().find_map(|other| beneath(other.get()?, real)))
    }

    /// The same, among the roots that may be written.
    fn writable_root_of(&self, real: &Path) -> Option<(Arc<Root>, PathBuf)> {
        let writable = self.others.iter().filter(|other| other.access == Access::ReadAndWrite);
        beneath(&self.root, real)
            .or_else(|| writable.into_iter().find_map(|other| beneath(other.get()?, real)))
    }
}

fn beneath(root: &Arc<Root>, real: &Path) -> Option<(Arc<Root>, PathBuf)> {
    let relative = real.strip_prefix(root.path()).ok()?;
    Some((Arc::clone(root), relative.to_owned()))
}

/// Whether a text can be a path at all.
fn check_text(given: &str) -> Result<(), PathError> {
    if given.trim().is_empty() {
        return Err(PathError::Invalid("the path is empty"));
    }
    if given.len() > MAX_PATH_BYTES {
        return Err(PathError::Invalid("the path is too long"));
    }
    if given.contains('\0') {
        return Err(PathError::Invalid("the path holds a NUL character"));
    }
    Ok(())
}

impl LateRoot {
    fn get(&self) -> Option<&Arc<Root>> {
        if self.root.get().is_none() {
            let root = Root::open(&self.path, self.path.clone()).ok()?;
            return Some(self.root.get_or_init(|| Arc::new(root)));
        }
        self.root.get()
    }
}

impl Location {
    /// What it was when it was found.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The real path.
    pub fn absolute(&self) -> PathBuf {
        self.root.path().join(&self.relative)
    }

    /// The real path below its root; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// Opens the file for reading; anything but a regular file is refused, and nothing hangs.
    pub fn open_file(&self) -> Result<fs::File, PathError> {
        if self.kind == Kind::Directory {
            return Err(PathError::IsADirectory { given: self.to_string() });
        }
        self.root
            .open_file(&self.relative)
            .map_err(|error| diagnosis::open_error(self.to_string(), &error))
    }

    /// Opens the directory for listing.
    pub fn open_directory(&self) -> Result<Directory, PathError> {
        if self.kind == Kind::File {
            return Err(PathError::IsAFile { given: self.to_string() });
        }
        self.root
            .open_directory(&self.relative)
            .map(Directory::new)
            .map_err(|error| diagnosis::open_error(self.to_string(), &error))
    }

    /// Opens a file that a walk found below the same root, by its path below that root.
    pub(crate) fn open_below_root(&self, relative: &Path) -> std::io::Result<fs::File> {
        self.root.open_file(relative)
    }

    /// The path of the root that the place lies beneath.
    pub(crate) fn root_path(&self) -> &Path {
        self.root.path()
    }

    /// Whether it lies beneath the workspace's own directory.
    pub(crate) fn is_in_workspace(&self) -> bool {
        self.root.is_workspace()
    }

    /// Where a file below the same root really lies, for rules to judge.
    pub(crate) fn real_path(&self, relative: &Path) -> RealPath {
        let absolute = self.root.path().join(relative);
        let below = self.is_in_workspace().then(|| relative.to_string_lossy());
        RealPath::new(below.as_deref(), &absolute.to_string_lossy())
    }

    /// How a path below the same root is shown to the model.
    pub(crate) fn show(&self, relative: &Path) -> String {
        self.root.show(relative)
    }
}

/// Relative to the workspace; in another root, whole.
impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.root.show(&self.relative))
    }
}

/// A path as text: what is no UTF-8 replaced, and control characters escaped, so that a path is
/// always one line.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) {
        return text
            .chars()
            .flat_map(|letter| {
                let escaped = letter.is_control().then(|| letter.escape_default());
                let plain = (!letter.is_control()).then_some(letter);
                escaped.into_iter().flatten().chain(plain)
            })
            .collect();
    }
    text.into_owned()
}
