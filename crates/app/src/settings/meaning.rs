//! What the settings mean: typed values, made once from all layers merged.
//!
//! A value of the wrong kind never gets here; each layer was checked by itself before.

mod mcp_server;
pub(super) mod permissions;
mod provider;
mod reader;
mod secret;
mod words;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub(crate) use attache_kernel::{
    agent::definition::reading::NameFrom,
    rights::permission::{ApprovalPolicy, PermissionRules},
};
pub(crate) use attache_runtime::internal::{
    agents::discovery::DiscoveryMode, model::wire::WireApi, sandbox::Mode, store::Durability,
};

pub(crate) use self::{
    mcp_server::McpServerSettings, provider::ProviderSettings, secret::Secret, words::Words,
};

use self::{permissions::Ground, reader::Reader};
#[cfg(test)]
use super::origin::Origin;
use super::{
    error::SettingsError,
    written::{Table, find},
};

/// The settings in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The main agent's model, and the parent's model of a bare run.
    pub(crate) model: Option<String>,
    /// The provider of that model, an entry of `model_providers` or a built-in one.
    pub(crate) model_provider: Option<String>,
    /// When a person is asked.
    pub(crate) approval_policy: ApprovalPolicy,
    /// How far commands are confined.
    pub(crate) sandbox: SandboxSettings,
    /// The rules of all layers.
    pub(crate) permissions: PermissionRules,
    /// Short names of models.
    pub(crate) model_aliases: BTreeMap<String, String>,
    /// Providers by id; an entry named like a built-in provider changes that one.
    pub(crate) model_providers: BTreeMap<String, ProviderSettings>,
    /// Prices by model.
    pub(crate) model_prices: BTreeMap<String, ModelPrice>,
    /// How many tokens a conversation with a model may have, by model.
    pub(crate) model_context_windows: BTreeMap<String, u64>,
    /// MCP servers by name.
    pub(crate) mcp_servers: BTreeMap<String, McpServerSettings>,
    /// Directories besides the workspace that file tools may use.
    pub(crate) workspace_roots: Vec<PathBuf>,
    /// What a transcript survives.
    pub(crate) durability: Durability,
    /// After how many days finished transcripts may be removed; `None` is never.
    pub(crate) retention_days: Option<u32>,
    /// How long a model may be silent.
    pub(crate) stall_seconds: u32,
    /// How long a tool may run.
    pub(crate) tool_timeout_seconds: u32,
    /// Which tools are offered.
    pub(crate) tools: ToolSettings,
    /// How subagents are found and run.
    pub(crate) subagents: SubagentSettings,
    /// The profile that was chosen.
    #[cfg(test)]
    pub(crate) profile: Option<String>,
    /// What all that was made from.
    pub(super) written: Table,
}

/// `sandbox_mode`, `sandbox_deny_read` and `[sandbox_workspace_write]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxSettings {
    /// How far commands are confined.
    pub(crate) mode: Mode,
    /// What is hidden from them, besides the usual places of keys.
    pub(crate) deny_read: Vec<PathBuf>,
    /// Whether they may use the network.
    pub(crate) network_access: bool,
    /// Further directories they may write to.
    pub(crate) writable_roots: Vec<PathBuf>,
    /// Whether they may write to `.git`, except for its hooks and config.
    pub(crate) writable_git: bool,
}

/// A model's price in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ModelPrice {
    /// Input.
    pub(crate) input: Option<f64>,
    /// Output, reasoning included.
    pub(crate) output: Option<f64>,
    /// Input that was read from the provider's cache; `None` uses the price of input.
    pub(crate) cached: Option<f64>,
    /// Input that was written to the provider's cache; `None` uses the price of input.
    pub(crate) cache_write: Option<f64>,
}

/// `[tools]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolSettings {
    /// Whether the delegation tools are offered.
    pub(crate) subagent_tools: bool,
    pub(crate) web_fetch_private_hosts: Vec<String>,
    /// Who searches the web; the value is one of `SearchProvider::WORDS`.
    pub(crate) web_search_provider: Option<String>,
    pub(crate) web_search_base_url: Option<String>,
    /// The variable that has the key of the search provider.
    pub(crate) web_search_env_key: Option<String>,
}

