//! Why a run cannot have a worktree of its own, or why its worktree could not be put away.

use std::{io, path::PathBuf};

use crate::process::ProgramError;

/// Why a run cannot have a worktree of its own.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// There is no directory for worktrees.
    #[error("`isolation: worktree` is not available here: no directory for worktrees is set")]
    NoPlace,
    /// There is no git.
    #[error("`isolation: worktree` needs git, and there is no `git` in PATH")]
    NoGit,
    /// The folder is not in a repository, or the repository has no working tree.
    #[error("`isolation: worktree` needs a git repository, and {} is not in one", folder.display())]
    NoRepository {
        /// The folder.
        folder: PathBuf,
        /// What git says.
        said: String,
    },
    /// The repository has no commit.
    #[error("`isolation: worktree` needs a commit to start from, and {} has none", .0.display())]
    NoCommit(PathBuf),
    /// A path is not UTF-8.
    #[error("`isolation: worktree` needs a path in UTF-8, and {} is not", .0.display())]
    NotText(PathBuf),
    /// Another run works in the worktree.
    #[error("another run works in the worktree {}", .0.display())]
    InUse(PathBuf),
    /// Git refused something.
    #[error("git {command} failed ({ended}): {said}")]
    Refused {
        /// What was asked for.
        command: String,
        /// How it ended.
        ended: String,
        /// What git says.
        said: String,
    },
    /// Git did not run to its end.
    #[error("git {command} failed: {problem}")]
    Git {
        /// What was asked for.
        command: String,
        /// What happened.
        problem: String,
    },
    /// A file or directory cannot be used.
    #[error("cannot use {}", path.display())]
    Disk {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl WorktreeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoGit => Some("install git, or remove `isolation` from the agent".to_owned()),
            Self::NoRepository { said, .. } => Some(format!(
                "run it in a repository (`git init`), or remove `isolation` from the agent; git says: {said}"
            )),
            Self::NoCommit(_) => Some("commit something first".to_owned()),
            Self::InUse(_) => Some("wait for that run, or stop it".to_owned()),
            Self::NotText(_) => Some("work in another folder".to_owned()),
            Self::NoPlace | Self::Refused { .. } | Self::Git { .. } | Self::Disk { .. } => None,
        }
    }

    pub(super) fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Disk { path, source }
    }

    pub(super) fn program(command: &str, error: &ProgramError) -> Self {
        let problem = match error {
            ProgramError::Start(source) => format!("{error}: {source}"),
            ProgramError::TimeUp(_) => error.to_string(),
        };
        Self::Git { command: command.to_owned(), problem }
    }
}
