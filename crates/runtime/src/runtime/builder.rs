//! Setting up a runtime by hand, for programs that embed it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use attache_kernel::{
    agent::definition::{Diagnostic, reading::Rules},
    rights::permission::Policy,
};

use super::Runtime;
use crate::{
    agents::{
        discovery::{Discovery, DiscoveryMode, Places},
        trust::{TrustError, TrustStore},
    },
    bridge::Instances,
    executor::Patience,
    host::{Host, McpOffer, ModelPolicy, Models, Offer, Providers, Switchboard, Workplace},
    mcp_client::{McpServers, McpSetup, ServerEntry},
    model::{
        Model,
        http::{HttpClient, Proxies},
        provider::ProviderDescription,
    },
    process::CommandSetup,
    store::{FileStore, Options, Store},
    tasks::{Runs, TreeLimits},
    tool::{Tool, catalogue::builtin_tools},
    worktree::Worktrees,
};

/// Sets up a runtime. What is not set is as bare as it can be: no agents but the built-in ones, no
/// provider, transcripts in `.attache/sessions` of the working directory.
#[derive(Debug)]
pub struct RuntimeBuilder {
    working_directory: PathBuf,
    agents_dirs: Vec<PathBuf>,
    agents_json: Option<String>,
    tools: Vec<Arc<dyn Tool>>,
    models: BTreeMap<String, Arc<dyn Model>>,
    policy: ModelPolicy,
    providers: Vec<ProviderDescription>,
    store: Option<Arc<dyn Store>>,
    patience: Patience,
    max_concurrent: u32,
    further_threads: usize,
    max_depth: u32,
    tree: TreeLimits,
    commands: CommandSetup,
    permissions: Policy,
    worktrees_dir: Option<PathBuf>,
    mcp_servers: BTreeMap<String, ServerEntry>,
    instances: Option<Arc<Instances>>,
}

