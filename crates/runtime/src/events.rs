//! The events of one run for its readers: from any number on, first from the journal, then live.
//!
//! Invariants: an event is in the journal before any reader sees it; a reader sees events in order and
//! once; a reader that does not keep up holds at most 1,024 events and is then caught up
//! from the journal. Pieces of a message that is still arriving are not in the journal, so such a
//! reader misses them and gets the whole message.

mod masking;
mod past;
mod tree;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use attache_kernel::run::{assignment::Assignment, event::observed::RunEvent, transcript::Header};
use tokio::sync::Notify;

use self::past::Past;
pub use self::tree::TreeEvents;
pub(crate) use self::tree::TreeLog;
use crate::store::{Secrets, Store};

/// The number of events a reader can leave unread before it is caught up from the journal.
const MOST_WAITING: usize = 1024;

/// The writing end: one a run. A copy is the same log.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    secrets: Secrets,
    /// What the run's assignment is to readers: the same, without secrets.
    run: OnceLock<Arc<Assignment>>,
    journal: Option<Journal>,
    /// Who reads the events of the whole tree.
    tree: TreeLog,
}

/// Where the journal can be read, and what its header says.
#[derive(Debug)]
struct Journal {
    store: Arc<dyn Store>,
    began: String,
    run: Arc<Assignment>,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last event in the journal.
    recorded: u64,
    readers: Vec<Reader>,
    next_reader: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Reader {
    id: u64,
    waiting: VecDeque<Arc<RunEvent>>,
    /// Events up to this number are not among those that wait: they are in the journal.
    in_journal: u64,
    wake: Arc<Notify>,
}

/// The reading end: the events of a run, in order, until the last.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    reader: u64,
    wake: Arc<Notify>,
    /// The lowest number that was not handed out yet.
    next_seq: u64,
    ready: VecDeque<Arc<RunEvent>>,
    past: Option<Past>,
}

/// What a reader finds.
enum Waiting {
    Events(VecDeque<Arc<RunEvent>>),
    /// Events up to this number are in the journal and not here.
    InJournal(u64),
    Nothing,
    Closed,
}

impl EventLog {
    /// The log of a run with that header. Its readers see none of the store's secrets, and are caught
    /// up from the store.
    pub fn journalled(store: Arc<dyn Store>, header: Header) -> Self {
        Self::in_tree(store, header.ts, Arc::new(header.run), TreeLog::default())
    }

    /// The same for a run of that tree.
    pub(crate) fn in_tree(
        store: Arc<dyn Store>,
        began: String,
        run: Arc<Assignment>,
        tree: TreeLog,
    ) -> Self {
        let secrets = store.secrets().clone();
        let journal = Some(Journal { store, began, run });
        Self { shared: Arc::new(Shared { secrets, journal, tree, ..Shared::default() }) }
    }

    /// The events from that number on; those in the journal first.
    pub fn read(&self, from: u64) -> Events {
        let wake = Arc::new(Notify::new());
        let mut state = self.shared.lock();
        let reader = state.next_reader;
        state.next_reader += 1;
        let in_journal = state.recorded;
        let (waiting, wake_reader) = (VecDeque::new(), Arc::clone(&wake));
        state.readers.push(Reader { id: reader, waiting, in_journal, wake: wake_reader });
        drop(state);
        Events {
            shared: Arc::clone(&self.shared),
            reader,
            wake,
            next_seq: from,
            ready: VecDeque::new(),
            past: None,
        }
    }

    /// Whether anyone reads.
    pub(crate) fn is_read(&self) -> bool {
        !self.shared.lock().readers.is_empty() || self.shared.tree.is_read()
    }

    /// What its readers never see.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.shared.secrets
    }

    /// The length of the end of a text that may be the beginning of a key and must not be shown yet.
    pub(crate) fn held_back(&self, text: &str) -> usize {
        self.shared.secrets.unfinished(text)
    }

    /// Events up to that number are in the journal; `events` gives them to those who read.
    pub(crate) fn recorded(&self, last_seq: u64, events: impl FnOnce() -> Vec<RunEvent>) {
        if !self.is_read() {
            self.shared.lock().recorded = last_seq;
            return;
        }
        let events = self.shared.masked(events());
        let mut state = self.shared.lock();
        state.recorded = last_seq;
        state.hand_out(&events);
        drop(state);
        self.shared.tree.hand_out(&self.shared, &events);
    }

    /// Shows an event that is not in the journal.
    pub(crate) fn show(&self, event: RunEvent) {
        if self.is_read() {
            let events = self.shared.masked(vec![event]);
            self.shared.lock().hand_out(&events);
            self.shared.tree.hand_out(&self.shared, &events);
        }
    }

    /// Closes the log at the latest when this is dropped.
    pub(crate) fn closed_on_drop(&self) -> ClosedOnDrop {
        ClosedOnDrop { log: self.clone() }
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.readers.iter().for_each(|reader| reader.wake.notify_one());
    }
}

