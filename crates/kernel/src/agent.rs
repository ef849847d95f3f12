//! Agents: which there are, and what their files say.

pub mod definition;
pub mod registry;
pub mod suggest;
