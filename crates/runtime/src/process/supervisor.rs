//! The task that watches a process: reads what it writes, notices its end, and ends what it left
//! behind.

use std::{
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tempfile::TempPath;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

use super::{channel::Channel, exit::Exit, leader::Leader, output::Collector, running::Ending};
use crate::{sandbox::Aftermath, tool::output::OutputSink};

/// After a process has ended, output of what it left behind is waited for this long, and again after
/// each piece of it, but not beyond the second.
const IDLE: Duration = Duration::from_millis(100);
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// How long output waits to be shown to those who watch, so that much of it makes few events.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// How much is read at once: what a pipe holds.
const BUFFER: usize = 64 << 10;

/// Where the output of a process comes from.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) channel: Arc<Channel>,
    /// A file that the process reads; removed with the process.
    pub(super) script: Option<TempPath>,
}

/// How far a process is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// How many bytes it has written.
    pub(super) bytes: u64,
    /// How it ended.
    pub(super) ending: Option<Ending>,
}

/// Watches a process.
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) leader: Arc<Leader>,
    source: Source,
    pub(super) output: Arc<Mutex<Collector>>,
    progress: watch::Sender<Progress>,
    pub(super) watcher: Arc<Mutex<OutputSink>>,
    /// When what has come is to be shown; none if nothing has.
    show_at: Option<Instant>,
    /// What is to be told about the command beside its output.
    pub(super) remark: Arc<OnceLock<String>>,
    began: Instant,
}

/// Whether more output may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    Over,
}

impl Supervisor {
    pub(super) fn new(
        leader: Arc<Leader>,
        source: Source,
        collector: Collector,
        watcher: OutputSink,
    ) -> Self {
        let output = Arc::new(Mutex::new(collector));
        watcher.is_collected_in(&output);
        Self {
            leader,
            source,
            output,
            progress: watch::Sender::default(),
            watcher: Arc::new(Mutex::new(watcher)),
            show_at: None,
            remark: Arc::default(),
            began: Instant::now(),
        }
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Watches the process until it has ended and was reaped.
    pub(super) async fn watch(mut self) {
        let mut buffer = vec![0; BUFFER];
        let mut flow = Flow::Open;
        loop {
            tokio::select! {
                read = self.source.channel.read(&mut buffer), if flow == Flow::Open => {
                    flow = self.take(read.ok(), &buffer).await;
                }
                () = show_time(self.show_at) => self.show(),
                () = self.leader.ended() => break,
            }
        }
        let took = self.began.elapsed();
        let last = Instant::now() + LAST_OUTPUT;
        while flow == Flow::Open && Instant::now() < last {
            flow = match self.source.channel.try_read(&mut buffer) {
                Ok(None) => match timeout(IDLE, self.source.channel.read(&mut buffer)).await {
                    Ok(read) => self.take(read.ok(), &buffer).await,
                    Err(_idle) => break,
                },
                read => self.take(read.ok().flatten(), &buffer).await,
            };
        }
        let left_behind = flow == Flow::Open;
        let exit = self.leader.reap().unwrap_or(Exit::Code(-1));
        drop(self.source.script.take());
        self.show();
        self.settle().await;
        let ending = Ending { exit, took, left_behind };
        self.progress.send_modify(|progress| progress.ending = Some(ending));
    }

    /// Does what is due now that everything has ended.
    async fn settle(&self) {
        let aftermath = self.leader.take_aftermath();
        if matches!(aftermath, Aftermath::None) {
            return;
        }
        let settled = tokio::task::spawn_blocking(move || aftermath.settle());
        if let Some(remark) = settled.await.unwrap_or_default() {
            let shown = format!("{remark}\n");
            self.watcher.lock().unwrap_or_else(PoisonError::into_inner).send(shown);
            self.remark.set(remark).unwrap_or_default();
        }
    }

    /// Takes what was read: that number of bytes of the buffer, 0 at the end.
    async fn take(&mut self, read: Option<usize>, buffer: &[u8]) -> Flow {
        let bytes = read.and_then(|read| buffer.get(..read)).unwrap_or_default();
        if bytes.is_empty() {
            return Flow::Over;
        }
        let output = Arc::clone(&self.output);
        let may_write = output.lock().unwrap_or_else(PoisonError::into_inner).may_write(bytes);
        if may_write {
            let bytes = bytes.to_vec();
            let written = tokio::task::spawn_blocking(move || {
                output.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes);
            });
            // It fails only when everything ends.
            written.await.unwrap_or_default();
        } else {
            output.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
        }
        self.progress.send_modify(|progress| progress.bytes += bytes.len() as u64);
        self.show_at.get_or_insert_with(|| Instant::now() + SHOWN_EVERY);
        Flow::Open
    }

    /// Shows what has come to those who watch.
    fn show(&mut self) {
        self.show_at = None;
        let fresh = self.output.lock().unwrap_or_else(PoisonError::into_inner).fresh();
        if !fresh.is_empty() {
            self.watcher.lock().unwrap_or_else(PoisonError::into_inner).send(fresh);
        }
    }
}

async fn show_time(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
