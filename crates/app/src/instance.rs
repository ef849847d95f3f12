//! Instances of this program that drive one run for another: `executionMode: full_codex`.
//!
//! The process that owns the run starts this program again and tells it over a pipe what its command line and
//! environment mean; nothing of that can be read by others. Of the keys it gets only those that its run can
//! use. See `docs/formats/bridge.md`.

use std::{collections::BTreeMap, fs::File, io, path::PathBuf, sync::Arc};

use attache_kernel::{
    rights::{
        environment::may_see,
        tool_name::{BuiltinTool, ToolName},
    },
    run::assignment::Assignment,
};
use attache_runtime::internal::{
    bridge::{BridgeError, Greeted, Instances},
    telemetry::RunsOf,
    tool::web_search::SearchProvider,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::unix::pipe;

use crate::{
    cli::Globals,
    commands::run::TIDYING_PATIENCE,
    environment::Environment,
    failure::{Exit, Failure},
    log::{self, LogWanted},
    open_files,
    setup::Setup,
    telemetry::{self, Sending},
    transcripts,
};

/// The first argument of an instance.
pub(crate) const MARK: &str = "--instance";

/// Variables that are not for commands and that this program reads.
const OWN_VARIABLES: [&str; 3] =
    ["CODEX_SUBAGENT_MODEL", "CLAUDE_CODE_SUBAGENT_MODEL", "TRACEPARENT"];
/// Variables of this program that hold a key which an instance has no use for.
const OF_SERVERS: [&str; 1] = ["ATTACHE_MCP_TOKEN"];

/// What an instance is told about the command line and the environment.
#[derive(Serialize, Deserialize)]
struct Told {
    working_directory: PathBuf,
    environment: BTreeMap<String, String>,
    overrides: Vec<String>,
    agents: Option<String>,
    agents_dirs: Vec<PathBuf>,
    profile: Option<String>,
    log_file: Option<PathBuf>,
}

/// How instances are started from here.
pub(crate) fn instances(setup: &Setup) -> Instances {
    let globals = setup.globals.clone();
    let flags = globals.flags.iter().map(|flag| format!("{}={}", flag.key, flag.value));
    let overrides: Vec<String> = globals.overrides.iter().cloned().chain(flags).collect();
    let keys = Keys::from_setup(setup);
    let working_directory = setup.working_directory.clone();
    let environment = setup.environment.clone();
    let told = move |run: &Assignment| {
        let needed = keys.needed_by(run);
        let passes = |(name, value): &(&str, &str)| {
            let is_own = name.starts_with("ATTACHE_") && !OF_SERVERS.contains(name);
            is_own
                || may_see(name, value)
                || OWN_VARIABLES.contains(name)
                || name.starts_with("OTEL_")
                || name.to_ascii_lowercase().ends_with("_proxy")
                || needed.as_ref().is_none_or(|needed| needed.iter().any(|one| one == name))
        };
        let environment = environment.all().filter(passes);
        let told = Told {
            working_directory: working_directory.clone(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            overrides: overrides.clone(),
            agents: globals.agents.clone(),
            agents_dirs: globals.agents_dir.clone(),
            profile: globals.profile.clone(),
            log_file: globals.log_file.clone(),
        };
        serde_json::to_value(told).unwrap_or(Value::Null)
    };
    Instances {
        // Also if its file was replaced since it started.
        program: PathBuf::from("/proc/self/exe"),
        arguments: vec![MARK.to_owned()],
        setup: Arc::new(told),
    }
}

/// The variables that hold keys, by who uses them.
struct Keys {
    of_providers: BTreeMap<String, Vec<String>>,
    of_search: Vec<String>,
}

impl Keys {
    fn from_setup(setup: &Setup) -> Self {
        let settings = &setup.settings;
        let of_provider = |id: &str, known: &[String]| {
            let written = settings.model_providers.get(id);
            let headers = written.into_iter().flat_map(|it| it.env_http_headers.values());
            known.iter().chain(headers).cloned().collect()
        };
        let providers = setup.providers_in_force().into_iter();
        let of_providers = providers
            .map(|provider| {
                (provider.id.clone(), of_provider(&provider.id, &provider.key_variables))
            })
            .collect();
        let tools = &settings.tools;
        let search = tools.web_search_provider.as_deref().and_then(SearchProvider::from_word);
        let usual = search.and_then(SearchProvider::key_variable).map(str::to_owned);
        Self {
            of_providers,
            of_search: tools.web_search_env_key.clone().into_iter().chain(usual).collect(),
        }
    }

    /// The variables whose keys a run can use; none means all: its MCP servers may use any, and so may the
    /// agents that it starts.
    fn needed_by(&self, run: &Assignment) -> Option<Vec<String>> {
        let may_use_any = |tool: &ToolName| match tool {
            ToolName::Mcp { .. } => true,
            ToolName::Builtin(tool) => BuiltinTool::DELEGATION.contains(tool),
            ToolName::Host(_) => false,
        };
        if run.rights.names().any(may_use_any) {
            return None;
        }
        let searches = run.rights.contains(&BuiltinTool::WebSearch.into());
        let of_model = self.of_providers.get(&run.model.provider).into_iter().flatten();
        let of_search = self.of_search.iter().filter(|_| searches);
        Some(of_model.chain(of_search).cloned().collect())
    }
}

/// Drives the run that comes over the standard streams.
pub(crate) fn run() -> Result<Exit, Failure> {
    open_files::require_enough()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    let ended = runtime.block_on(serve());
    runtime.shutdown_timeout(TIDYING_PATIENCE);
    ended
}

async fn serve() -> Result<Exit, Failure> {
    let failed = |error: BridgeError| {
        let by_hand = matches!(error, BridgeError::NotTold | BridgeError::Told(_));
        let failure = Failure::usage(error.to_string());
        if by_hand {
            failure.hint("give an agent `executionMode: full_codex` and run that")
        } else {
            failure
        }
    };
    let (input, output) = streams().map_err(|_| failed(BridgeError::NotTold))?;
    let (greeted, told) =
        Greeted::new(input, output, env!("CARGO_PKG_VERSION")).await.map_err(failed)?;
    let (setup, sending) = match set_up(told) {
        Ok(setup) => setup,
        Err(failure) => {
            greeted.refuse(failure.to_string()).await.map_err(failed)?;
            return Err(failure);
        }
    };
    let store = transcripts::store(&setup);
    let bridge = greeted.take(Arc::new(store)).await.map_err(failed)?;
    let runtime = match setup.runtime_on(bridge.store(), None) {
        Ok(runtime) => runtime,
        Err(failure) => {
            bridge.refuse(failure.to_string()).await.map_err(failed)?;
            return Err(failure);
        }
    };
    let driven = bridge.drive(&runtime).await;
    runtime.settled().await;
    sending.finish();
    driven.map_err(failed)?;
    Ok(Exit::Success)
}

/// What the command line and the environment of the other process mean.
fn set_up(told: Value) -> Result<(Setup, Sending), Failure> {
    let told: Told = serde_json::from_value(told)
        .map_err(|error| Failure::unsuccessful("the setup cannot be read").because(&error))?;
    let environment: Environment = told.environment.into_iter().collect();
    let level = environment.get("ATTACHE_LOG").filter(|_| told.log_file.is_some());
    let (spans, sending) = telemetry::start(&environment, RunsOf::AnotherProcess);
    log::start(LogWanted { file: told.log_file.as_deref(), level }, spans)?;
    let globals = Globals {
        overrides: told.overrides,
        agents: told.agents,
        agents_dir: told.agents_dirs,
        cwd: Some(told.working_directory),
        profile: told.profile,
        log_file: told.log_file,
        quiet: true,
        json: false,
        resumes: None,
        flags: Vec::new(),
    };
    Ok((Setup::new(globals, environment)?, sending))
}

/// The pipes to the other process. Nothing else is written there by mistake.
fn streams() -> io::Result<(pipe::Receiver, pipe::Sender)> {
    let input = pipe::Receiver::from_owned_fd(rustix::io::dup(rustix::stdio::stdin())?)?;
    let output = pipe::Sender::from_owned_fd(rustix::io::dup(rustix::stdio::stdout())?)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok((input, output))
}
