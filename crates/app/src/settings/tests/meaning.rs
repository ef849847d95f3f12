//! The typed settings, when everything is set.

use std::path::PathBuf;

use serde_json::json;

use super::World;
use crate::settings::{
    ApprovalPolicy, DiscoveryMode, Durability, ModelPrice, NameFrom, SubagentSettings, WireApi,
};

const ALL: &str = r#"
model = "m"
model_provider = "lab"
approval_policy = "never"
workspace_roots = ["/data"]
durability = "machine"
retention_days = 30
stall_seconds = 1
tool_timeout_seconds = 2
profile = "p"

[model_aliases]
fast = "m-mini"

[model_providers.lab]
name = "The lab"
base_url = "https://lab.example/v1"
env_key = "LAB_KEY"
wire_api = "anthropic"
http_headers = { X-Team = "t" }
env_http_headers = { Authorization = "LAB_AUTH" }
query_params = { api-version = "1" }
request_max_retries = 0
stream_max_retries = 3
stream_idle_timeout_ms = 4000

[model_prices."m.1"]
input = 1
output = 2.5
cached = 0.1

[mcp_servers.local]
command = "npx"
args = ["-y", "server"]
env = { TOKEN = "s" }
cwd = "/srv"
enabled = false
enabled_tools = ["a"]
disabled_tools = ["b"]
startup_timeout_sec = 10
tool_timeout_sec = 0.5
required = true

[mcp_servers.remote]
url = "https://mcp.example"
bearer_token_env_var = "MCP_TOKEN"
http_headers = { X-Key = "s" }
env_http_headers = { X-Other = "OTHER" }

[tools]
subagent_tools = false

[subagents]
enabled = false
discovery = "manual"
agents_dir = "/agents"
default_model = "d"
default_timeout_seconds = 3
default_max_turns = 4
max_depth = 5
max_concurrent = 6
auto_route = true
name_from = "filename"
require_description = false
model_allowlist = ["a", "b"]
max_tree_tokens = 7_000_000_000
max_tree_cost_usd = 8

[profiles.p]
"#;

#[test]
fn every_setting_reaches_its_field() {
    let loaded = World::new().user(ALL).load();
    assert_eq!(loaded.findings.notices, []);
    let settings = loaded.settings;
    assert_eq!(settings.model.as_deref(), Some("m"));
    assert_eq!(settings.model_provider.as_deref(), Some("lab"));
    assert_eq!(settings.approval_policy, ApprovalPolicy::Never);
    assert_eq!(settings.model_aliases["fast"], "m-mini");
    assert_eq!(settings.workspace_roots, [PathBuf::from("/data")]);
    assert_eq!(settings.durability, Durability::Machine);
    assert_eq!(settings.retention_days, Some(30));
    assert_eq!((settings.stall_seconds, settings.tool_timeout_seconds), (1, 2));
    assert!(!settings.tools.subagent_tools);
    assert_eq!(settings.profile.as_deref(), Some("p"));
    assert_eq!(
        settings.model_prices["m.1"],
        ModelPrice { input: Some(1.0), output: Some(2.5), cached: Some(0.1), cache_write: None }
    );
    assert_eq!(
        settings.subagents,
        SubagentSettings {
            enabled: false,
            discovery: DiscoveryMode::Manual,
            agents_dir: Some("/agents".into()),
            default_model: Some("d".into()),
            default_timeout_seconds: 3,
            default_max_turns: 4,
            max_depth: 5,
            max_concurrent: 6,
            auto_route: true,
            name_from: NameFrom::Filename,
            require_description: false,
            model_allowlist: vec!["a".into(), "b".into()],
            max_tree_tokens: Some(7_000_000_000),
            max_tree_cost_usd: Some(8.0),
        }
    );
}

#[test]
fn every_setting_of_a_provider_reaches_its_field() {
    let settings = World::new().user(ALL).load().settings;
    let lab = &settings.model_providers["lab"];
    assert_eq!(lab.name.as_deref(), Some("The lab"));
    assert_eq!(lab.base_url.as_deref(), Some("https://lab.example/v1"));
    assert_eq!(lab.env_key.as_deref(), Some("LAB_KEY"));
    assert_eq!(lab.wire_api, Some(WireApi::Anthropic));
    assert_eq!(lab.http_headers["X-Team"].expose(), "t");
    assert_eq!(lab.env_http_headers["Authorization"], "LAB_AUTH");
    assert_eq!(lab.query_params["api-version"].expose(), "1");
    assert_eq!((lab.request_max_retries, lab.stream_max_retries), (Some(0), Some(3)));
    assert_eq!(lab.stream_idle_timeout_ms, Some(4000));
}

#[test]
fn every_setting_of_a_server_reaches_its_field() {
    let settings = World::new().user(ALL).load().settings;
    let local = &settings.mcp_servers["local"];
    assert_eq!(local.command.as_deref(), Some("npx"));
    assert_eq!(local.args, ["-y", "server"]);
    assert_eq!(local.env["TOKEN"].expose(), "s");
    assert_eq!(local.cwd, Some("/srv".into()));
    assert!(!local.enabled);
    assert_eq!(local.enabled_tools, Some(vec!["a".into()]));
    assert_eq!(local.disabled_tools, ["b"]);
    assert_eq!((local.startup_timeout_sec, local.tool_timeout_sec), (Some(10.0), Some(0.5)));
    assert_eq!(local.extra.0.iter().collect::<Vec<_>>(), [(&"required".into(), &json!(true))]);
    let remote = &settings.mcp_servers["remote"];
    assert_eq!(remote.url.as_deref(), Some("https://mcp.example"));
    assert_eq!(remote.bearer_token_env_var.as_deref(), Some("MCP_TOKEN"));
    assert_eq!(remote.http_headers["X-Key"].expose(), "s");
    assert_eq!(remote.env_http_headers["X-Other"], "OTHER");
    assert!(remote.enabled && remote.extra.0.is_empty());
}

#[test]
fn a_cap_of_nothing_is_none() {
    let subagents = World::new().load().settings.subagents;
    assert_eq!((subagents.max_tree_tokens, subagents.max_tree_cost_usd), (None, None));
}

#[test]
fn the_origin_of_a_setting_can_be_asked_for() {
    let settings = World::new().user(ALL).typed("model=x").load().settings;
    assert_eq!(settings.origin("model").unwrap().to_string(), "-c");
    let origin = settings.origin("subagents.max_depth").unwrap();
    assert_eq!(origin.place().unwrap().line, 60);
    assert_eq!(settings.origin("nothing"), None);
}
