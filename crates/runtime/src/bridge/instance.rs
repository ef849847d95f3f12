//! The instance's end: a complete program that drives one run for the process that owns it.

use std::{collections::BTreeSet, fmt, io, pin::Pin, sync::Arc};

use attache_kernel::{
    id::RunId,
    run::{
        event::observed::RunEvent,
        transcript::{Line, fold},
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{mpsc, watch},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    lines::{LineError, Lines},
    link::{Link, Output},
    protocol::{Assigned, Down, PROTOCOL, Up},
    store::{BridgedMailbox, BridgedStore, Unsent},
};
use crate::{
    approvals::{Approvals, Relay},
    events::TreeEvents,
    host::OrderError,
    runtime::Runtime,
    store::Store,
    tasks::{Purse, RunHandle, StartError},
};

/// How many appended batches may wait to be sent: a run has one writer, which waits for each.
const ROOM: usize = 4;

type Input = Lines<Pin<Box<dyn AsyncRead + Send>>>;

/// Why an instance cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// What it is told makes no sense.
    #[error("the process that started this instance {0}")]
    Told(#[from] LineError),
    /// It is told nothing.
    #[error("this is an instance of attache, which another one starts; it is not for use by hand")]
    NotTold,
    /// The other end speaks another version.
    #[error(
        "the process that started this instance speaks version {0} of the bridge, not {PROTOCOL}"
    )]
    Version(u32),
    /// Nobody listens.
    #[error("cannot write to the process that started this instance")]
    Say(#[from] io::Error),
    /// The run cannot be driven here.
    #[error("{0}")]
    Refused(String),
}

/// A bridge on which hello was said.
pub struct Greeted {
    input: Input,
    link: Arc<Link>,
}

impl fmt::Debug for Greeted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Greeted")
    }
}

/// A bridge over which a run has come.
#[derive(Debug)]
pub struct Bridge {
    link: Arc<Link>,
    assigned: Assigned,
    run: RunId,
    store: Arc<BridgedStore>,
    unsent: mpsc::Receiver<Unsent>,
    _listener: AbortOnDropHandle<()>,
}

impl Greeted {
    /// Says hello, and gives what the program needs to know to set itself up.
    pub async fn new(
        input: impl AsyncRead + Send + 'static,
        output: impl AsyncWrite + Send + 'static,
        version: &str,
    ) -> Result<(Self, Value), BridgeError> {
        let input: Pin<Box<dyn AsyncRead + Send>> = Box::pin(input);
        let mut input = Lines::new(input);
        let output: Output = Box::pin(output);
        let link = Link::new(output);
        let (version, pid) = (version.to_owned(), std::process::id());
        let Some(Down::Hello { protocol, setup }) = input.next().await? else {
            return Err(BridgeError::NotTold);
        };
        link.say(&Up::Hello { protocol: PROTOCOL, version, pid }).await?;
        if protocol != PROTOCOL {
            return Err(BridgeError::Version(protocol));
        }
        Ok((Self { input, link }, setup))
    }

    /// Says why the run cannot be driven here.
    pub async fn refuse(&self, message: impl Into<String>) -> Result<(), BridgeError> {
        Ok(self.link.say(&Up::Refused { message: message.into() }).await?)
    }

    /// Takes the run. What it and its agents leave behind lies in that store, except for its own journal.
    pub async fn take(self, store: Arc<dyn Store>) -> Result<Bridge, BridgeError> {
        let Self { mut input, link } = self;
        let Some(Down::Start(assigned)) = input.next().await? else {
            return Err(BridgeError::NotTold);
        };
        let header = assigned.transcript.first().and_then(|line| match line {
            Line::Header(header) => Some(header),
            Line::Event(_) => None,
        });
        let run = header.map(|header| header.run.agent_id.clone()).ok_or(BridgeError::NotTold)?;
        let (entries, unsent) = mpsc::channel(ROOM);
        let store = Arc::new(BridgedStore {
            inner: store,
            link: Arc::clone(&link),
            run: run.clone(),
            entries,
            mailbox: Arc::new(BridgedMailbox { link: Arc::clone(&link) }),
            left: watch::Sender::new(None),
        });
        let listening = Arc::clone(&link);
        let listener = tokio::spawn(async move {
            let ended = listening.listen(&mut input).await;
            tracing::debug!(%ended, "the bridge ended");
        });
        Ok(Bridge {
            link,
            assigned: *assigned,
            run,
            store,
            unsent,
            _listener: AbortOnDropHandle::new(listener),
        })
    }
}

