//! Settling a worktree at the end of its run: what changed becomes a commit on its branch and a patch,
//! and the directory goes. Where nothing changed the branch goes as well.

use std::{
    fs,
    path::{Path, PathBuf},
};

use attache_kernel::run::assignment::WorktreeFacts;

use super::{Worktree, WorktreeError, Worktrees, git::Git, snapshot};
use crate::tool::workspace::shown;

/// What a run changed in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settled {
    /// The files: relative to where the run worked, whole if they are elsewhere in the repository.
    pub files: Vec<String>,
    /// The patch, which `git apply` takes in the repository.
    pub patch: Vec<u8>,
    /// The branch with the changes.
    pub branch: String,
}

impl Worktree {
    /// Puts the worktree away; `None` if nothing changed. After an error it is still there.
    pub(crate) async fn settle(self) -> Result<Option<Settled>, WorktreeError> {
        let Self { worktrees, facts, below, lease } = self;
        let settling = Settling { worktrees: &worktrees, facts: &facts };
        let settled = settling.changes(&below).await?;
        remove(&facts, &worktrees).await?;
        lease.remove();
        Ok(settled)
    }

    /// Removes a worktree in which nothing was done.
    pub(crate) async fn discard(self) {
        // What stays is found by the next clean-up.
        drop(self.settle().await);
    }
}

/// The changes of a worktree, put on its branch.
pub(super) struct Settling<'w> {
    pub(super) worktrees: &'w Worktrees,
    pub(super) facts: &'w WorktreeFacts,
}

impl Settling<'_> {
    /// Git with the repository of the worktree, even if the agent replaced the link to it.
    async fn git(&self) -> Result<Git, WorktreeError> {
        let facts = self.facts;
        let place = self.worktrees.made()?;
        let git = Git::new(&self.worktrees.environment, Path::new(&facts.git_dir), &place).await?;
        Ok(git.with("GIT_DIR", &facts.git_dir).with("GIT_WORK_TREE", &facts.directory))
    }

    /// The files of the worktree as they are, as a tree of the repository.
    pub(super) async fn tree(&self) -> Result<String, WorktreeError> {
        snapshot::tree(&self.git().await?, &self.worktrees.made()?).await
    }

    /// The commit that the branch has; none if there is no such branch.
    async fn tip(&self, git: &Git) -> Result<Option<String>, WorktreeError> {
        let name = reference(self.facts);
        match git.object(["rev-parse", "--verify", "--quiet", &name]).await {
            Ok(tip) => Ok(Some(tip)),
            Err(WorktreeError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes the branch if nothing was added to it.
    pub(super) async fn undo(&self) -> Result<(), WorktreeError> {
        let git = self.git().await?;
        if self.tip(&git).await?.as_ref() == Some(&self.facts.start) {
            let _alone = self.worktrees.alone().await;
            git.run(["update-ref", "-d", &reference(self.facts), &self.facts.start]).await?;
        }
        Ok(())
    }

    pub(super) async fn changes(&self, below: &Path) -> Result<Option<Settled>, WorktreeError> {
        let facts = self.facts;
        let git = self.git().await?;
        let tree = snapshot::tree(&git, &self.worktrees.made()?).await?;
        let start = &facts.start;
        let tree_of = |commit: &str| format!("{commit}^{{tree}}");
        let started = git.object(["rev-parse", "--verify", &tree_of(start)]).await?;
        let tip = self.tip(&git).await?;
        if tree == started && tip.as_ref().is_none_or(|tip| tip == start) {
            self.undo().await?;
            return Ok(None);
        }
        let onto = tip.as_ref().unwrap_or(start);
        let onto_tree = git.object(["rev-parse", "--verify", &tree_of(onto)]).await?;
        if tree != onto_tree || tip.is_none() {
            let why = "Changes of the agent";
            let commit = git.object(["commit-tree", &tree, "-p", onto, "-m", why]).await?;
            let _alone = self.worktrees.alone().await;
            let before = tip.as_deref().unwrap_or_default();
            git.run(["update-ref", &reference(facts), &commit, before]).await?;
        }
        let differ = ["diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color"];
        let names = differ.into_iter().chain(["-z", "--name-only", "--no-renames", start, &tree]);
        let names = snapshot::paths(&git.run(names).await?);
        let patch = ["-p", "--binary", "--full-index", "--find-renames"];
        let patch = patch.into_iter().chain(["--src-prefix=a/", "--dst-prefix=b/", start, &tree]);
        let patch = git.run(differ.into_iter().chain(patch)).await?;
        let files = names.iter().map(|name| match Path::new(name).strip_prefix(below) {
            Ok(inside) => shown(inside),
            Err(_) => shown(&Path::new(&facts.repository).join(name)),
        });
        Ok(Some(Settled { files: files.collect(), patch, branch: facts.branch.clone() }))
    }
}

/// The name of a branch among all references.
fn reference(facts: &WorktreeFacts) -> String {
    format!("refs/heads/{}", facts.branch)
}

/// Removes the directory of a worktree and what the repository knows of it.
pub(super) async fn remove(
    facts: &WorktreeFacts,
    worktrees: &Worktrees,
) -> Result<(), WorktreeError> {
    let directory = PathBuf::from(&facts.directory);
    let removed = tokio::task::spawn_blocking(move || match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorktreeError::Disk { path: directory, source: error })
        }
        Ok(()) | Err(_) => Ok(()),
    });
    removed.await.unwrap_or(Ok(()))?;
    let _alone = worktrees.alone().await;
    forget_now(facts).await;
    Ok(())
}

/// Removes what a repository knows of a worktree, for a caller who is alone.
pub(super) async fn forget_now(facts: &WorktreeFacts) {
    let facts = facts.clone();
    tokio::task::spawn_blocking(move || forget(&facts)).await.unwrap_or_default();
}

/// Removes what a repository knows of a worktree that is gone, if it is about that one.
fn forget(facts: &WorktreeFacts) {
    let known = Path::new(&facts.git_dir);
    let place = known.parent().filter(|place| place.ends_with("worktrees"));
    let about = fs::read_to_string(known.join("gitdir")).unwrap_or_default();
    if let Some(place) = place
        && Path::new(about.trim_end_matches('\n')) == Path::new(&facts.directory).join(".git")
    {
        // What stays is harmless: git removes it when it prunes its worktrees.
        fs::remove_dir_all(known).unwrap_or_default();
        fs::remove_dir(place).unwrap_or_default();
    }
}
