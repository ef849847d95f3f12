//! The recorder: numbers events, journals them, and only then shows them.

use std::time::Duration;

use attache_kernel::{event::Event, run::Run, transcript::Entry};
use jiff::Timestamp;

use crate::{
    events::Publisher,
    journal::{Journal, JournalError},
};

#[derive(Debug)]
pub(super) struct Recorder {
    journal: Box<dyn Journal>,
    events: Publisher,
    next_seq: u64,
}

impl Recorder {
    pub(super) fn new(journal: Box<dyn Journal>, events: Publisher, next_seq: u64) -> Self {
        Self { journal, events, next_seq }
    }

    /// Writes the events down, all at once, then shows them.
    pub(super) async fn record(
        &mut self,
        run: &Run,
        events: Vec<Event>,
        now: Duration,
    ) -> Result<(), JournalError> {
        if events.is_empty() {
            return Ok(());
        }
        let ts = timestamp();
        let entries: Vec<Entry> = events
            .into_iter()
            .map(|event| Entry::new(self.number(), ts.clone(), now, event))
            .collect();
        self.journal.append(&entries).await?;
        let ends_a_turn = |entry: &Entry| {
            matches!(entry.event, Event::TurnCompleted { .. } | Event::Ended { .. })
        };
        if entries.iter().any(ends_a_turn) {
            self.journal.turn_ended().await?;
        }
        for entry in entries {
            if let Some(activity) = run.activity(&entry.event, entry.seq, entry.ts.as_str()) {
                self.events.publish(activity);
            }
        }
        Ok(())
    }

    /// Shows a piece of a message that is still arriving; it is not written down.
    pub(super) fn show(&mut self, run: &Run, event: &Event) {
        let seq = self.number();
        if let Some(activity) = run.activity(event, seq, timestamp()) {
            self.events.publish(activity);
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
    format!("{:.3}", Timestamp::now())
}
