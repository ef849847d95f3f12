//! Planted paths: protected paths deeper in the workspace that a command created.
//!
//! Nothing can keep a command from creating a name in a directory it may write to. So when a command has ended,
//! what it created there is moved out of the workspace, before anybody obeys it. Links are not followed, and
//! what is moved is taken from the directory that was really found below the root.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, OpenOptions, Permissions},
    io::{self, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    },
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Instant, SystemTime},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode as FileMode, OFlags, RenameFlags, fstat, openat, renameat_with, statat,
    },
    io::Errno,
};

use super::{
    Mode, Policy,
    helper::is_placeholder,
    nested::{Found, NestedPaths, is_of_top},
};
use crate::tool::workspace::{reason, shown};

/// What the names of moved paths end with, so that nobody obeys them where they are.
const SUFFIX: &str = ".planted";
/// The file that says what was moved.
const LIST: &str = "moved.txt";
/// How many things of one name are kept.
const MOST_OF_A_NAME: usize = 1000;
/// How many paths one answer names.
const MOST_TOLD: usize = 10;

/// What happens beside commands in the sandbox: others create protected paths rightfully.
#[derive(Debug, Default)]
pub(super) struct Bystanders(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// Commands outside of the sandbox that run now, and when the last one ended.
    running: usize,
    last_ended: Option<Instant>,
    /// Files that the file tools wrote to protected paths.
    approved: Vec<PathBuf>,
    /// What was moved away, and when.
    moved: Vec<(PathBuf, Instant)>,
}

impl Bystanders {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a file that was written to a protected path rightfully.
    pub(super) fn approve(&self, path: PathBuf) {
        self.seen().approved.push(path);
    }

    fn has_approved(&self, path: &Path) -> bool {
        self.seen().approved.iter().any(|file| file.starts_with(path))
    }

    /// When the last command outside of the sandbox ended.
    fn last_ended(&self) -> Option<Instant> {
        self.seen().last_ended
    }

    fn note_moved(&self, path: PathBuf) {
        self.seen().moved.push((path, Instant::now()));
    }

    /// Whether a path that a look found was moved away after it.
    fn was_moved_after(&self, look: &Found, path: &Path) -> bool {
        let seen = self.seen();
        let mut moved = seen.moved.iter().filter(|(moved, _)| moved == path);
        moved.any(|(_, at)| look.looked.is_none_or(|looked| *at >= looked))
    }

    /// Whether a command outside of the sandbox ran since that time.
    fn ran_since(&self, time: Instant) -> bool {
        let seen = self.seen();
        seen.running > 0 || seen.last_ended.is_some_and(|ended| ended >= time)
    }
}

/// What is due when a command has ended.
#[derive(Debug)]
pub(crate) enum Aftermath {
    /// Nothing.
    None,
    /// It ran outside of the sandbox, and no longer does.
    Unconfined { _running: Unconfined },
    /// What it planted is moved away.
    Sweep(Sweep),
}

/// A command outside of the sandbox runs while this lives.
#[derive(Debug)]
pub(crate) struct Unconfined(Arc<Bystanders>);

impl Drop for Unconfined {
    fn drop(&mut self) {
        let mut seen = self.0.seen();
        seen.running = seen.running.saturating_sub(1);
        seen.last_ended = Some(Instant::now());
    }
}

/// What was there when a command began.
#[derive(Debug)]
pub(crate) struct Sweep {
    began: Instant,
    clock: SystemTime,
    nested: Arc<NestedPaths>,
    bystanders: Arc<Bystanders>,
    roots: Vec<(PathBuf, Arc<Found>)>,
    /// Whether nothing else protects the paths of the roots themselves.
    with_top: bool,
    into: PathBuf,
}

impl Aftermath {
    /// Looks at what is there before a command begins. This reads the disk.
    pub(super) fn of_command(
        policy: &Policy,
        (nested, bystanders): (&Arc<NestedPaths>, &Arc<Bystanders>),
        with_top: bool,
        into: PathBuf,
    ) -> Self {
        let bystanders = Arc::clone(bystanders);
        match policy.mode {
            Mode::ReadOnly => Self::None,
            Mode::DangerFullAccess => {
                bystanders.seen().running += 1;
                Self::Unconfined { _running: Unconfined(bystanders) }
            }
            Mode::WorkspaceWrite => {
                let look = |root: &PathBuf| match bystanders.last_ended() {
                    // What a command outside of the sandbox created was there before.
                    Some(ended) => nested.recent_since(root, ended),
                    None => nested.recent(root),
                };
                let roots = policy.roots().map(|root| (root.clone(), look(root))).collect();
                let nested = Arc::clone(nested);
                let (began, clock) = (Instant::now(), SystemTime::now());
                Self::Sweep(Sweep { began, clock, nested, bystanders, roots, with_top, into })
            }
        }
    }

