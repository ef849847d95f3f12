//! Ignore rules: what `.gitignore`, `.ignore` and `.git/info/exclude` leave out of a walk.
//!
//! Nothing ambient counts: no global ignore file, no current directory. Invariant: reading the rules
//! never blocks and takes bounded time and memory, for any project. A rule that cannot be used is
//! skipped alone, and a notice says so; the other rules of its file count.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{beneath::Root, glob_bounds::check_glob, reason};

/// How many bytes of an ignore file are read.
const MAX_FILE_BYTES: u64 = 64 << 10;
/// How many rules of an ignore file count.
const MAX_FILE_RULES: usize = 2000;
/// How many rules are in use at the same time, over all the directories of a walk.
const MAX_LIVE_RULES: usize = 5000;
/// How many rules of one file are reported as skipped, and how many notices a walk has.
const MAX_SKIPPED: usize = 2;
const MAX_NOTICES: usize = 3;

/// Reads the ignore files of one walk.
#[derive(Debug)]
pub(crate) struct IgnoreFiles {
    root: Arc<Root>,
    /// How many rules are in use.
    live: Arc<AtomicUsize>,
    notices: Mutex<Vec<String>>,
}

/// The rules in force in one directory: its own and those of the directories above it.
#[derive(Debug, Clone, Default)]
pub(crate) struct IgnoreRules(Option<Arc<Level>>);

/// The rules of one directory.
#[derive(Debug)]
struct Level {
    above: Option<Arc<Self>>,
    ignore: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    /// Whether it is the top of a repository: git's rules of the directories above do not count.
    is_repository: bool,
    rules: usize,
    live: Arc<AtomicUsize>,
}

impl Drop for Level {
    fn drop(&mut self) {
        self.live.fetch_sub(self.rules, Ordering::Relaxed);
    }
}

impl IgnoreRules {
    /// Whether an entry of the directory is left out, by its absolute path.
    pub(crate) fn ignores(&self, path: &Path, is_directory: bool) -> bool {
        let mut by_ignore = Match::None;
        let mut by_git = Match::None;
        let mut by_exclude = Match::None;
        let mut in_repository = true;
        let mut level = self.0.as_deref();
        while let Some(rules) = level {
            let judge = |rules: &'_ Option<Gitignore>| match rules {
                Some(rules) => rules.matched(path, is_directory).map(|_| ()),
                None => Match::None,
            };
            by_ignore = by_ignore.or(judge(&rules.ignore));
            if in_repository {
                by_git = by_git.or(judge(&rules.git));
                by_exclude = by_exclude.or(judge(&rules.exclude));
            }
            in_repository &= !rules.is_repository;
            level = rules.above.as_deref();
        }
        by_ignore.or(by_git).or(by_exclude).is_ignore()
    }
}

impl IgnoreFiles {
    pub(super) fn new(root: Arc<Root>) -> Self {
        Self { root, live: Arc::default(), notices: Mutex::default() }
    }

    /// The rules of all directories above one, those above the workspace included.
    pub(crate) fn above(&self, directory: &Path) -> IgnoreRules {
        let mut above: Vec<&Path> = directory.ancestors().skip(1).collect();
        above.reverse();
        above.into_iter().fold(IgnoreRules::default(), |rules, directory| {
            let has = |name: &str| fs::symlink_metadata(directory.join(name)).is_ok();
            self.enter(&rules, directory, has)
        })
    }

    /// The rules in force in a directory, given those above it; `has` tells what lies in it.
    pub(crate) fn enter(
        &self,
        above: &IgnoreRules,
        directory: &Path,
        has: impl Fn(&str) -> bool,
    ) -> IgnoreRules {
        let is_repository = has(".git") || has(".jj");
        if !is_repository && !has(".gitignore") && !has(".ignore") {
            return above.clone();
        }
        let mut rules = 0;
        let mut read = |name: &str, there: bool| {
            let found = if there { self.read(directory, name) } else { None };
            rules += found.as_ref().map_or(0, Gitignore::len);
            found
        };
        let level = Level {
            above: above.0.clone(),
            ignore: read(".ignore", has(".ignore")),
            git: read(".gitignore", has(".gitignore")),
            exclude: read(".git/info/exclude", has(".git")),
            is_repository,
            rules,
            live: Arc::clone(&self.live),
        };
        self.live.fetch_add(rules, Ordering::Relaxed);
        IgnoreRules(Some(Arc::new(level)))
    }

