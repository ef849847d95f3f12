//! The runtime does: everything of a run that touches the world.
//!
//! All the IO is here, and none of the ambience: no terminal, no command line, no home directory, no
//! environment. What is needed of them comes in as an argument.
//!
//! A program that runs agents imports the [`prelude`]: an [`Order`](prelude::Order) becomes a prepared run, and
//! that a [`RunHandle`](prelude::RunHandle). [`parts`] has the types that it needs more rarely.

#![warn(missing_docs)]

// The library.
pub mod parts;
pub mod prelude;

// For the crates of this program only.
#[doc(hidden)]
pub mod internal;

// The rooms, in reading order.
mod runtime;

mod host;

mod agents;

mod delegation;

mod executor;
mod tasks;

mod events;
mod store;

mod model;

mod approvals;
mod bridge;
mod changes;
mod mcp_client;
mod process;
mod sandbox;
mod tool;
mod worktree;

mod telemetry;

mod clock;
mod disk;