    /// Where a helper that outlives the program moves what it finds: only if it can know what was there.
    pub(super) fn of_helper(&self, most_known: usize) -> Option<PathBuf> {
        let Self::Sweep(sweep) = self else { return None };
        let is_known =
            |(_, found): &(PathBuf, Arc<Found>)| found.is_whole && found.paths.len() <= most_known;
        sweep.roots.iter().all(is_known).then(|| sweep.into.clone())
    }

    /// Does what is due, and says what became of what the command planted. Everything that the command started
    /// must have ended. This reads and writes the disk.
    pub(crate) fn settle(self) -> Option<String> {
        match self {
            Self::None | Self::Unconfined { .. } => None,
            Self::Sweep(sweep) => sweep.sweep(),
        }
    }
}

impl Sweep {
    fn sweep(self) -> Option<String> {
        let now = Instant::now();
        let mut told = Told::default();
        for (root, before) in &self.roots {
            let found = self.nested.since(root, now);
            told.is_cut |= before.is_whole && !found.is_whole;
            let is_new = |path: &&PathBuf| {
                let was_there =
                    before.paths.contains(path) && !self.bystanders.was_moved_after(before, path);
                !was_there
                    && (before.is_whole || was_born_since(path, self.clock))
                    && (self.with_top || !is_guarded_top(root, path))
                    && !self.bystanders.has_approved(path)
            };
            for path in found.paths.iter().filter(is_new) {
                if self.bystanders.ran_since(self.began) {
                    told.left.push(path.strip_prefix(root).unwrap_or(path).to_owned());
                } else {
                    told.take(root, path, &self.into);
                    self.bystanders.note_moved(path.clone());
                }
            }
        }
        told.text()
    }
}

/// Moves away what a command planted whose program has ended: what is not among the paths that were there.
pub(super) fn sweep_known(roots: &[PathBuf], known: &[&Path], with_top: bool, into: &Path) {
    let mut told = Told::default();
    for root in roots {
        for path in &Found::now(root).paths {
            if !known.contains(&path.as_path()) && (with_top || !is_guarded_top(root, path)) {
                told.take(root, path, into);
            }
        }
    }
}

/// Whether a path is protected in another way: it is one of the root itself, which mounts hold.
fn is_guarded_top(root: &Path, path: &Path) -> bool {
    // Nothing stands for this one while it is missing.
    is_of_top(root, path) && !path.ends_with(".config/opencode")
}

/// Whether another command's placeholder is there. Its mark can be forged, so that it is empty matters.
fn is_empty_placeholder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| is_placeholder(&found))
        && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether something was created since then, as far as the file system tells.
fn was_born_since(path: &Path, time: SystemTime) -> bool {
    let found = path.symlink_metadata().and_then(|found| found.created());
    found.is_ok_and(|created| created >= time)
}

/// What became of what a command planted.
#[derive(Debug, Default)]
struct Told {
    moved: Vec<(PathBuf, PathBuf)>,
    stuck: Vec<(PathBuf, io::Error)>,
    left: Vec<PathBuf>,
    /// Not everything was looked at.
    is_cut: bool,
}

impl Told {
    /// Moves a path away.
    fn take(&mut self, root: &Path, path: &Path, into: &Path) {
        let Ok(relative) = path.strip_prefix(root) else { return };
        if is_of_top(root, path) && is_empty_placeholder(path) {
            return;
        }
        match moved_away(root, relative, into) {
            Ok(to) => self.moved.push((relative.to_owned(), to)),
            // Another command of that time ended as well.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.stuck.push((relative.to_owned(), error)),
        }
    }

