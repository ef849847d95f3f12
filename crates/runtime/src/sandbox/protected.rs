//! Protected paths: what stays read-only in a writable directory, whether it exists yet or not.
//!
//! A program that is not in the sandbox obeys what lies there: hooks, agents, settings, servers.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use attache_kernel::rights::protected::PROTECTED;
use serde::{Deserialize, Serialize};

use super::{Mode, Policy, helper::is_placeholder};

/// What of `.git` stays read-only if the rest is writable: each of them makes git run programs.
const OF_GIT: [&str; 7] =
    ["hooks", "config", "config.worktree", "commondir", "info", "modules", "worktrees"];

/// A path, and what a command may do to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Protected {
    /// Nothing below it may change; if it does not exist, it may not be created.
    ReadOnly(#[serde(with = "super::path_bytes")] PathBuf),
    /// It may not be moved away or replaced, or else the protected path below it could be too.
    InPlace(#[serde(with = "super::path_bytes")] PathBuf),
}

impl Protected {
    /// The path.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::ReadOnly(path) | Self::InPlace(path) => path,
        }
    }
}

/// The protected paths of a policy, parents before children; `nested` finds those that lie deeper.
pub(super) fn of_policy(policy: &Policy, nested: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<Protected> {
    if policy.mode != Mode::WorkspaceWrite {
        return Vec::new();
    }
    let of_root = |root: &PathBuf| {
        let deeper = nested(root);
        // A directory above them could otherwise be moved away, and another one put in its place.
        let above = deeper.iter().flat_map(|path| path.ancestors().skip(1));
        let above: BTreeSet<&Path> =
            above.filter(|above| above.starts_with(root) && above != root).collect();
        let above: Vec<Protected> =
            above.into_iter().map(|above| Protected::InPlace(above.to_owned())).collect();
        let at_top = PROTECTED.iter().flat_map(|path| of_path(root, path, policy));
        let deeper = deeper.into_iter().flat_map(|path| of_nested(path, policy));
        at_top.chain(above).chain(deeper).collect::<Vec<_>>()
    };
    policy.roots().flat_map(of_root).collect()
}

/// What protects a path that lies deeper and exists.
fn of_nested(path: PathBuf, policy: &Policy) -> Vec<Protected> {
    let is_git = path.file_name().is_some_and(|name| name == ".git");
    if is_git && policy.writable_git && is_directory(&path) {
        return parts_of_git(path);
    }
    vec![Protected::ReadOnly(path)]
}

fn parts_of_git(whole: PathBuf) -> Vec<Protected> {
    let parts = OF_GIT.map(|part| Protected::ReadOnly(whole.join(part)));
    [Protected::InPlace(whole)].into_iter().chain(parts).collect()
}

/// What protects one path of a directory.
fn of_path(root: &Path, path: &str, policy: &Policy) -> Vec<Protected> {
    let whole = root.join(path);
    if path == ".git" && policy.writable_git && is_directory(&whole) {
        return parts_of_git(whole);
    }
    match path.split_once('/') {
        None => vec![Protected::ReadOnly(whole)],
        Some((above, _)) if is_directory(&root.join(above)) => {
            vec![Protected::InPlace(root.join(above)), Protected::ReadOnly(whole)]
        }
        // No project has its agents there, and `.config` has other uses.
        Some((".config", _)) => Vec::new(),
        Some((above, _)) => vec![Protected::ReadOnly(root.join(above))],
    }
}

/// Whether it is a directory itself, and not the placeholder of another command.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir() && !is_placeholder(&found))
}
