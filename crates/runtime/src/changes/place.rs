//! Where a workspace lies in its git repository. The paths of a patch begin at the top of the repository, so
//! that `git apply` finds the files from every folder of it.

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use attache_kernel::run::assignment::WorktreeFacts;

/// The path of a run's workspace below the top of its repository; empty where it is the top, or in no
/// repository. This reads the disk.
pub fn below_repository(workspace: &Path, worktree: Option<&WorktreeFacts>) -> PathBuf {
    if let Some(worktree) = worktree {
        let below = workspace.strip_prefix(&worktree.directory);
        return below.map(Path::to_owned).unwrap_or_default();
    }
    let Ok(workspace) = workspace.canonicalize() else { return PathBuf::new() };
    let top = top_above(&workspace);
    let below = top.and_then(|top| workspace.strip_prefix(top).ok());
    below.map(Path::to_owned).unwrap_or_default()
}

/// The nearest folder with a repository. Like git, this does not look beyond the file system of the workspace.
fn top_above(workspace: &Path) -> Option<&Path> {
    let device = |folder: &Path| folder.metadata().ok().map(|found| found.dev());
    let here = device(workspace);
    let mut folders = workspace.ancestors().take_while(|folder| device(folder) == here);
    folders.find(|folder| {
        let git = folder.join(".git");
        git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
    })
}
