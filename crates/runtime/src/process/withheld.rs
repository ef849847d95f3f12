//! Withheld files: what rules deny reading or writing, closed to every command of a run.
//!
//! A rule denies a command that is seen to use a file; what a program does by itself is not seen. So the
//! files of the workspace that a `Read` rule denies are covered in the sandbox, and those that an `Edit` or `Write`
//! rule denies are read-only. Only what exists when the first command starts, or the first one after rules were
//! added, is found, and the search is bounded.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::rights::{filter::ToolSet, permission::PermissionRules, rule::RealPath};

use crate::tasks::LiveRights;

/// The entries that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// The paths that are hidden, and those that are read-only.
const MOST_FOUND: usize = 256;

/// A name that no file has: a rule that denies it denies everything in its directory.
const ANY: &str = "\u{1}any";

/// The files that a run's rights withhold.
#[derive(Debug, Default)]
pub(super) struct WithheldFiles {
    rights: LiveRights,
    found: Mutex<Option<Found>>,
}

/// What was found, and the rules that had been added by then.
#[derive(Debug)]
struct Found {
    added: Option<Arc<PermissionRules>>,
    closed: Arc<Closed>,
}

/// What commands may not do.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Closed {
    /// These cannot be read.
    pub(super) hidden: Vec<PathBuf>,
    /// These cannot be changed.
    pub(super) kept: Vec<PathBuf>,
}

impl WithheldFiles {
    /// Those that these rights withhold.
    pub(super) fn new(rights: LiveRights) -> Self {
        Self { rights, found: Mutex::default() }
    }

    /// Those below a root. The first call reads the disk.
    pub(super) fn below(&self, root: &Path) -> Arc<Closed> {
        let (rights, added) = self.rights.current();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*found
            && found.added == added
        {
            return Arc::clone(&found.closed);
        }
        let is_any_closed = rights.withholds_files() || rights.keeps_files();
        let closed = if is_any_closed { search(root, &rights) } else { Closed::default() };
        let closed = Arc::new(closed);
        *found = Some(Found { added, closed: Arc::clone(&closed) });
        closed
    }
}

/// What a rule says of all files with the names that a question asks for.
type Question = fn(&ToolSet, &RealPath) -> bool;

fn search(root: &Path, rights: &ToolSet) -> Closed {
    let holds = |question: Question, path: &Path| {
        let below = path.strip_prefix(root).ok().map(Path::to_string_lossy);
        question(rights, &RealPath::new(below.as_deref(), &path.to_string_lossy()))
    };
    let holds_below = |question: Question, path: &Path| {
        holds(question, &path.join(ANY)) && holds(question, &path.join(ANY).join(ANY))
    };
    let mut closed = Closed::default();
    if holds_below(ToolSet::withholds, root) {
        closed.hidden.push(root.to_owned());
        return closed;
    }
    if holds_below(ToolSet::keeps, root) {
        closed.kept.push(root.to_owned());
    }
    let mut looked_at = 0;
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked_at += 1;
            let found = closed.hidden.len().max(closed.kept.len());
            if looked_at > MOST_ENTRIES || found >= MOST_FOUND {
                return closed;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            let is = |question| {
                holds(question, &path) || (kind.is_dir() && holds_below(question, &path))
            };
            if is(ToolSet::withholds) {
                closed.hidden.push(path);
                continue;
            }
            // What a link leads to has a path of its own.
            let is_new = !closed.kept.iter().any(|kept| path.starts_with(kept));
            if is_new && !kind.is_symlink() && is(ToolSet::keeps) {
                closed.kept.push(path.clone());
            }
            if kind.is_dir() {
                open.push(path);
            }
        }
    }
    closed
}