/// Why a runtime cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The agents given as JSON cannot be read.
    #[error("the agents cannot be read: {}", .0.message)]
    Agents(Box<Diagnostic>),
    /// What is trusted cannot be read.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl RuntimeBuilder {
    pub(super) fn new(working_directory: PathBuf) -> Self {
        Self {
            working_directory,
            agents_dirs: Vec::new(),
            agents_json: None,
            tools: builtin_tools(),
            models: BTreeMap::new(),
            policy: ModelPolicy::default(),
            providers: Vec::new(),
            store: None,
            patience: Patience::default(),
            max_concurrent: 16,
            further_threads: 0,
            max_depth: 1,
            tree: TreeLimits::default(),
            commands: CommandSetup::default(),
            permissions: Policy::default(),
            worktrees_dir: None,
            instances: None,
            mcp_servers: BTreeMap::new(),
        }
    }

    /// Adds a directory of agent files.
    #[must_use]
    pub fn agents_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.agents_dirs.push(directory.into());
        self
    }

    /// Adds agents as one JSON object: `{"name": {"description": "…", "prompt": "…"}}`. They count as
    /// trusted.
    #[must_use]
    pub fn agents_json(mut self, json: impl Into<String>) -> Self {
        self.agents_json = Some(json.into());
        self
    }

    /// Adds a tool; one of the same name takes the place of a built-in one.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a model of this process, to be asked for by that name.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, model: impl Model + 'static) -> Self {
        self.models.insert(name.into(), Arc::new(model));
        self
    }

    /// Sets which model answers.
    #[must_use]
    pub fn model_policy(mut self, policy: ModelPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds a provider that is reached over the network.
    #[must_use]
    pub fn provider(mut self, provider: ProviderDescription) -> Self {
        self.providers.push(ProviderDescription { is_from_settings: true, ..provider });
        self
    }

    /// Sets where runs are written down.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the timeouts of models and tools.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the number of runs that go on at once; more wait in a queue. 16 if it is not set.
    #[must_use]
    pub fn max_concurrent(mut self, runs: u32) -> Self {
        self.max_concurrent = runs;
        self
    }

    /// Sets how many threads of the runtime's own drive subagents beside the thread that started their
    /// parent, so that many at once use more than one core. None if it is not set.
    #[must_use]
    pub fn further_threads(mut self, threads: usize) -> Self {
        self.further_threads = threads;
        self
    }

    /// Sets how deep agents may start agents. 1 if it is not set.
    #[must_use]
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }

    /// Sets what the agents of a tree may use together.
    #[must_use]
    pub fn tree_limits(mut self, limits: TreeLimits) -> Self {
        self.tree = limits;
        self
    }

    /// Sets how commands are run. If it is not set they have a bare environment and no sandbox.
    #[must_use]
    pub fn commands(mut self, commands: CommandSetup) -> Self {
        self.commands = commands;
        self
    }

    /// Sets which calls are asked about, allowed and refused. If it is not set, what is not known to be
    /// harmless is asked.
    #[must_use]
    pub fn permissions(mut self, policy: Policy) -> Self {
        self.permissions = policy;
        self
    }

    /// Sets where agents with `isolation: worktree` work: a directory outside of every repository. If it
    /// is not set, such agents cannot be run.
    #[must_use]
    pub fn worktrees_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.worktrees_dir = Some(directory.into());
        self
    }

    /// Adds an MCP server, whose tools are named `mcp__NAME__tool`. It is started when a run may use one.
    #[must_use]
    pub fn mcp_server(mut self, name: impl Into<String>, entry: ServerEntry) -> Self {
        self.mcp_servers.insert(name.into(), entry);
        self
    }

    /// Sets how an instance of the program is started, for agents with `executionMode: full_codex`. If it is
    /// not set, such agents cannot be run.
    #[doc(hidden)]
    #[must_use]
    pub fn instances(mut self, instances: Instances) -> Self {
        self.instances = Some(Arc::new(instances));
        self
    }

    /// The runtime.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let home = self.working_directory.join(".attache");
        let places = Places {
            working_directory: self.working_directory.clone(),
            home: None,
            attache_home: home.clone(),
            agents_dir: None,
            extra_dirs: self.agents_dirs,
            mode: DiscoveryMode::Manual,
        };
        let names = self.tools.iter().map(|tool| tool.spec().name.to_string());
        let rules = Rules { host_tools: names.collect(), ..Rules::default() };
        let mut discovery = Discovery::new(places, rules);
        if let Some(json) = &self.agents_json {
            discovery
                .add_session_agents(json)
                .map_err(|problem| BuildError::Agents(Box::new(problem)))?;
        }
        let store = self
            .store
            .unwrap_or_else(|| Arc::new(FileStore::new(home.join("sessions"), Options::default())));
        let environment = &self.commands.environment;
        let worktrees = self.worktrees_dir.map(|place| Worktrees::new(place, environment.clone()));
        let mcp_offers = self.mcp_servers.iter();
        let mcp_offers = mcp_offers.map(|(name, entry)| (name.clone(), McpOffer::from(entry)));
        let mcp_offers = mcp_offers.collect();
        let mcp_setup = McpSetup {
            commands: Arc::new(self.commands.clone()),
            working_directory: self.working_directory.clone(),
            ..McpSetup::default()
        };
        let hidden = self.commands.sandbox.iter().flat_map(|it| it.policy.deny_read.clone());
        let hidden = hidden.collect();
        let mut permissions = self.permissions;
        if permissions.root.is_none() {
            let root = self.working_directory.canonicalize();
            let root = root.ok().and_then(|root| root.to_str().map(str::to_owned));
            permissions.move_to(root);
        }
        let custom = self.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        let host = Host {
            is_enabled: true,
            discovery: Mutex::new(discovery),
            trust: TrustStore::load(&home)?,
            models: Models {
                policy: self.policy,
                providers: Providers { described: self.providers, ..Providers::default() },
            },
            switchboard: Switchboard {
                http: HttpClient::new(Proxies::default()),
                local: self.models,
                working_directory: self.working_directory.clone(),
            },
            offer: Offer {
                subagent_tools: true,
                max_depth: self.max_depth,
                custom,
                mcp_servers: mcp_offers,
                absent: BTreeMap::new(),
            },
            mcp: McpServers::new(self.mcp_servers, mcp_setup),
            workplace: Workplace {
                working_directory: self.working_directory,
                further_roots: Vec::new(),
                worktrees,
                hidden,
            },
            tree: self.tree,
            policy: Arc::new(permissions),
            used: Arc::default(),
            rules: None,
            instances: self.instances,
        };
        let runs = Runs::with_tools(store, self.patience, self.tools).with_commands(self.commands);
        let runs = runs.with_slots(self.max_concurrent).with_lanes(self.further_threads);
        Ok(Runtime::new(Arc::new(host), runs))
    }
}
