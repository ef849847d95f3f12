//! The testkit's integration tests, in one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod scripted_server;
mod wire_apis;
