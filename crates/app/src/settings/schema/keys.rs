//! The table of all settings, in the order they are shown and documented.

use attache_runtime::internal::tool::web_search::SearchProvider;

use super::{BuiltIn, Key, Keys, Kind, ProjectUse, Secrecy, Shape, Spelling};
use crate::settings::meaning::{
    ApprovalPolicy, DiscoveryMode, Durability, Mode, NameFrom, WireApi, Words as _,
};

/// The keys of a settings file.
pub(crate) const ROOT: Keys = listed(&[SETTINGS, PROFILES]);

/// The keys a profile may have as well.
const SETTINGS: &[Key] = &[
    key("model", TEXT).in_project(ProjectUse::LIVE_MODEL),
    key("model_provider", TEXT).in_project(ProjectUse::Trusted),
    key("approval_policy", word(ApprovalPolicy::WORDS))
        .by_default(BuiltIn::Text("on-request"))
        .in_project(ProjectUse::Trusted),
    key("sandbox_mode", word(Mode::WORDS))
        .by_default(BuiltIn::Text("workspace-write"))
        .in_project(ProjectUse::NARROWER_MODE),
    key("sandbox_deny_read", Shape::Value(Kind::Paths))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::MORE),
    key("sandbox_workspace_write", Shape::Section(listed(&[SANDBOX_WORKSPACE_WRITE]))),
    key("permissions", Shape::Section(listed(&[PERMISSIONS]))),
    key("model_aliases", Shape::Named("alias", &TEXT)).in_project(ProjectUse::Trusted),
    key("model_providers", Shape::Named("id", &Shape::Section(listed(&[PROVIDER]))))
        .in_project(ProjectUse::Trusted),
    key("model_prices", Shape::Named("model", &Shape::Section(listed(&[PRICE]))))
        .in_project(ProjectUse::Trusted),
    key("model_context_windows", Shape::Named("model", &Shape::Value(Kind::Count)))
        .in_project(ProjectUse::ADDED),
    key("mcp_servers", Shape::Named("name", &Shape::Open(MCP_SERVER)))
        .in_project(ProjectUse::Trusted),
    key("workspace_roots", Shape::Value(Kind::Paths))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::Trusted),
    key("durability", word(Durability::WORDS))
        .by_default(BuiltIn::Text("process"))
        .in_project(ProjectUse::DURABLE),
    key("retention_days", whole(1)).in_project(ProjectUse::Trusted),
    key("stall_seconds", whole(1)).by_default(BuiltIn::Whole(90)),
    key("tool_timeout_seconds", whole(1)).by_default(BuiltIn::Whole(120)),
    key("tools", Shape::Section(listed(&[TOOLS]))),
    key(
        "subagents",
        Shape::Section(Keys { groups: &[SUBAGENTS], spelling: Spelling::OrCamelCase }),
    ),
];

/// Only at the top of a file: a project could otherwise choose a lax profile of the user's.
const PROFILES: &[Key] = &[
    key("profile", TEXT).in_project(ProjectUse::Trusted),
    key("profiles", Shape::Named("name", &Shape::Section(listed(&[SETTINGS])))),
];

const SANDBOX_WORKSPACE_WRITE: &[Key] = &[
    key("network_access", SWITCH)
        .by_default(BuiltIn::Switch(false))
        .in_project(ProjectUse::SWITCHED_OFF),
    key("writable_roots", Shape::Value(Kind::Paths))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::SOME),
    key("writable_git", SWITCH)
        .by_default(BuiltIn::Switch(false))
        .in_project(ProjectUse::SWITCHED_OFF),
];

const PROVIDER: &[Key] = &[
    key("name", TEXT),
    key("base_url", TEXT).showing(Secrecy::Address),
    key("env_key", TEXT),
    key("wire_api", word(WireApi::WORDS)),
    key("http_headers", Shape::Named("header", &TEXT)).showing(Secrecy::Secret),
    key("env_http_headers", Shape::Named("header", &TEXT)),
    key("query_params", Shape::Named("parameter", &TEXT)).showing(Secrecy::ByName),
    key("request_max_retries", whole(0)),
    key("stream_max_retries", whole(0)),
    key("stream_idle_timeout_ms", whole(1)),
    key("allow_http", SWITCH),
];

const PRICE: &[Key] = &[
    key("input", AMOUNT),
    key("output", AMOUNT),
    key("cached", AMOUNT),
    key("cache_write", AMOUNT),
];

/// The keys of an MCP server that mean something here.
pub(crate) const MCP_SERVER: Keys = listed(&[MCP_SERVER_KEYS]);

