//! The disk queue: brings the end of every turn onto the disk soon after it, off the thread of the run.
//!
//! One sync a file is under way at a time, and few in all: a slow disk is asked for the last state, not
//! for every one, and turns that follow each other within moments share a sync.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::writer::Syncer;

/// The maximum number of syncs at once; more only get into each other's way.
const AT_ONCE: usize = 2;
/// How long a sync waits for more to be written.
const GATHERING: Duration = Duration::from_millis(10);

/// Nothing is under way.
const IDLE: u8 = 0;
/// A sync is under way.
const SYNCING: u8 = 1;
/// A sync is under way, and more was written since it began.
const AGAIN: u8 = 2;

/// Whether a sync of one file is under way.
pub(super) type SyncState = Arc<AtomicU8>;

/// The syncs of one store. A copy is the same queue.
#[derive(Debug, Clone)]
pub(super) struct DiskQueue {
    places: Arc<Semaphore>,
    syncing: TaskTracker,
    hurry: CancellationToken,
}

impl Default for DiskQueue {
    fn default() -> Self {
        Self {
            places: Arc::new(Semaphore::new(AT_ONCE)),
            syncing: TaskTracker::new(),
            hurry: CancellationToken::new(),
        }
    }
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
        let next = |state| Some(if state == IDLE { SYNCING } else { AGAIN });
        let before = state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if before == Ok(IDLE) {
            let (queue, state) = (self.clone(), Arc::clone(state));
            self.syncing.spawn(sync_until_idle(syncer, queue, state));
        }
    }
}

async fn sync_until_idle(syncer: Syncer, queue: DiskQueue, state: SyncState) {
    loop {
        queue.hurry.run_until_cancelled(tokio::time::sleep(GATHERING)).await;
        let place = queue.places.acquire().await;
        // Writes from here on need another round.
        state.store(SYNCING, Ordering::Release);
        let syncer = syncer.clone();
        let synced = tokio::task::spawn_blocking(move || {
            // The entries survive this process in any case; a disk that cannot sync will say so when it
            // is written to.
            syncer.sync().unwrap_or_default();
        });
        let done = synced.await;
        drop(place);
        let idle = state.compare_exchange(SYNCING, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if idle.is_ok() || done.is_err() {
            return;
        }
    }
}
