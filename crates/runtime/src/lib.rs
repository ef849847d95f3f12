//! The runtime does: everything of a run that touches the world, in reading order.
//!
//! All the IO is here, and none of the ambience: no terminal, no command line, no home directory, no
//! environment. What is needed of them comes in as an argument.
//!
//! A program that runs agents needs the [`prelude`] and little else: an [`Order`](prelude::Order) becomes a
//! prepared run, and that a [`RunHandle`](prelude::RunHandle).

#![warn(missing_docs)]

pub mod prelude;
pub mod runtime;

pub mod host;

#[doc(hidden)]
pub mod agents;

pub mod delegation;

#[doc(hidden)]
pub mod executor;
pub mod tasks;

pub mod events;
pub mod store;

pub mod model;

pub mod approvals;
pub mod bridge;
pub mod changes;
pub mod mcp_client;
pub mod process;
pub mod sandbox;
pub mod tool;
pub mod worktree;

#[doc(hidden)]
pub mod clock;
mod disk;
