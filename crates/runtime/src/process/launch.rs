//! Starting a process: the command line, where it runs, what it gets for its input.

use std::{
    ffi::OsString,
    fmt, fs, io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use attache_kernel::rights::protected::protected_above;
use rustix::io::Errno;
use tempfile::{NamedTempFile, TempPath};
use tokio::io::Interest;

use super::{
    CommandSandbox, Processes,
    channel::Channel,
    leader::{Leader, Stop},
    output::Collector,
    running::{Keyboard, Process},
    supervisor::{Source, Supervisor},
    terminal::Terminal,
};
use crate::{
    sandbox::{Aftermath, Mode, Policy, SandboxError},
    tool::{
        output::OutputSink,
        workspace::{reason, shown},
    },
};

/// The longest command; a longer text belongs in a file.
const LONGEST: usize = 1 << 20;
/// The kernel takes no single argument of 128 KB; a longer script is given to the shell as a file.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// Where protected paths are moved that a command created, among the artifacts.
const PLANTED: &str = "planted";

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandLine {
    /// A text for a shell.
    Script(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// What a process gets for its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Nothing: its end at once.
    Nothing,
    /// A pipe.
    Pipe,
    /// A terminal, which it also writes to.
    Terminal,
}

/// A process to be started.
#[derive(Debug)]
pub(crate) struct Launch {
    /// What is to be run.
    pub(crate) command: CommandLine,
    /// Where.
    pub(crate) directory: PathBuf,
    /// What it gets for its input.
    pub(crate) input: Input,
    /// Whether the sandbox holds it.
    pub(crate) reach: Reach,
    /// The name that long output is kept under.
    pub(crate) stem: &'static str,
    /// Where its output is shown while it comes.
    pub(crate) watcher: OutputSink,
}

/// Whether the sandbox holds a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It does, and lets it write nothing: it was allowed because it only reads.
    Reading,
    /// It does.
    Sandboxed,
    /// Somebody allowed it to run outside of it.
    Escalated,
}

/// Why a process was not started; the text is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    #[error("the command is empty")]
    Empty,
    #[error("the command contains a NUL character; write such bytes with printf '\\0'")]
    Nul,
    #[error("the command is longer than 1 MB; write it to a file and run that")]
    TooLong,
    #[error("cannot run `{program}`: no such program in PATH")]
    NoSuchProgram { program: String },
    #[error("cannot run `{program}`: {}", launch_reason(source))]
    Program { program: String, source: io::Error },
    #[error("cannot run a command in {}: the directory is gone", shown(.0))]
    DirectoryGone(PathBuf),
    #[error(
        "commands cannot run in {}: keys or other files are kept there that they may not read",
        shown(.0)
    )]
    Hidden(PathBuf),
    #[error("no directory for temporary files in {}: {}", shown(directory), reason(source))]
    Temporary { directory: PathBuf, source: io::Error },
    #[error("cannot start the sandbox: {0}")]
    Sandbox(#[from] SandboxError),
    #[error("cannot connect to the process: {}", reason(.0))]
    Connection(#[from] io::Error),
}

/// The program and arguments that a command line comes down to.
struct Resolved {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// A script that was too long to be an argument; removed when the process has ended.
    script: Option<TempPath>,
}

impl Processes {
    /// Starts a process. It takes a thread that may block while it does so.
    pub(crate) async fn start(self: &Arc<Self>, launch: Launch) -> Result<Process, LaunchError> {
        let processes = Arc::clone(self);
        let started = tokio::task::spawn_blocking(move || processes.start_now(launch));
        started.await.map_err(|error| LaunchError::Connection(io::Error::other(error)))?
    }

    fn start_now(&self, launch: Launch) -> Result<Process, LaunchError> {
        let Launch { command, directory, input, reach, stem, watcher } = launch;
        let temporary = self.temporary_directory()?;
        let Resolved { program, arguments, script } =
            self.resolve(command, &directory, &temporary)?;
        let (mut command, aftermath) = self.command(&program, &arguments, reach, &temporary)?;
        command
            .current_dir(&directory)
            .env_clear()
            .envs(self.setup.environment.of_command(&directory, &temporary));
        let ends = Ends::open(&mut command, input)?;
        let child = spawned(command, &program, &directory)?;
        let leader = Arc::new(Leader::new(child, self.stop())?.followed_by(aftermath));
        let source = Arc::new(Channel::new(ends.output, ends.interest)?);
        let keyboard = match (input, ends.input) {
            (Input::Terminal, _) => Keyboard::Terminal(Arc::clone(&source)),
            (Input::Nothing | Input::Pipe, None) => Keyboard::None,
            (Input::Nothing | Input::Pipe, Some(pipe)) => {
                let pipe = Channel::new(pipe, Interest::WRITABLE)?;
                Keyboard::Pipe(Mutex::new(Some(Arc::new(pipe))))
            }
        };
        let collector = Collector::new(Arc::clone(&self.artifacts), stem);
        let source = Source { channel: source, script };
        let supervisor = Supervisor::new(leader, source, collector, watcher);
        Ok(Process::watched_by(supervisor, keyboard))
    }

    /// What ends the commands that are started here.
    fn stop(&self) -> Stop {
        if self.setup.sandbox.is_some() { Stop::Ask } else { Stop::Kill }
    }

    /// A command that leads a group of its own. Where there is a sandbox, its helper starts the program,
    /// outside of the sandbox too: it ends all that the program has started.
    fn command(
        &self,
        program: &Path,
        arguments: &[OsString],
        reach: Reach,
        temporary: &Path,
    ) -> Result<(Command, Aftermath), LaunchError> {
        let Some(CommandSandbox { sandbox, policy }) = &self.setup.sandbox else {
            let mut command = Command::new(program);
            command.args(arguments).process_group(0);
            return Ok((command, Aftermath::None));
        };
        let policy = self.policy_of_run(policy, reach, temporary);
        if reach != Reach::Escalated && policy.hides_workspace() {
            return Err(LaunchError::Hidden(self.workspace.clone()));
        }
        let aftermath = sandbox.aftermath(&policy, self.artifacts.directory().join(PLANTED));
        let program = program.as_os_str();
        let command = sandbox.command_before(&policy, program, arguments, &aftermath)?;
        Ok((command, aftermath))
    }

    fn policy_of_run(&self, policy: &Policy, reach: Reach, temporary: &Path) -> Policy {
        let mut policy = Policy {
            workspace: self.workspace.clone(),
            temp_dir: temporary.to_owned(),
            shown: self.shown.iter().cloned().collect(),
            ..policy.clone()
        };
        match reach {
            Reach::Escalated => policy.mode = Mode::DangerFullAccess,
            Reach::Reading | Reach::Sandboxed => {
                policy.deny_read.extend_from_slice(&self.hidden);
                let closed = self.withheld.below(&self.workspace);
                policy.deny_read.extend_from_slice(&closed.hidden);
                policy.read_only.extend_from_slice(&closed.kept);
                let is_kept = closed.kept.contains(&self.workspace);
                let workspace = self.workspace.to_string_lossy();
                let is_closed =
                    reach == Reach::Reading || is_kept || protected_above(&workspace).is_some();
                if policy.mode == Mode::WorkspaceWrite && is_closed {
                    policy.mode = Mode::ReadOnly;
                    policy.network &= reach != Reach::Reading;
                }
            }
        }
        policy
    }

    /// Notes that a file was written rightfully where commands may not create one.
    pub(crate) fn approve(&self, path: PathBuf) {
        if let Some(CommandSandbox { sandbox, .. }) = &self.setup.sandbox {
            sandbox.approve(path);
        }
    }

    /// What the sandbox lets a command do that was started; `None` without one.
    pub(crate) fn policy(&self, reach: Reach) -> Option<Policy> {
        let temporary = self.temporary_directory().ok()?;
        let CommandSandbox { policy, .. } = self.setup.sandbox.as_ref()?;
        Some(self.policy_of_run(policy, reach, &temporary))
    }

    fn resolve(
        &self,
        command: CommandLine,
        directory: &Path,
        temporary: &Path,
    ) -> Result<Resolved, LaunchError> {
        command.check()?;
        let environment = &self.setup.environment;
        match command {
            CommandLine::Words(mut words) => {
                let word = words.remove(0);
                let program = if word.contains('/') {
                    directory.join(&word)
                } else {
                    environment
                        .find_program(&word)
                        .ok_or(LaunchError::NoSuchProgram { program: word })?
                };
                let arguments = words.into_iter().map(OsString::from).collect();
                Ok(Resolved { program, arguments, script: None })
            }
            CommandLine::Script(script) => {
                let shell = environment.find_program("bash");
                let program = shell.unwrap_or_else(|| "/bin/sh".into());
                if script.len() <= LONGEST_ARGUMENT {
                    let arguments = vec!["-c".into(), script.into()];
                    return Ok(Resolved { program, arguments, script: None });
                }
                let file = written(temporary, &script).map_err(|source| {
                    LaunchError::Temporary { directory: temporary.to_owned(), source }
                })?;
                let arguments = vec![file.as_os_str().to_owned()];
                Ok(Resolved { program, arguments, script: Some(file) })
            }
        }
    }
}

fn written(temporary: &Path, script: &str) -> io::Result<TempPath> {
    let file = NamedTempFile::with_prefix_in("script-", temporary)?;
    fs::write(file.path(), script)?;
    Ok(file.into_temp_path())
}

/// Our ends of what a process reads from and writes to.
struct Ends {
    output: OwnedFd,
    interest: Interest,
    input: Option<OwnedFd>,
}

impl Ends {
    /// Connects a command. Its output and its errors go into one pipe, so that they stay in order.
    fn open(command: &mut Command, input: Input) -> io::Result<Self> {
        if input == Input::Terminal {
            let Terminal { ours, theirs } = Terminal::open()?;
            command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
            let interest = Interest::READABLE | Interest::WRITABLE;
            return Ok(Self { output: ours, interest, input: None });
        }
        let (output, theirs) = io::pipe()?;
        command.stdout(theirs.try_clone()?).stderr(theirs);
        let mut ours = None;
        if input == Input::Pipe {
            let (theirs, typed) = io::pipe()?;
            command.stdin(theirs);
            ours = Some(typed.into());
        } else {
            command.stdin(Stdio::null());
        }
        Ok(Self { output: output.into(), interest: Interest::READABLE, input: ours })
    }
}

impl CommandLine {
    fn check(&self) -> Result<(), LaunchError> {
        let words = match self {
            Self::Script(script) => std::slice::from_ref(script),
            Self::Words(words) => words.as_slice(),
        };
        match words.first() {
            None => return Err(LaunchError::Empty),
            Some(first) if first.trim().is_empty() => return Err(LaunchError::Empty),
            Some(_) => {}
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(LaunchError::Nul);
        }
        if words.iter().map(String::len).sum::<usize>() > LONGEST {
            return Err(LaunchError::TooLong);
        }
        Ok(())
    }
}

/// The script itself, or the words as a shell would take them.
impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Script(script) => return formatter.write_str(script),
            Self::Words(words) => words,
        };
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                formatter.write_str(" ")?;
            }
            let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+".contains(letter);
            if !word.is_empty() && word.chars().all(is_plain) {
                formatter.write_str(word)?;
            } else {
                write!(formatter, "'{}'", word.replace('\'', "'\\''"))?;
            }
        }
        Ok(())
    }
}

/// Starts a command. Its ends of its pipes are closed here: they would keep them open.
pub(super) fn spawned(
    mut command: Command,
    program: &Path,
    directory: &Path,
) -> Result<Child, LaunchError> {
    command.spawn().map_err(|source| {
        if directory.is_dir() {
            LaunchError::Program { program: shown(program), source }
        } else {
            LaunchError::DirectoryGone(directory.to_owned())
        }
    })
}

fn launch_reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::TOOBIG) => "its arguments are too long; write them to a file".to_owned(),
        Some(Errno::TXTBSY) => "the program is still being written".to_owned(),
        Some(Errno::NOEXEC) => "it is not a program; name its interpreter".to_owned(),
        Some(Errno::ACCESS) => "permission denied; is it executable?".to_owned(),
        Some(Errno::NOENT) => "no such program, or its interpreter is missing".to_owned(),
        _ => reason(error),
    }
}
