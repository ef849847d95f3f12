//! The helper: what this program does when it is started to run a command in the sandbox.
//!
//! Two processes stand between the program and the command: the *supervisor* outside of the confinement, which
//! ends with the program; and its fork, the *init*, which is the first process of the namespaces, confines
//! itself and starts the command. On machines without namespaces the init forks once more: that process
//! confines itself and becomes the command. No thread is started in any of them, so only the supervisor has to
//! be executed: a fork costs a tenth of starting this program.

mod confine;
mod descendants;
mod descriptors;
mod files;
mod init;
mod mounts;
mod orphans;
mod placeholder;
mod setup_error;
mod spares;
mod supervisor;
mod syscalls;

use std::{
    ffi::{OsStr, OsString},
    os::fd::AsFd,
    path::PathBuf,
};

use rustix::process::{Signal, WaitStatus, getpid, kill_process};
use serde::{Deserialize, Serialize};

pub(super) use self::placeholder::{Placeholders, is_placeholder};
use self::setup_error::{SetupError, Step as _};
use super::{Level, Policy, protected::Protected};

/// The first argument of a helper.
pub(super) const MARK: &str = "--run-as-sandbox-helper";

/// The exit code of a helper that could not set up the sandbox.
pub(super) const SETUP_FAILED: i32 = 125;

/// What a helper is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Message {
    stage: Stage,
    policy: Policy,
    /// The parts to be applied. One that fails fails the command.
    level: Level,
    /// The process that has to live on: the program.
    program: u32,
    /// The protected paths, as they were before placeholders stood for those that are missing.
    protected: Vec<Protected>,
    /// Where empty directories are kept that stand for missing ones.
    #[serde(with = "super::path_bytes::optional")]
    spares: Option<PathBuf>,
    /// Where protected paths that the command created are moved if the program ends before it.
    #[serde(default, with = "super::path_bytes::optional")]
    planted: Option<PathBuf>,
    /// Whether the level is printed instead of starting the command.
    is_rehearsal: bool,
}

/// What a helper is started for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stage {
    Supervisor,
    /// Tries what needs no other process, and prints what is in force.
    Probe,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Code(i32),
    Signal(i32),
}

/// The program to run.
#[derive(Debug, Clone, Copy)]
struct Order<'a> {
    program: &'a OsStr,
    arguments: &'a [OsString],
}

impl Message {
    /// What the first helper is told.
    pub(super) fn new(policy: Policy, level: Level, protected: Vec<Protected>) -> Self {
        Self {
            stage: Stage::Supervisor,
            policy,
            level,
            program: std::process::id(),
            protected,
            spares: None,
            planted: None,
            is_rehearsal: false,
        }
    }

    /// The same with a directory for spare placeholders.
    pub(super) fn with_spares(self, spares: Option<PathBuf>) -> Self {
        Self { spares, ..self }
    }

    /// The same with a place for what the command plants.
    pub(super) fn moving_planted(self, planted: Option<PathBuf>) -> Self {
        Self { planted, ..self }
    }

    /// What a helper is told that tries the parts of the sandbox.
    pub(super) fn probe(policy: Policy, level: Level) -> Self {
        Self { stage: Stage::Probe, ..Self::new(policy, level, Vec::new()) }
    }

    /// What a helper is told that sets up everything, prints what is in force, and starts no command.
    pub(super) fn rehearsal(policy: Policy, level: Level) -> Self {
        Self { is_rehearsal: true, ..Self::new(policy, level, Vec::new()) }
    }
}

impl Ended {
    fn from_status(status: WaitStatus) -> Option<Self> {
        let code = status.exit_status().map(Self::Code);
        code.or_else(|| status.terminating_signal().map(Self::Signal))
    }
}

/// Runs the command and does not return, if this process was started as the helper.
///
/// Call it first in `main`, with the arguments of the process, before any thread is started.
pub fn run_if_helper(arguments: &[OsString]) {
    let [_, mark, message, program, arguments @ ..] = arguments else { return };
    if mark != MARK {
        return;
    }
    let order = Order { program, arguments };
    end(play(message, order))
}

fn play(message: &OsStr, order: Order<'_>) -> Result<Ended, SetupError> {
    let message: Message = serde_json::from_slice(message.as_encoded_bytes())
        .map_err(|error| SetupError::new("read the policy", error.into()))?;
    match message.stage {
        Stage::Supervisor => supervisor::supervise(&message, order),
        Stage::Probe => confine::probe(&message),
    }
}

/// Sets up the sandbox in this process, a fork of the program, writes the level there, and ends.
pub(super) fn rehearse(message: &Message, tells: impl AsFd) -> ! {
    let set_up = descriptors::open_null().and_then(|null| {
        descriptors::release_standard_streams(&null)?;
        rustix::stdio::dup2_stdout(tells).step("tell the level")
    });
    let order = Order { program: OsStr::new(""), arguments: &[] };
    end(set_up.and_then(|()| supervisor::supervise(message, order)))
}

/// Writes to standard error: the agent reads there why its command did not start.
fn tell(text: &str) {
    // Nobody is left to be told if this fails.
    let _nobody_reads = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}

/// Ends this process as the command ended, or says why it did not start.
#[expect(
    clippy::exit,
    reason = "a helper has nothing to return to: its caller is the program's main"
)]
fn end(ended: Result<Ended, SetupError>) -> ! {
    let ended = ended.unwrap_or_else(|error| {
        tell(&format!("attache: the sandbox could not be set up: {error}\n"));
        Ended::Code(SETUP_FAILED)
    });
    let number = match ended {
        Ended::Code(code) => std::process::exit(code),
        Ended::Signal(number) => number,
    };
    if let Some(signal) = Signal::from_named_raw(number) {
        // The first one may only remove the handler that the standard library has for a stack overflow.
        let _first = kill_process(getpid(), signal);
        let _second = kill_process(getpid(), signal);
    }
    // `SIGPIPE` is ignored here, and a signal may be unknown; a shell's code says the same.
    std::process::exit(128 + number)
}
