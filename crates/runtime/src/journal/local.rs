//! A journal on this machine: a transcript file, synced beside the run.

use attache_kernel::transcript::Entry;
use tokio::task::JoinHandle;

use super::{Appending, Journal, JournalError};
use crate::transcripts;

/// Writes a transcript, and brings it onto the disk at the end of each turn without waiting for it.
#[derive(Debug)]
pub struct LocalJournal {
    transcript: transcripts::Journal,
    /// One sync at a time: a slow disk is asked for the last state, not for every one.
    syncing: Option<JoinHandle<()>>,
}

impl LocalJournal {
    /// A journal into that transcript.
    pub fn new(transcript: transcripts::Journal) -> Self {
        Self { transcript, syncing: None }
    }
}

impl Journal for LocalJournal {
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> Appending<'a> {
        // Lines into the page cache are no wait; what waits for the disk is below.
        let written = self.transcript.append_all(entries);
        Box::pin(std::future::ready(written.map_err(|error| JournalError(Box::new(error)))))
    }

    fn turn_ended(&mut self) -> Appending<'_> {
        if self.syncing.as_ref().is_none_or(JoinHandle::is_finished) {
            let syncer = self.transcript.syncer();
            self.syncing = Some(tokio::task::spawn_blocking(move || {
                // The entries survive this process in any case; a disk that cannot sync will say so
                // when it is written to.
                syncer.sync().unwrap_or_default();
            }));
        }
        Box::pin(std::future::ready(Ok(())))
    }
}
