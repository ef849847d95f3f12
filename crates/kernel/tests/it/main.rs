//! The kernel's integration tests, in one binary.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed, and tests read files"
)]

mod definitions;
mod formats;
mod properties;
