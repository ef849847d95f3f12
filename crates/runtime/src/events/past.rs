//! The past of a run: its journal, read again from the beginning as events for readers.
//!
//! It is read in pieces of bounded length, and goes on where it stopped.

use std::sync::Arc;

use attache_kernel::{
    id::RunId,
    run::{
        assignment::Assignment,
        event::observed::RunEvent,
        transcript::{Header, Replay},
    },
};

use super::Journal;
use crate::store::Store;

/// A journal being read.
#[derive(Debug)]
pub(super) struct Past {
    store: Arc<dyn Store>,
    run: RunId,
    /// The run as far as its journal was read: events are understood by what came before them.
    replay: Replay,
}

impl Past {
    /// The journal of that run, from its beginning; none if the header makes no run.
    pub(super) fn new(journal: &Journal) -> Option<Self> {
        let Journal { store, began, run } = journal;
        let header = Header::new(began.clone(), Assignment::clone(run));
        let replay = Replay::new(header).ok()?;
        Some(Self { store: Arc::clone(store), run: run.agent_id.clone(), replay })
    }

    /// The next events from that number on, read at least as far as `last` in one call or several; none
    /// if the journal cannot be read.
    pub(super) async fn read(&mut self, from: u64, last: u64) -> Option<Vec<RunEvent>> {
        loop {
            let next = self.replay.last_seq().map_or(0, |seq| seq + 1);
            let entries = self.store.read_from(&self.run, next).await.ok()?;
            let is_end = entries.is_empty();
            let mut events = Vec::new();
            for entry in entries {
                let seq = entry.seq;
                let event = self.replay.observe(entry).ok()?;
                events.extend(event.filter(|_| seq >= from));
            }
            let read = self.replay.last_seq().unwrap_or_default();
            if is_end || read >= last || !events.is_empty() {
                return Some(events);
            }
        }
    }
}
