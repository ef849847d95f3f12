//! The sandbox: every process that is started for an agent runs in it.
//!
//! A command is started as a helper, which is this program run again. The helper confines itself and then
//! becomes the supervisor of the command. Invariant: when the process that [`Sandbox::command`] describes
//! ends, for whatever reason, everything below it has ended or is being killed; and it ends when this
//! program does.

mod helper;
mod keys;
mod level;
mod nested;
mod path_bytes;
mod policy;
mod protected;
mod refusal;
mod rehearsal;

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::Command,
    sync::{Arc, OnceLock},
};

pub use self::{
    helper::run_if_helper,
    keys::places_of_keys,
    level::{Level, Part},
    policy::{Mode, Policy, ResourceLimits},
    refusal::refusal_hint,
    rehearsal::Rehearsal,
};
use self::{
    helper::{MARK, Message, Placeholders},
    level::Probed,
    nested::NestedPaths,
};

/// The program that is started as the helper. Its `main` begins with [`run_if_helper`].
#[derive(Debug, Clone)]
pub struct Helper(PathBuf);

impl Helper {
    /// This program itself, also if its file was replaced since it started.
    pub fn this_program() -> Self {
        Self(PathBuf::from("/proc/self/exe"))
    }

    /// Another program, such as `attache-sandbox`.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self(program.into())
    }
}

/// Starts commands in the sandbox.
#[derive(Debug)]
pub struct Sandbox {
    helper: Helper,
    missing: Vec<Part>,
    probed: OnceLock<Probed>,
    rehearsal: Option<Arc<Rehearsal>>,
    nested: NestedPaths,
    spares: Option<PathBuf>,
}

/// Why no command can be started in the sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The policy cannot be handed to the helper.
    #[error("the sandbox's policy cannot be written as JSON")]
    Message(#[source] serde_json::Error),
}

impl Sandbox {
    /// A sandbox whose commands are started by this helper.
    pub fn new(helper: Helper) -> Self {
        Self {
            helper,
            missing: Vec::new(),
            probed: OnceLock::new(),
            rehearsal: None,
            nested: NestedPaths::default(),
            spares: None,
        }
    }

    /// The same sandbox with a directory in which it keeps empty directories. They stand for protected paths
    /// that do not exist while a command runs; without it they are created and removed for every command.
    /// The directory has to be one that commands cannot write to.
    #[must_use]
    pub fn keeping_spares_in(mut self, directory: PathBuf) -> Self {
        self.spares = Some(directory);
        self
    }

    /// The same sandbox, which learns its level from a rehearsal where that gets through.
    #[must_use]
    pub fn rehearsed(mut self, rehearsal: Option<Arc<Rehearsal>>) -> Self {
        self.rehearsal = rehearsal;
        self
    }

    /// The same sandbox on a machine that lacks a part, for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, part: Part) -> Self {
        self.missing.push(part);
        self
    }

    /// What this machine enforces. The first call starts the helper once to try, and blocks for that time.
    pub fn level(&self) -> Level {
        self.probed().level
    }

    /// Why parts of the sandbox are not in force here, a sentence each. Blocks as [`level`](Self::level) does.
    pub fn lacks(&self) -> &[String] {
        &self.probed().lacks
    }

    fn probed(&self) -> &Probed {
        self.probed.get_or_init(|| {
            let rehearsal = self.rehearsal.as_ref().filter(|_| self.missing.is_empty());
            let shown = rehearsal.and_then(|rehearsal| rehearsal.level());
            shown.map_or_else(|| Probed::of_machine(&self.helper.0, &self.missing), Probed::whole)
        })
    }

    /// A command that runs a program in the sandbox.
    ///
    /// The caller sets its standard streams, working directory and environment, and nothing else. To end the
    /// command early, send `SIGTERM` or `SIGKILL` to it: everything below it ends as well. If its standard
    /// input is a terminal, that becomes the command's controlling terminal.
    pub fn command(
        &self,
        policy: &Policy,
        program: &OsStr,
        arguments: &[OsString],
    ) -> Result<Command, SandboxError> {
        let protected = protected::of_policy(policy, |root| self.nested.below(root));
        let message = Message::new(policy.clone(), self.level(), protected);
        let message = message.with_spares(self.spares.clone());
        let text = serde_json::to_string(&message).map_err(SandboxError::Message)?;
        let mut command = Command::new(&self.helper.0);
        command.arg(MARK).arg(text).arg(program).args(arguments).process_group(0);
        Ok(command)
    }
    /// Removes what stood for missing protected paths and was left behind by helpers that were killed.
    pub fn remove_leftovers(&self, policy: &Policy) {
        let protected = protected::of_policy(policy, |_| Vec::new());
        Placeholders::left_behind(&protected).remove();
    }
}
