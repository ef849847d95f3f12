//! The output of a call while it goes on: pieces for those who watch.
//!
//! Sending never waits. What nobody can take in time is lost to them alone: the answer of the call is
//! whole, and the pieces are in no journal. Of a command that is stopped with its call, all that it wrote
//! can still be asked for.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use attache_kernel::id::ToolCallId;
use tokio::sync::mpsc;

use super::artifacts::Bound;
use crate::process::{Collected, Collector};

/// The pieces that wait to be shown, at most.
const MOST_WAITING: usize = 64;

/// Takes the pieces of one call.
#[derive(Debug, Clone, Default)]
pub struct OutputSink {
    to: Option<(ToolCallId, mpsc::Sender<Piece>)>,
    collector: Arc<OnceLock<Arc<Mutex<Collector>>>>,
}

/// A piece of what a call puts out.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) call_id: ToolCallId,
    pub(crate) text: String,
}

/// Where the pieces of all calls of a turn arrive.
#[derive(Debug)]
pub(crate) struct Pieces {
    sender: mpsc::Sender<Piece>,
    receiver: mpsc::Receiver<Piece>,
}

impl OutputSink {
    /// Shows a piece. It never waits: a piece too many is not shown.
    pub fn send(&self, text: impl Into<String>) {
        if let Some((call_id, sender)) = &self.to {
            let piece = Piece { call_id: call_id.clone(), text: text.into() };
            // The reader is behind, or gone.
            drop(sender.try_send(piece));
        }
    }

    /// The output of the call's command is collected there.
    pub(crate) fn is_collected_in(&self, collector: &Arc<Mutex<Collector>>) {
        // A call has one command.
        self.collector.get_or_init(|| Arc::clone(collector));
    }

    /// What the call's command wrote and nobody was told yet; none if it has no command. It writes no more.
    pub(crate) async fn unread(&self) -> Option<Collected> {
        let collector = Arc::clone(self.collector.get()?);
        let taken = tokio::task::spawn_blocking(move || {
            collector.lock().unwrap_or_else(PoisonError::into_inner).take(Bound::DEFAULT, true)
        });
        taken.await.ok()
    }
}

impl Pieces {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        Self { sender, receiver }
    }

    /// Where that call sends its pieces.
    pub(crate) fn sink(&self, call_id: &ToolCallId) -> OutputSink {
        OutputSink { to: Some((call_id.clone(), self.sender.clone())), ..OutputSink::default() }
    }

    /// The next piece. It waits for ever if none comes.
    pub(crate) async fn next(&mut self) -> Piece {
        match self.receiver.recv().await {
            Some(piece) => piece,
            // Not while this holds a sender.
            None => std::future::pending().await,
        }
    }

    /// The next piece that has arrived already.
    pub(crate) fn try_next(&mut self) -> Option<Piece> {
        self.receiver.try_recv().ok()
    }
}
