//! The testkit pretends: projects, corpora, golden files, models and scenarios for the tests of the other crates.
//! It stands on them, so only what lies in their `tests/` may use it.
//!
//! A helper that fails says so by panicking, as tests do.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

pub mod assignment;
pub mod corpus;
pub mod driving;
pub mod entry;
pub mod golden;
pub mod house_model;
pub mod other_writer;
pub mod project;
pub mod scenario;
pub mod scripted_model;
pub mod scripted_server;
pub mod secure_front;
