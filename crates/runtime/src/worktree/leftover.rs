//! Worktrees that runs left behind: a run that was killed cannot put its worktree away.
//!
//! Invariant: a worktree in which a run works, or whose run can still be resumed, is not removed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    WorktreeError, Worktrees,
    lease::{Lease, Leased},
    settling::{Settling, remove},
};

/// A worktree without a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// The run it was made for.
    pub run: String,
    /// Where it is.
    pub directory: PathBuf,
}

impl Worktrees {
    /// The worktrees whose runs are not known any more and in which nobody works. This reads the disk.
    pub fn leftovers(&self, is_known: impl Fn(&str) -> bool) -> Vec<Leftover> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let leases = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let run = name.strip_suffix(".json")?.to_owned();
            Some(Leftover { directory: self.directory.join(&run), run })
        });
        leases.filter(|found| !is_known(&found.run)).collect()
    }

    /// Removes a worktree that was left behind. Its changes stay on its branch, where there are any.
    /// `false` if a run works in it after all.
    pub async fn remove_leftover(&self, leftover: &Leftover) -> Result<bool, WorktreeError> {
        let taken = Lease::take(&leftover.directory);
        let taken = taken.map_err(WorktreeError::disk(&leftover.directory))?;
        let Some(lease) = taken else { return Ok(false) };
        self.remove_leased(lease, leftover).await?;
        Ok(true)
    }

    pub(super) async fn remove_leased(
        &self,
        mut lease: Lease,
        leftover: &Leftover,
    ) -> Result<(), WorktreeError> {
        match lease.read() {
            Some(Leased { is_ready, facts }) => {
                let settling = Settling { worktrees: self, facts: &facts };
                if !Path::new(&facts.git_dir).is_dir() {
                    // Its repository is gone, or the run was killed before the worktree was there.
                } else if is_ready {
                    settling.changes(Path::new("")).await?;
                } else {
                    settling.undo().await?;
                }
                remove(&facts, self).await?;
            }
            None => match fs::remove_dir_all(&leftover.directory) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(WorktreeError::disk(&leftover.directory)(error));
                }
                Ok(()) | Err(_) => {}
            },
        }
        lease.remove();
        Ok(())
    }
}
