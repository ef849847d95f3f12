//! What `attache config` shows: everything, in a fixed order, without secrets.

use serde_json::json;

use super::World;

const SECRETS: &str = r#"
[model_providers.p]
base_url = "https://user:sk-secret@host/v1?api_key=sk-secret&v=1"
env_key = "P_KEY"
http_headers = { X-Any = "sk-secret" }
env_http_headers = { Authorization = "P_AUTH" }
query_params = { api-key = "sk-secret", api-version = "1" }

[mcp_servers.s]
command = "npx"
args = ["--token", "sk-secret", "--key=sk-secret", "plain"]
env = { ANY = "sk-secret" }
bearer_token_env_var = "S_TOKEN"
api_token = "sk-secret"
other = { client_secret = "sk-secret", keys = ["sk-secret", 5], scope = "read", on = true }
endpoint = "https://u:sk-secret@host"

[mcp_servers.r]
url = "https://host?token=sk-secret"
http_headers = { Any = "sk-secret" }
env_http_headers = { X-Key = "R_KEY" }
"#;

#[test]
fn secrets_are_masked_and_names_of_variables_are_not() {
    let world = World::new().user(SECRETS);
    let entries = world.load().settings.entries();
    assert!(!serde_json::to_string(&entries).unwrap().contains("sk-secret"));
    for (key, value) in [
        ("model_providers.p.base_url", json!("https://***@host/v1?api_key=***&v=1")),
        ("model_providers.p.env_key", json!("P_KEY")),
        ("model_providers.p.http_headers.X-Any", json!("***")),
        ("model_providers.p.env_http_headers.Authorization", json!("P_AUTH")),
        ("model_providers.p.query_params.api-key", json!("***")),
        ("model_providers.p.query_params.api-version", json!("1")),
        ("mcp_servers.s.command", json!("npx")),
        ("mcp_servers.s.args", json!(["--token", "***", "--key=***", "plain"])),
        ("mcp_servers.s.env.ANY", json!("***")),
        ("mcp_servers.s.bearer_token_env_var", json!("S_TOKEN")),
        ("mcp_servers.s.api_token", json!("***")),
        (
            "mcp_servers.s.other",
            json!({"client_secret": "***", "keys": ["***", "***"], "scope": "read", "on": true}),
        ),
        ("mcp_servers.s.endpoint", json!("https://***@host")),
        ("mcp_servers.r.url", json!("https://host?token=***")),
        ("mcp_servers.r.http_headers.Any", json!("***")),
        ("mcp_servers.r.env_http_headers.X-Key", json!("R_KEY")),
    ] {
        assert_eq!(world.shown(key).0, value, "{key}");
    }
}

#[test]
fn no_debug_text_holds_a_secret() {
    let loaded = World::new()
        .user("[model_providers.p]\nhttp_headers.a = \"sk-secret\"\nquery_params.a = \"sk-secret\"\n\
               [mcp_servers.s]\nenv.A = \"sk-secret\"\nhttp_headers.A = \"sk-secret\"\nx = \"sk-secret\"")
        .load();
    assert!(!format!("{loaded:?}").contains("sk-secret"));
}

#[test]
fn the_order_does_not_depend_on_the_files() {
    let first = World::new()
        .user("[model_aliases]\nb = \"1\"\na = \"2\"\n[mcp_servers.x]\nz = 1\nurl = \"u\"");
    let second = World::new()
        .user("mcp_servers.x.url = \"u\"\nmcp_servers.x.z = 1\nmodel_aliases.a = \"2\"")
        .typed("model_aliases.b=1x");
    let keys = |world: &World| -> Vec<_> {
        world.load().settings.entries().into_iter().map(|entry| entry.key).collect()
    };
    assert_eq!(keys(&first), keys(&second));
    let keys = keys(&first);
    let at = |key: &str| keys.iter().position(|known| known == key).unwrap();
    assert!(at("model_aliases.a") < at("model_aliases.b"));
    assert!(at("mcp_servers.x.url") < at("mcp_servers.x.z"));
}

#[test]
fn an_entry_is_serialised_with_its_origin_as_text() {
    let world = World::new().typed("model=m");
    let entry = serde_json::to_value(world.entry("model")).unwrap();
    assert_eq!(entry, json!({"key": "model", "value": "m", "origin": "-c"}));
}

#[test]
fn an_empty_table_is_shown() {
    let world = World::new().user("[mcp_servers.s]\n[model_aliases]");
    assert_eq!(world.shown("mcp_servers.s").0, json!({}));
    assert_eq!(world.shown("model_aliases").0, json!({}));
}