/// Closes a log when it is dropped.
#[derive(Debug)]
pub(crate) struct ClosedOnDrop {
    log: EventLog,
}

impl Drop for ClosedOnDrop {
    fn drop(&mut self) {
        self.log.close();
    }
}

impl State {
    fn hand_out(&mut self, events: &[Arc<RunEvent>]) {
        for reader in &mut self.readers {
            for event in events {
                reader.take(event, self.recorded);
            }
            reader.wake.notify_one();
        }
    }
}

impl Reader {
    fn take(&mut self, event: &Arc<RunEvent>, recorded: u64) {
        if self.waiting.len() >= MOST_WAITING {
            self.waiting = VecDeque::new();
            self.in_journal = recorded.min(event.seq);
            return;
        }
        self.waiting.push_back(Arc::clone(event));
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events without secrets.
    fn masked(&self, events: Vec<RunEvent>) -> Vec<Arc<RunEvent>> {
        let masked = events.into_iter().filter_map(|event| {
            let run = self.run.get_or_init(|| masking::assignment(&self.secrets, &event.run));
            masking::event(&self.secrets, RunEvent { run: Arc::clone(run), ..event })
        });
        masked.map(Arc::new).collect()
    }

    /// What waits for a reader that has seen everything before that number.
    fn waiting(&self, id: u64, next_seq: u64) -> Waiting {
        let mut state = self.lock();
        let is_closed = state.is_closed;
        let Some(reader) = state.readers.iter_mut().find(|reader| reader.id == id) else {
            return Waiting::Closed;
        };
        if next_seq <= reader.in_journal && self.journal.is_some() {
            return Waiting::InJournal(reader.in_journal);
        }
        match (reader.waiting.is_empty(), is_closed) {
            (false, _) => Waiting::Events(std::mem::take(&mut reader.waiting)),
            (true, true) => Waiting::Closed,
            (true, false) => Waiting::Nothing,
        }
    }
}

impl Events {
    /// The next event; none after the last. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<RunEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                if event.seq < self.next_seq {
                    continue;
                }
                self.next_seq = event.seq + 1;
                return Some(event);
            }
            match self.shared.waiting(self.reader, self.next_seq) {
                Waiting::Events(events) => {
                    self.past = None;
                    self.ready = events;
                }
                Waiting::InJournal(last) => self.catch_up(last).await?,
                Waiting::Nothing => self.wake.notified().await,
                Waiting::Closed => return None,
            }
        }
    }

    /// The number of events that wait to be read.
    pub fn waiting(&self) -> usize {
        let state = self.shared.lock();
        let reader = state.readers.iter().find(|reader| reader.id == self.reader);
        self.ready.len() + reader.map_or(0, |reader| reader.waiting.len())
    }

    /// The next event that waits already.
    pub fn try_next(&mut self) -> Option<Arc<RunEvent>> {
        if self.ready.is_empty()
            && let Waiting::Events(events) = self.shared.waiting(self.reader, self.next_seq)
        {
            self.ready = events;
        }
        let event = self.ready.pop_front()?;
        self.next_seq = event.seq + 1;
        Some(event)
    }

    /// Reads the next events of the journal, up to that number; none if the journal cannot be read.
    async fn catch_up(&mut self, last: u64) -> Option<()> {
        let mut past = match self.past.take() {
            Some(past) => past,
            None => Past::new(self.shared.journal.as_ref()?)?,
        };
        let events = past.read(self.next_seq, last).await?;
        if events.is_empty() {
            // What the journal does not hold cannot be shown; go on with what comes.
            self.next_seq = last + 1;
        }
        self.past = Some(past);
        self.ready = self.shared.masked(events).into();
        Some(())
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.lock().readers.retain(|reader| reader.id != self.reader);
    }
}
