//! Walking below a place, on several threads: what ignore rules name is left out, and so is `.git`;
//! links are not followed.
//!
//! Invariant: every directory is opened beneath the root's own handle, without links. So the walk
//! never gives a name outside the root, even if paths are renamed or replaced meanwhile. Nothing recurses.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    Location,
    beneath::Root,
    directory::{Directory, NameKind},
    ignore_rules::{IgnoreFiles, IgnoreRules},
    reason,
};

/// How many entries of a directory one thread takes at once.
const SHARE: usize = 64;

/// An entry that a walk came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// Its absolute path.
    pub(crate) absolute: &'a Path,
    /// Its path below the root.
    pub(crate) relative: &'a Path,
    pub(crate) kind: NameKind,
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next entry; of a directory also what is in it.
    GoOn,
    /// The next entry, but nothing of what is in this one.
    Skip,
    /// Nothing more.
    Quit,
}

/// What a walk could not show.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Directories that could not be read, by their path below the root, and why.
    pub(crate) unread: Vec<(PathBuf, String)>,
    /// How many entries the ignore rules left out; a directory counts once.
    pub(crate) ignored: usize,
    /// What must be known about the ignore files.
    pub(crate) notices: Vec<String>,
}

impl Location {
    /// Walks below a directory. Every thread has a visitor of its own; it is called for each entry,
    /// in no order across threads, for a directory before what is in it.
    pub(crate) fn walk<V>(&self, threads: usize, visitor: impl Fn() -> V + Sync) -> Walked
    where
        V: FnMut(&Seen<'_>) -> Next,
    {
        let ignore_files = self.ignore_files();
        let start = Job::Directory {
            relative: self.relative().to_owned(),
            above: ignore_files.above(&self.absolute()),
        };
        let work = Work {
            root: &self.root,
            ignore_files,
            queue: Mutex::new(Queue { jobs: vec![start], open: 1, is_over: false }),
            changed: Condvar::new(),
            unread: Mutex::default(),
            ignored: AtomicUsize::new(0),
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // Where no thread can be had, the others do its work.
                let helper = || work.take_part(visitor());
                if thread::Builder::new().spawn_scoped(scope, helper).is_err() {
                    break;
                }
            }
            work.take_part(visitor());
        });
        Walked {
            unread: work.unread.into_inner().unwrap_or_else(PoisonError::into_inner),
            ignored: work.ignored.into_inner(),
            notices: work.ignore_files.notices(),
        }
    }

    /// What reads the ignore files of its root.
    pub(crate) fn ignore_files(&self) -> IgnoreFiles {
        IgnoreFiles::new(Arc::clone(&self.root))
    }
}

/// A walk under way.
struct Work<'w> {
    root: &'w Root,
    ignore_files: IgnoreFiles,
    queue: Mutex<Queue>,
    changed: Condvar,
    unread: Mutex<Vec<(PathBuf, String)>>,
    ignored: AtomicUsize,
}

struct Queue {
    jobs: Vec<Job>,
    /// How many jobs are waiting or being done.
    open: usize,
    is_over: bool,
}

enum Job {
    /// A directory to be read, by its path below the root.
    Directory { relative: PathBuf, above: IgnoreRules },
    /// Entries of a directory to be visited, the last first.
    Entries { directory: Arc<Read>, entries: Vec<(OsString, NameKind)> },
}

/// A directory that was read.
struct Read {
    absolute: PathBuf,
    relative: PathBuf,
    rules: IgnoreRules,
}

/// Ends the walk for all threads if one of them panics; else they would wait for it.
struct EndOnPanic<'w>(&'w Work<'w>);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.queue().is_over = true;
            self.0.changed.notify_all();
        }
    }
}

impl Work<'_> {
    fn take_part(&self, mut visit: impl FnMut(&Seen<'_>) -> Next) {
        let _end_on_panic = EndOnPanic(self);
        while let Some(job) = self.next() {
            let mut further = Vec::new();
            let next = match job {
                Job::Directory { relative, above } => {
                    self.read(relative, &above, &mut further);
                    Next::GoOn
                }
                Job::Entries { directory, entries } => {
                    self.visit(&directory, entries, &mut visit, &mut further)
                }
            };
            self.done(further, next);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            if queue.is_over {
                return None;
            }
            if let Some(job) = queue.jobs.pop() {
                return Some(job);
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, further: Vec<Job>, next: Next) {
        let count = further.len();
        let mut queue = self.queue();
        queue.open = queue.open + count - 1;
        queue.jobs.extend(further);
        queue.is_over |= next == Next::Quit || queue.open == 0;
        let is_over = queue.is_over;
        drop(queue);
        if is_over || count > 1 {
            self.changed.notify_all();
        }
    }

    /// Reads a directory; what is in it becomes jobs, the first entries last.
    fn read(&self, relative: PathBuf, above: &IgnoreRules, further: &mut Vec<Job>) {
        let names = self.root.open_directory(&relative).map(Directory::new);
        let mut entries = match names.and_then(|directory| directory.names_and_kinds()) {
            Ok(entries) => entries,
            Err(error) => {
                let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
                unread.push((relative, reason(&error)));
                return;
            }
        };
        entries.sort_unstable();
        let absolute = self.root.path().join(&relative);
        let has = |wanted: &str| {
            entries.binary_search_by(|(name, _)| name.as_os_str().cmp(wanted.as_ref())).is_ok()
        };
        let rules = self.ignore_files.enter(above, &absolute, has);
        let directory = Arc::new(Read { absolute, relative, rules });
        while !entries.is_empty() {
            // Shares are cut off from the end, so that the first one is the last job pushed.
            let share = entries.split_off(entries.len().saturating_sub(1) / SHARE * SHARE);
            further.push(Job::Entries { directory: Arc::clone(&directory), entries: share });
        }
    }

    fn visit(
        &self,
        directory: &Read,
        entries: Vec<(OsString, NameKind)>,
        visit: &mut impl FnMut(&Seen<'_>) -> Next,
        further: &mut Vec<Job>,
    ) -> Next {
        let mut ignored = 0;
        let mut answer = Next::GoOn;
        for (name, kind) in entries {
            if name == ".git" {
                continue;
            }
            let absolute = directory.absolute.join(&name);
            let is_directory = kind == NameKind::Directory;
            if directory.rules.ignores(&absolute, is_directory) {
                ignored += 1;
                continue;
            }
            let relative = directory.relative.join(&name);
            match visit(&Seen { absolute: &absolute, relative: &relative, kind }) {
                Next::GoOn if is_directory => {
                    let above = directory.rules.clone();
                    further.push(Job::Directory { relative, above });
                }
                Next::GoOn | Next::Skip => {}
                Next::Quit => {
                    answer = Next::Quit;
                    break;
                }
            }
        }
        self.ignored.fetch_add(ignored, Ordering::Relaxed);
        further.reverse();
        answer
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
