//! The post office: wakes the mailboxes of this process when the system tells of new letters.
//!
//! There is one watch for all of them. Where the system has none to give, mailboxes look by themselves.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use super::mail;

type Boxes = Arc<Mutex<HashMap<String, Arc<Notify>>>>;

/// Wakes the mailboxes of one store.
#[derive(Debug, Clone, Default)]
pub(super) struct PostOffice {
    watched: Arc<Mutex<Watched>>,
    /// By run.
    boxes: Boxes,
}

#[derive(Debug, Default)]
struct Watched {
    watcher: Option<RecommendedWatcher>,
    /// How many mailboxes are in each folder.
    folders: BTreeMap<PathBuf, usize>,
}

/// A mailbox that is woken until this is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    office: PostOffice,
    folder: PathBuf,
    run: String,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PostOffice {
    /// Wakes the mailbox of a run from now on; none if the system tells of no changes.
    pub(super) fn register(
        &self,
        folder: PathBuf,
        run: &str,
        wake: &Arc<Notify>,
    ) -> Option<Registration> {
        lock(&self.boxes).insert(run.to_owned(), Arc::clone(wake));
        let mut watched = lock(&self.watched);
        if watched.watch(&folder, &self.boxes).is_err() {
            lock(&self.boxes).remove(run);
            return None;
        }
        *watched.folders.entry(folder.clone()).or_default() += 1;
        drop(watched);
        Some(Registration { office: self.clone(), folder, run: run.to_owned() })
    }

    /// Whether a folder is watched for some mailbox already.
    pub(super) fn is_watched(&self, folder: &Path) -> bool {
        lock(&self.watched).folders.contains_key(folder)
    }
}

impl Watched {
    fn watch(&mut self, folder: &Path, boxes: &Boxes) -> notify::Result<()> {
        if self.folders.contains_key(folder) {
            return Ok(());
        }
        if self.watcher.is_none() {
            let boxes = Arc::clone(boxes);
            self.watcher = Some(notify::recommended_watcher(move |event| wake(&boxes, event))?);
        }
        match &mut self.watcher {
            Some(watcher) => watcher.watch(folder, RecursiveMode::NonRecursive),
            None => Ok(()),
        }
    }
}

fn wake(boxes: &Boxes, event: notify::Result<Event>) {
    let paths = match event {
        Ok(event) if matches!(event.kind, EventKind::Access(_) | EventKind::Remove(_)) => return,
        Ok(event) => event.paths,
        Err(_) => Vec::new(),
    };
    let boxes = lock(boxes);
    if paths.is_empty() {
        // Something was missed.
        boxes.values().for_each(|wake| wake.notify_one());
    }
    for run in paths.iter().filter_map(|path| mail::addressee(path)) {
        if let Some(wake) = boxes.get(&run) {
            wake.notify_one();
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.office.boxes).remove(&self.run);
        let mut watched = lock(&self.office.watched);
        let Watched { watcher, folders } = &mut *watched;
        if let Some(count) = folders.get_mut(&self.folder) {
            *count -= 1;
            if *count == 0 {
                folders.remove(&self.folder);
                if let Some(watcher) = watcher {
                    watcher.unwatch(&self.folder).unwrap_or_default();
                }
            }
        }
    }
}
