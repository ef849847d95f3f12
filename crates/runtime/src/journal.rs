//! The journal: where a run's entries lie before anyone sees them.
//!
//! The loop that drives a run knows this trait alone; whether the entries go to a file here or to a
//! stream elsewhere is the journal's affair.

mod local;

use std::{fmt, pin::Pin};

use attache_kernel::run::transcript::Entry;

pub use self::local::{DiskQueue, LocalJournal};

/// Takes the entries of one run, in order.
pub trait Journal: fmt::Debug + Send {
    /// Writes entries, all of them or none. When this returns, they survive the end of this process.
    fn append<'a>(&'a mut self, entries: &'a [Entry]) -> Appending<'a>;

    /// A turn has ended, or the run: a good moment to make what was written survive the machine.
    fn turn_ended(&mut self) -> Appending<'_>;
}

/// A write under way.
pub type Appending<'a> = Pin<Box<dyn Future<Output = Result<(), JournalError>> + Send + 'a>>;

/// The journal cannot be written; the run cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the run's journal cannot be written: {0}")]
pub struct JournalError(#[source] pub Box<dyn std::error::Error + Send + Sync>);
