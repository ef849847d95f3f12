//! The store of files as runs use it: what may wait for a lock or the disk waits on another thread.

use std::{
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use attache_kernel::{
    id::{RunId, SessionId},
    run::{
        assignment::Assignment,
        transcript::{Entry, Header},
    },
};

use super::FileStore;
use crate::store::{
    JournalWriter, Mail, MailKind, Mailbox, Posted, ResumeClaim, Secrets, SessionSpending, Store,
    StoreError, StoreFuture, Summary, Transcript,
};

/// How long a thread waits for the end of a run before it is asked whether anybody still wants to know.
const SLICE: Duration = Duration::from_secs(1);

impl FileStore {
    pub(super) fn off_thread<T: Send + 'static>(
        &self,
        access: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'static, T> {
        let store = self.clone();
        Box::pin(async move {
            let sessions = store.sessions().to_path_buf();
            let done = tokio::task::spawn_blocking(move || access(&store)).await;
            done.unwrap_or_else(|stopped| {
                Err(StoreError::read(&sessions, std::io::Error::other(stopped)))
            })
        })
    }
}

impl Store for FileStore {
    fn create<'a>(&'a self, header: &'a Header) -> StoreFuture<'a, Box<dyn JournalWriter>> {
        let created = self.shared.creations.create(self.clone(), header.clone());
        Box::pin(async { Ok(Box::new(created.await?) as Box<dyn JournalWriter>) })
    }

    fn open<'a>(&'a self, id: &'a str) -> StoreFuture<'a, (Transcript, Box<dyn JournalWriter>)> {
        let id = id.to_owned();
        self.off_thread(move |store| {
            let (transcript, writer) = store.open(&id)?;
            Ok((transcript, Box::new(writer) as Box<dyn JournalWriter>))
        })
    }

    fn read<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Transcript> {
        let id = id.to_owned();
        self.off_thread(move |store| store.read(&id))
    }

    fn read_from<'a>(&'a self, run: &'a RunId, first_seq: u64) -> StoreFuture<'a, Vec<Entry>> {
        let run = run.clone();
        self.off_thread(move |store| store.read_from(&run, first_seq))
    }

    fn list(&self) -> StoreFuture<'_, Vec<Summary>> {
        self.off_thread(Self::list)
    }

    fn claim_resume<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a RunId,
    ) -> StoreFuture<'a, ResumeClaim> {
        let (earlier, by) = (earlier.clone(), by.clone());
        self.off_thread(move |store| store.claim_resume(&earlier, &by))
    }

    fn post<'a>(&'a self, id: &'a str, kind: MailKind) -> StoreFuture<'a, Posted> {
        let id = id.to_owned();
        self.off_thread(move |store| store.post(&id, &kind))
    }

    fn wait_for_end<'a>(&'a self, id: &'a str, at_most: Duration) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let until = Instant::now().checked_add(at_most);
            let id = id.to_owned();
            let mut follower = self.off_thread(move |store| store.follow(&id)).await?;
            loop {
                let left = until
                    .map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
                let slice = Instant::now().checked_add(left.min(SLICE));
                let (waited, has_ended) = self
                    .off_thread(move |_| {
                        let has_ended = follower.wait_for_end(slice);
                        Ok((follower, has_ended))
                    })
                    .await?;
                if has_ended || left <= SLICE {
                    return Ok(has_ended);
                }
                follower = waited;
            }
        })
    }

    fn mailbox(&self, run: &Assignment) -> Result<Arc<dyn Mailbox>, StoreError> {
        Ok(Arc::new(self.mailbox_of(run)?))
    }

    fn inherit_mail<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a Assignment,
    ) -> StoreFuture<'a, Vec<Mail>> {
        let (earlier, by) = (earlier.clone(), by.clone());
        self.off_thread(move |store| store.inherit_mail(&earlier, &by))
    }

    fn spent_in<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, SessionSpending> {
        let session = session.clone();
        self.off_thread(move |store| {
            let mut spent = SessionSpending::default();
            for turn in store.spending_in(&session)?.flatten().flat_map(|run| run.turns) {
                spent.tokens = spent.tokens.saturating_add(turn.spent.usage.total_tokens());
                spent.cost_usd += turn.spent.cost_usd.unwrap_or_default();
            }
            Ok(spent)
        })
    }

    fn artifacts_dir(&self, run: &Assignment) -> Result<PathBuf, StoreError> {
        self.artifacts_of(run)
    }

    fn secrets(&self) -> &Secrets {
        &self.shared.options.secrets
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let queue = self.shared.queue.clone();
        Box::pin(async move { queue.emptied().await })
    }
}