impl Bridge {
    /// Where the runs of this instance are written down.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as Arc<dyn Store>
    }

    /// Says why the run cannot be driven here.
    pub async fn refuse(&self, message: impl Into<String>) -> Result<(), BridgeError> {
        Ok(self.link.say(&Up::Refused { message: message.into() }).await?)
    }

    /// Drives the run to its end.
    pub async fn drive(mut self, runtime: &Runtime) -> Result<(), BridgeError> {
        let (handle, mut events) = match self.start(runtime).await {
            Ok(started) => started,
            Err(told) => {
                self.refuse(&told).await?;
                return Err(BridgeError::Refused(told));
            }
        };
        let mut known = BTreeSet::from([self.run.clone()]);
        let mut left = self.store.left.subscribe();
        loop {
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Some(event) => self.show(&event, &mut known).await?,
                    None => break,
                },
                Some(Unsent { request, entries }) = self.unsent.recv() => {
                    // Pieces that were shown before come before.
                    while let Some(event) = events.try_next() {
                        self.show(&event, &mut known).await?;
                    }
                    // So does what was used before it is in the journal.
                    self.say_all(self.link.take_queue()).await?;
                    self.link.say(&Up::Entries { request, entries }).await?;
                }
                Ok(()) = left.changed() => {
                    let left = *left.borrow_and_update();
                    if let Some(left) = left {
                        handle.live().budget.leave(left);
                    }
                }
                queue = self.link.next_queued() => self.say_all(queue).await?,
                () = self.link.stop.cancelled(), if !handle.is_cancelled() => handle.cancel(),
            }
        }
        if let Ok(result) = handle.result().await {
            let below = handle.live().descendants();
            self.link.say(&Up::Result { status: result.status, below }).await?;
        }
        Ok(())
    }

    async fn start(&mut self, runtime: &Runtime) -> Result<(RunHandle, TreeEvents), String> {
        let lines = std::mem::take(&mut self.assigned.transcript);
        let last_seq = lines.last().and_then(|line| match line {
            Line::Event(entry) => Some(entry.seq),
            Line::Header(_) => None,
        });
        let next_seq = last_seq.unwrap_or_default() + 1;
        let run = fold(lines).map_err(|error| error.to_string())?;
        let approvals = Approvals::relayed(Arc::clone(&self.link) as Arc<dyn Relay>);
        let purse = Arc::clone(&self.link) as Arc<dyn Purse>;
        let owner = (approvals, purse);
        let started = runtime.take_over((run, next_seq), &self.assigned, owner).await;
        started.map_err(|error| error.to_string())
    }

    async fn say_all(&self, messages: Vec<Up>) -> Result<(), BridgeError> {
        for message in messages {
            self.link.say(&message).await?;
        }
        Ok(())
    }

    /// Shows a piece of a message, or what happened to a run below; the run's own events are sent when they
    /// are written.
    async fn show(&self, event: &RunEvent, known: &mut BTreeSet<RunId>) -> Result<(), BridgeError> {
        let agent_id = event.run.agent_id.clone();
        if agent_id == self.run && !event.event.is_piece() {
            return Ok(());
        }
        if known.insert(agent_id.clone()) {
            self.link.say(&Up::Run { run: Box::new(event.run.as_ref().clone()) }).await?;
        }
        let RunEvent { seq, ts, event, detail, .. } = event.clone();
        let shown = Up::Event { agent_id, seq, ts, event: Box::new(event), detail };
        Ok(self.link.say(&shown).await?)
    }
}

/// Why a run that was handed over was not begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TakeOverError {
    /// The front door refuses it.
    #[error("{}", with_hint(.0))]
    Order(#[from] OrderError),
    /// It could not be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

fn with_hint(error: &OrderError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}
