//! The events of a run and of everything below it, in the order in which they happened.
//!
//! Invariants: a reader sees the events of each run in order and once, and a subagent's end before what
//! its parent makes of it. A reader that does not keep up holds at most 4,096 events and is then caught up
//! from the journals, run by run; it misses the pieces of messages, not the messages.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use attache_kernel::{id::RunId, run::event::observed::RunEvent};
use tokio::sync::Notify;

use super::{Shared as RunLog, past::Past};

/// The number of events a reader can leave unread before it is caught up from the journals.
const MOST_WAITING: usize = 4096;

/// What the runs of a tree share: who reads all of them. A copy is the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeLog {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    readers: Vec<Reader>,
    next_reader: u64,
    is_closed: bool,
}

#[derive(Debug)]
struct Reader {
    id: u64,
    waiting: VecDeque<(Arc<RunLog>, Arc<RunEvent>)>,
    /// The events that are not among those that wait, by run: they are in its journal.
    in_journals: BTreeMap<RunId, Gap>,
    wake: Arc<Notify>,
}

/// Events of one run that have to be read from its journal.
#[derive(Debug)]
struct Gap {
    log: Arc<RunLog>,
    first: u64,
    last: u64,
}

/// The events of a tree, in order, until the last of its first run.
#[derive(Debug)]
pub struct TreeEvents {
    shared: Arc<Shared>,
    reader: u64,
    wake: Arc<Notify>,
    ready: VecDeque<Arc<RunEvent>>,
    /// What is being read from journals.
    catching_up: Option<(Gap, Past)>,
    gaps: Vec<Gap>,
}

impl TreeLog {
    /// The events from now on.
    pub(crate) fn read(&self) -> TreeEvents {
        let wake = Arc::new(Notify::new());
        let mut state = self.shared.lock();
        let reader = state.next_reader;
        state.next_reader += 1;
        state.readers.push(Reader {
            id: reader,
            waiting: VecDeque::new(),
            in_journals: BTreeMap::new(),
            wake: Arc::clone(&wake),
        });
        drop(state);
        TreeEvents {
            shared: Arc::clone(&self.shared),
            reader,
            wake,
            ready: VecDeque::new(),
            catching_up: None,
            gaps: Vec::new(),
        }
    }

    pub(super) fn is_read(&self) -> bool {
        !self.shared.lock().readers.is_empty()
    }

    pub(super) fn hand_out(&self, log: &Arc<RunLog>, events: &[Arc<RunEvent>]) {
        let mut state = self.shared.lock();
        for reader in &mut state.readers {
            for event in events {
                reader.take(log, event);
            }
            reader.wake.notify_one();
        }
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.readers.iter().for_each(|reader| reader.wake.notify_one());
    }

    /// Closes the log at the latest when this is dropped.
    pub(crate) fn closed_on_drop(&self) -> ClosedOnDrop {
        ClosedOnDrop { shared: Arc::downgrade(&self.shared) }
    }
}

/// Closes the log of a tree when it is dropped.
#[derive(Debug)]
pub(crate) struct ClosedOnDrop {
    shared: Weak<Shared>,
}

impl Drop for ClosedOnDrop {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            TreeLog { shared }.close();
        }
    }
}

impl Reader {
    fn take(&mut self, log: &Arc<RunLog>, event: &Arc<RunEvent>) {
        if self.in_journals.is_empty() && self.waiting.len() < MOST_WAITING {
            self.waiting.push_back((Arc::clone(log), Arc::clone(event)));
            return;
        }
        for (log, left) in std::mem::take(&mut self.waiting) {
            self.leave_to_journal(&log, &left);
        }
        self.leave_to_journal(log, event);
    }

    fn leave_to_journal(&mut self, log: &Arc<RunLog>, event: &RunEvent) {
        if event.event.is_piece() {
            return;
        }
        let gap = self.in_journals.entry(event.run.agent_id.clone());
        let gap =
            gap.or_insert_with(|| Gap { log: Arc::clone(log), first: event.seq, last: event.seq });
        gap.last = event.seq;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a reader finds.
enum Found {
    Something,
    Nothing,
    Closed,
}

impl TreeEvents {
    /// The next event; none after the last. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<RunEvent>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.catching_up.is_some() || !self.gaps.is_empty() {
                self.catch_up().await;
                continue;
            }
            match self.find() {
                Found::Something => {}
                Found::Nothing => self.wake.notified().await,
                Found::Closed => return None,
            }
        }
    }

    /// The next event that waits already.
    pub fn try_next(&mut self) -> Option<Arc<RunEvent>> {
        if self.ready.is_empty() && self.gaps.is_empty() && self.catching_up.is_none() {
            self.find();
        }
        self.ready.pop_front()
    }

    fn find(&mut self) -> Found {
        let mut state = self.shared.lock();
        let is_closed = state.is_closed;
        let Some(reader) = state.readers.iter_mut().find(|reader| reader.id == self.reader) else {
            return Found::Closed;
        };
        let waiting = std::mem::take(&mut reader.waiting);
        let gaps = std::mem::take(&mut reader.in_journals);
        drop(state);
        if waiting.is_empty() && gaps.is_empty() {
            return if is_closed { Found::Closed } else { Found::Nothing };
        }
        self.ready.extend(waiting.into_iter().map(|(_, event)| event));
        self.gaps = gaps.into_values().rev().collect();
        Found::Something
    }

    /// Reads some of what was left to the journals. A journal that cannot be read is passed over.
    async fn catch_up(&mut self) {
        let (mut gap, mut past) = if let Some(under_way) = self.catching_up.take() {
            under_way
        } else {
            let Some(gap) = self.gaps.pop() else { return };
            let Some(past) = gap.log.journal.as_ref().and_then(Past::new) else { return };
            (gap, past)
        };
        let Some(events) = past.read(gap.first, gap.last).await else { return };
        let Some(last) = events.last() else { return };
        let (first, read) = (gap.first, last.seq);
        let events = gap.log.masked(events).into_iter();
        self.ready.extend(events.filter(|event| (first..=gap.last).contains(&event.seq)));
        if read < gap.last {
            gap.first = read + 1;
            self.catching_up = Some((gap, past));
        }
    }
}

impl Drop for TreeEvents {
    fn drop(&mut self) {
        self.shared.lock().readers.retain(|reader| reader.id != self.reader);
    }
}
