//! Protected paths: what stays read-only in a writable directory, whether it exists yet or not.
//!
//! A program that is not in the sandbox obeys what lies there: hooks, agents, settings, servers.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Mode, Policy, helper::is_placeholder};

/// The names in a writable directory that a command must not write to, besides `.git` and `.github/agents`.
const NAMES: [&str; 9] = [
    ".attache",
    ".claude",
    ".codex",
    ".gemini",
    ".opencode",
    ".qwen",
    ".cursor",
    ".wave",
    ".mcp.json",
];

/// What of `.git` stays read-only if the rest is writable: each of them makes git run programs.
const OF_GIT: [&str; 3] = ["hooks", "config", "modules"];

/// A path, and what a command may do to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Protected {
    /// Nothing below it may change; if it does not exist, it may not be created.
    ReadOnly(PathBuf),
    /// It may not be moved away or replaced, or else the protected path below it could be too.
    InPlace(PathBuf),
}

/// The protected paths of a policy, parents before children.
pub(super) fn of_policy(policy: &Policy) -> Vec<Protected> {
    if policy.mode != Mode::WorkspaceWrite {
        return Vec::new();
    }
    let roots = std::iter::once(&policy.workspace).chain(&policy.writable_roots);
    let mut found = Vec::new();
    for root in roots.filter(|root| root.is_dir()) {
        found.extend(NAMES.map(|name| Protected::ReadOnly(root.join(name))));
        let git = root.join(".git");
        if policy.writable_git && is_directory(&git) {
            let parts = OF_GIT.map(|part| Protected::ReadOnly(git.join(part)));
            found.push(Protected::InPlace(git));
            found.extend(parts);
        } else {
            found.push(Protected::ReadOnly(git));
        }
        let github = root.join(".github");
        if is_directory(&github) {
            let agents = Protected::ReadOnly(github.join("agents"));
            found.push(Protected::InPlace(github));
            found.push(agents);
        } else {
            found.push(Protected::ReadOnly(github));
        }
    }
    found
}

/// Whether it is a directory itself, and not the placeholder of another command.
fn is_directory(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir() && !is_placeholder(&found))
}
