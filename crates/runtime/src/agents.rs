//! Agents: where their files are found, which of them the user trusts, and those that come with the
//! program.

pub mod builtin;
pub mod discovery;
pub(crate) mod main_agent;
pub mod trust;
