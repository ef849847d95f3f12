//! Agents: where their files are found, which of them the user trusts, how often they are used, and
//! those that come with the program.

pub(crate) mod builtin;
pub(crate) mod discovery;
pub(crate) mod main_agent;
pub(crate) mod trust;
pub(crate) mod used;
