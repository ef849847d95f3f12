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
#[doc(hidden)]
pub mod runtime;

#[doc(hidden)]
pub mod host;

#[doc(hidden)]
pub mod agents;

#[doc(hidden)]
pub mod delegation;

#[doc(hidden)]
pub mod executor;
#[doc(hidden)]
pub mod tasks;

#[doc(hidden)]
pub mod events;
#[doc(hidden)]
pub mod store;

#[doc(hidden)]
pub mod model;

#[doc(hidden)]
pub mod approvals;
#[doc(hidden)]
pub mod bridge;
#[doc(hidden)]
pub mod changes;
#[doc(hidden)]
pub mod mcp_client;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod sandbox;
#[doc(hidden)]
pub mod tool;
#[doc(hidden)]
pub mod worktree;

#[doc(hidden)]
pub mod clock;
mod disk;
