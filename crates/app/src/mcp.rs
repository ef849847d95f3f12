//! The MCP server: the agents of this machine as tools of a host.
//!
//! Invariants: standard output carries the protocol and nothing else. Every run that a host asks for goes
//! through the front door, and its header names `mcp`. A run that a request waits for ends with the request,
//! or with the client that made it; a background run is driven by a process of its own, and goes on.

mod agent_tools;
mod answer;
mod calling;
mod calls;
mod changes;
mod elicitation;
mod host_model;
mod http;
pub(crate) mod install;
mod launcher;
mod lines;
mod message_id;
mod progress;
mod prompts;
mod resources;
mod roots;
mod server;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use attache_kernel::id::SessionId;
use attache_runtime::internal::{
    model::Model,
    runtime::Runtime,
    tasks::{ClientReach, new_session_id},
};

use self::{
    calls::Calls,
    changes::Changes,
    host_model::HostModel,
    http::{Door, Token},
    launcher::ProcessLauncher,
    server::Server,
};
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
    changes: Changes,
    /// Calls that go on between requests.
    calls: Calls,
    /// The hosts' own models, where they are used.
    host_model: Option<Arc<HostModel>>,
    working_directory: PathBuf,
}

/// One client, from its first request to its last.
#[derive(Debug)]
struct Session {
    id: SessionId,
    reach: ClientReach,
}

impl Shared {
    fn new(options: &ServerArgs, globals: &Globals, setup: &Setup) -> Result<Self, Failure> {
        let wants_host = options.model.as_deref() == Some(host_model::NAME);
        let host_model = wants_host.then(Arc::<HostModel>::default);
        let local = host_model.clone().map(|model| (host_model::NAME, model as Arc<dyn Model>));
        Ok(Self {
            runtime: setup.runtime_with(transcripts::store(setup), local)?,
            options: options.clone(),
            launcher: Arc::new(ProcessLauncher::new(globals)),
            changes: Changes::new(setup.places()),
            calls: Calls::default(),
            host_model,
            working_directory: setup.working_directory.clone(),
        })
    }
}

/// Serves until the client, or the user, ends it.
pub(crate) fn serve(
    options: &ServerArgs,
    globals: &Globals,
    setup: &Setup,
) -> Result<Exit, Failure> {
    require_agents(setup)?;
    open_files::require_enough()?;
    let door = match options.http {
        None => None,
        Some(address) => {
            let token = token(options.token_file.as_deref(), setup)?;
            Some(Door::new(address, token, options.allow_host.clone())?)
        }
    };
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let served = threads.block_on(async {
        let shared = Arc::new(Shared::new(options, globals, setup)?);
        let served = if let Some(door) = door {
            http::serve(door, Arc::clone(&shared)).await
        } else {
            let session = Session { id: new_session_id(), reach: ClientReach::AllClients };
            Box::pin(stdio::serve(Server::over_stdio(Arc::clone(&shared), session))).await
        };
        end_runs(&shared.runtime).await;
        served
    });
    threads.shutdown_timeout(TIDYING_PATIENCE);
    served
}

/// Without agents there is nothing to serve.
fn require_agents(setup: &Setup) -> Result<(), Failure> {
    let settings = &setup.settings;
    let key = if !settings.subagents.enabled {
        "subagents.enabled"
    } else if !settings.tools.subagent_tools {
        "tools.subagent_tools"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("there is nothing to serve: {key} is false"))
        .hint(format!("set {key} = true, for this server alone with -c {key}=true")))
}

/// The token of the file, or of the environment.
fn token(file: Option<&Path>, setup: &Setup) -> Result<Option<Token>, Failure> {
    let text = match file {
        Some(file) => {
            let path = setup.working_directory.join(file);
            Some(std::fs::read_to_string(&path).map_err(|error| {
                Failure::usage(format!("cannot read the token in {}", path.display()))
                    .because(&error)
                    .hint("name a file that you can read with the token in it, or set ATTACHE_MCP_TOKEN")
            })?)
        }
        None => setup.environment.get("ATTACHE_MCP_TOKEN").map(str::to_owned),
    };
    match text.as_deref().map(str::trim) {
        None => Ok(None),
        Some("") => Err(Failure::usage("the token is empty")
            .hint("write a long random text, for example the output of `openssl rand -hex 32`")),
        Some(text) => Ok(Some(Token::new(text))),
    }
}

/// Ends what still runs in this process, and waits until it is written down.
async fn end_runs(runtime: &Runtime) {
    let ids = runtime.runs();
    let handles: Vec<_> = ids.iter().filter_map(|id| runtime.handle(id)).collect();
    handles.iter().for_each(attache_runtime::internal::tasks::RunHandle::cancel);
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