/// `[subagents]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SubagentSettings {
    /// Whether there are subagents at all.
    pub(crate) enabled: bool,
    /// Where agents are looked for.
    pub(crate) discovery: DiscoveryMode,
    /// A directory of agents to look in as well.
    pub(crate) agents_dir: Option<PathBuf>,
    /// The model of an agent that names none.
    pub(crate) default_model: Option<String>,
    /// The wall time of a run whose agent sets none.
    pub(crate) default_timeout_seconds: u32,
    /// The turns of a run whose agent sets none.
    pub(crate) default_max_turns: u32,
    /// How deep agents may start agents.
    pub(crate) max_depth: u32,
    /// How many run at once; more wait.
    pub(crate) max_concurrent: u32,
    /// Whether a keyword hit is routed without asking.
    pub(crate) auto_route: bool,
    /// What an agent's name is taken from.
    pub(crate) name_from: NameFrom,
    /// Whether an agent without a description is invalid.
    pub(crate) require_description: bool,
    /// The models a call may ask for; an empty list is all.
    pub(crate) model_allowlist: Vec<String>,
    /// Tokens over a session's tree; `None` means no cap.
    pub(crate) max_tree_tokens: Option<u64>,
    /// Money over a session's tree; `None` means no cap.
    pub(crate) max_tree_cost_usd: Option<f64>,
}

impl Settings {
    /// What the layers mean, merged.
    pub(super) fn from_layers(written: Table, ground: &Ground) -> Result<Self, SettingsError> {
        let top = Reader::new(&written);
        Ok(Self {
            model: top.optional("model")?,
            model_provider: top.optional("model_provider")?,
            approval_policy: top.required("approval_policy")?,
            sandbox: SandboxSettings::read(&top)?,
            permissions: permissions::rules(&written, ground, |_| {}),
            model_aliases: top.map("model_aliases")?,
            model_providers: top.entries("model_providers", ProviderSettings::read)?,
            model_prices: top.entries("model_prices", ModelPrice::read)?,
            model_context_windows: top.map("model_context_windows")?,
            mcp_servers: top.entries("mcp_servers", McpServerSettings::read)?,
            workspace_roots: top.required("workspace_roots")?,
            durability: top.required("durability")?,
            retention_days: top.optional("retention_days")?,
            stall_seconds: top.required("stall_seconds")?,
            tool_timeout_seconds: top.required("tool_timeout_seconds")?,
            tools: ToolSettings {
                subagent_tools: top.section("tools").required("subagent_tools")?,
                web_fetch_private_hosts: top
                    .section("tools")
                    .required("web_fetch_private_hosts")?,
                web_search_provider: top.section("tools").optional("web_search_provider")?,
                web_search_base_url: top.section("tools").optional("web_search_base_url")?,
                web_search_env_key: top.section("tools").optional("web_search_env_key")?,
            },
            subagents: SubagentSettings::read(&top.section("subagents"))?,
            #[cfg(test)]
            profile: top.optional("profile")?,
            written,
        })
    }

    /// The files that say something about an MCP server.
    pub(crate) fn files_of_mcp_server(&self, name: &str) -> Vec<&Path> {
        let mut files = Vec::new();
        if let Some(server) = find(&self.written, &["mcp_servers", name]) {
            server.collect_files(&mut files);
        }
        files
    }

    /// Where the value of a setting comes from, for tests, e.g. of `subagents.max_depth`; none if it is unset.
    #[cfg(test)]
    pub(crate) fn origin(&self, key: &str) -> Option<&Origin> {
        let names: Vec<_> = key.split('.').collect();
        find(&self.written, &names).map(|node| &node.origin)
    }
}

impl SandboxSettings {
    fn read(top: &Reader<'_>) -> Result<Self, SettingsError> {
        let writing = top.section("sandbox_workspace_write");
        Ok(Self {
            mode: top.required("sandbox_mode")?,
            deny_read: top.required("sandbox_deny_read")?,
            network_access: writing.required("network_access")?,
            writable_roots: writing.required("writable_roots")?,
            writable_git: writing.required("writable_git")?,
        })
    }
}

impl ModelPrice {
    fn read(price: &Reader<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            input: price.optional("input")?,
            output: price.optional("output")?,
            cached: price.optional("cached")?,
            cache_write: price.optional("cache_write")?,
        })
    }
}

impl SubagentSettings {
    fn read(subagents: &Reader<'_>) -> Result<Self, SettingsError> {
        let tokens: u64 = subagents.required("max_tree_tokens")?;
        let cost: f64 = subagents.required("max_tree_cost_usd")?;
        Ok(Self {
            enabled: subagents.required("enabled")?,
            discovery: subagents.required("discovery")?,
            agents_dir: subagents.optional("agents_dir")?,
            default_model: subagents.optional("default_model")?,
            default_timeout_seconds: subagents.required("default_timeout_seconds")?,
            default_max_turns: subagents.required("default_max_turns")?,
            max_depth: subagents.required("max_depth")?,
            max_concurrent: subagents.required("max_concurrent")?,
            auto_route: subagents.required("auto_route")?,
            name_from: subagents.required("name_from")?,
            require_description: subagents.required("require_description")?,
            model_allowlist: subagents.required("model_allowlist")?,
            max_tree_tokens: (tokens > 0).then_some(tokens),
            max_tree_cost_usd: (cost > 0.0).then_some(cost),
        })
    }
}
