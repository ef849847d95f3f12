//! The disk queue: brings the end of every turn onto the disk soon after it, off the threads of the runs.
//!
//! Everything that waits is synced in one round, and the next round begins no sooner than the last one
//! took: a slow disk is asked for the last state of a file, not for every one, turns that follow each
//! other within moments share a sync, and new files share the sync of their directory.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::writer::Syncer;

/// The maximum number of syncs at once; more only get into each other's way.
const AT_ONCE: usize = 2;
/// How long a round waits at least for more to be written.
const GATHERING: Duration = Duration::from_millis(50);

/// Whether a file waits for a round.
pub(super) type SyncState = Arc<AtomicBool>;

/// The syncs of one store. A copy is the same queue.
#[derive(Debug, Clone, Default)]
pub(super) struct DiskQueue {
    waiting: Arc<Mutex<Waiting>>,
    syncing: TaskTracker,
    hurry: CancellationToken,
}

#[derive(Debug, Default)]
struct Waiting {
    files: Vec<(Syncer, SyncState)>,
    /// Whether somebody works through the files.
    has_worker: bool,
}

/// Works through the files until none waits. Dropped before that, it makes room for another.
struct Worker {
    queue: DiskQueue,
    is_done: bool,
}

impl DiskQueue {
    /// Waits until everything that was written is on the disk. From here on nothing is gathered.
    pub(super) async fn emptied(&self) {
        self.hurry.cancel();
        self.syncing.close();
        self.syncing.wait().await;
    }

    /// Syncs a file soon, and does not wait for it.
    pub(super) fn sync_soon(&self, syncer: Syncer, state: &SyncState) {
        if state.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut waiting = self.lock();
        waiting.files.push((syncer, Arc::clone(state)));
        if !std::mem::replace(&mut waiting.has_worker, true) {
            let worker = Worker { queue: self.clone(), is_done: false };
            self.syncing.spawn(worker.work());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits now; without anything the worker is told that it is done.
    fn next_round(&self) -> Option<Vec<Syncer>> {
        let mut waiting = self.lock();
        waiting.has_worker = !waiting.files.is_empty();
        let files = std::mem::take(&mut waiting.files);
        let taken = files.into_iter().map(|(syncer, state)| {
            // Writes from here on need another round.
            state.store(false, Ordering::Release);
            syncer
        });
        waiting.has_worker.then(|| taken.collect())
    }
}

impl Worker {
    async fn work(mut self) {
        let mut pause = GATHERING;
        loop {
            self.queue.hurry.run_until_cancelled(tokio::time::sleep(pause)).await;
            let Some(mut files) = self.queue.next_round() else {
                self.is_done = true;
                return;
            };
            let began = Instant::now();
            let rest = files.split_off(files.len().div_ceil(AT_ONCE));
            // The entries survive this process in any case; a disk that cannot sync will say so when it
            // is written to.
            let parts = [files, rest].into_iter().filter(|part| !part.is_empty());
            let parts: Vec<_> = parts
                .map(|part| tokio::task::spawn_blocking(move || Syncer::sync_all(&part)))
                .collect();
            for part in parts {
                drop(part.await);
            }
            pause = began.elapsed().max(GATHERING);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.is_done {
            self.queue.lock().has_worker = false;
        }
    }
}