    /// What the agent and the user are told.
    fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.moved.is_empty() {
            let each =
                self.moved.iter().map(|(path, to)| format!("{} to {}", shown(path), shown(to)));
            let each = several(each.collect());
            parts.push(format!("[commands in the sandbox may not create protected paths; moved out of the way: {each}. If they are needed, run the command again with with_escalated_permissions and a justification]"));
        }
        if !self.stuck.is_empty() {
            let each = self
                .stuck
                .iter()
                .map(|(path, error)| format!("{} ({})", shown(path), reason(error)));
            let each = several(each.collect());
            parts.push(format!("[this command created protected paths that could not be moved away: {each}. Tell the user not to run git or agents there before they are removed]"));
        }
        if !self.left.is_empty() {
            let each = several(self.left.iter().map(|path| shown(path)).collect());
            parts.push(format!("[protected paths appeared while this command and one outside of the sandbox ran: {each}. They were left; if the command outside did not create them, tell the user]"));
        }
        if self.is_cut {
            parts.push("[there are too many directories by now to look for protected paths that this command created]".to_owned());
        }
        (!parts.is_empty()).then(|| parts.join("\n"))
    }
}

/// Paths in one sentence.
fn several(paths: Vec<String>) -> String {
    let more = paths.len().saturating_sub(MOST_TOLD);
    let listed = paths.into_iter().take(MOST_TOLD).collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{listed} and {more} more") } else { listed }
}

/// Moves what is below a root out of it, or out of the way if it cannot be moved that far; says where it is.
fn moved_away(root: &Path, relative: &Path, into: &Path) -> io::Result<PathBuf> {
    let (Some(above), Some(name)) = (relative.parent(), relative.file_name()) else {
        return Err(Errno::INVAL.into());
    };
    let parent = opened(root, above)?;
    let _exists = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(into.join(above));
    let moved = made.and_then(|()| {
        Ok(numbered(name, |to| {
            renameat_with(&parent, name, CWD, into.join(above).join(to), RenameFlags::NOREPLACE)
        })?)
    });
    match moved {
        Ok(to) => {
            let to = into.join(above).join(to);
            note(into, relative, &to);
            Ok(to)
        }
        // Another file system, a name that is too long, a directory that may not be moved elsewhere.
        Err(_) => in_place(&parent, name).map(|to| relative.with_file_name(to)),
    }
}

/// Gives it another name where it is. A command may have taken our right to do so, which is ours to give.
fn in_place(parent: &OwnedFd, name: &OsStr) -> io::Result<OsString> {
    let rename =
        || numbered(name, |to| renameat_with(parent, name, parent, to, RenameFlags::NOREPLACE));
    match rename() {
        Err(Errno::ACCESS | Errno::PERM) => {
            let mode = fstat(parent)?.st_mode & 0o7777;
            // A handle that only names a directory cannot change it; this path is that directory.
            let path = format!("/proc/self/fd/{}", parent.as_fd().as_raw_fd());
            fs::set_permissions(&path, Permissions::from_mode(mode | 0o300))?;
            let renamed = rename();
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
            Ok(renamed?)
        }
        renamed => Ok(renamed?),
    }
}

/// Tries names until one is free.
fn numbered(
    name: &OsStr,
    mut rename: impl FnMut(&OsStr) -> rustix::io::Result<()>,
) -> rustix::io::Result<OsString> {
    for number in 1..=MOST_OF_A_NAME {
        let mut to = name.to_owned();
        to.push(SUFFIX);
        if number > 1 {
            to.push(format!("-{number}"));
        }
        match rename(&to) {
            Ok(()) => return Ok(to),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

/// The directory below a root, each part opened from the one before, no link followed.
fn opened(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(root, flags, FileMode::empty())?;
    for part in relative.components() {
        let Component::Normal(part) = part else { return Err(Errno::XDEV.into()) };
        at = openat(&at, part, flags | OFlags::NOFOLLOW, FileMode::empty())?;
    }
    Ok(at)
}

/// Notes what was moved beside it, for somebody who was not there to be told.
fn note(into: &Path, relative: &Path, to: &Path) {
    let list = OpenOptions::new().append(true).create(true).mode(0o600).open(into.join(LIST));
    let written = list.and_then(|mut list| writeln!(list, "{} -> {}", shown(relative), shown(to)));
    // It is moved all the same.
    written.unwrap_or_default();
}

#[cfg(test)]
mod tests;
