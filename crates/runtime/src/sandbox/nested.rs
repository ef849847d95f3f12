//! Nested protected paths: repositories, agents and settings deeper in a writable directory.
//!
//! Only what exists is found, and the search is bounded: it leaves out the directories of build tools and
//! packages, and ends after a number of entries. What it found is used for some time, so that many commands
//! in a row search once.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use attache_kernel::rights::protected::PROTECTED;

/// The entries that are looked at.
const MOST_ENTRIES: usize = 20_000;
/// The paths that are protected.
const MOST_FOUND: usize = 64;
/// How deep they may lie.
const DEEPEST: usize = 8;
/// How long what was found is used.
const FRESH: Duration = Duration::from_secs(10);

/// Directories with very many files, which other programs made.
const LEFT_OUT: [&str; 6] = ["node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// What was found below directories, and when.
#[derive(Debug, Default)]
pub(super) struct NestedPaths(Mutex<BTreeMap<PathBuf, (Instant, Vec<PathBuf>)>>);

impl NestedPaths {
    /// The directories below a root that have protected paths in them, the root itself left out.
    pub(super) fn below(&self, root: &Path) -> Vec<PathBuf> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((found_at, found)) = known.get(root)
            && found_at.elapsed() < FRESH
        {
            return found.clone();
        }
        let found = search(root);
        known.retain(|_, (found_at, _)| found_at.elapsed() < FRESH);
        known.insert(root.to_owned(), (Instant::now(), found.clone()));
        found
    }
}

/// The protected paths below a root that exist, those of the root itself left out.
fn search(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut level = vec![root.to_owned()];
    for depth in 0..DEEPEST {
        let mut next = Vec::new();
        for directory in level {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                looked_at += 1;
                if looked_at > MOST_ENTRIES || found.len() >= MOST_FOUND {
                    return found;
                }
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if depth > 0 && PROTECTED.iter().any(|protected| *protected == name) {
                    found.push(entry.path());
                    continue;
                }
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_directory || name == ".git" || LEFT_OUT.contains(&&*name) {
                    continue;
                }
                let agents = entry.path().join("agents");
                if depth > 0 && name == ".github" && agents.symlink_metadata().is_ok() {
                    found.push(agents);
                    continue;
                }
                next.push(entry.path());
            }
        }
        level = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_exists_is_found_at_any_depth_but_not_at_the_top_or_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            ".git/hooks",
            ".claude/agents",
            "vendor/lib/.git/hooks",
            "a/b/c/.claude/agents",
            "a/.github/agents",
            "a/.github/workflows",
            "node_modules/x/.git",
            "a/git",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("a/.mcp.json"), "{}").unwrap();
        symlink("/", root.join("a/everything")).unwrap();
        let mut found = search(root);
        found.sort();
        let expected = ["a/.github/agents", "a/.mcp.json", "a/b/c/.claude", "vendor/lib/.git"];
        assert_eq!(found, expected.map(|path| root.join(path)));
    }

    #[test]
    fn the_search_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..100 {
            fs::create_dir_all(folder.path().join(format!("{number}/.git"))).unwrap();
        }
        assert_eq!(search(folder.path()).len(), MOST_FOUND);
    }

    #[test]
    fn what_was_found_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let nested = NestedPaths::default();
        fs::create_dir_all(folder.path().join("a/.git")).unwrap();
        assert_eq!(nested.below(folder.path()).len(), 1);
        fs::create_dir_all(folder.path().join("b/.git")).unwrap();
        assert_eq!(nested.below(folder.path()).len(), 1);
    }
}
