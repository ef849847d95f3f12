//! The kernel decides: pure values and functions, in reading order.
//!
//! Nothing here waits, reads a clock, touches a file, the network or the environment, or draws a
//! random number; whatever of that is needed comes in as an argument. So every rule can be tested in
//! microseconds, and a run can be rebuilt from its transcript.

#![warn(missing_docs)]

pub mod id;
pub mod path_text;
pub mod tool_name;

pub mod definition;

pub mod shell_command;
pub mod tool_rule;

pub mod tool_filter;

pub mod model_catalogue;
pub mod model_choice;
pub mod registry;
pub mod suggest;

pub mod conversation;
pub mod message;
pub mod usage;

pub mod outcome;
pub mod price;

pub mod event;

pub mod run;

pub mod transcript;
