//! Agents: where their files are found, which of them the user trusts, and those that come with the
//! program.

pub(crate) mod builtin;
pub(crate) mod discovery;
pub(crate) mod main_agent;
pub(crate) mod trust;
