//! Mail: what other processes leave for a run while it works, and how its owner takes it out.
//!
//! Invariants: a letter lies in the mailbox until it is in the run's journal, so none is lost; its id is in
//! the journal with it, so none is read twice. Nothing is left for a run that has ended or that nobody
//! drives: who sends it is told.

use std::{any::Any, fmt, pin::Pin};

use attache_kernel::{id::LetterId, run::outcome::Status};
use serde::{Deserialize, Serialize};

use super::StoreFuture;

/// A letter as it lies in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Its id, which no other letter has.
    pub id: LetterId,
    /// What it says.
    pub kind: MailKind,
}

/// What a letter says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MailKind {
    /// A message for the agent.
    Message {
        /// What it reads.
        text: String,
    },
    /// The run is to stop.
    Stop,
}

/// What became of a letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Posted {
    /// It lies in the mailbox of a run under way.
    Left(LetterId),
    /// The run has ended like that; the letter was not left.
    Ended(Status),
    /// The run has not ended, but nobody drives it: its process is gone. The letter was not left.
    Abandoned,
}

/// The mailbox of a run, as its owner uses it.
pub trait Mailbox: fmt::Debug + Send + Sync {
    /// Waits for letters that it has not handed out yet, and hands them out in the order in which they
    /// were left. They stay where they are.
    fn next(&self) -> Pin<Box<dyn Future<Output = Vec<Mail>> + Send + '_>>;

    /// Takes out letters whose ids are in the journal, or that need none.
    fn remove<'a>(&'a self, letters: &'a [LetterId]) -> StoreFuture<'a, ()>;

    /// Everything that is in it. Nothing is added while the answer is held: whoever wants to leave a letter
    /// waits, and then finds what the owner has written to the journal meanwhile.
    fn hold(&self) -> StoreFuture<'_, Held>;
}

/// A mailbox to which nothing is added until this is dropped.
pub struct Held {
    /// What is in it.
    pub found: Vec<Mail>,
    _guard: Box<dyn Any + Send>,
}

impl Held {
    /// Held as long as the guard.
    pub fn new(found: Vec<Mail>, guard: impl Any + Send) -> Self {
        Self { found, _guard: Box::new(guard) }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Held").field("found", &self.found).finish_non_exhaustive()
    }
}
