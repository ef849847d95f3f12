//! Processes started for agents: started, watched, and ended with everything they started.
//!
//! Invariant: a process belongs to the call or the session that started it, and both to their run.
//! Dropping the owner kills the whole group at once and reaps it; nothing is left behind.

mod channel;
mod environment;
mod exit;
mod launch;
mod leader;
mod output;
mod program;
mod running;
mod service;
mod sessions;
mod supervisor;
mod temporary_directory;
mod terminal;
mod withheld;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::rights::{
    confinement::{Confinement, SandboxInForce},
    permission::WorkspaceAccess,
};

pub use self::{
    environment::CommandEnvironment,
    temporary_directory::{LeftoverDirectory, leftovers},
};
pub(crate) use self::{
    exit::Exit,
    launch::{CommandLine, Input, Launch, LaunchError, Reach},
    output::{Collected, Collector},
    program::{Program, ProgramError},
    running::{Ending, Process},
    service::{Service, ServiceLaunch, ServiceLife},
    sessions::{SessionError, SessionId},
};
use self::{sessions::Sessions, temporary_directory::TemporaryDirectory, withheld::WithheldFiles};
use crate::{
    sandbox::{Mode, Policy, Sandbox},
    tasks::LiveRights,
    tool::artifacts::Artifacts,
};

/// How commands are run here.
#[derive(Debug, Clone)]
pub struct CommandSetup {
    /// What they see of the user's environment.
    pub environment: CommandEnvironment,
    /// Where the directories for temporary files are made, one a run.
    pub temporary_root: PathBuf,
    /// What confines them; `None` runs them bare.
    pub sandbox: Option<CommandSandbox>,
}

impl CommandSetup {
    /// How much of the sandbox holds a command. The first call tries what the machine offers, and
    /// blocks for that time.
    pub fn confinement(&self) -> Confinement {
        let level = |it: &CommandSandbox| it.sandbox.level().confinement(it.policy.mode);
        self.sandbox.as_ref().map_or(Confinement::None, level)
    }

    /// The sandbox as a run tells it when it begins. Blocks as [`confinement`](Self::confinement) does.
    pub(crate) fn in_force(&self) -> Option<SandboxInForce> {
        let mode = self.sandbox.as_ref()?.policy.mode.as_str().to_owned();
        Some(SandboxInForce { mode, level: self.confinement() })
    }

    /// The same with a sandbox that is no wider than that one was.
    pub(crate) fn no_wider_than(self: &Arc<Self>, earlier: Option<&SandboxInForce>) -> Arc<Self> {
        let mode = earlier.and_then(|earlier| Mode::of_word(&earlier.mode));
        match (mode, &self.sandbox) {
            (Some(mode), Some(today)) if mode < today.policy.mode => {
                let policy = Policy { mode, ..today.policy.clone() };
                let sandbox = CommandSandbox { sandbox: Arc::clone(&today.sandbox), policy };
                Arc::new(Self { sandbox: Some(sandbox), ..Self::clone(self) })
            }
            _ => Arc::clone(self),
        }
    }

    /// Whether the sandbox is meant to let commands write to the workspace.
    pub fn workspace_access(&self) -> WorkspaceAccess {
        match self.sandbox.as_ref().map(|it| it.policy.mode) {
            Some(Mode::ReadOnly) => WorkspaceAccess::ReadOnly,
            Some(Mode::WorkspaceWrite | Mode::DangerFullAccess) | None => WorkspaceAccess::Writable,
        }
    }
}

/// What confines commands.
#[derive(Debug, Clone)]
pub struct CommandSandbox {
    /// Starts them.
    pub sandbox: Arc<Sandbox>,
    /// What they may do. Each run puts in its own workspace and temporary directory.
    pub policy: Policy,
}

impl Default for CommandSetup {
    fn default() -> Self {
        Self {
            environment: CommandEnvironment::default(),
            temporary_root: "/tmp".into(),
            sandbox: None,
        }
    }
}

/// The processes of a run.
#[derive(Debug)]
pub struct Processes {
    setup: Arc<CommandSetup>,
    workspace: PathBuf,
    artifacts: Arc<Artifacts>,
    /// A directory that commands may read although it lies in one that is hidden from them.
    shown: Option<PathBuf>,
    /// Hidden from the commands, beside what the policy says.
    hidden: Vec<PathBuf>,
    /// Hidden from the commands, since rules deny it.
    withheld: WithheldFiles,
    /// Made for the first command, removed with the run.
    temporary: Mutex<Option<TemporaryDirectory>>,
    /// Processes that outlive the call that started them.
    sessions: Mutex<Sessions>,
}

impl Processes {
    /// A run without processes yet, which works in that directory and keeps long output there.
    pub fn new(setup: Arc<CommandSetup>, workspace: PathBuf, artifacts: Arc<Artifacts>) -> Self {
        Self {
            setup,
            workspace,
            artifacts,
            shown: None,
            hidden: Vec::new(),
            withheld: WithheldFiles::default(),
            temporary: Mutex::default(),
            sessions: Mutex::default(),
        }
    }

    /// The same with a directory that commands may read although it lies in one that is hidden from them.
    #[must_use]
    pub fn showing(mut self, directory: Option<PathBuf>) -> Self {
        self.shown = directory;
        self
    }

    /// The same with commands that cannot read these places.
    #[must_use]
    pub(crate) fn hiding(mut self, places: Vec<PathBuf>) -> Self {
        self.hidden = places;
        self
    }

    /// The same with commands that cannot read what these rights deny.
    #[must_use]
    pub(crate) fn withholding(mut self, rights: LiveRights) -> Self {
        self.withheld = WithheldFiles::new(rights);
        self
    }

    /// The run's directory for temporary files. This writes to disk: call it where blocking is allowed.
    fn temporary_directory(&self) -> Result<PathBuf, LaunchError> {
        let mut temporary = self.temporary.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(directory) = &*temporary {
            return Ok(directory.path().to_owned());
        }
        let root = &self.setup.temporary_root;
        let made = TemporaryDirectory::create(root);
        let directory =
            made.map_err(|source| LaunchError::Temporary { directory: root.clone(), source })?;
        let path = directory.path().to_owned();
        *temporary = Some(directory);
        Ok(path)
    }
}

/// Removing a directory may take long, so it is not done on a thread that drives runs.
impl Drop for Processes {
    fn drop(&mut self) {
        let temporary = self.temporary.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let Some(directory) = temporary else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let setup = Arc::clone(&self.setup);
        let workspace = std::mem::take(&mut self.workspace);
        drop(runtime.spawn_blocking(move || {
            drop(directory);
            if let Some(CommandSandbox { sandbox, policy }) = &setup.sandbox {
                sandbox.remove_leftovers(&Policy { workspace, ..policy.clone() });
            }
        }));
    }
}
