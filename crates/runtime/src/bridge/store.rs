//! The store of an instance: the journal and the mailbox of its run are those of the process that owns the run;
//! everything else lies where it always does.

use std::{io, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use attache_kernel::{
    id::{LetterId, RunId, SessionId},
    run::{
        assignment::Assignment,
        limits::TreeAllowance,
        transcript::{Entry, Header},
    },
};
use tokio::sync::mpsc;

use super::{
    link::{Link, gone, into_mail},
    protocol::{Down, Up},
};
use crate::store::{
    Held, JournalWriter, Mail, MailKind, Mailbox, Posted, ResumeClaim, Secrets, SessionSpending,
    Store, StoreError, StoreFuture, Summary, Transcript,
};

/// The store of an instance.
#[derive(Debug)]
pub(super) struct BridgedStore {
    pub(super) inner: Arc<dyn Store>,
    pub(super) link: Arc<Link>,
    pub(super) run: RunId,
    /// Where entries wait to be sent.
    pub(super) entries: mpsc::Sender<Unsent>,
    pub(super) mailbox: Arc<BridgedMailbox>,
    /// Told what is left for the tree.
    pub(super) left: tokio::sync::watch::Sender<Option<TreeAllowance>>,
}

/// Entries that are to be sent.
#[derive(Debug)]
pub(super) struct Unsent {
    pub(super) request: u64,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug)]
struct BridgedJournal {
    link: Arc<Link>,
    run: RunId,
    entries: mpsc::Sender<Unsent>,
    left: tokio::sync::watch::Sender<Option<TreeAllowance>>,
}

impl JournalWriter for BridgedJournal {
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let lost =
                |source| StoreError::Write { path: PathBuf::from(self.run.as_str()), source };
            let entries = entries.iter().filter(|entry| !entry.event.is_piece()).cloned().collect();
            let (request, answer) = self.link.request();
            let unsent = Unsent { request, entries };
            self.entries.send(unsent).await.map_err(|_| lost(gone()))?;
            match answer.await {
                Ok(Down::Written { left, .. }) => {
                    self.left.send_replace(Some(left));
                    Ok(())
                }
                Ok(_) => Err(lost(io::Error::other("the answer is to another question"))),
                Err(_) => Err(lost(gone())),
            }
        })
    }

    fn location(&self) -> String {
        self.run.to_string()
    }
}

/// The mailbox of the run, which the owner of the run empties.
#[derive(Debug)]
pub(super) struct BridgedMailbox {
    pub(super) link: Arc<Link>,
}

impl Mailbox for BridgedMailbox {
    fn next(&self) -> Pin<Box<dyn Future<Output = Vec<Mail>> + Send + '_>> {
        Box::pin(self.link.next_mail())
    }

    fn remove<'a>(&'a self, _: &'a [LetterId]) -> StoreFuture<'a, ()> {
        // The owner finds their ids in the journal.
        Box::pin(std::future::ready(Ok(())))
    }

    fn hold(&self) -> StoreFuture<'_, Held> {
        Box::pin(async move {
            let lost = |source| StoreError::Write { path: PathBuf::from("mailbox"), source };
            let (request, answer) = self.link.request();
            self.link.say(&Up::LastLook { request }).await.map_err(lost)?;
            let Ok(Down::LastLook { letters, .. }) = answer.await else {
                return Err(lost(gone()));
            };
            // What came before the answer may not have reached the inbox of the run.
            let mut mail = self.link.take_mail();
            mail.extend(letters.into_iter().filter_map(into_mail));
            Ok(Held::new(mail, ()))
        })
    }
}

impl Store for BridgedStore {
    fn create<'a>(&'a self, header: &'a Header) -> StoreFuture<'a, Box<dyn JournalWriter>> {
        if header.run.agent_id != self.run {
            return self.inner.create(header);
        }
        let journal = BridgedJournal {
            link: Arc::clone(&self.link),
            run: self.run.clone(),
            entries: self.entries.clone(),
            left: self.left.clone(),
        };
        let journal: Box<dyn JournalWriter> = Box::new(journal);
        Box::pin(std::future::ready(Ok(journal)))
    }

    fn mailbox(&self, run: &Assignment) -> Result<Arc<dyn Mailbox>, StoreError> {
        if run.agent_id == self.run {
            return Ok(Arc::clone(&self.mailbox) as Arc<dyn Mailbox>);
        }
        self.inner.mailbox(run)
    }

    fn open<'a>(&'a self, id: &'a str) -> StoreFuture<'a, (Transcript, Box<dyn JournalWriter>)> {
        self.inner.open(id)
    }

    fn read<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Transcript> {
        self.inner.read(id)
    }

    fn read_from<'a>(&'a self, run: &'a RunId, first_seq: u64) -> StoreFuture<'a, Vec<Entry>> {
        self.inner.read_from(run, first_seq)
    }

    fn list(&self) -> StoreFuture<'_, Vec<Summary>> {
        self.inner.list()
    }

    fn claim_resume<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a RunId,
    ) -> StoreFuture<'a, ResumeClaim> {
        self.inner.claim_resume(earlier, by)
    }

    fn post<'a>(&'a self, id: &'a str, kind: MailKind) -> StoreFuture<'a, Posted> {
        self.inner.post(id, kind)
    }

    fn wait_for_end<'a>(&'a self, id: &'a str, at_most: Duration) -> StoreFuture<'a, bool> {
        self.inner.wait_for_end(id, at_most)
    }

    fn inherit_mail<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a Assignment,
    ) -> StoreFuture<'a, Vec<Mail>> {
        self.inner.inherit_mail(earlier, by)
    }

    fn spent_in<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, SessionSpending> {
        self.inner.spent_in(session)
    }

    fn artifacts_dir(&self, run: &Assignment) -> Result<PathBuf, StoreError> {
        self.inner.artifacts_dir(run)
    }

    fn secrets(&self) -> &Secrets {
        self.inner.secrets()
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.inner.settled()
    }
}
