//! What a run changed: the files its tools wrote, or everything in its worktree, and the patch of it.

use std::{path::PathBuf, sync::Arc};

use attache_kernel::run::{assignment::WorktreeFacts, file_change::FileChange, outcome::Changes};

use crate::{
    changes::{
        place::below_repository,
        run_patch::{Direction, RunPatch},
    },
    tool::artifacts::Artifacts,
    worktree::Settled,
};

/// What changed in a run's worktree, and what its file tools wrote elsewhere.
pub(super) async fn changes_in_worktree(
    settled: Option<Settled>,
    written: &[FileChange],
    artifacts: Arc<Artifacts>,
) -> Option<Changes> {
    let elsewhere = written.iter().map(|change| &change.path).filter(|path| path.starts_with('/'));
    let elsewhere: Vec<String> = elsewhere.cloned().collect();
    let Some(Settled { mut files, patch, branch }) = settled else {
        let nowhere = elsewhere.is_empty();
        let changes = Changes { files: elsewhere, patch: String::new(), branch: None };
        return (!nowhere).then_some(changes);
    };
    files.extend(elsewhere);
    let kept = tokio::task::spawn_blocking(move || artifacts.keep_patch(&patch)).await;
    let kept = kept.ok().and_then(Result::ok);
    let patch = kept.map(|path| path.display().to_string()).unwrap_or_default();
    Some(Changes { files, patch, branch: Some(branch) })
}

/// What a run's file tools wrote, with the patch of it kept among its artifacts. A file that they created and
/// a command removed is not listed.
pub(super) async fn written_files(
    changes: Vec<FileChange>,
    (workspace, worktree): (PathBuf, Option<WorktreeFacts>),
    artifacts: Arc<Artifacts>,
) -> Option<Changes> {
    if changes.is_empty() {
        return None;
    }
    let kept = tokio::task::spawn_blocking(move || {
        let has_vanished = |change: &FileChange| {
            let is_new = change.before.is_none() && change.after.is_some();
            is_new && workspace.join(&change.path).symlink_metadata().is_err()
        };
        let left: Vec<FileChange> =
            changes.into_iter().filter(|change| !has_vanished(change)).collect();
        if left.is_empty() {
            return None;
        }
        let below = below_repository(&workspace, worktree.as_ref());
        let kept = artifacts.directory();
        let patch = RunPatch::from_changes(&left, kept, &below, Direction::Forward);
        let patch = artifacts.keep_patch(patch.text.as_bytes()).ok();
        let patch = patch.map(|path| path.display().to_string()).unwrap_or_default();
        let files = left.into_iter().map(|change| change.path).collect();
        Some(Changes { files, patch, branch: None })
    });
    kept.await.ok().flatten()
}
