//! The process of an instance, as its owner talks to it.

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
    sync::mpsc,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    super::{
        Instances,
        lines::{Lines, line},
        protocol::{Down, PROTOCOL, Up},
    },
    keeper::Trouble,
};
use crate::process::{CommandSetup, Service, ServiceLaunch, ServiceLife};

/// How much of its error output is kept, for the message that it failed.
const ERRORS_KEPT: usize = 2000;

/// An instance that was started. Dropping it ends it with all it started.
pub(super) struct InstanceProcess {
    lines: Lines<pipe::Receiver>,
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    _writer: AbortOnDropHandle<()>,
    errors: AbortOnDropHandle<String>,
    life: ServiceLife,
    has_greeted: bool,
}

/// What an instance says.
pub(super) enum Said {
    /// It is there.
    Hello,
    /// A message.
    Message(Up),
    /// It has ended: how, as the end of a sentence.
    Gone(String),
}

impl InstanceProcess {
    pub(super) async fn start(
        commands: &Arc<CommandSetup>,
        instances: &Instances,
        directory: PathBuf,
    ) -> Result<Self, Trouble> {
        let launch = ServiceLaunch {
            program: instances.program.display().to_string(),
            arguments: instances.arguments.clone(),
            directory,
            variables: BTreeMap::new(),
        };
        let commands = Arc::clone(commands);
        let runtime = tokio::runtime::Handle::current();
        let served = tokio::task::spawn_blocking(move || {
            let _entered = runtime.enter();
            commands.serve(launch)
        });
        let failed =
            |problem: String| Trouble::Instance(format!("could not be started: {problem}"));
        let served = served.await.map_err(|error| failed(error.to_string()))?;
        let Service { input, output, errors, life } =
            served.map_err(|error| failed(error.to_string()))?;
        let (outgoing, incoming) = mpsc::unbounded_channel();
        Ok(Self {
            lines: Lines::new(output),
            outgoing: Some(outgoing),
            _writer: AbortOnDropHandle::new(tokio::spawn(write(input, incoming))),
            errors: AbortOnDropHandle::new(tokio::spawn(last_of(errors))),
            life,
            has_greeted: false,
        })
    }

    /// Tells the instance something. It is not waited for: an instance that reads no more is found out by its
    /// silence.
    pub(super) fn tell(&self, message: &Down) -> Result<(), Trouble> {
        let failed = |error: io::Error| Trouble::Instance(format!("cannot be told: {error}"));
        let line = line(message).map_err(failed)?;
        if let Some(outgoing) = &self.outgoing {
            // A process that no longer listens has ended; its end is read next.
            outgoing.send(line).map_err(drop).unwrap_or_default();
        }
        Ok(())
    }

    /// What it says next. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Said, Trouble> {
        let message = self.lines.next::<Up>().await;
        match message.map_err(|error| Trouble::Instance(error.to_string()))? {
            Some(Up::Hello { protocol: PROTOCOL, .. }) => {
                self.has_greeted = true;
                Ok(Said::Hello)
            }
            Some(Up::Hello { protocol, version, .. }) => Err(Trouble::Instance(format!(
                "is attache {version} and speaks version {protocol} of the bridge, not {PROTOCOL}"
            ))),
            Some(message @ Up::Refused { .. }) => Ok(Said::Message(message)),
            Some(_) if !self.has_greeted => {
                Err(Trouble::Instance("did not begin with hello".to_owned()))
            }
            Some(message) => Ok(Said::Message(message)),
            None => Ok(Said::Gone(self.ending().await)),
        }
    }

    /// How it ended.
    async fn ending(&mut self) -> String {
        let patience = Duration::from_secs(3);
        let ended = tokio::time::timeout(patience, self.life.exit()).await;
        let how = match ended {
            Ok(Some(exit)) => format!("ended before the agent did: {exit}"),
            Ok(None) => "ended before the agent did".to_owned(),
            Err(_) => "closed its output before the agent ended".to_owned(),
        };
        let errors = tokio::time::timeout(Duration::from_millis(500), &mut self.errors).await;
        match errors.ok().and_then(Result::ok).map(|text| text.trim().to_owned()) {
            Some(errors) if !errors.is_empty() => format!("{how}; it said: {errors}"),
            _ => how,
        }
    }

    /// Waits for it to end by itself, at most so long.
    pub(super) async fn end(&mut self, patience: Duration) {
        self.outgoing = None;
        tokio::time::timeout(patience, self.life.ended()).await.unwrap_or_default();
    }
}

async fn write(mut input: pipe::Sender, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if input.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// The last of what it writes to its error output.
async fn last_of(mut errors: pipe::Receiver) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = errors.read(&mut buffer).await {
        kept.extend(buffer.iter().take(read));
        let beyond = kept.len().saturating_sub(ERRORS_KEPT);
        kept.drain(..beyond);
    }
    String::from_utf8_lossy(&kept).into_owned()
}