const MCP_SERVER_KEYS: &[Key] = &[
    key("command", TEXT),
    key("args", Shape::Value(Kind::Texts)).showing(Secrecy::Arguments),
    key("env", Shape::Named("variable", &TEXT)).showing(Secrecy::Secret),
    key("cwd", Shape::Value(Kind::Path)),
    key("url", TEXT).showing(Secrecy::Address),
    key("bearer_token_env_var", TEXT),
    key("http_headers", Shape::Named("header", &TEXT)).showing(Secrecy::Secret),
    key("env_http_headers", Shape::Named("header", &TEXT)),
    key("scopes", Shape::Value(Kind::Texts)),
    key("oauth_resource", TEXT).showing(Secrecy::Address),
    key("oauth", Shape::Open(listed(&[MCP_OAUTH]))),
    key("enabled", SWITCH),
    key("enabled_tools", Shape::Value(Kind::Texts)),
    key("disabled_tools", Shape::Value(Kind::Texts)),
    key("startup_timeout_sec", AMOUNT),
    key("tool_timeout_sec", AMOUNT),
];

/// How to log in to a server.
const MCP_OAUTH: &[Key] =
    &[key("client_id", TEXT), key("client_secret_env_var", TEXT), key("callback_port", whole(1))];

/// Lists of all layers add up: what one denies, another cannot lift.
const PERMISSIONS: &[Key] = &[
    key("allow", Shape::Value(Kind::Texts))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::Trusted),
    key("ask", Shape::Value(Kind::Texts)).by_default(BuiltIn::EmptyList),
    key("deny", Shape::Value(Kind::Texts)).by_default(BuiltIn::EmptyList),
];

const TOOLS: &[Key] = &[
    key("subagent_tools", SWITCH)
        .by_default(BuiltIn::Switch(true))
        .in_project(ProjectUse::SWITCHED_OFF),
    key("web_fetch_private_hosts", Shape::Value(Kind::Texts))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::Trusted),
    key("web_search_provider", word(SearchProvider::WORDS)).in_project(ProjectUse::Trusted),
    key("web_search_base_url", TEXT).showing(Secrecy::Address).in_project(ProjectUse::Trusted),
    key("web_search_env_key", TEXT).in_project(ProjectUse::Trusted),
];

const SUBAGENTS: &[Key] = &[
    key("enabled", SWITCH).by_default(BuiltIn::Switch(true)).in_project(ProjectUse::SWITCHED_OFF),
    key("discovery", word(DiscoveryMode::WORDS))
        .by_default(BuiltIn::Text("auto"))
        .in_project(ProjectUse::MANUAL),
    key("agents_dir", Shape::Value(Kind::Path)).in_project(ProjectUse::INSIDE),
    key("default_model", TEXT).in_project(ProjectUse::LIVE_MODEL),
    key("default_timeout_seconds", whole(1)).by_default(BuiltIn::Whole(300)),
    key("default_max_turns", whole(1)).by_default(BuiltIn::Whole(50)),
    key("max_depth", whole(0)).by_default(BuiltIn::Whole(1)).in_project(ProjectUse::LOWERED),
    key("max_concurrent", whole(1)).by_default(BuiltIn::Whole(16)).in_project(ProjectUse::LOWERED),
    key("auto_route", SWITCH)
        .by_default(BuiltIn::Switch(false))
        .in_project(ProjectUse::SWITCHED_OFF),
    key("name_from", word(NameFrom::WORDS)).by_default(BuiltIn::Text("frontmatter")),
    key("require_description", SWITCH).by_default(BuiltIn::Switch(true)),
    key("model_allowlist", Shape::Value(Kind::Texts))
        .by_default(BuiltIn::EmptyList)
        .in_project(ProjectUse::FEWER),
    key("max_tree_tokens", Shape::Value(Kind::Count))
        .by_default(BuiltIn::Whole(0))
        .in_project(ProjectUse::CAPPED),
    key("max_tree_cost_usd", AMOUNT)
        .by_default(BuiltIn::Amount(0.0))
        .in_project(ProjectUse::CAPPED),
];

const TEXT: Shape = Shape::Value(Kind::Text);
const SWITCH: Shape = Shape::Value(Kind::Switch);
const AMOUNT: Shape = Shape::Value(Kind::Amount);

const fn word(words: &'static [&'static str]) -> Shape {
    Shape::Value(Kind::Word(words))
}

const fn whole(from: u32) -> Shape {
    Shape::Value(Kind::Whole { from })
}

const fn listed(groups: &'static [&'static [Key]]) -> Keys {
    Keys { groups, spelling: Spelling::Listed }
}

const fn key(name: &'static str, shape: Shape) -> Key {
    Key {
        name,
        shape,
        built_in: BuiltIn::Unset,
        project: ProjectUse::Free,
        secrecy: Secrecy::Plain,
    }
}

impl Key {
    const fn by_default(mut self, built_in: BuiltIn) -> Self {
        self.built_in = built_in;
        self
    }

    const fn in_project(mut self, project: ProjectUse) -> Self {
        self.project = project;
        self
    }

    const fn showing(mut self, secrecy: Secrecy) -> Self {
        self.secrecy = secrecy;
        self
    }
}
