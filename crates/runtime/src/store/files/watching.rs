//! Watching: tells when something changes among the runs there are, from any process.
//!
//! Only the folder of sessions and the folders of runs under way are watched; what has ended does not change.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{FileStore, follow::Watch};

/// Changes that come this close together are told at once.
const TOGETHER: Duration = Duration::from_millis(100);

/// Tells when something changes among the runs of a store.
#[derive(Debug)]
pub struct StoreWatch {
    watch: Watch,
    watched: BTreeSet<PathBuf>,
}

impl FileStore {
    /// Watches from now on.
    pub fn watch(&self) -> StoreWatch {
        // The folder has to be there to be watched; a store that cannot be written is looked at seldom.
        std::fs::create_dir_all(self.sessions()).unwrap_or_default();
        StoreWatch { watch: Watch::new(self.sessions()), watched: BTreeSet::new() }
    }
}

impl StoreWatch {
    /// Waits for a change. The transcripts are those of runs under way: each of them is watched as well, and
    /// what happened before that is not missed, since the first wait for one ends at once.
    pub fn wait<'a>(&mut self, open: impl Iterator<Item = &'a Path>) {
        let folders: BTreeSet<PathBuf> =
            open.filter_map(Path::parent).map(Path::to_path_buf).collect();
        for gone in self.watched.difference(&folders) {
            self.watch.remove(gone);
        }
        let is_new = folders.difference(&self.watched).count() > 0;
        for new in folders.difference(&self.watched) {
            self.watch.add(new);
        }
        self.watched = folders;
        if is_new {
            return;
        }
        self.watch.wait(Duration::MAX);
        let until = Instant::now() + TOGETHER;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            self.watch.wait(left);
        }
    }
}
