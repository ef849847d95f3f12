//! Keeping: the files of a worktree are written into its repository from time to time, so that another run
//! can begin with them later.
//!
//! Nothing refers to what is written, so git removes it when it tidies up, two weeks later at the earliest.

use attache_kernel::run::assignment::WorktreeFacts;

use super::{Worktree, WorktreeError, Worktrees, settling::Settling};

/// Writes down the files of one worktree.
#[derive(Debug, Clone)]
pub(crate) struct FileKeeper {
    worktrees: Worktrees,
    facts: WorktreeFacts,
}

impl Worktree {
    /// What writes down its files while the run goes on.
    pub(crate) fn file_keeper(&self) -> FileKeeper {
        FileKeeper { worktrees: self.worktrees.clone(), facts: self.facts.clone() }
    }
}

impl FileKeeper {
    /// Writes down the files as they are, and gives the name of the tree.
    pub(crate) async fn keep(&self) -> Result<String, WorktreeError> {
        Settling { worktrees: &self.worktrees, facts: &self.facts }.tree().await
    }
}
