//! The runtime does: all IO, and nothing of the terminal, the command line or the home directory.
//!
//! Whatever it needs to know of the machine (folders, environment, settings) comes in as a value.

#![warn(missing_docs)]

pub mod builtin;
pub mod discovery;
pub mod trust;
