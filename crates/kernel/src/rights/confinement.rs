//! Confinement: how much of the sandbox holds a command on this machine.
//!
//! The runtime finds it out by trying; permission judges with it. Invariant: it is never better than what
//! the machine was seen to enforce.

use serde::{Deserialize, Serialize};

/// The sandbox of a run's commands, as it is told when the run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxInForce {
    /// The word of `sandbox_mode`.
    pub mode: String,
    /// How much of it this machine enforces.
    pub level: Confinement,
}

/// How much of the sandbox is in force for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    /// No files are out of reach: `danger-full-access`, or a machine that enforces nothing.
    None,
    /// Some promises hold and others do not. Commands are not approved for being in the sandbox.
    Partial,
    /// Every promise holds.
    Whole,
}
