//! The level: which parts of the sandbox this machine enforces.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use attache_kernel::rights::confinement::Confinement;
use serde::{Deserialize, Serialize};

use super::{
    Mode, Policy, ResourceLimits,
    helper::{MARK, Message},
};

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

/// What trying the parts has shown.
#[derive(Debug, Clone)]
pub(super) struct Probed {
    pub(super) level: Level,
    /// Why parts are not in force, a sentence each.
    pub(super) lacks: Vec<String>,
}

impl Probed {
    /// Every part is in force, as a rehearsal has shown.
    pub(super) fn whole(level: Level) -> Self {
        Self { level, lacks: Vec::new() }
    }

    /// Tries the parts, in helpers.
    pub(super) fn of_machine(helper: &Path, missing: &[Part]) -> Self {
        let wanted = Level {
            namespaces: !missing.contains(&Part::Namespaces),
            landlock: u32::from(!missing.contains(&Part::Landlock)),
            seccomp: !missing.contains(&Part::Seccomp),
        };
        let is_all = missing.is_empty();
        if is_all && let Ok(level) = ask(helper, &Message::rehearsal(policy(), wanted)) {
            return Self::whole(level);
        }
        Self::one_by_one(helper, wanted)
    }

    fn one_by_one(helper: &Path, wanted: Level) -> Self {
        let mut lacks = Vec::new();
        let alone = ask(helper, &Message::probe(policy(), wanted));
        let mut level = alone.unwrap_or_else(|problem| {
            lacks.push(format!("the helper does not work: {problem}"));
            Level::default()
        });
        if level.landlock == 0 {
            lacks.push("Landlock is not available".to_owned());
        }
        if !level.seccomp {
            lacks.push("seccomp is not available: the network is open".to_owned());
        }
        let whole = Level { namespaces: true, ..level };
        match ask(helper, &Message::rehearsal(policy(), whole)) {
            _ if !wanted.namespaces => lacks.push("namespaces are not available".to_owned()),
            Ok(_) => level = whole,
            Err(problem) => lacks.push(format!("namespaces are not available: {problem}")),
        }
        Self { level, lacks }
    }
}

/// Starts a helper and returns the level that it printed.
fn ask(helper: &Path, message: &Message) -> Result<Level, String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let mut command = Command::new(helper);
    let _program = command.env_clear().arg(MARK).arg(text).arg("");
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).map_err(|error| error.to_string());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let told = told.trim().trim_start_matches("attache: the sandbox could not be set up: ");
    Err(if told.is_empty() { output.status.to_string() } else { told.to_owned() })
}

/// What is tried.
pub(super) fn policy() -> Policy {
    let nowhere = PathBuf::from("/nonexistent");
    Policy {
        mode: Mode::ReadOnly,
        workspace: nowhere.clone(),
        temp_dir: nowhere,
        writable_roots: Vec::new(),
        network: false,
        writable_git: false,
        deny_read: Vec::new(),
        read_only: Vec::new(),
        shown: Vec::new(),
        limits: ResourceLimits::default(),
    }
}

impl Level {
    /// Everything that a machine may have.
    pub(super) fn all() -> Self {
        Self { namespaces: true, landlock: 1, seccomp: true }
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
