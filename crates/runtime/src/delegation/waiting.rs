//! Waiting for an agent: a call that is dropped stops the agent it waits for.

use std::sync::Arc;

use attache_kernel::run::outcome::RunResult;

use crate::tasks::{RunHandle, RuntimeDropped};

/// An agent that is stopped when nobody waits for it any more.
#[derive(Debug)]
pub(super) struct Attended {
    handle: Option<RunHandle>,
}

/// How waiting ended.
#[derive(Debug)]
pub(super) enum Waited {
    /// The agent ended.
    Ended(Arc<RunResult>),
    /// Somebody sent it to the background.
    Detached(RunHandle),
}

impl Attended {
    pub(super) fn new(handle: RunHandle) -> Self {
        Self { handle: Some(handle) }
    }

    /// Waits until the agent has ended, or goes on in the background.
    pub(super) async fn wait(mut self) -> Result<Waited, RuntimeDropped> {
        let Some(handle) = self.handle.clone() else { return Err(RuntimeDropped) };
        let waited = tokio::select! {
            biased;
            result = handle.result() => Waited::Ended(result?),
            () = handle.sent_to_background() => Waited::Detached(handle),
        };
        self.handle = None;
        Ok(waited)
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(handle) = &self.handle {
            handle.cancel();
        }
    }
}
