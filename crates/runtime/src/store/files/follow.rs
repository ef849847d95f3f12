//! Following: a transcript read while another process writes it.
//!
//! The system tells of each change; the content is never polled. The end of a writer that was killed is
//! told as the closing of its file, and because its lock ends a moment later, and some file systems tell
//! nothing, the lock alone is looked at again once in a while.

use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    path::Path,
    sync::mpsc::{Receiver, Sender, channel},
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode},
};

use super::{listing, lock, names::Place, reading::split_line};
use crate::store::StoreError;

/// How often the lock is looked at although nothing was told.
const SELDOM: Duration = Duration::from_secs(1);
/// The first wait after the writer's file was closed, before its lock is looked at again.
const AFTER_CLOSING: Duration = Duration::from_millis(5);

/// Reads a transcript from its beginning, as far as it goes, again and again.
#[derive(Debug)]
pub struct Follower {
    file: File,
    place: Place,
    /// How far it has been read: the end of a line.
    read: u64,
    watch: Option<Watch>,
}

/// What the system tells of a file.
#[derive(Debug)]
pub(super) struct Watch {
    changes: Receiver<Change>,
    /// Keeps the channel open where the system tells nothing.
    _sender: Sender<Change>,
    watcher: Option<RecommendedWatcher>,
    /// How long to wait for a change before the lock is looked at.
    patience: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// It was written, or anything else but closed.
    Other,
    /// Somebody who could write it closed it.
    Closed,
}

impl Follower {
    pub(super) fn new(file: File, place: Place) -> Self {
        Self { file, place, read: 0, watch: None }
    }

    /// Where the transcript lies.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Whether somebody still writes it.
    pub fn is_running(&self) -> bool {
        lock::is_held(&self.file, &self.place.folder)
    }

    /// Blocks until there are new lines; none if everything is read and nobody writes the transcript
    /// any more. A transcript that was removed is followed as long as its writer lives.
    pub fn next_lines(&mut self) -> Result<Option<Vec<String>>, StoreError> {
        loop {
            if self.watch.is_none() {
                // Before anything is read, so that no change is missed.
                self.watch = Some(Watch::new(&self.place.path));
            }
            let lines = self.read()?;
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
            if !self.is_running() {
                // What was written between the two is still read.
                let last = self.read()?;
                return Ok((!last.is_empty()).then_some(last));
            }
            if let Some(watch) = &mut self.watch {
                watch.wait(Duration::MAX);
            }
        }
    }

    /// Blocks until the run has ended or nobody drives it any more; false if the moment comes first.
    pub fn wait_for_end(&mut self, until: Option<Instant>) -> bool {
        loop {
            let watch = self.watch.get_or_insert_with(|| Watch::new(&self.place.path));
            if listing::end_of(&self.file).is_some()
                || !lock::is_held(&self.file, &self.place.folder)
            {
                return true;
            }
            match until.map(|until| until.checked_duration_since(Instant::now())) {
                Some(None) => return false,
                Some(Some(left)) => watch.wait(left),
                None => watch.wait(Duration::MAX),
            }
        }
    }

    /// The lines that have been written since, whole ones only.
    pub fn read(&mut self) -> Result<Vec<String>, StoreError> {
        let failed = |source| StoreError::read(&self.place.path, source);
        let length = self.file.metadata().map_err(failed)?.len();
        let fresh = length.saturating_sub(self.read);
        let mut bytes = vec![0; usize::try_from(fresh).unwrap_or(usize::MAX)];
        // An unfinished line is read again from its beginning: its writer may cut it off.
        let mut filled = 0;
        while let Some(left) = bytes.get_mut(filled..).filter(|left| !left.is_empty()) {
            let got = self.file.read_at(left, self.read + filled as u64).map_err(failed)?;
            if got == 0 {
                break;
            }
            filled += got;
        }
        bytes.truncate(filled);
        let mut lines = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some((line, after)) = split_line(rest) {
            lines.push(String::from_utf8_lossy(line).into_owned());
            rest = after;
        }
        self.read += bytes.len().saturating_sub(rest.len()) as u64;
        Ok(lines)
    }
}

impl Watch {
    pub(super) fn new(path: &Path) -> Self {
        let (sender, changes) = channel();
        let told = sender.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let change = match event.map(|event| event.kind) {
                Ok(EventKind::Access(AccessKind::Close(AccessMode::Write))) => Change::Closed,
                // Somebody only looks at it.
                Ok(EventKind::Access(_)) => return,
                Ok(_) | Err(_) => Change::Other,
            };
            // A follower that is gone needs no news.
            told.send(change).unwrap_or_default();
        });
        let watcher = watcher.and_then(|mut watcher| {
            watcher.watch(path, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        // Without a watch, and of a file that is gone already, only the slow look remains.
        Self { changes, _sender: sender, watcher: watcher.ok(), patience: SELDOM }
    }

    /// Watches a folder as well.
    pub(super) fn add(&mut self, folder: &Path) {
        if let Some(watcher) = &mut self.watcher {
            // Without a watch only the slow look remains.
            watcher.watch(folder, RecursiveMode::NonRecursive).unwrap_or_default();
        }
    }

    /// Watches a folder no longer.
    pub(super) fn remove(&mut self, folder: &Path) {
        if let Some(watcher) = &mut self.watcher {
            watcher.unwatch(folder).unwrap_or_default();
        }
    }

    /// Waits for a change, and for what came with it, but not for longer.
    pub(super) fn wait(&mut self, longest: Duration) {
        let Ok(first) = self.changes.recv_timeout(self.patience.min(longest)) else {
            self.patience = (self.patience * 2).min(SELDOM);
            return;
        };
        let changes: Vec<Change> = std::iter::once(first).chain(self.changes.try_iter()).collect();
        // The lock ends a moment after the file is closed: it is looked at soon, then ever more seldom.
        if changes.contains(&Change::Closed) {
            self.patience = AFTER_CLOSING;
        }
    }
}
