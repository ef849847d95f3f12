//! Worktrees: a run with `isolation: worktree` works in a git worktree of its own.
//!
//! Invariants: the worktree begins with the files of the parent's folder as they are, and the parent's
//! index, stash and files are not touched. Worktrees lie below one directory of the user's, never in a
//! workspace. One whose files did not change goes with its branch; of any other the branch stays.

mod error;
mod git;
mod keeping;
mod lease;
mod leftover;
mod settling;
mod snapshot;

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    id::RunId,
    run::{assignment::WorktreeFacts, files_then::FilesThen},
};
use rustix::{
    fs::{FlockOperation, flock},
    io::retry_on_intr,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

pub use self::error::WorktreeError;
pub(crate) use self::keeping::FileKeeper;
use self::{
    git::Git,
    lease::{Lease, Leased},
};
pub(crate) use self::{leftover::Leftover, settling::Settled};
use crate::process::CommandEnvironment;

/// Where worktrees are made, and how git is started for it. A copy is the same place.
#[derive(Debug, Clone)]
pub struct Worktrees {
    directory: PathBuf,
    environment: CommandEnvironment,
    one_at_a_time: Arc<Mutex<()>>,
}

/// The right to change which worktrees there are: git reads what it knows of every worktree when it makes
/// one, and must not find one half made. It holds in all processes with the same directory.
#[derive(Debug)]
pub(super) struct Alone {
    _here: OwnedMutexGuard<()>,
    _elsewhere: Option<File>,
}

/// A worktree that a run is going to have.
#[derive(Debug)]
pub struct WorktreePlan {
    worktrees: Worktrees,
    /// Where it will be.
    directory: PathBuf,
    /// Where the run works in it, below its directory.
    below: PathBuf,
    origin: StartingPoint,
}

/// Where a worktree comes from.
#[derive(Debug)]
enum StartingPoint {
    /// The files of this repository's working tree, on that new branch.
    Files { repository: PathBuf, branch: String },
    /// The worktree of an earlier run; on that new branch if somebody else works on its own.
    Earlier { facts: WorktreeFacts, branch: String },
    /// These files of an earlier run, on that new branch; without them what it left on its own.
    Branched { earlier: WorktreeFacts, branch: String, files: FilesThen },
}

/// The worktree of a run under way.
#[derive(Debug)]
pub(crate) struct Worktree {
    worktrees: Worktrees,
    facts: WorktreeFacts,
    below: PathBuf,
    lease: Lease,
}

impl Worktrees {
    /// Worktrees below that directory, made with the git of that environment.
    pub fn new(directory: impl Into<PathBuf>, environment: CommandEnvironment) -> Self {
        let directory = directory.into();
        Self { directory, environment, one_at_a_time: Arc::default() }
    }

    /// Plans the worktree of a run that would otherwise work in that folder.
    pub(crate) async fn plan(
        &self,
        folder: &Path,
        run: &RunId,
    ) -> Result<WorktreePlan, WorktreeError> {
        let place = self.made()?;
        let folder = folder.canonicalize().map_err(WorktreeError::disk(folder))?;
        let git = Git::unread(&self.environment, &folder, &place)?;
        let top = git.line(["rev-parse", "--show-toplevel"]).await;
        let no_repository =
            |said: String| WorktreeError::NoRepository { folder: folder.clone(), said };
        let repository = match top {
            Ok(top) => PathBuf::from(top),
            Err(WorktreeError::Refused { said, .. }) => return Err(no_repository(said)),
            Err(error) => return Err(error),
        };
        let real = repository.canonicalize().map_err(WorktreeError::disk(&repository))?;
        let Ok(below) = folder.strip_prefix(&real) else {
            return Err(no_repository("the repository works in another folder".to_owned()));
        };
        let head = ["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"];
        match git.run(head).await {
            Err(WorktreeError::Refused { .. }) => return Err(WorktreeError::NoCommit(real)),
            head => head?,
        };
        let directory = place.join(run.as_str());
        let branch = branch_of(run);
        let below = below.to_owned();
        let origin = StartingPoint::Files { repository: real, branch };
        Ok(WorktreePlan { worktrees: self.clone(), directory, below, origin })
    }

    /// Plans to go on in the worktree of an earlier run, which worked in that folder.
    pub(crate) fn plan_again(
        &self,
        facts: &WorktreeFacts,
        folder: &Path,
        run: &RunId,
    ) -> Result<WorktreePlan, WorktreeError> {
        self.made()?;
        let directory = PathBuf::from(&facts.directory);
        let below = folder.strip_prefix(&directory).unwrap_or(Path::new("")).to_owned();
        let origin = StartingPoint::Earlier { facts: facts.clone(), branch: branch_of(run) };
        Ok(WorktreePlan { worktrees: self.clone(), directory, below, origin })
    }

    /// Plans a worktree for a run that goes another way than an earlier one, whose files it begins with: those
    /// it had then, if they are still there, else those it left.
    pub(crate) async fn plan_branch(
        &self,
        facts: &WorktreeFacts,
        folder: &Path,
        run: &RunId,
        files: FilesThen,
    ) -> Result<WorktreePlan, WorktreeError> {
        let again = self.plan_again(facts, folder, run)?;
        let place = self.made()?;
        let git = Git::unread(&self.environment, Path::new(&facts.repository), &place)?;
        let object = match &files {
            FilesThen::Unknown => None,
            FilesThen::AsBegun => Some(facts.start.as_str()),
            FilesThen::Tree(tree) => Some(tree.as_str()),
        };
        let is_there = match object {
            Some(object) => {
                git.run(["cat-file", "-e", &format!("{object}^{{tree}}")]).await.is_ok()
            }
            None => false,
        };
        let files = if is_there { files } else { FilesThen::Unknown };
        let branch = branch_of(run);
        let origin = StartingPoint::Branched { earlier: facts.clone(), branch, files };
        Ok(WorktreePlan { directory: place.join(run.as_str()), origin, ..again })
    }

    /// Whether nothing is left of what a run did in a worktree, which had these files in the end.
    pub(crate) async fn has_lost(
        &self,
        facts: &WorktreeFacts,
        tree: &str,
    ) -> Result<bool, WorktreeError> {
        if Path::new(&facts.directory).is_dir() {
            return Ok(false);
        }
        let place = self.made()?;
        let git = Git::unread(&self.environment, Path::new(&facts.repository), &place)?;
        let branch = format!("refs/heads/{}", facts.branch);
        let tip = git.object(["rev-parse", "--verify", "--quiet", &branch]).await;
        let begun = format!("{}^{{tree}}", facts.start);
        let begun = git.object(["rev-parse", "--verify", "--quiet", &begun]).await;
        // A repository in which git does not work is told of when the worktree is made.
        Ok(tip.is_err() && begun.is_ok_and(|begun| begun != tree))
    }

    /// Waits until nobody else makes or removes a worktree.
    async fn alone(&self) -> Alone {
        let here = Arc::clone(&self.one_at_a_time).lock_owned().await;
        let path = self.directory.join(".lock");
        let locked = tokio::task::spawn_blocking(move || {
            let mut options = File::options();
            let file = options.write(true).create(true).truncate(false).mode(0o600).open(path);
            let file = file.ok()?;
            // A file system without locks leaves it to chance, and to the second attempt.
            retry_on_intr(|| flock(&file, FlockOperation::LockExclusive)).ok()?;
            Some(file)
        });
        Alone { _here: here, _elsewhere: locked.await.ok().flatten() }
    }

    /// The directory of the worktrees, which exists.
    fn made(&self) -> Result<PathBuf, WorktreeError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.and_then(|()| self.directory.canonicalize())
            .map_err(WorktreeError::disk(&self.directory))
    }
}

