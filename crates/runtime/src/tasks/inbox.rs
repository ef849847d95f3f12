//! The inbox of a run: what others leave for it while it works.
//!
//! A message is read by the agent with its next turn, once.

use tokio::sync::mpsc;

/// Messages that may wait for a run; more are refused.
const ROOM: usize = 256;

/// Where messages for a run are left. A copy is the same inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    letters: mpsc::Sender<Letter>,
}

/// A message could not be left: the run has ended, or too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InboxError {
    /// Nobody reads any more.
    #[error("the run has ended")]
    Ended,
    /// The run has not read what was left before.
    #[error("too many messages are waiting for the run")]
    Full,
}

/// Something that was left for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Letter {
    /// A message for the agent.
    Message(String),
}

/// The reading end.
pub(crate) type Letters = mpsc::Receiver<Letter>;

/// An inbox and its reading end.
pub(crate) fn letterbox() -> (Inbox, Letters) {
    let (letters, read) = mpsc::channel(ROOM);
    (Inbox { letters }, read)
}

impl Inbox {
    /// Leaves a message; the agent reads it with its next turn.
    pub fn message(&self, text: impl Into<String>) -> Result<(), InboxError> {
        self.letters.try_send(Letter::Message(text.into())).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => InboxError::Full,
            mpsc::error::TrySendError::Closed(_) => InboxError::Ended,
        })
    }
}
