//! A run as its owner keeps it while an instance drives it: its journal, its readers, its budget.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
    time::Duration,
};

use attache_kernel::{
    id::RunId,
    run::{
        Run,
        assignment::Assignment,
        event::{
            Event,
            observed::{Detail, RunEvent},
        },
        letter::Letter,
        limits::TreeAllowance,
        outcome::Descendants,
        transcript::{Entry, Header, Line},
    },
};
use tokio::time::Instant;

use crate::{
    clock,
    events::EventLog,
    store::{JournalWriter, Store, StoreError},
    tasks::{LiveRun, TreeBudget, TreeShare},
};

/// What went wrong.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The run cannot be written down.
    Store(StoreError),
    /// The instance ended, or does not do what it should: the end of a sentence about it.
    Instance(String),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Keeps a run that an instance drives.
pub(super) struct Keeper {
    pub(super) run: Run,
    journal: Box<dyn JournalWriter>,
    events: EventLog,
    live: Arc<LiveRun>,
    store: Option<Arc<dyn Store>>,
    budget: Arc<TreeBudget>,
    /// What the run and those below it hold of the budget.
    shares: BTreeMap<RunId, Arc<TreeShare>>,
    next_seq: u64,
    /// What is in the journal before the instance begins.
    so_far: Vec<Entry>,
    /// Runs that the instance started, and who reads their events.
    below: BTreeMap<RunId, (Arc<Assignment>, EventLog)>,
    began: Instant,
    offset: Duration,
}

impl Keeper {
    pub(super) fn new(
        run: Run,
        journal: Box<dyn JournalWriter>,
        events: EventLog,
        live: Arc<LiveRun>,
    ) -> Self {
        Self {
            offset: run.last_moment(),
            run,
            journal,
            events,
            live,
            store: None,
            budget: Arc::default(),
            shares: BTreeMap::new(),
            next_seq: 1,
            so_far: Vec::new(),
            below: BTreeMap::new(),
            began: Instant::now(),
        }
    }

    /// The same for a run whose tree uses that budget and is written there.
    pub(super) fn in_tree(self, store: Arc<dyn Store>, budget: Arc<TreeBudget>) -> Self {
        Self { store: Some(store), budget, ..self }
    }

    /// The run's clock.
    fn now(&self) -> Duration {
        (self.offset + self.began.elapsed()).max(self.run.last_moment())
    }

    /// When the run's time is up, if its clock runs.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let deadline = self.run.deadline()?;
        Some(self.began + deadline.saturating_sub(self.offset))
    }

    /// What is left for the tree.
    pub(super) fn left(&self) -> TreeAllowance {
        let left = self.budget.left();
        TreeAllowance { tokens: left.max_tokens, cost_usd: left.max_cost_usd }
    }

    /// What that run of the instance holds of the budget.
    pub(super) fn share(&mut self, run: &RunId) -> Arc<TreeShare> {
        let share = || Arc::new(Arc::clone(&self.budget).share(run.clone()));
        Arc::clone(self.shares.entry(run.clone()).or_insert_with(share))
    }

    /// That run of the instance has ended.
    pub(super) fn close_share(&mut self, run: &RunId) {
        self.shares.remove(run);
    }

    /// The journal so far.
    pub(super) fn transcript(&mut self) -> Vec<Line> {
        let header = Header::new(timestamp(), self.run.assignment().clone());
        let events = std::mem::take(&mut self.so_far).into_iter().map(Line::Event);
        std::iter::once(Line::Header(Box::new(header))).chain(events).collect()
    }

    /// Tells the run that something happened, and writes down what follows from it.
    pub(super) async fn feed(
        &mut self,
        happen: impl FnOnce(&mut Run, Duration) -> Vec<Event>,
    ) -> Result<(), StoreError> {
        let now = self.now();
        let events = happen(&mut self.run, now);
        self.happened(events).await
    }

    /// Writes down events that the run has taken in.
    pub(super) async fn happened(&mut self, events: Vec<Event>) -> Result<(), StoreError> {
        let (now, ts, first) = (self.now(), timestamp(), self.next_seq);
        let entries: Vec<Entry> = (first..)
            .zip(events)
            .map(|(seq, event)| Entry::new(seq, ts.clone(), now, event))
            .collect();
        self.so_far.extend(entries.iter().cloned());
        self.write(entries).await
    }

    async fn write(&mut self, entries: Vec<Entry>) -> Result<(), StoreError> {
        let Some(last_seq) = entries.last().map(|entry| entry.seq) else { return Ok(()) };
        self.journal.append(&entries).await?;
        self.next_seq = last_seq + 1;
        let run = &self.run;
        let seen = |entry: Entry| run.observed(entry.event, entry.seq, entry.ts);
        self.events.recorded(last_seq, || entries.into_iter().filter_map(seen).collect());
        Ok(())
    }

    /// Takes in what an instance says of the run, and gives the letters that the agent has read.
    pub(super) async fn take_in(&mut self, entries: Vec<Entry>) -> Result<Vec<Letter>, Trouble> {
        let mut read = Vec::new();
        for entry in &entries {
            if entry.seq < self.next_seq {
                let told = format!("sent event {} after event {}", entry.seq, self.next_seq - 1);
                return Err(Trouble::Instance(told));
            }
            self.next_seq = entry.seq + 1;
            self.run.replay(&entry.event, entry.at_ms).map_err(|problem| {
                Trouble::Instance(format!(
                    "sent event {}, which does not fit: {problem}",
                    entry.seq
                ))
            })?;
            if let Event::Announced { letter: Some(id), .. } = &entry.event {
                read.push(Letter { id: Some(id.clone()), ..Letter::new("") });
            }
        }
        self.write(entries).await?;
        Ok(read)
    }

    /// The instance started a run.
    pub(super) fn began_below(&mut self, run: Assignment) {
        let Some(store) = self.store.clone() else { return };
        let header = Header::new(timestamp(), run.clone());
        let log = EventLog::in_tree(store, header.ts, Arc::new(header.run), self.live.tree.clone());
        self.below.insert(run.agent_id.clone(), (Arc::new(run), log));
    }

    /// Shows an event that is in a journal already, or a piece of a message.
    pub(super) fn seen(
        &mut self,
        agent_id: &RunId,
        seq: u64,
        ts: String,
        event: Event,
        detail: Detail,
    ) {
        if agent_id == &self.live.run.agent_id {
            if event.is_piece() {
                self.next_seq = self.next_seq.max(seq + 1);
                let run = Arc::clone(&self.live.run);
                self.events.show(RunEvent { run, seq, ts, event, detail });
            }
            return;
        }
        let Some((run, log)) = self.below.get(agent_id) else { return };
        let run = Arc::clone(run);
        if event.is_piece() {
            log.show(RunEvent { run, seq, ts, event, detail });
            return;
        }
        log.recorded(seq, || vec![RunEvent { run, seq, ts, event, detail }]);
    }

    /// What the runs below have used.
    pub(super) fn ended_below(&self, below: Descendants) {
        *self.live.below.lock().unwrap_or_else(PoisonError::into_inner) = below;
    }
}

/// Now, to the millisecond.
fn timestamp() -> String {
    format!("{:.3}", clock::now())
}
