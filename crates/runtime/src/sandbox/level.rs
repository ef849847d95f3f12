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
    /// Tries the parts, in helpers.
    pub(super) fn of_machine(helper: &Path, missing: &[Part]) -> Self {
        let wanted = Level {
            namespaces: !missing.contains(&Part::Namespaces),
            landlock: u32::from(!missing.contains(&Part::Landlock)),
            seccomp: !missing.contains(&Part::Seccomp),
        };
        let mut lacks = Vec::new();
        let alone = Message::probe(policy(), wanted);
        let answer = start(helper, &alone, "", &[])
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        let mut level: Level = answer.unwrap_or_else(|problem| {
            lacks.push(format!("the helper does not work: {problem}"));
            Level::default()
        });
        if level.landlock == 0 {
            lacks.push("Landlock is not available: files are not restricted by it".to_owned());
        }
        if !level.seccomp {
            lacks.push("seccomp is not available: the network is not restricted".to_owned());
        }
        if wanted.namespaces {
            level.namespaces = true;
            if let Err(problem) = try_namespaces(helper, level) {
                level.namespaces = false;
                lacks.push(format!("namespaces are not available: {problem}"));
            }
        } else {
            lacks.push("namespaces are not available".to_owned());
        }
        Self { level, lacks }
    }
}

/// A whole command in the sandbox.
fn try_namespaces(helper: &Path, level: Level) -> Result<(), String> {
    let nothing = serde_json::to_string(&Message::nothing(policy()));
    let nothing = nothing.map_err(|error| error.to_string())?;
    // The last helper starts itself; it needs another argument to see that it is one.
    let arguments = [MARK, &nothing, "nothing"];
    let ended = start(helper, &Message::new(policy(), level), "/proc/self/exe", &arguments);
    ended.map(drop)
}

/// Starts a helper and returns what it printed.
fn start(
    helper: &Path,
    message: &Message,
    program: &str,
    arguments: &[&str],
) -> Result<String, String> {
    let text = serde_json::to_string(message).map_err(|error| error.to_string())?;
    let mut command = Command::new(helper);
    let _program = command.env_clear().arg(MARK).arg(text).arg(program).args(arguments);
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let told = told.trim().trim_start_matches("attache: the sandbox could not be set up: ");
    Err(if told.is_empty() { output.status.to_string() } else { told.to_owned() })
}

/// What is tried.
fn policy() -> Policy {
    let nowhere = PathBuf::from("/nonexistent");
    Policy {
        mode: Mode::ReadOnly,
        workspace: nowhere.clone(),
        temp_dir: nowhere,
        writable_roots: Vec::new(),
        network: false,
        writable_git: false,
        deny_read: Vec::new(),
        limits: ResourceLimits::default(),
    }
}

impl Level {
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
