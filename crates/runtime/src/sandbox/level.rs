//! The level: which parts of the sandbox this machine enforces.

use std::path::Path;

use attache_kernel::rights::confinement::Confinement;
use serde::{Deserialize, Serialize};

use super::Mode;

/// A part of the sandbox that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// User, process, mount and IPC namespaces.
    Namespaces,
    /// Landlock.
    Landlock,
    /// Seccomp filters.
    Seccomp,
}

/// Which parts of the sandbox are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Level {
    /// User, process, mount and IPC namespaces.
    pub namespaces: bool,
    /// The ABI of Landlock; 0 without it.
    pub landlock: u32,
    /// Seccomp filters.
    pub seccomp: bool,
}

impl Level {
    /// Tries the parts, in a helper.
    pub(super) fn probe(_helper: &Path, _missing: &[Part]) -> Self {
        Self::default()
    }

    /// How much of the sandbox holds a command in this mode.
    pub fn confinement(self, mode: Mode) -> Confinement {
        if mode == Mode::DangerFullAccess || (!self.namespaces && self.landlock == 0) {
            Confinement::None
        } else if self.namespaces && self.landlock > 0 && self.seccomp {
            Confinement::Whole
        } else {
            Confinement::Partial
        }
    }
}
