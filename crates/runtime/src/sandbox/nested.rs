//! Nested protected paths: repositories, agents and settings deeper in a writable directory.
//!
//! Only what exists is found, and the search is bounded: it leaves out the directories of build tools and
//! packages, and ends after a number of directories and entries. A directory is read again only if it changed
//! since it was last read, so a further look costs one question for each directory.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use attache_kernel::rights::protected::{PROTECTED, protected};

/// The directories and the entries that are looked at.
const MOST_DIRECTORIES: usize = 20_000;
const MOST_ENTRIES: usize = 200_000;
/// How long what was found is used for commands that start.
const FRESH: Duration = Duration::from_secs(1);
/// How long the directories of a root are remembered.
const REMEMBERED: Duration = Duration::from_mins(10);
/// A directory that changed so shortly before it was read may change again under the same time.
const UNSETTLED: Duration = Duration::from_secs(2);

/// Directories with very many files, which other programs made.
const LEFT_OUT: [&str; 6] = ["node_modules", "target", ".venv", "venv", "__pycache__", ".tox"];

/// What was found below directories, and when.
#[derive(Debug, Default)]
pub(super) struct NestedPaths(Mutex<BTreeMap<PathBuf, Tree>>);

/// The protected paths below a root that exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// In the order in which they were found: those that lie less deep come first.
    pub(super) paths: Vec<PathBuf>,
    /// Whether everything was looked at.
    pub(super) is_whole: bool,
    /// When the look began.
    pub(super) looked: Option<Instant>,
}

/// The directories below a root as they were when they were last read.
#[derive(Debug, Default)]
struct Tree {
    directories: HashMap<PathBuf, Directory>,
    found: Arc<Found>,
}

#[derive(Debug)]
struct Directory {
    stamp: Stamp,
    is_settled: bool,
    entries: usize,
    below: Vec<OsString>,
    protected: Vec<OsString>,
}

/// What changes when an entry of a directory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    changed: (i64, i64),
}

impl NestedPaths {
    /// What is below a root, as it was a moment ago or is now.
    pub(super) fn recent(&self, root: &Path) -> Arc<Found> {
        let now = Instant::now();
        self.recent_since(root, now.checked_sub(FRESH).unwrap_or(now))
    }

    /// The same, found by a look that began at that time or later.
    pub(super) fn recent_since(&self, root: &Path, time: Instant) -> Arc<Found> {
        let now = Instant::now();
        self.since(root, now.checked_sub(FRESH).unwrap_or(now).max(time))
    }

    /// What is below a root, found by a look that began at that time or later.
    pub(super) fn since(&self, root: &Path, time: Instant) -> Arc<Found> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, tree| {
            tree.found.looked.is_some_and(|looked| looked.elapsed() < REMEMBERED)
        });
        let tree = known.entry(root.to_owned()).or_default();
        if tree.found.looked.is_none_or(|looked| looked < time) {
            tree.look(root);
        }
        Arc::clone(&tree.found)
    }
}

impl Found {
    /// What is below a root now, by a look of its own.
    pub(super) fn now(root: &Path) -> Arc<Self> {
        let mut tree = Tree::default();
        tree.look(root);
        tree.found
    }

    /// Those below a root that the list of its own protected paths leaves out.
    pub(super) fn deeper<'f>(&'f self, root: &'f Path) -> impl Iterator<Item = &'f PathBuf> {
        self.paths.iter().filter(move |path| !is_of_top(root, path))
    }
}

/// Whether a path is one of the protected paths of the root itself.
pub(super) fn is_of_top(root: &Path, path: &Path) -> bool {
    let relative = path.strip_prefix(root).ok();
    relative.is_some_and(|relative| PROTECTED.iter().any(|top| relative == Path::new(top)))
}

impl Tree {
    /// Looks at every directory, and reads those that changed.
    fn look(&mut self, root: &Path) {
        self.look_at(root, MOST_DIRECTORIES);
    }

    fn look_at(&mut self, root: &Path, most: usize) {
        let looked = Some(Instant::now());
        let mut earlier = std::mem::take(&mut self.directories);
        let mut found = Found { paths: Vec::new(), is_whole: true, looked };
        let mut entries = 0;
        let mut waiting = VecDeque::from([root.to_owned()]);
        while let Some(path) = waiting.pop_front() {
            if self.directories.len() >= most || entries > MOST_ENTRIES {
                found.is_whole = false;
                break;
            }
            let Some(stamp) = Stamp::of_directory(&path) else { continue };
            let known =
                earlier.remove(&path).filter(|known| known.is_settled && known.stamp == stamp);
            let directory = known.unwrap_or_else(|| Directory::read(&path, stamp));
            entries += directory.entries;
            found.paths.extend(directory.protected.iter().map(|name| path.join(name)));
            waiting.extend(directory.below.iter().map(|name| path.join(name)));
            let _none = self.directories.insert(path, directory);
        }
        self.found = Arc::new(found);
    }
}

impl Stamp {
    fn of_directory(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        let changed = (found.ctime(), found.ctime_nsec());
        Some(Self { device: found.dev(), inode: found.ino(), changed })
    }

    /// Whether a later change is certain to have another time.
    fn is_settled(self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = now.saturating_sub(UNSETTLED).as_secs();
        i64::try_from(settled).is_ok_and(|settled| self.changed.0 < settled)
    }
}

