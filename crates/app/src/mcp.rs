//! The MCP server: the agents of this machine as tools of a host.
//!
//! Invariants: standard output carries the protocol and nothing else. Every run that a host asks for goes
//! through the front door, and its header names `mcp`. A run that a request waits for ends with the request,
//! or with the client that made it; a background run is driven by a process of its own, and goes on.

mod agent_tools;
mod answer;
mod launcher;
mod lines;
mod progress;
mod server;
mod stdio;
mod tools;

use std::{sync::Arc, time::Duration};

use attache_kernel::id::SessionId;
use attache_runtime::{
    runtime::Runtime,
    tasks::{ClientReach, new_session_id},
};

use self::{launcher::ProcessLauncher, server::Server};
use crate::{
    cli::Globals,
    commands::mcp::ServerArgs,
    failure::{Exit, Failure},
    open_files,
    setup::Setup,
    transcripts,
};

/// How long the end of the server waits for runs that were told to stop.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it then waits for commands that were told to end.
const TIDYING_PATIENCE: Duration = Duration::from_millis(500);

/// What all clients of a server share.
#[derive(Debug)]
pub(crate) struct Shared {
    runtime: Runtime,
    options: ServerArgs,
    launcher: Arc<ProcessLauncher>,
}

/// One client, from its first request to its last.
#[derive(Debug)]
struct Session {
    id: SessionId,
    reach: ClientReach,
}

/// Serves until the client, or the user, ends it.
pub(crate) fn serve(
    options: &ServerArgs,
    globals: &Globals,
    setup: &Setup,
) -> Result<Exit, Failure> {
    open_files::require_enough()?;
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let served = threads.block_on(async {
        let runtime = setup.runtime(transcripts::store(setup))?;
        let shared = Arc::new(Shared {
            runtime,
            options: options.clone(),
            launcher: Arc::new(ProcessLauncher::new(globals)),
        });
        let session = Session { id: new_session_id(), reach: ClientReach::AllClients };
        let served = stdio::serve(Server::new(Arc::clone(&shared), session)).await;
        end_runs(&shared.runtime).await;
        served
    });
    threads.shutdown_timeout(TIDYING_PATIENCE);
    served
}

/// Ends what still runs in this process, and waits until it is written down.
async fn end_runs(runtime: &Runtime) {
    let ids = runtime.runs();
    let handles: Vec<_> = ids.iter().filter_map(|id| runtime.handle(id)).collect();
    handles.iter().for_each(attache_runtime::tasks::RunHandle::cancel);
    let ended = async {
        for handle in &handles {
            // A run without a result has its transcript.
            drop(handle.result().await);
        }
        runtime.settled().await;
    };
    // What takes longer is interrupted, and can be resumed.
    drop(tokio::time::timeout(PATIENCE, ended).await);
}
