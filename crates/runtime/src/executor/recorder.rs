//! The recorder: numbers events, journals them, and only then shows them.
//!
//! Invariant: readers get events in the order of their numbers, so what was put off is written before a
//! piece is shown.

use std::{collections::BTreeMap, time::Duration};

use attache_kernel::{
    id::ToolCallId,
    run::{Run, event::Event, transcript::Entry},
};

use crate::{
    clock,
    events::EventLog,
    store::{JournalWriter, Secrets, StoreError},
};

#[derive(Debug)]
pub(super) struct Recorder {
    journal: Box<dyn JournalWriter>,
    events: EventLog,
    next_seq: u64,
    /// Entries that are written with the next ones; nobody has seen them.
    unwritten: Vec<Entry>,
    held: Option<Held>,
    /// The same for calls, whose output arrives in parallel.
    held_output: BTreeMap<ToolCallId, String>,
}

/// The end of a message that is still arriving, which may be the beginning of a key.
#[derive(Debug)]
struct Held {
    kind: Piece,
    text: String,
}

/// What a piece is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// Of the answer.
    Text,
    /// Of the reasoning.
    Thought,
}

impl Recorder {
    pub(super) fn new(journal: Box<dyn JournalWriter>, events: EventLog, next_seq: u64) -> Self {
        Self {
            journal,
            events,
            next_seq,
            unwritten: Vec::new(),
            held: None,
            held_output: BTreeMap::new(),
        }
    }

    /// What nobody is shown.
    pub(super) fn secrets(&self) -> &Secrets {
        self.events.secrets()
    }

    /// Writes the events down, all at once, then shows them.
    pub(super) async fn record(
        &mut self,
        run: &Run,
        events: Vec<Event>,
        now: Duration,
    ) -> Result<(), StoreError> {
        self.put_off(run, events, now);
        self.write(run).await
    }

    /// Writes the events down with those that come next, or with [`Recorder::write`], whichever is first.
    /// It has to come before anything is waited for.
    pub(super) fn put_off(&mut self, run: &Run, events: Vec<Event>, now: Duration) {
        if events.is_empty() {
            return;
        }
        self.let_go(run);
        let ts = timestamp();
        for event in events {
            let entry = Entry::new(self.number(), ts.clone(), now, event);
            self.unwritten.push(entry);
        }
    }

    /// Whether there is something to write.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Writes what was put off, then shows it.
    pub(super) async fn write(&mut self, run: &Run) -> Result<(), StoreError> {
        let Some(last) = self.unwritten.last() else { return Ok(()) };
        let last_seq = last.seq;
        self.journal.append(&self.unwritten).await?;
        let entries = std::mem::take(&mut self.unwritten);
        let seen = |entry: Entry| run.observed(entry.event, entry.seq, entry.ts);
        self.events.recorded(last_seq, || entries.into_iter().filter_map(seen).collect());
        Ok(())
    }

    /// Shows a piece of a message that is still arriving; it is not written down. What may be the
    /// beginning of a key waits for what comes after it.
    pub(super) fn show(&mut self, run: &Run, kind: Piece, piece: String) {
        if self.held.as_ref().is_some_and(|held| held.kind != kind) {
            self.let_go(run);
        }
        let text = match self.held.take() {
            Some(held) => held.text + &piece,
            None => piece,
        };
        let (text, rest) = self.without_unfinished(text);
        self.held = rest.map(|text| Held { kind, text });
        self.publish(run, kind, text);
    }

    /// Shows a piece of what a call puts out, in the same way.
    pub(super) fn show_output(&mut self, run: &Run, call_id: ToolCallId, piece: String) {
        let text = match self.held_output.remove(&call_id) {
            Some(held) => held + &piece,
            None => piece,
        };
        let (text, rest) = self.without_unfinished(text);
        if let Some(rest) = rest {
            self.held_output.insert(call_id.clone(), rest);
        }
        self.publish_event(run, text, |text| Event::ToolOutputChunk { call_id, text });
    }

    /// Shows what was held back of a call's output: nothing comes after it.
    pub(super) fn output_over(&mut self, run: &Run, call_id: &ToolCallId) {
        if let Some(text) = self.held_output.remove(call_id) {
            let call_id = call_id.clone();
            self.publish_event(run, text, |text| Event::ToolOutputChunk { call_id, text });
        }
    }

    /// The text up to what may be the beginning of a key, and that.
    fn without_unfinished(&self, mut text: String) -> (String, Option<String>) {
        let held_back = self.events.held_back(&text);
        let rest = (held_back > 0).then(|| text.split_off(text.len() - held_back));
        (text, rest)
    }

    /// Shows what was held back: nothing comes after it.
    fn let_go(&mut self, run: &Run) {
        if let Some(Held { kind, text }) = self.held.take() {
            self.publish(run, kind, text);
        }
    }

    fn publish(&mut self, run: &Run, kind: Piece, text: String) {
        self.publish_event(run, text, |text| match kind {
            Piece::Text => Event::TextChunk { text },
            Piece::Thought => Event::ThoughtChunk { text },
        });
    }

    fn publish_event(&mut self, run: &Run, text: String, event: impl FnOnce(String) -> Event) {
        if text.is_empty() {
            return;
        }
        let event = event(text);
        let seq = self.number();
        if let Some(event) = run.observed(event, seq, timestamp()) {
            self.events.show(event);
        }
    }

    fn number(&mut self) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }
}

/// Now, to the millisecond.
fn timestamp() -> String {
    format!("{:.3}", clock::now())
}
