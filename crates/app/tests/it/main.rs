//! The real program on real projects, in one binary: a file for each command, and the project's own
//! rules.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[cfg(test)]
mod approvals;
#[cfg(test)]
mod background;
#[cfg(test)]
mod books;
#[cfg(test)]
mod boundaries;
mod changes;
mod clean;
mod commands;
mod completions;
mod config;
mod corpus;
mod docs;
mod doctor;
mod errors;
mod exec;
mod hostile_text;
#[cfg(test)]
mod instances;
mod list;
mod live_rules;
mod log;
mod login;
mod may;
#[cfg(test)]
mod mcp;
#[cfg(test)]
mod mcp_client;
mod models;
mod new;
mod plain_chat;
mod progress;
mod providers;
mod real_llm;
mod rights;
mod run;
#[cfg(test)]
mod sandbox;
mod secure;
mod show;
mod slow_readers;
mod spending;
mod suggest;
#[cfg(test)]
mod telemetry;
mod terminal;
mod tidy;
mod transcript;
mod tree;
mod trust;
#[cfg(test)]
mod tui;
mod usage;
mod validate;
#[cfg(test)]
mod worktrees;

use attache_testkit::project::TestProject;

/// A project with the program under test.
fn project() -> TestProject {
    TestProject::new(env!("CARGO_BIN_EXE_attache"))
}
