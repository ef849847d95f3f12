//! The runtime's integration tests, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod discovery;
mod trust;
mod watch;
