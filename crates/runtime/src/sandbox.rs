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
mod planted;
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

pub(crate) use self::planted::Aftermath;
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
    planted::Bystanders,
};

/// How many paths that lie deeper are held by mounts.
const MOST_DEEPER: usize = 64;

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
    nested: Arc<NestedPaths>,
    bystanders: Arc<Bystanders>,
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
            nested: Arc::default(),
            bystanders: Arc::default(),
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
        self.command_before(policy, program, arguments, &Aftermath::None)
    }

    /// The same for a command after which something is due.
    pub(crate) fn command_before(
        &self,
        policy: &Policy,
        program: &OsStr,
        arguments: &[OsString],
        aftermath: &Aftermath,
    ) -> Result<Command, SandboxError> {
        let protected = protected::of_policy(policy, |root| {
            let found = self.nested.recent(root);
            // What is gone since would get a placeholder.
            let existing = |path: &&PathBuf| path.symlink_metadata().is_ok();
            let deeper = found.deeper(root).filter(existing).take(MOST_DEEPER);
            deeper.chain(policy.kept_below(root)).cloned().collect()
        });
        let message = Message::new(policy.clone(), self.level(), protected);
        let message = message.with_spares(self.spares.clone());
        let message = message.moving_planted(aftermath.of_helper(MOST_DEEPER));
        let text = serde_json::to_string(&message).map_err(SandboxError::Message)?;
        let mut command = Command::new(&self.helper.0);
        command.arg(MARK).arg(text).arg(program).args(arguments).process_group(0);
        Ok(command)
    }

    /// What is due when a command has ended that is about to be started: protected paths that it created deeper
    /// in the workspace are moved there. This reads the disk.
    pub(crate) fn aftermath(&self, policy: &Policy, into: PathBuf) -> Aftermath {
        let shared = (&self.nested, &self.bystanders);
        Aftermath::of_command(policy, shared, !self.level().namespaces, into)
    }

    /// Notes that a file was written to a protected path rightfully.
    pub(crate) fn approve(&self, path: PathBuf) {
        self.bystanders.approve(path);
    }

    /// Removes what stood for missing protected paths and was left behind by helpers that were killed.
    pub fn remove_leftovers(&self, policy: &Policy) {
        let protected = protected::of_policy(policy, |_| Vec::new());
        Placeholders::left_behind(&protected).remove();
    }
}
