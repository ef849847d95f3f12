//! Runs in the background: started by one process, driven by another that belongs to no terminal.
//!
//! The first process starts this program again and waits until the run has begun; wrong usage and everything
//! else that keeps it from beginning is told there, by the second process, as for any other run. Then the
//! second leaves the session of the terminal, prints the id and closes what connects it to the first.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use attache_kernel::run::{assignment::BackgroundWork, outcome::Status};
use attache_runtime::internal::{
    host::Prepared, runtime::Runtime, store::FileStore, tasks::RunHandle,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    commands::run::start_failure,
    failure::{Exit, Failure},
    print,
    setup::{OutputFormat, Setup},
    transcripts,
};

/// The first argument of the process that drives a run in the background.
pub(crate) const MARK: &str = "--detached";

/// Starts this program again with these arguments, to drive a run in the background, and tells what it says
/// until the run has begun. With an input, that is its standard input; else it has this one's.
pub(crate) fn launch(
    arguments: impl IntoIterator<Item = OsString>,
    input: Option<&str>,
) -> Result<Exit, Failure> {
    match launched(arguments, input)? {
        Launched::Begun { said, .. } => {
            print::exact(&said)?;
            Ok(Exit::Success)
        }
        Launched::Ended(exit) => Ok(exit),
    }
}

/// What became of a process that is to drive a run in the background.
#[derive(Debug)]
pub(crate) enum Launched {
    /// The run has begun.
    Begun {
        /// Its id.
        id: String,
        /// What the process said of it.
        said: String,
    },
    /// It has not; the process has told why.
    Ended(Exit),
}

/// The same without telling what the process says.
pub(crate) fn launched(
    arguments: impl IntoIterator<Item = OsString>,
    input: Option<&str>,
) -> Result<Launched, Failure> {
    let cannot = |error: io::Error| {
        Failure::unsuccessful("cannot start a process in the background").because(&error)
    };
    let program = std::env::current_exe().map_err(cannot)?;
    let mut child = Command::new(program)
        .arg(MARK)
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::inherit() })
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        // A process that ended already says why.
        stdin.write_all(input.as_bytes()).unwrap_or_default();
    }
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said).map_err(cannot)?;
    }
    if !said.is_empty() {
        let object = serde_json::from_str::<serde_json::Value>(&said);
        let id = object.ok().and_then(|it| it.get("agent_id")?.as_str().map(str::to_owned));
        let id = id.unwrap_or_else(|| said.trim().to_owned());
        return Ok(Launched::Begun { id, said });
    }
    // It has told why it does not go on.
    let ended = child.wait().map_err(cannot)?;
    Ok(Launched::Ended(match ended.code() {
        Some(2) => Exit::Usage,
        Some(130) => Exit::Interrupted,
        _ => Exit::Unsuccessful,
    }))
}

/// Drives a prepared run to its end, in a process that `launch` started.
pub(crate) async fn drive(
    runtime: &Runtime,
    prepared: Prepared,
    store: &FileStore,
    setup: &Setup,
) -> Result<Exit, Failure> {
    // Fails only where the process leads a session or a group of its own already.
    rustix::process::setsid().map(drop).unwrap_or_default();
    let mut signals = Signals::new();
    let started = runtime.start(prepared).await;
    let handle = started.map_err(|error| start_failure(&error))?;
    let log = store.log_of(handle.assignment()).map_err(|error| transcripts::failure(&error))?;
    tell(&handle, &log, setup)?;
    if let Err(error) = leave(&log) {
        handle.cancel();
        return Err(
            Failure::unsuccessful(format!("cannot write {}", log.display())).because(&error)
        );
    }
    let result = loop {
        tokio::select! {
            result = handle.result() => break result,
            () = signals.next() => handle.cancel(),
        }
    };
    runtime.settled().await;
    let exit = match &result {
        Ok(result) => {
            if let Some(error) = &result.error {
                print::aside(&format!("{}: {error}", result.status.as_str()));
            }
            if result.status == Status::Goal { Exit::Success } else { Exit::Unsuccessful }
        }
        Err(error) => {
            print::aside(&error.to_string());
            Exit::Unsuccessful
        }
    };
    if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
        fs::remove_file(&log).unwrap_or_default();
    }
    Ok(exit)
}

/// Prints the id alone, and beside it how to look at the run.
fn tell(handle: &RunHandle, log: &Path, setup: &Setup) -> Result<(), Failure> {
    let (id, run) = (handle.id(), handle.assignment());
    match setup.format {
        OutputFormat::Json => print::json(&json!({
            "agent_id": id,
            "agent_type": run.definition.agent_type,
            "status": "running",
            "pid": std::process::id(),
            "session_id": run.session_id,
            "resumed_from": run.resumed_from,
            "log": log,
        }))?,
        OutputFormat::Text => print::out(&format!("{id}\n"))?,
    }
    // With `--detach` somebody waits for its answer.
    let is_awaited = run.background_work == BackgroundWork::LeftRunning;
    if !setup.quiet && setup.format == OutputFormat::Text && !is_awaited {
        print::aside(&format!(
            "it runs in the background; result: attache output {id} --wait, progress: attache transcript {id} --follow, end it: attache stop {id}"
        ));
    }
    Ok(())
}

/// Closes what connects this process to the one that started it. What it says from now on is in its log.
fn leave(log: &Path) -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stderr(&log)?;
    // The last: the other process waits for it.
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// What ends a run in the background: another program, not a terminal that is closed.
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    /// Listened to and passed over.
    _hangup: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            _hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    async fn next(&mut self) {
        async fn arrival(signal: Option<&mut tokio::signal::unix::Signal>) -> Option<()> {
            signal?.recv().await
        }
        tokio::select! {
            Some(()) = arrival(self.interrupt.as_mut()) => {}
            Some(()) = arrival(self.terminate.as_mut()) => {}
            else => std::future::pending().await,
        }
    }
}