impl WorktreePlan {
    /// Whether it begins with other files than the caller asked for, since those are not known.
    pub(crate) fn begins_with_unknown_files(&self) -> bool {
        matches!(&self.origin, StartingPoint::Branched { files: FilesThen::Unknown, .. })
    }

    /// The branch of the earlier run that it branches off.
    pub(crate) fn branches_off(&self) -> Option<&str> {
        match &self.origin {
            StartingPoint::Branched { earlier, .. } => Some(&earlier.branch),
            StartingPoint::Files { .. } | StartingPoint::Earlier { .. } => None,
        }
    }

    /// Where the run will work.
    pub(crate) fn folder(&self) -> PathBuf {
        // Joining nothing would end the path with a slash.
        if self.below.as_os_str().is_empty() {
            return self.directory.clone();
        }
        self.directory.join(&self.below)
    }

    /// Makes the worktree, or takes over the one that an earlier run left.
    pub(crate) async fn make(self) -> Result<Worktree, WorktreeError> {
        let Self { worktrees, directory, below, origin } = self;
        let place = worktrees.made()?;
        let taken = Lease::take(&directory).map_err(WorktreeError::disk(&directory))?;
        let mut lease = taken.ok_or_else(|| WorktreeError::InUse(directory.clone()))?;
        let mut making = Making {
            worktrees: &worktrees,
            place: &place,
            directory: &directory,
            lease: &mut lease,
        };
        let made = match origin {
            StartingPoint::Files { repository, branch } => {
                making.of_files(&repository, branch).await
            }
            StartingPoint::Earlier { facts, branch } => making.again(facts, branch).await,
            StartingPoint::Branched { earlier, branch, files } => {
                making.branched(&earlier, branch, &files).await
            }
        };
        let folder = directory.join(&below);
        // A folder that holds nothing git knows of is not in the worktree yet.
        let entered = |facts| match fs::create_dir_all(&folder) {
            Ok(()) => Ok(facts),
            Err(error) => Err(WorktreeError::disk(&folder)(error)),
        };
        match made.and_then(entered) {
            Ok(facts) => Ok(Worktree { worktrees, facts, below, lease }),
            Err(error) => {
                let leftover = Leftover { run: String::new(), directory };
                // The reason matters more than what is left; the next clean-up finds that.
                worktrees.remove_leased(lease, &leftover).await.unwrap_or_default();
                Err(error)
            }
        }
    }
}

