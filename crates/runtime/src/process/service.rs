//! A program that serves this one over its standard streams while it is held, such as an MCP server.
//!
//! Invariant: dropping its [`ServiceLife`] ends it with everything it started. Where commands have a
//! sandbox helper, the end of this program does the same, also by SIGKILL. It is not confined.

use std::{
    collections::BTreeMap,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::PathBuf,
    process::Command,
};

use tokio::net::unix::pipe;

use super::{
    CommandSandbox, CommandSetup, Exit, LaunchError,
    launch::spawned,
    leader::{Leader, Stop},
};
use crate::sandbox::{Mode, Policy};

/// A program to be started.
#[derive(Debug)]
pub(crate) struct ServiceLaunch {
    /// A name that is searched for, or a path.
    pub(crate) program: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// The directory it is started in.
    pub(crate) directory: PathBuf,
    /// Variables it gets besides those that commands see.
    pub(crate) variables: BTreeMap<String, String>,
}

/// A program that was started, with this program's ends of its streams.
#[derive(Debug)]
pub(crate) struct Service {
    /// What it reads.
    pub(crate) input: pipe::Sender,
    /// What it writes.
    pub(crate) output: pipe::Receiver,
    /// What it writes to its error output.
    pub(crate) errors: pipe::Receiver,
    /// Ends it when it is dropped.
    pub(crate) life: ServiceLife,
}

/// Keeps a program running.
#[derive(Debug)]
pub(crate) struct ServiceLife {
    leader: Leader,
}

impl ServiceLife {
    /// Waits until the program has ended by itself.
    pub(crate) async fn ended(&self) {
        self.leader.ended().await;
    }

    /// Waits until the program has ended by itself, and says how; none if that was said before.
    pub(crate) async fn exit(&self) -> Option<Exit> {
        self.leader.ended().await;
        self.leader.reap().ok()
    }
}

impl CommandSetup {
    /// Starts a program that serves this one. It blocks for a moment.
    pub(crate) fn serve(&self, launch: ServiceLaunch) -> Result<Service, LaunchError> {
        let ServiceLaunch { program: word, arguments, directory, variables } = launch;
        if word.trim().is_empty() {
            return Err(LaunchError::Empty);
        }
        let is_path = word.contains('/');
        let searched = if is_path { "sh" } else { word.as_str() };
        let (found, environment) = self
            .environment
            .of_program(searched, &directory)
            .ok_or_else(|| LaunchError::NoSuchProgram { program: word.clone() })?;
        let program = if is_path { directory.join(&word) } else { found };
        let arguments: Vec<_> = arguments.into_iter().map(Into::into).collect();
        let (mut command, stop) = match &self.sandbox {
            None => {
                let mut command = Command::new(&program);
                command.args(&arguments).process_group(0);
                (command, Stop::Kill)
            }
            Some(CommandSandbox { sandbox, policy }) => {
                let policy = Policy {
                    mode: Mode::DangerFullAccess,
                    workspace: directory.clone(),
                    temp_dir: self.temporary_root.clone(),
                    ..policy.clone()
                };
                (sandbox.command(&policy, program.as_os_str(), &arguments)?, Stop::Ask)
            }
        };
        command.current_dir(&directory).env_clear().envs(environment).envs(variables);
        let (theirs, input) = io::pipe()?;
        command.stdin(theirs);
        let (output, theirs) = io::pipe()?;
        command.stdout(theirs);
        let (errors, theirs) = io::pipe()?;
        command.stderr(theirs);
        let child = spawned(command, &program, &directory)?;
        let life = ServiceLife { leader: Leader::new(child, stop)? };
        Ok(Service {
            input: pipe::Sender::from_owned_fd(OwnedFd::from(input))?,
            output: pipe::Receiver::from_owned_fd(OwnedFd::from(output))?,
            errors: pipe::Receiver::from_owned_fd(OwnedFd::from(errors))?,
            life,
        })
    }
}