impl Directory {
    fn read(path: &Path, stamp: Stamp) -> Self {
        let is_settled = stamp.is_settled();
        let mut directory =
            Self { stamp, is_settled, entries: 0, below: Vec::new(), protected: Vec::new() };
        let inside = path.file_name().unwrap_or_default();
        let listed = match fs::read_dir(path) {
            Ok(listed) => listed,
            Err(error) => {
                directory.ask_for_names(path, inside, &error);
                return directory;
            }
        };
        for entry in listed.flatten() {
            directory.entries += 1;
            if directory.entries > MOST_ENTRIES {
                break;
            }
            let name = entry.file_name();
            if is_protected(inside, &name) {
                directory.protected.push(name);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                && !LEFT_OUT.iter().any(|left_out| name == *left_out)
            {
                directory.below.push(name);
            }
        }
        directory
    }

    /// What can be entered but not listed can still hold what others obey.
    fn ask_for_names(&mut self, path: &Path, inside: &OsStr, error: &io::Error) {
        if error.kind() != io::ErrorKind::PermissionDenied {
            return;
        }
        let last = PROTECTED.iter().filter_map(|path| path.rsplit('/').next());
        let names: BTreeSet<&OsStr> = last.map(OsStr::new).collect();
        let is_there = |name: &&OsStr| {
            is_protected(inside, name) && path.join(name).symlink_metadata().is_ok()
        };
        self.protected.extend(names.into_iter().filter(is_there).map(OsStr::to_owned));
    }
}

/// Whether an entry of a directory of that name is protected.
fn is_protected(inside: &OsStr, name: &OsStr) -> bool {
    let is_possible = match name.as_bytes().first() {
        Some(b'.') => true,
        Some(first) => !first.is_ascii() || may_be_second(name),
        None => false,
    };
    if !is_possible {
        return false;
    }
    let (inside, name) = (inside.to_string_lossy(), name.to_string_lossy());
    // A root may itself have a protected name; what is in it is not protected for that.
    let is_second =
        || protected(&inside).is_none() && protected(&format!("{inside}/{name}")).is_some();
    protected(&name).is_some() || is_second()
}

/// Whether a name may be the second of a protected path of two.
fn may_be_second(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    ["agents", "opencode"].iter().any(|second| {
        bytes.get(..second.len()).is_some_and(|b| b.eq_ignore_ascii_case(second.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn sorted(found: &Found) -> Vec<PathBuf> {
        let mut paths = found.paths.clone();
        paths.sort();
        paths
    }

    #[test]
    fn what_exists_is_found_at_any_depth_but_not_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in [
            ".git/hooks",
            ".claude/agents",
            ".github/agents",
            "vendor/lib/.git/hooks",
            "a/b/c/.claude/agents",
            "a/b/c/d/e/f/g/h/i/j/k/.qwen",
            "a/.github/agents",
            "a/.github/workflows",
            "a/.config/opencode",
            "a/agents",
            "node_modules/x/.git",
            "a/git",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("a/.mcp.json"), "{}").unwrap();
        symlink("/", root.join("a/everything")).unwrap();
        symlink("/nowhere", root.join("a/.wave")).unwrap();
        let found = Found::now(root);
        let deeper = [
            "a/.config/opencode",
            "a/.github/agents",
            "a/.mcp.json",
            "a/.wave",
            "a/b/c/.claude",
            "a/b/c/d/e/f/g/h/i/j/k/.qwen",
            "vendor/lib/.git",
        ];
        let top = [".claude", ".git", ".github/agents"];
        let expected: Vec<_> = top.iter().chain(&deeper).map(|path| root.join(path)).collect();
        assert_eq!(sorted(&found), expected);
        assert!(found.is_whole);
        assert_eq!(found.deeper(root).count(), deeper.len());
    }

    #[test]
    fn a_directory_that_cannot_be_listed_is_asked_for_the_names() {
        let folder = tempfile::tempdir().unwrap();
        let closed = folder.path().join("closed");
        fs::create_dir_all(closed.join(".git")).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o311)).unwrap();
        let found = Found::now(folder.path());
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found.paths, [closed.join(".git")]);
    }

    #[test]
    fn the_search_is_bounded_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..10 {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        let mut tree = Tree::default();
        for (most, is_whole) in [(10, false), (11, true), (10, false)] {
            tree.look_at(folder.path(), most);
            assert_eq!(tree.found.is_whole, is_whole, "{most}");
        }
    }

    #[test]
    fn what_was_found_is_used_again_for_a_moment_and_a_later_look_sees_what_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let nested = NestedPaths::default();
        fs::create_dir_all(root.join("a/.git")).unwrap();
        assert_eq!(nested.recent(root).paths.len(), 1);
        fs::create_dir_all(root.join("b/.git")).unwrap();
        assert_eq!(nested.recent(root).paths.len(), 1, "it is a moment old");
        assert_eq!(nested.since(root, Instant::now()).paths.len(), 2);
        fs::rename(root.join("a"), root.join("c")).unwrap();
        fs::create_dir_all(root.join("c/d/.codex")).unwrap();
        let found = nested.since(root, Instant::now());
        let expected = ["b/.git", "c/.git", "c/d/.codex"].map(|path| root.join(path));
        assert_eq!(sorted(&found), expected);
    }

    #[test]
    fn a_directory_is_read_again_only_if_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/.git")).unwrap();
        let mut tree = Tree::default();
        tree.look(root);
        // As if it had been read long after it changed, with something else in it.
        let known = tree.directories.get_mut(&root.join("a")).unwrap();
        (known.is_settled, known.protected) = (true, vec!["remembered".into()]);
        tree.look(root);
        assert_eq!(tree.found.paths, [root.join("a/remembered")]);
        let known = tree.directories.get_mut(&root.join("a")).unwrap();
        known.stamp.changed.1 += 1;
        tree.look(root);
        assert_eq!(tree.found.paths, [root.join("a/.git")]);
    }
}
