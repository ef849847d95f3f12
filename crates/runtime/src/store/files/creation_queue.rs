//! The creation queue: the journals of new runs, begun one after another on one thread.
//!
//! All of them take the same locks. A thousand runs that start at once would be a thousand threads of
//! which each waits for the others.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::run::transcript::Header;
use tokio::sync::oneshot;

use super::{FileStore, FileWriter};
use crate::store::StoreError;

/// The journals that are still to be begun. A copy is the same queue.
#[derive(Debug, Clone, Default)]
pub(super) struct CreationQueue {
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Whether a thread works through the jobs.
    has_worker: bool,
}

#[derive(Debug)]
struct Job {
    header: Header,
    done: oneshot::Sender<Result<FileWriter, StoreError>>,
}

/// Works through the jobs. Those that are left when it is dropped are not done.
struct Worker {
    queue: CreationQueue,
    is_done: bool,
}

impl CreationQueue {
    /// Begins a journal when it is its turn.
    pub(super) async fn create(
        &self,
        store: FileStore,
        header: Header,
    ) -> Result<FileWriter, StoreError> {
        let sessions = store.sessions().to_path_buf();
        let (done, created) = oneshot::channel();
        self.put(Job { header, done }, store);
        let stopped = |stopped| Err(StoreError::write(&sessions, io::Error::other(stopped)));
        created.await.unwrap_or_else(stopped)
    }

    fn put(&self, job: Job, store: FileStore) {
        let mut waiting = self.lock();
        waiting.jobs.push_back(job);
        if !std::mem::replace(&mut waiting.has_worker, true) {
            let worker = Worker { queue: self.clone(), is_done: false };
            drop(tokio::task::spawn_blocking(move || worker.work(&store)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    fn work(mut self, store: &FileStore) {
        while let Some(Job { header, done }) = self.next() {
            // Nobody may want the run any more; its journal ends with its writer.
            drop(done.send(store.create(&header)));
        }
    }

    fn next(&mut self) -> Option<Job> {
        let mut waiting = self.queue.lock();
        let job = waiting.jobs.pop_front();
        self.is_done = job.is_none();
        waiting.has_worker = !self.is_done;
        job
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.is_done {
            *self.queue.lock() = Waiting::default();
        }
    }
}
