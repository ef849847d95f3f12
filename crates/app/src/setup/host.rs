//! The front door as the settings and the environment want it.

use std::{
    collections::BTreeMap,
    net::IpAddr,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use attache_kernel::{
    agent::{
        definition::{Definition, Severity, Trust},
        registry::Appraisal,
    },
    model::{
        choice::{ModelChoice, OVERRIDE_VARIABLES},
        price::Price,
    },
    rights::{
        permission::{AutoApproval, Policy, Stance},
        tool_name::BuiltinTool,
    },
};
use attache_offline::OfflineModel;
use attache_runtime::internal::{
    agents::used::UsedAgents,
    executor::Patience,
    host::{
        Host, Leave, McpOffer, ModelPolicy, Models, Offer, OrderError, ParentModel, Providers,
        Switchboard, Workplace, appraise,
    },
    model::{Model, credentials::Credentials, provider::ProviderDescription},
    process::{CommandEnvironment, CommandSandbox, CommandSetup},
    runtime::Runtime,
    sandbox::{Helper, Sandbox},
    store::{FileStore, Secrets, Store},
    tasks::{Runs, TreeLimits},
    tool::{
        web_fetch::{WebAccess, WebFetch},
        web_search::{
            NO_PROVIDER, SearchKey, SearchProvider, SearchSetup, SearchSetupError, WebSearch,
        },
    },
    worktree::Worktrees,
};
use secrecy::SecretString;

use super::{Setup, mcp_servers, providers};
use crate::{
    environment::Environment,
    failure::Failure,
    instance,
    settings::{ModelPrice, Settings},
};

/// Which models there are, and which of them the user wants.
pub(super) fn models(
    settings: &Settings,
    environment: &Environment,
    stored: Result<Credentials, String>,
) -> Models {
    let override_model = OVERRIDE_VARIABLES.iter().find_map(|name| {
        let falls_through = |value: &str| {
            ["", "inherit", "auto"].contains(&value.trim().to_ascii_lowercase().as_str())
        };
        environment.get(name).filter(|value| !falls_through(value))
    });
    let prices = settings.model_prices.iter();
    let (stored, stored_problem) = match stored {
        Ok(stored) => (Some(stored), None),
        Err(problem) => (None, Some(problem)),
    };
    Models {
        policy: ModelPolicy {
            override_model: override_model.map(str::to_owned),
            model: settings.model.clone(),
            model_provider: settings.model_provider.clone(),
            default_model: settings.subagents.default_model.clone(),
            aliases: settings.model_aliases.clone(),
            allowlist: settings.subagents.model_allowlist.clone(),
            prices: prices.map(|(model, written)| (model.clone(), price(written))).collect(),
            context_windows: settings.model_context_windows.clone(),
        },
        providers: Providers {
            described: providers::described(&settings.model_providers, environment),
            stored,
            stored_problem,
        },
    }
}

/// Which tools there are.
pub(super) fn offer(settings: &Settings, environment: &Environment) -> Offer {
    let offered = mcp_servers::in_use(settings).map(|(name, server)| {
        let offer = McpOffer {
            enabled_tools: server.enabled_tools.clone(),
            disabled_tools: server.disabled_tools.clone(),
        };
        (name.clone(), offer)
    });
    let no_search = match web_search(settings, environment) {
        None => Some(NO_PROVIDER.to_owned()),
        Some(Ok(_)) => None,
        Some(Err(problem)) => Some(problem.to_string()),
    };
    Offer {
        subagent_tools: settings.tools.subagent_tools,
        mcp_servers: offered.collect(),
        max_depth: settings.subagents.max_depth,
        custom: Vec::new(),
        absent: no_search.map(|why| (BuiltinTool::WebSearch.into(), why)).into_iter().collect(),
    }
}

/// How the web is searched; `None` if no provider is set.
fn web_search(
    settings: &Settings,
    environment: &Environment,
) -> Option<Result<SearchSetup, SearchSetupError>> {
    let tools = &settings.tools;
    let provider = SearchProvider::from_word(tools.web_search_provider.as_deref()?)?;
    let variable = tools.web_search_env_key.as_deref().or(provider.key_variable());
    let secret = variable.and_then(|variable| environment.get(variable));
    let secret = secret.filter(|secret| !secret.trim().is_empty());
    let key = secret.map(|secret| SearchKey {
        secret: SecretString::from(secret),
        from: variable.unwrap_or_default().to_owned(),
    });
    let base_url = tools.web_search_base_url.as_deref();
    let search = SearchSetup::new(provider, base_url, key, variable.unwrap_or_default());
    Some(search.map(|search| search.through(providers::proxies(environment))))
}

/// A price is one only with both sides.
fn price(written: &ModelPrice) -> Option<Price> {
    Some(Price {
        input: written.input?,
        output: written.output?,
        cache_read: written.cached,
        cache_write: written.cache_write,
        above: None,
    })
}

impl Setup {
    /// What runs agents here.
    pub(crate) fn runtime(&self, store: FileStore) -> Result<Runtime, Failure> {
        self.runtime_with(store, None)
    }

    /// The same with one more model, to be asked for by that name.
    pub(crate) fn runtime_with(
        &self,
        store: FileStore,
        model: Option<(&str, Arc<dyn Model>)>,
    ) -> Result<Runtime, Failure> {
        self.runtime_on(Arc::new(store), model)
    }

    /// The same, with runs that are written there.
    pub(crate) fn runtime_on(
        &self,
        store: Arc<dyn Store>,
        model: Option<(&str, Arc<dyn Model>)>,
    ) -> Result<Runtime, Failure> {
        self.require_visible_workspace()?;
        self.require_bare_hosts()?;
        let mut switchboard = self.switchboard();
        switchboard.local.extend(model.map(|(name, model)| (name.to_owned(), model)));
        let settings = &self.settings;
        let discovery = self.discovery()?;
        // The errors of the agent that is run are told when it is looked up.
        self.tell_session_problems(&discovery, Severity::Warning);
        let host = Host {
            is_enabled: settings.subagents.enabled,
            discovery: Mutex::new(discovery),
            trust: self.trust.clone(),
            models: self.models.clone(),
            switchboard,
            offer: self.offer.clone(),
            mcp: self.mcp_servers(store.secrets()),
            workplace: self.workplace(),
            tree: TreeLimits {
                max_tokens: settings.subagents.max_tree_tokens,
                max_cost_usd: settings.subagents.max_tree_cost_usd,
            },
            policy: self.policy(),
            used: Arc::new(UsedAgents::in_file(self.attache_home.join("agents-used.json"))),
            rules: Some(Arc::new(self.rules_watch())),
            instances: Some(Arc::new(instance::instances(self))),
        };
        let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
        let patience = Patience {
            stall: seconds(settings.stall_seconds),
            tool: seconds(settings.tool_timeout_seconds),
        };
        let commands = self.commands(store.secrets());
        let web = WebFetch::new(WebAccess {
            proxies: providers::proxies(&self.environment),
            private_hosts: settings.tools.web_fetch_private_hosts.clone(),
        });
        let runs = Runs::new(store, patience).with_tool(web).with_commands(commands);
        let runs = match web_search(settings, &self.environment) {
            Some(Ok(search)) => runs.with_tool(WebSearch::new(search)),
            Some(Err(_)) | None => runs,
        };
        let absent = self.offer.absent.clone().into_iter();
        let runs = absent.fold(runs, |runs, (tool, reason)| runs.without_tool(tool, reason));
        let runs = runs.with_slots(settings.subagents.max_concurrent);
        Ok(Runtime::new(Arc::new(host), runs))
    }

    /// Where the directories for temporary files of commands are made.
    pub(crate) fn temporary_root(&self) -> PathBuf {
        let temporary = self.environment.get("TMPDIR").filter(|path| path.starts_with('/'));
        PathBuf::from(temporary.unwrap_or("/tmp"))
    }

    /// Refuses private hosts that would match nothing.
    fn require_bare_hosts(&self) -> Result<(), Failure> {
        let is_bare = |host: &str| {
            let host = host.trim();
            let address = host.trim_start_matches('[').trim_end_matches(']');
            address.parse::<IpAddr>().is_ok()
                || !(host.is_empty() || host.contains([':', '/', '*']))
        };
        match self.settings.tools.web_fetch_private_hosts.iter().find(|host| !is_bare(host)) {
            None => Ok(()),
            Some(host) => Err(Failure::usage(format!(
                "`{host}` in `tools.web_fetch_private_hosts` is not the name or the address of a host"
            ))
            .hint("write the host alone, without scheme, port or path; every port of it counts")),
        }
    }

    /// How commands are run.
    pub(super) fn commands(&self, secrets: &Secrets) -> CommandSetup {
        let temporary_root = self.temporary_root();
        let policy = self.sandbox_policy(&self.working_directory, &temporary_root);
        let sandbox = Sandbox::new(Helper::this_program()).rehearsed(self.rehearsal.clone());
        let sandbox = Arc::new(sandbox.keeping_spares_in(self.attache_home.join("placeholders")));
        CommandSetup {
            environment: self.command_environment(secrets),
            temporary_root,
            sandbox: Some(CommandSandbox { sandbox, policy }),
        }
    }

    /// What commands see of the user's environment: none of the variables that the settings take keys from.
    fn command_environment(&self, secrets: &Secrets) -> CommandEnvironment {
        let settings = &self.settings;
        let of_providers = settings.model_providers.values().map(|it| it.env_key.as_deref());
        let of_servers = settings.mcp_servers.values().map(|it| it.bearer_token_env_var.as_deref());
        let of_search = [settings.tools.web_search_env_key.as_deref()];
        let names = of_providers.chain(of_servers).chain(of_search).flatten();
        CommandEnvironment::cleaned(self.environment.all(), secrets).without(names)
    }

    /// Which calls are asked about, allowed and refused.
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let folders = self.agents_dirs.iter().chain(&self.settings.subagents.agents_dir);
        let folders = folders.map(|folder| self.working_directory.join(folder));
        let mut policy = Policy {
            rules: self.settings.permissions.clone(),
            approval: self.settings.approval_policy,
            protected: folders.map(|folder| folder.to_string_lossy().into_owned()).collect(),
            ..Policy::default()
        };
        let root = self.working_directory.canonicalize();
        let root = root.unwrap_or_else(|_| self.working_directory.clone());
        policy.move_to(root.to_str().map(str::to_owned));
        Arc::new(policy)
    }

    /// What an agent may do when it is run from here.
    pub(crate) fn leave(
        &self,
        definition: &Definition,
        trust: Trust,
        auto: AutoApproval,
    ) -> Result<Leave, OrderError> {
        let mut shared = self.policy();
        let policy = Arc::make_mut(&mut shared);
        policy.auto = auto;
        let commands = self.commands(&Secrets::default());
        policy.workspace = commands.workspace_access();
        if policy.approves_in_sandbox(Stance::of_agent(definition)) {
            policy.confinement = commands.confinement();
        }
        Leave::new(definition, trust, &self.offer, &self.workplace(), shared)
    }

    /// How models are reached.
    pub(crate) fn switchboard(&self) -> Switchboard {
        let offline: Arc<dyn Model> = Arc::new(OfflineModel);
        Switchboard {
            http: self.http.clone(),
            local: BTreeMap::from([("offline".to_owned(), offline)]),
            working_directory: self.working_directory.clone(),
        }
    }

    /// Where agents with a worktree of their own work.
    pub(crate) fn worktrees(&self) -> Worktrees {
        let environment = self.command_environment(&Secrets::default());
        Worktrees::new(self.attache_home.join("worktrees"), environment)
    }

    /// Where agents work.
    pub(crate) fn workplace(&self) -> Workplace {
        Workplace {
            working_directory: self.working_directory.clone(),
            further_roots: self.settings.workspace_roots.clone(),
            worktrees: Some(self.worktrees()),
            hidden: self.hidden_places(),
        }
    }

    /// What a definition comes down to here.
    pub(super) fn appraise(
        &self,
        definition: &Definition,
        trust: Trust,
        parent: &ParentModel,
    ) -> Appraisal {
        appraise(&self.offer, &self.models, definition, trust, parent)
    }

    /// The tools a definition would get if its file were trusted.
    pub(crate) fn tools_if_trusted(&self, definition: &Definition) -> Vec<String> {
        self.appraise(definition, Trust::Trusted, &self.parent_model()).effective_tools
    }

    /// What a bare run has for a parent's model.
    pub(crate) fn parent_model(&self) -> ParentModel {
        self.models.parent_model()
    }

    /// What an agent whose file names that alias runs on; none while no provider is set up.
    pub(crate) fn meaning_of_alias(
        &self,
        alias: &str,
        parent: &ParentModel,
    ) -> Option<ModelChoice> {
        let meaning = self.models.meaning(alias, parent)?;
        // `offline` has no other model: a name that was left to it means nothing.
        (meaning.provider != "offline" || meaning.model == "offline").then_some(meaning)
    }

    /// All providers that talk over the network: the built-in ones, then those of the settings.
    pub(crate) fn providers_in_force(&self) -> Vec<ProviderDescription> {
        self.models.providers.all()
    }

    /// The provider of that id, if there is one.
    pub(crate) fn provider_in_force(&self, id: &str) -> Option<ProviderDescription> {
        self.models.providers.get(id)
    }
}
