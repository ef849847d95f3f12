//! A process under way, as its owner sees it. Dropping it ends the process with everything it started.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    channel::Channel,
    exit::Exit,
    leader::Leader,
    output::{Collected, Collector},
    supervisor::{Progress, Supervisor},
};
use crate::tool::{artifacts::Bound, output::OutputSink};

/// A line without an end after which nothing comes for this long is a prompt.
const PROMPT: Duration = Duration::from_millis(300);

/// A process under way.
#[derive(Debug)]
pub(crate) struct Process {
    leader: Arc<Leader>,
    output: Arc<Mutex<Collector>>,
    progress: watch::Receiver<Progress>,
    keyboard: Keyboard,
    watcher: Arc<Mutex<OutputSink>>,
    remark: Arc<OnceLock<String>>,
    _supervisor: AbortOnDropHandle<()>,
}

/// What is typed for a process goes in here.
#[derive(Debug)]
pub(super) enum Keyboard {
    /// It has none.
    None,
    /// A pipe, until it is closed.
    Pipe(Mutex<Option<Arc<Channel>>>),
    /// A terminal.
    Terminal(Arc<Channel>),
}

/// Why nothing, or not all, was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TypingError {
    #[error("its input is closed")]
    Closed,
    #[error("it does not read its input: {typed} of {all} bytes were taken")]
    NotRead { typed: usize, all: usize },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    /// By itself or by a signal.
    pub(crate) exit: Exit,
    /// After how long.
    pub(crate) took: Duration,
    /// Whether it had started others that went on when it ended; they were killed. A helper of the sandbox
    /// tells of them in the output itself.
    pub(crate) left_behind: bool,
}

impl Process {
    pub(super) fn watched_by(supervisor: Supervisor, keyboard: Keyboard) -> Self {
        Self {
            leader: Arc::clone(&supervisor.leader),
            output: Arc::clone(&supervisor.output),
            progress: supervisor.progress(),
            keyboard,
            watcher: Arc::clone(&supervisor.watcher),
            remark: Arc::clone(&supervisor.remark),
            _supervisor: AbortOnDropHandle::new(tokio::spawn(supervisor.watch())),
        }
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> Ending {
        let mut progress = self.progress.clone();
        let ended = progress.wait_for(|progress| progress.ending.is_some()).await;
        // The sender goes only after it told the ending, or with the whole runtime.
        let ending = ended.ok().and_then(|progress| progress.ending);
        ending.unwrap_or(Ending { exit: Exit::Signal(9), took: Duration::ZERO, left_behind: false })
    }

    /// How it ended, if it has.
    pub(crate) fn ending(&self) -> Option<Ending> {
        self.progress.borrow().ending
    }

    /// Ends it with everything it started.
    pub(crate) fn stop(&self) {
        self.leader.stop();
    }

    /// Shows its output there from now on.
    pub(crate) fn show_to(&self, watcher: OutputSink) {
        watcher.is_collected_in(&self.output);
        *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = watcher;
    }

    /// Types text for it, as far as it is taken within that time. On a pipe, Ctrl-D closes the input.
    pub(crate) async fn type_in(&self, text: &str, within: Duration) -> Result<(), TypingError> {
        let (text, closes) = match (&self.keyboard, text.split_once('\u{4}')) {
            (Keyboard::Pipe(_), Some((text, _))) => (text, true),
            (Keyboard::Pipe(_) | Keyboard::Terminal(_) | Keyboard::None, _) => (text, false),
        };
        let channel = self.keyboard.channel().ok_or(TypingError::Closed)?;
        let mut rest = text.as_bytes();
        let until = Instant::now() + within;
        while !rest.is_empty() {
            match timeout_at(until, channel.write(rest)).await {
                Ok(Ok(bytes)) => rest = rest.get(bytes..).unwrap_or_default(),
                Ok(Err(_)) => return Err(TypingError::Closed),
                Err(_) => {
                    let all = text.len();
                    return Err(TypingError::NotRead { typed: all - rest.len(), all });
                }
            }
        }
        if closes {
            self.keyboard.close();
        }
        Ok(())
    }

    /// Waits until it has ended, or wants an answer, or `longest` has passed.
    ///
    /// It wants an answer when it has written the beginning of a line and then nothing for a moment, as a
    /// prompt looks. With `pause`, a pause of that length after any output ends the wait too.
    pub(crate) async fn quiet(&self, longest: Duration, pause: Option<Duration>) {
        let until = Instant::now() + longest;
        let mut progress = self.progress.clone();
        loop {
            if progress.borrow_and_update().ending.is_some() {
                return;
            }
            let pause = {
                let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
                match (output.has_output(), output.ends_within_a_line()) {
                    (false, _) => None,
                    (true, true) => Some(PROMPT),
                    (true, false) => pause,
                }
            };
            let wake = pause.map_or(until, |pause| until.min(Instant::now() + pause));
            if !matches!(timeout_at(wake, progress.changed()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// What it wrote since this was last asked.
    pub(crate) async fn take_output(&self, bound: Bound) -> Collected {
        let is_over = self.ending().is_some();
        let output = Arc::clone(&self.output);
        let taken = tokio::task::spawn_blocking(move || {
            output.lock().unwrap_or_else(PoisonError::into_inner).take(bound, is_over)
        });
        let collected = taken.await.unwrap_or_default();
        Collected { remark: self.remark.get().cloned(), ..collected }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.leader.stop();
    }
}

impl Keyboard {
    fn channel(&self) -> Option<Arc<Channel>> {
        match self {
            Self::None => None,
            Self::Pipe(pipe) => pipe.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Self::Terminal(terminal) => Some(Arc::clone(terminal)),
        }
    }

    fn close(&self) {
        if let Self::Pipe(pipe) = self {
            drop(pipe.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
