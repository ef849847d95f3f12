//! Rights: what an agent may call.
//!
//! Invariant: rights only narrow. A tool set comes from the host or from another set by taking away.

pub mod tool_name;

pub mod command;
pub mod rule;

pub mod confinement;
pub mod environment;
pub mod filter;
pub mod permission;
pub mod protected;
