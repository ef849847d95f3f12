//! The recorder: numbers events, journals them, and only then shows them.

use std::time::Duration;

use attache_kernel::run::{Run, event::Event, transcript::Entry};

use crate::{
    clock,
    events::EventLog,
    store::{JournalWriter, StoreError},
};

#[derive(Debug)]
pub(super) struct Recorder {
    journal: Box<dyn JournalWriter>,
    events: EventLog,
    next_seq: u64,
    held: Option<Held>,
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
        Self { journal, events, next_seq, held: None }
    }

    /// Writes the events down, all at once, then shows them.
    pub(super) async fn record(
        &mut self,
        run: &Run,
        events: Vec<Event>,
        now: Duration,
    ) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        self.let_go(run);
        let ts = timestamp();
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|event| Entry::new(self.number(), ts.clone(), now, event))
            .collect();
        self.journal.append(&entries).await?;
        let last_seq = entries.last().map_or(0, |entry| entry.seq);
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
        let mut text = match self.held.take() {
            Some(held) => held.text + &piece,
            None => piece,
        };
        let held_back = self.events.held_back(&text);
        if held_back > 0 {
            let rest = text.split_off(text.len() - held_back);
            self.held = Some(Held { kind, text: rest });
        }
        self.publish(run, kind, text);
    }

    /// Shows what was held back: nothing comes after it.
    fn let_go(&mut self, run: &Run) {
        if let Some(Held { kind, text }) = self.held.take() {
            self.publish(run, kind, text);
        }
    }

    fn publish(&mut self, run: &Run, kind: Piece, text: String) {
        if text.is_empty() {
            return;
        }
        let event = match kind {
            Piece::Text => Event::TextChunk { text },
            Piece::Thought => Event::ThoughtChunk { text },
        };
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