    /// What the reader of an answer must know about the rules.
    pub(crate) fn notices(&self) -> Vec<String> {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner).clone();
        notices.sort();
        notices.dedup();
        if let more @ 1.. = notices.len().saturating_sub(MAX_NOTICES) {
            notices.truncate(MAX_NOTICES);
            notices.push(format!("{more} more notices about ignore files"));
        }
        notices
    }

    fn notice(&self, text: String) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() < 1000 {
            notices.push(text);
        }
    }

    fn read(&self, directory: &Path, name: &str) -> Option<Gitignore> {
        let path = directory.join(name);
        let shown = self.shown(&path);
        let mut bytes = Vec::new();
        let read = self.open(&path).and_then(|file| {
            // One byte more, to know whether there is more.
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)
        });
        match read {
            Ok(_) => {}
            Err(error) if is_absent(&error) => return None,
            Err(error) => {
                self.notice(format!("{shown} is not used: {}", reason(&error)));
                return None;
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut lines: Vec<(usize, &str)> =
            (1..).zip(text.lines()).filter(|(_, line)| is_rule(line)).collect();
        if bytes.len() as u64 > MAX_FILE_BYTES {
            // The last line is cut.
            lines.pop();
            let size = MAX_FILE_BYTES >> 10;
            self.notice(format!("only the first {size} KB of {shown} are used"));
        }
        let most = MAX_LIVE_RULES.saturating_sub(self.live.load(Ordering::Relaxed));
        let most = most.min(MAX_FILE_RULES);
        if lines.len() > most {
            lines.truncate(most);
            self.notice(format!("only the first {most} rules of {shown} are used"));
        }
        let lines = self.usable(&shown, lines);
        self.compile(directory, &shown, &lines)
    }

    /// The rules that can be used, each checked by itself.
    fn usable<'t>(&self, shown: &str, lines: Vec<(usize, &'t str)>) -> Vec<&'t str> {
        let mut skipped = 0;
        let usable = lines.into_iter().filter_map(|(number, line)| {
            let problem = if let Err(error) = check_glob(line) {
                error.to_string()
            } else if GitignoreBuilder::new("").add_line(None, line).is_err() {
                "it is not a valid glob".to_owned()
            } else {
                return Some(line);
            };
            skipped += 1;
            if skipped <= MAX_SKIPPED {
                self.notice(format!("line {number} of {shown} is skipped: {problem}"));
            }
            None
        });
        let usable = usable.collect();
        if let more @ 1.. = skipped.saturating_sub(MAX_SKIPPED) {
            self.notice(format!("{more} more lines of {shown} are skipped"));
        }
        usable
    }

    /// The rules as one matcher. Rules that are too large together are halved until they fit.
    fn compile(&self, directory: &Path, shown: &str, lines: &[&str]) -> Option<Gitignore> {
        let mut most = lines.len();
        while most > 0 {
            let mut builder = GitignoreBuilder::new(directory);
            let added = lines.iter().take(most).all(|line| builder.add_line(None, line).is_ok());
            match builder.build() {
                Ok(rules) if added => {
                    if most < lines.len() {
                        self.notice(format!("only the first {most} rules of {shown} are used"));
                    }
                    return Some(rules);
                }
                Ok(_) | Err(_) => most /= 2,
            }
        }
        None
    }

    /// Opens an ignore file without waiting for it. Below the root nothing outside is opened, even
    /// through a link; above the root the file is the user's own.
    fn open(&self, path: &Path) -> io::Result<File> {
        let Ok(relative) = path.strip_prefix(self.root.path()) else {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
            return if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) };
        };
        match self.root.open_file(relative) {
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
                let real = fs::canonicalize(path)?;
                let relative = real.strip_prefix(self.root.path());
                let relative = relative.map_err(|_| io::Error::other("it leads outside"))?;
                self.root.open_file(relative)
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOTDIR) => {
                Err(if path.exists() { not_regular() } else { error })
            }
            opened => opened,
        }
    }

    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(self.root.path()) {
            Ok(relative) => self.root.show(relative),
            Err(_) => format!("{} above the workspace", super::shown(path)),
        }
    }
}

fn is_rule(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

fn is_absent(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOENT | Errno::NOTDIR))
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}
