//! Watching: a long-lived process is told when an agent file may have changed.
//!
//! A notice only means that it is worth looking again; looking is cheap and finds the changes.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::Places;

/// Changes that come this close together are one.
const QUIET: Duration = Duration::from_millis(100);

/// A watch over the places agents are looked for in.
#[derive(Debug)]
pub struct Watch {
    changes: Receiver<()>,
    watcher: RecommendedWatcher,
    watched: Vec<PathBuf>,
}

/// The system refuses to watch.
#[derive(Debug, thiserror::Error)]
#[error("the agent folders cannot be watched: {0}")]
pub struct WatchError(#[from] notify::Error);

impl Watch {
    /// Begins to watch. Folders that do not exist yet are watched through the nearest that does.
    pub fn new(places: &Places) -> Result<Self, WatchError> {
        let (sender, changes) = channel();
        let tell = move |event: notify::Result<Event>| {
            let concerns = event.as_ref().map_or(true, |event| !event.kind.is_access());
            if concerns {
                // The receiver may be gone; then nobody needs to be told.
                sender.send(()).unwrap_or_default();
            }
        };
        // A link to `/` must not put a watch on every folder of the machine.
        let watcher = RecommendedWatcher::new(tell, Config::default().with_follow_symlinks(false))?;
        let mut watch = Self { changes, watcher, watched: Vec::new() };
        for place in places.list() {
            watch.add(&place.folder)?;
        }
        Ok(watch)
    }

    fn add(&mut self, folder: &Path) -> Result<(), WatchError> {
        let existing = folder.ancestors().find(|folder| folder.is_dir());
        let Some(existing) = existing else { return Ok(()) };
        if self.watched.iter().any(|watched| watched == existing) {
            return Ok(());
        }
        let mode =
            if existing == folder { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
        self.watcher.watch(existing, mode)?;
        self.watched.push(existing.to_path_buf());
        Ok(())
    }

    /// Waits for a change, and for what follows it at once. False if `patience` ran out first.
    pub fn wait(&mut self, patience: Duration, places: &Places) -> bool {
        if matches!(self.changes.recv_timeout(patience), Err(RecvTimeoutError::Timeout)) {
            return false;
        }
        while self.changes.recv_timeout(QUIET).is_ok() {}
        // A folder that has come into being is watched itself from now on.
        for place in places.list() {
            if self.add(&place.folder).is_err() {
                break;
            }
        }
        true
    }
}
