//! The runtime does: everything of a run that touches the world, in reading order.
//!
//! All the IO is here, and none of the ambience: no terminal, no command line, no home directory, no
//! environment. Whatever of that is needed comes in as an argument.

#![warn(missing_docs)]

pub mod builtin;
pub mod credentials;
pub mod discovery;
pub mod trust;

pub mod prelude;
pub mod runtime;

pub mod host;

pub mod executor;
pub mod tasks;

pub mod clock;
pub mod events;
pub mod store;

pub mod model;

pub mod approvals;
pub mod artifacts;
mod private_file;
mod remedy;
pub mod tool;
pub mod workspace;
