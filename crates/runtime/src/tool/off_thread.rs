//! Work that blocks, kept off the threads that drive the runs.

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Foresight, ToolOutput};

/// Does work that takes several threads when its turn has come.
pub(super) async fn in_turn<F>(turns: &Semaphore, cancel: &CancellationToken, work: F) -> ToolOutput
where
    F: FnOnce(&CancellationToken) -> Result<ToolOutput, ToolOutput> + Send + 'static,
{
    match cancel.run_until_cancelled(turns.acquire()).await {
        Some(Ok(_turn)) => off_thread(cancel, work).await,
        Some(Err(_)) | None => ToolOutput::error("cancelled"),
    }
}

/// Does blocking work on a thread for it and waits.
///
/// The token given to the work is cancelled with the caller's, and also when the caller stops
/// waiting, so that no work outlives the one who wanted it.
pub(super) async fn off_thread<F>(cancel: &CancellationToken, work: F) -> ToolOutput
where
    F: FnOnce(&CancellationToken) -> Result<ToolOutput, ToolOutput> + Send + 'static,
{
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let worker = tokio::task::spawn_blocking(move || {
        let output = work(&stop).unwrap_or_else(|failure| failure);
        if stop.is_cancelled() { ToolOutput::error("cancelled") } else { output }
    });
    worker.await.unwrap_or_else(|_| ToolOutput::error("the tool broke off without an answer"))
}

/// Finds out what a call would do, on a thread for it. Nothing is known if that is given up.
pub(super) async fn foreseen<F>(cancel: &CancellationToken, work: F) -> Foresight
where
    F: FnOnce(&CancellationToken) -> Foresight + Send + 'static,
{
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    tokio::task::spawn_blocking(move || work(&stop)).await.unwrap_or_default()
}
