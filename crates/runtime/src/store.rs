//! The store: where runs are written down, read back, listed and owned.
//!
//! Invariants: a run has one writer at a time, across all processes and machines; an entry is whole or
//! it does not count; no secret is written. Who lost a run to somebody else gets
//! [`StoreError::OwnedElsewhere`] and must not go on with it.

mod error;
pub(crate) mod files;
mod mailbox;
mod secrets;
mod summary;

use std::{any::Any, fmt, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use attache_kernel::{
    id::{RunId, SessionId},
    run::{
        assignment::Assignment,
        transcript::{Entry, Header, Line},
    },
};

pub use self::{
    error::StoreError,
    files::{Durability, FileStore, Options},
    mailbox::{Held, Mail, MailKind, Mailbox, Posted},
    secrets::Secrets,
    summary::{Advance, RunState, Summary},
};

/// An access to a store that is under way.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Keeps the journals of runs.
///
/// ```
/// use attache_runtime::prelude::*;
/// # use attache_testkit::house_model::HouseModel;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("notes.txt"), "The answer is 42.")?;
/// # let runtime = Runtime::builder(folder.path())
/// #     .agents_json(r#"{"reader": {"description": "d", "prompt": "You read.", "tools": ["Read"]}}"#)
/// #     .model("house-model", HouseModel)
/// #     .build()?;
/// # let order = Order { model: Some("house-model".into()), ..Order::new("reader", "Read notes.txt") };
/// let handle = runtime.start(runtime.prepare(order).await?).await?;
/// handle.result().await?;
///
/// let transcript = runtime.store().read(handle.id().as_str()).await?;
/// assert_eq!(transcript.header.run.task, "Read notes.txt");
/// assert_eq!(runtime.store().list().await?.len(), 1);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub trait Store: fmt::Debug + Send + Sync {
    /// Begins the journal of a new run with its header. The caller owns the run until it drops the
    /// writer.
    fn create<'a>(&'a self, header: &'a Header) -> StoreFuture<'a, Box<dyn JournalWriter>>;

    /// Takes the ownership of a run that nobody writes, to go on where its journal ends. An unfinished
    /// last entry is cut off first. The id may be the beginning of one where that is clear.
    fn open<'a>(&'a self, id: &'a str) -> StoreFuture<'a, (Transcript, Box<dyn JournalWriter>)>;

    /// Reads a whole journal, also one that is being written. The id may be the beginning of one where
    /// that is clear.
    fn read<'a>(&'a self, id: &'a str) -> StoreFuture<'a, Transcript>;

    /// Reads the next entries of a run from that sequence number on: at least one if there is any, and
    /// not much more than a megabyte. Ask again from the last number plus one; an empty answer is the
    /// end of what has been written. What comes before is not read.
    fn read_from<'a>(&'a self, run: &'a RunId, first_seq: u64) -> StoreFuture<'a, Vec<Entry>>;

    /// Lists every run, newest first.
    fn list(&self) -> StoreFuture<'_, Vec<Summary>>;

    /// Claims the right to resume an earlier run, for as long as the claim is held. Fails with
    /// [`StoreError::BeingResumed`] while another claim is held, in any process.
    fn claim_resume<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a RunId,
    ) -> StoreFuture<'a, ResumeClaim>;

    /// Leaves a message for a run under way, in any process. The id may be the beginning of one where
    /// that is clear.
    fn post<'a>(&'a self, id: &'a str, kind: MailKind) -> StoreFuture<'a, Posted>;

    /// Waits until a run of any process has ended or is no longer driven; false if that takes
    /// longer.
    fn wait_for_end<'a>(&'a self, id: &'a str, at_most: Duration) -> StoreFuture<'a, bool>;

    /// The mailbox of a run that this process drives.
    fn mailbox(&self, run: &Assignment) -> Result<Arc<dyn Mailbox>, StoreError>;

    /// Hands what an earlier run was sent and did not read to the run that resumes it, and returns it. Only
    /// for the one that holds the claim.
    fn inherit_mail<'a>(
        &'a self,
        earlier: &'a Assignment,
        by: &'a Assignment,
    ) -> StoreFuture<'a, Vec<Mail>>;

    /// What the runs of a session have spent so far. Runs that cannot be read are left out.
    fn spent_in<'a>(&'a self, session: &'a SessionId) -> StoreFuture<'a, SessionSpending>;

    /// The directory for the artifacts of a run; it need not exist.
    fn artifacts_dir(&self, run: &Assignment) -> Result<PathBuf, StoreError>;

    /// What this store never writes.
    fn secrets(&self) -> &Secrets;

    /// Waits until everything written so far survives the machine: the last thing to do before the
    /// process ends.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// What the runs of a session have spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SessionSpending {
    /// Tokens.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub cost_usd: f64,
}

/// The one writer of a run's journal. Holding it is owning the run.
pub trait JournalWriter: fmt::Debug + Send {
    /// Writes entries in order, all of them or none; chunks, which are not recorded, are skipped. When
    /// this returns, the entries survive the end of this process. Where the store promises more, the
    /// end of a turn waits for it.
    ///
    /// After an error the journal is as it was before. After [`StoreError::OwnedElsewhere`] the run
    /// belongs to somebody else.
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> StoreFuture<'a, ()>;

    /// Where the journal can be found, for people.
    fn location(&self) -> String;
}

/// The right to resume a run. Dropping it lets others resume that run.
pub struct ResumeClaim {
    _guard: Box<dyn Any + Send>,
}

impl ResumeClaim {
    /// A claim that lasts as long as the guard.
    pub fn holding(guard: impl Any + Send) -> Self {
        Self { _guard: Box::new(guard) }
    }
}

impl fmt::Debug for ResumeClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ResumeClaim")
    }
}

/// A journal as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// Where it lies.
    pub path: PathBuf,
    /// Its first line.
    pub header: Header,
    /// Every other line.
    pub entries: Vec<Entry>,
    /// Whether it had an unfinished end, which was not read.
    pub torn: bool,
    /// What has become of the run.
    pub state: RunState,
}

impl Transcript {
    /// The number of the last entry.
    pub fn last_seq(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.seq)
    }

    /// Its lines, as the kernel folds and resumes them.
    pub fn into_lines(self) -> impl Iterator<Item = Line> {
        let header = Line::Header(Box::new(self.header));
        std::iter::once(header).chain(self.entries.into_iter().map(Line::Event))
    }
}
