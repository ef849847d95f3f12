//! The testkit pretends: projects, corpora and golden files for the tests of the other crates.
//!
//! A helper that fails says so by panicking, as tests do.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that fails is a test that fails")]

pub mod corpus;
pub mod golden;
pub mod project;
