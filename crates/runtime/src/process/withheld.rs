//! Withheld files: what rules deny reading, hidden from every command of a run.
//!
//! A rule denies a command that is seen to read a file; what a program reads by itself is not seen. So the
//! files of the workspace that a `Read` rule denies are covered in the sandbox. Only what exists when the first
//! command starts, or the first one after rules were added, is found, and the search is bounded.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::rights::{filter::ToolSet, permission::PermissionRules, rule::RealPath};

use crate::tasks::LiveRights;

/// The entries that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// The paths that are hidden.
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
    paths: Arc<[PathBuf]>,
}

impl WithheldFiles {
    /// Those that these rights withhold.
    pub(super) fn new(rights: LiveRights) -> Self {
        Self { rights, found: Mutex::default() }
    }

    /// Those below a root. The first call reads the disk.
    pub(super) fn below(&self, root: &Path) -> Arc<[PathBuf]> {
        let (rights, added) = self.rights.current();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*found
            && found.added == added
        {
            return Arc::clone(&found.paths);
        }
        let paths = if rights.withholds_files() { search(root, &rights) } else { Vec::new() };
        let paths: Arc<[PathBuf]> = paths.into();
        *found = Some(Found { added, paths: Arc::clone(&paths) });
        paths
    }
}

fn search(root: &Path, rights: &ToolSet) -> Vec<PathBuf> {
    let is_withheld = |path: &Path| {
        let below = path.strip_prefix(root).ok().map(Path::to_string_lossy);
        rights.withholds(&RealPath::new(below.as_deref(), &path.to_string_lossy()))
    };
    let is_whole =
        |path: &Path| is_withheld(&path.join(ANY)) && is_withheld(&path.join(ANY).join(ANY));
    if is_whole(root) {
        return vec![root.to_owned()];
    }
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MOST_ENTRIES || found.len() >= MOST_FOUND {
                return found;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if is_withheld(&path) || (kind.is_dir() && is_whole(&path)) {
                found.push(path);
            } else if kind.is_dir() {
                open.push(path);
            }
        }
    }
    found
}