/// The branch of a run.
fn branch_of(run: &RunId) -> String {
    format!("attache/{run}")
}

/// Whether some working tree of the repository has that branch checked out.
async fn is_checked_out(git: &Git, reference: &str) -> Result<bool, WorktreeError> {
    let listed = git.run(["worktree", "list", "--porcelain"]).await?;
    let wanted = format!("branch {reference}");
    Ok(listed.split(|byte| *byte == b'\n').any(|line| line == wanted.as_bytes()))
}

/// A worktree that is being made.
struct Making<'w> {
    worktrees: &'w Worktrees,
    place: &'w Path,
    directory: &'w Path,
    lease: &'w mut Lease,
}

impl Making<'_> {
    async fn git(&self, directory: &Path) -> Result<Git, WorktreeError> {
        Git::new(&self.worktrees.environment, directory, self.place).await
    }

    /// A worktree with the files of a repository's working tree as they are.
    async fn of_files(
        &mut self,
        repository: &Path,
        branch: String,
    ) -> Result<WorktreeFacts, WorktreeError> {
        let git = self.git(repository).await?;
        let head = git.object(["rev-parse", "--verify", "HEAD^{commit}"]).await?;
        let committed = git.object(["rev-parse", "--verify", "HEAD^{tree}"]).await?;
        let tree = snapshot::tree(&git, self.place).await?;
        let start = if tree == committed {
            head
        } else {
            let why = "Files as they were when the agent began";
            git.object(["commit-tree", &tree, "-p", &head, "-m", why]).await?
        };
        let facts = self.facts(&git, repository, branch, start).await?;
        self.add(&git, &["-B", &facts.branch], &facts.start, &facts).await?;
        Ok(facts)
    }

    /// The worktree of an earlier run: as it was left, or made again from its branch. Where the earlier
    /// run changed nothing there is neither, and it begins with the files as they are now. A branch that
    /// somebody has checked out stays as it is, and a new one begins there.
    async fn again(
        &mut self,
        facts: WorktreeFacts,
        new_branch: String,
    ) -> Result<WorktreeFacts, WorktreeError> {
        let is_whole = self.lease.read() == Some(Leased { is_ready: true, facts: facts.clone() });
        if is_whole && self.directory.is_dir() && Path::new(&facts.git_dir).is_dir() {
            return Ok(facts);
        }
        let repository = PathBuf::from(&facts.repository);
        let git = self.git(&repository).await?;
        settling::remove(&facts, self.worktrees).await?;
        let branch = format!("refs/heads/{}", facts.branch);
        match git.object(["rev-parse", "--verify", "--quiet", &branch]).await {
            Err(WorktreeError::Refused { .. }) => {
                self.of_files(&repository, facts.branch.clone()).await
            }
            Err(error) => Err(error),
            Ok(tip) => {
                if is_checked_out(&git, &branch).await? {
                    let facts = self.facts(&git, &repository, new_branch, facts.start).await?;
                    self.add(&git, &["-B", &facts.branch], &tip, &facts).await?;
                    return Ok(facts);
                }
                let facts = self.facts(&git, &repository, facts.branch, facts.start).await?;
                self.add(&git, &["--force"], &facts.branch, &facts).await?;
                Ok(facts)
            }
        }
    }

    /// A worktree with the files that an earlier run had then. Where these are not known, it is what that run
    /// left on its branch; without one, the files of today.
    async fn branched(
        &mut self,
        earlier: &WorktreeFacts,
        branch: String,
        files: &FilesThen,
    ) -> Result<WorktreeFacts, WorktreeError> {
        let repository = PathBuf::from(&earlier.repository);
        let git = self.git(&repository).await?;
        let left = format!("refs/heads/{}", earlier.branch);
        let tip = match files {
            FilesThen::AsBegun => earlier.start.clone(),
            FilesThen::Tree(tree) => {
                let why = "Files as they were when the agent branched off";
                git.object(["commit-tree", tree, "-p", &earlier.start, "-m", why]).await?
            }
            FilesThen::Unknown => {
                match git.object(["rev-parse", "--verify", "--quiet", &left]).await {
                    Err(WorktreeError::Refused { .. }) => {
                        return self.of_files(&repository, branch).await;
                    }
                    tip => tip?,
                }
            }
        };
        let facts = self.facts(&git, &repository, branch, earlier.start.clone()).await?;
        self.add(&git, &["-B", &facts.branch], &tip, &facts).await?;
        Ok(facts)
    }

    /// What the worktree will be, before it is.
    async fn facts(
        &self,
        git: &Git,
        repository: &Path,
        branch: String,
        start: String,
    ) -> Result<WorktreeFacts, WorktreeError> {
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| WorktreeError::NotText(path.to_owned()))
        };
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = PathBuf::from(git.line(common).await?);
        // No other worktree has the name of this run.
        let name = self.directory.file_name().unwrap_or_default();
        Ok(WorktreeFacts {
            directory: text(self.directory)?,
            repository: text(repository)?,
            git_dir: text(&common.join("worktrees").join(name))?,
            branch,
            start,
        })
    }

    async fn add(
        &mut self,
        git: &Git,
        how: &[&str],
        start: &str,
        facts: &WorktreeFacts,
    ) -> Result<(), WorktreeError> {
        let mut leased = Leased { is_ready: false, facts: facts.clone() };
        self.lease.write(&leased).map_err(WorktreeError::disk(self.directory))?;
        let mut arguments: Vec<OsString> =
            ["worktree", "add", "--quiet", "--no-checkout"].map(Into::into).to_vec();
        arguments.extend(how.iter().map(Into::into));
        arguments.extend([self.directory.into(), start.into()]);
        let alone = self.worktrees.alone().await;
        match git.run(&arguments).await {
            // Somebody else's git may have been making another.
            Err(WorktreeError::Refused { said, .. }) if said.contains("worktrees/") => {
                settling::forget_now(facts).await;
                git.run(&arguments).await?
            }
            added => added?,
        };
        drop(alone);
        let git = self.git(self.directory).await?;
        git.run(["reset", "--hard", "--quiet", "--no-recurse-submodules"]).await?;
        leased.is_ready = true;
        self.lease.write(&leased).map_err(WorktreeError::disk(self.directory))
    }
}

impl Worktree {
    /// What the run's header says about it.
    pub(crate) fn facts(&self) -> &WorktreeFacts {
        &self.facts
    }
}
