//! A journal on this machine: a transcript file, synced beside the run.
//!
//! Every turn's end is brought onto the disk soon after it, the last one included. One sync a file is
//! under way at a time, and few in all: a slow disk is asked for the last state, not for every one, and
//! turns that follow each other within moments share theirs.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};

use attache_kernel::run::transcript::Entry;
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Appending, Journal, JournalError};
use crate::transcripts::{self, Syncer};

/// So many syncs are under way at once; more only get into each other's way.
const AT_ONCE: usize = 2;
/// So long a sync waits for more to be written.
const GATHERING: Duration = Duration::from_millis(10);

/// Nothing is under way.
const IDLE: u8 = 0;
/// A sync is under way.
const SYNCING: u8 = 1;
/// One is, and more was written since it began.
const AGAIN: u8 = 2;

/// The journals of one process wait here for their disk. A copy is the same queue.
#[derive(Debug, Clone)]
pub struct DiskQueue {
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
    pub async fn emptied(&self) {
        self.hurry.cancel();
        self.syncing.close();
        self.syncing.wait().await;
    }
}

/// Writes a transcript, and brings it onto the disk at the end of each turn without waiting for it.
#[derive(Debug)]
pub struct LocalJournal {
    transcript: transcripts::Journal,
    queue: DiskQueue,
    state: Arc<AtomicU8>,
}

impl LocalJournal {
    /// A journal into that transcript.
    pub fn new(transcript: transcripts::Journal, queue: DiskQueue) -> Self {
        Self { transcript, queue, state: Arc::new(AtomicU8::new(IDLE)) }
    }
}

impl Journal for LocalJournal {
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> Appending<'a> {
        // Lines into the page cache are no wait; what waits for the disk is below.
        let written = self.transcript.append_all(entries);
        Box::pin(std::future::ready(written.map_err(|error| JournalError(Box::new(error)))))
    }

    fn turn_ended(&mut self) -> Appending<'_> {
        let next = |state| Some(if state == IDLE { SYNCING } else { AGAIN });
        let before = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if before == Ok(IDLE) {
            let syncer = self.transcript.syncer();
            let (queue, state) = (self.queue.clone(), Arc::clone(&self.state));
            self.queue.syncing.spawn(sync_until_idle(syncer, queue, state));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}

async fn sync_until_idle(syncer: Syncer, queue: DiskQueue, state: Arc<AtomicU8>) {
    loop {
        queue.hurry.run_until_cancelled(tokio::time::sleep(GATHERING)).await;
        let place = queue.places.acquire().await;
        // Whatever is written from here on wants another round.
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
