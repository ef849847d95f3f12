//! The kernel decides: pure values and functions, in reading order.
//!
//! Nothing here waits, reads a clock, touches a file, the network or the environment, or draws a
//! random number; what is needed of them comes in as an argument. So every rule can be tested in
//! microseconds, and a run can be rebuilt from its transcript.

#![warn(missing_docs)]

pub mod id;
pub mod patch;
pub mod path_text;

pub mod agent;
pub mod model;
pub mod rights;
pub mod run;
