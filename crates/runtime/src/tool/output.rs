//! The output of a call while it goes on: pieces for those who watch.
//!
//! Sending never waits. What nobody can take in time is lost to them alone: the answer of the call is
//! whole, and the pieces are in no journal.

use attache_kernel::id::ToolCallId;
use tokio::sync::mpsc;

/// The pieces that wait to be shown, at most.
const MOST_WAITING: usize = 64;

/// Takes the pieces of one call.
#[derive(Debug, Clone, Default)]
pub struct OutputSink {
    to: Option<(ToolCallId, mpsc::Sender<Piece>)>,
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
}

impl Pieces {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        Self { sender, receiver }
    }

    /// Where that call sends its pieces.
    pub(crate) fn sink(&self, call_id: &ToolCallId) -> OutputSink {
        OutputSink { to: Some((call_id.clone(), self.sender.clone())) }
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
