//! The limit on open files: a run needs a few, and says so where it cannot have them.

use rustix::process::{Resource, getrlimit};

use crate::failure::Failure;

/// What a run needs at least: its transcript and locks, signals, timers, a connection, files to read.
const FEWEST: u64 = 32;

/// Fails where so few files may be open that the program could not even report the problem later.
pub(crate) fn require_enough() -> Result<(), Failure> {
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < FEWEST => Err(Failure::unsuccessful(format!(
            "only {limit} files may be open, and a run needs {FEWEST}"
        ))
        .hint("raise the limit: ulimit -n 1024")),
        Some(_) | None => Ok(()),
    }
}
