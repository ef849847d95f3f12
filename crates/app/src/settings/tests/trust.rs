//! What the files of an untrusted project may set.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::{ADVICE, World, strings};

/// What a project sets, and after `OVER` what the user has set.
const HARMFUL: &str = r#"
model = "replay:x.jsonl"
model_provider = "x"
approval_policy = "never"
approval_policy = "untrusted"
permissions.allow = ["Bash"]
model_aliases.fast = "replay:x"
model_aliases.fast = "b"             OVER model_aliases.fast = "a"
durability = "process"               OVER durability = "machine"
retention_days = 1
tools.subagent_tools = true          OVER tools.subagent_tools = false
model_aliases.fast = "m"
model_aliases.sonnet = "opus"
subagents.enabled = true             OVER subagents.enabled = false
subagents.discovery = "auto"         OVER subagents.discovery = "manual"
subagents.default_model = "replay:x"
subagents.auto_route = true
subagents.max_depth = 2
subagents.max_concurrent = 17
subagents.max_tree_tokens = 11       OVER subagents.max_tree_tokens = 10
subagents.max_tree_tokens = 0        OVER subagents.max_tree_tokens = 10
subagents.max_tree_cost_usd = 0.0    OVER subagents.max_tree_cost_usd = 1.0
subagents.max_tree_cost_usd = 2.0    OVER subagents.max_tree_cost_usd = 1
subagents.model_allowlist = ["a", "b"] OVER subagents.model_allowlist = ["a"]
subagents.model_allowlist = []       OVER subagents.model_allowlist = ["a"]
sandbox_mode = "danger-full-access"
sandbox_mode = "workspace-write"     OVER sandbox_mode = "read-only"
sandbox_deny_read = ["/b"]           OVER sandbox_deny_read = ["/a"]
sandbox_deny_read = []               OVER sandbox_deny_read = ["/a"]
sandbox_workspace_write.network_access = true
sandbox_workspace_write.writable_git = true
sandbox_workspace_write.writable_roots = ["/opt"]
sandbox_workspace_write.writable_roots = ["/a", "/b"] OVER sandbox_workspace_write.writable_roots = ["/a"]
"#;

const HARMLESS: &str = r#"
model = "m"                          OVER model = "u"
durability = "machine"
permissions.ask = ["Bash"]
permissions.deny = ["Bash"]
stall_seconds = 10
tool_timeout_seconds = 500
tools.subagent_tools = false
subagents.enabled = false
subagents.enabled = true
subagents.discovery = "manual"
subagents.discovery = "auto"
subagents.default_model = "m"
subagents.default_timeout_seconds = 900
subagents.default_max_turns = 500
subagents.max_depth = 0
subagents.max_depth = 3              OVER subagents.max_depth = 4
subagents.max_concurrent = 16
subagents.auto_route = false         OVER subagents.auto_route = true
subagents.name_from = "filename"
subagents.require_description = false
subagents.max_tree_tokens = 9
subagents.max_tree_cost_usd = 0.5    OVER subagents.max_tree_cost_usd = 5
subagents.model_allowlist = ["a"]
subagents.model_allowlist = ["b"]    OVER subagents.model_allowlist = ["a", "b"]
sandbox_mode = "read-only"
sandbox_mode = "workspace-write"     OVER sandbox_mode = "danger-full-access"
sandbox_deny_read = ["/a"]
sandbox_deny_read = ["/b", "/a"]     OVER sandbox_deny_read = ["/a"]
sandbox_workspace_write.network_access = false OVER sandbox_workspace_write.network_access = true
sandbox_workspace_write.writable_git = false OVER sandbox_workspace_write.writable_git = true
sandbox_workspace_write.writable_roots = ["/a"] OVER sandbox_workspace_write.writable_roots = ["/a", "/b"]
sandbox_workspace_write.writable_roots = [] OVER sandbox_workspace_write.writable_roots = ["/a"]
"#;

/// Whether the project's value is in force; if not, there must be a notice.
fn applies(row: &str) -> bool {
    let (project, user) = row.split_once(" OVER ").unwrap_or((row, ""));
    let (key, value) = project.split_once('=').unwrap();
    let key = key.trim();
    let parsed: toml::Table = toml::from_str(&format!("value = {value}")).unwrap();
    let value = serde_json::to_value(&parsed["value"]).unwrap();

    let world = World::new().user(user).project(project);
    let entries = world.load().settings.entries();
    let applied = entries.iter().any(|entry| entry.key == key && entry.value == value);
    let withheld = world.notices().iter().any(|(file, keys, hint)| {
        file == "repo/.attache/config.toml" && keys.contains(&key.to_owned()) && hint == ADVICE
    });
    assert_ne!(applied, withheld, "{row}: applied, or withheld with a notice");
    let trusted = world.trusted();
    assert_eq!(trusted.shown(key).0, value, "{row}: applies when trusted");
    assert_eq!(trusted.notices(), []);
    applied
}

#[test]
fn what_could_do_harm_is_ignored() {
    for row in HARMFUL.lines().filter(|row| !row.is_empty()) {
        assert!(!applies(row), "{row}");
    }
}

#[test]
fn what_is_harmless_or_stricter_applies() {
    for row in HARMLESS.lines().filter(|row| !row.is_empty()) {
        assert!(applies(row), "{row}");
    }
}

#[test]
fn another_spelling_is_no_way_around() {
    let world = World::new().project("subagents.autoRoute = true");
    assert_eq!(world.shown("subagents.auto_route").0, json!(false));
    assert_eq!(world.notices()[0].1, ["subagents.auto_route"]);
}

#[test]
fn withheld_tables_are_named_entry_by_entry_and_once_a_file() {
    let world = World::new()
        .project(
            "model = \"m\"\nworkspace_roots = [\"/\"]\nprofile = \"lax\"\n\
             [model_providers.evil]\nbase_url = \"http://evil\"\n\
             [mcp_servers.evil]\ncommand = \"evil\"",
        )
        .file("repo/.mcp.json", r#"{"mcpServers": {"a": {"command": "x"}, "b.c": {"url": "y"}}}"#)
        .user("[profiles.lax]\napproval_policy = \"never\"");
    assert_eq!(
        world.notices(),
        [
            (
                "repo/.mcp.json".into(),
                strings(&["mcp_servers.a", "mcp_servers.\"b.c\""]),
                ADVICE.into()
            ),
            (
                "repo/.attache/config.toml".into(),
                strings(&[
                    "mcp_servers.evil",
                    "model_providers.evil",
                    "profile",
                    "workspace_roots"
                ]),
                ADVICE.into()
            ),
        ]
    );
    let settings = world.load().settings;
    assert_eq!(settings.model.as_deref(), Some("m"));
    assert!(settings.mcp_servers.is_empty() && settings.model_providers.is_empty());
    assert!(settings.workspace_roots.is_empty() && settings.profile.is_none());
    assert_eq!(
        world.load().findings.notices[1].message,
        "ignored until the project is trusted: `mcp_servers.evil`, `model_providers.evil`, \
         `profile`, `workspace_roots`"
    );
}

#[test]
fn what_is_ignored_may_even_be_wrong() {
    let world = World::new()
        .project("approval_policy = 5\nmcp_servers = 1")
        .file("repo/.mcp.json", r#"{"mcpServers": {"a": {"args": "no list"}}}"#);
    let keys: Vec<_> = world.notices().into_iter().flat_map(|(_, keys, _)| keys).collect();
    assert_eq!(keys, ["mcp_servers.a", "approval_policy", "mcp_servers"]);
    assert!(world.trusted().try_load().is_err());
}

#[test]
fn a_projects_profile_is_held_against_the_users_values_and_profile() {
    let project = "[profiles.p]\nmodel = \"m\"\nmodel_provider = \"evil\"\n\
                   [profiles.p.model_providers.evil]\nbase_url = \"http://evil\"\n\
                   [profiles.p.subagents]\nmax_tree_cost_usd = 5.0\nmax_depth = 1";
    for (user, cap) in [
        ("subagents.max_tree_cost_usd = 9.0", json!(5.0)),
        ("subagents.max_tree_cost_usd = 2.0", json!(2.0)),
        (
            "subagents.max_tree_cost_usd = 9.0\nprofiles.p.subagents.max_tree_cost_usd = 1.0",
            json!(1.0),
        ),
    ] {
        let world = World::new().user(user).project(project).profile("p");
        assert_eq!(world.shown("model").0, json!("m"));
        assert_eq!(world.shown("model_provider").0, json!(null));
        assert_eq!(world.shown("model_providers").0, json!(null));
        assert_eq!(world.shown("subagents.max_tree_cost_usd").0, cap, "{user}");
        assert_eq!(world.shown("subagents.max_depth").0, json!(1));
        let notices = world.notices();
        assert_eq!(notices.len(), 1);
        assert!(notices[0].1.contains(&"profiles.p.model_provider".to_owned()));
        assert!(notices[0].1.contains(&"profiles.p.model_providers.evil".to_owned()));
    }
}

#[test]
fn prices_are_the_users_until_the_project_is_trusted() {
    let world = World::new()
        .user("[model_prices.m]\ninput = 3\noutput = 9")
        .project("[model_prices.m]\ncached = 0\n[model_prices.n]\ninput = 1");
    let notices = world.notices();
    assert_eq!(notices[0].1, ["model_prices.m", "model_prices.n"]);
    let prices = world.load().settings.model_prices;
    assert_eq!((prices["m"].cached, prices.len()), (None, 1));
    let prices = world.trusted().load().settings.model_prices;
    assert_eq!((prices["m"].cached, prices["n"].input), (Some(0.0), Some(1.0)));
}

#[test]
fn what_narrows_is_held_against_the_users_values_and_not_another_level() {
    let world = World::new()
        .project("subagents.max_concurrent = 2")
        .file("repo/a/.attache/config.toml", "subagents.max_concurrent = 4");
    assert_eq!(world.notices(), []);
    assert_eq!(world.shown("subagents.max_concurrent").0, json!(4));
}

#[test]
fn agents_may_be_kept_inside_the_project_only() {
    let world = World::new();
    std::fs::create_dir_all(world.path("outside")).unwrap();
    std::fs::create_dir_all(world.path("repo/inside")).unwrap();
    symlink(world.path("outside"), world.path("repo/link")).unwrap();
    symlink(world.path("repo/inside"), world.path("repo/good-link")).unwrap();
    let mut world = world;
    for (directory, inside) in [
        ("agents", true),
        ("inside", true),
        ("a/../inside", true),
        ("good-link/x", true),
        ("missing/../agents", true),
        ("..", false),
        ("../outside", false),
        ("a/../../outside", false),
        ("missing/../../outside", false),
        ("link", false),
        ("link/x", false),
        ("link/../repo/agents", true),
        ("/etc", false),
        ("~/agents", false),
        ("../repository", false),
    ] {
        world = world.project(&format!("subagents.agents_dir = \"{directory}\""));
        assert_eq!(world.shown("subagents.agents_dir").0 != json!(null), inside, "{directory}");
        assert_eq!(world.notices().is_empty(), inside, "{directory}");
    }
}

#[test]
fn agents_of_a_project_never_take_the_place_of_those_the_user_told() {
    let project = "subagents.agents_dir = \"agents\"";
    for user in ["subagents.agents_dir = \"mine\"", "subagents.discovery = \"manual\""] {
        let world = World::new().user(user).project(project);
        assert_eq!(world.notices()[0].1, ["subagents.agents_dir"], "{user}");
    }
}

#[test]
fn names_of_an_untrusted_file_cannot_command_the_terminal() {
    let world = World::new()
        .project("\"\\u001b[2J\" = 1\nmcp_servers.\"\\u202e\" = {}\nprofiles.\"\\u001b\" = {}")
        .file("repo/.mcp.json", r#"{"\u001b": 1}"#);
    for notice in world.load().findings.notices {
        let text = format!("{} {:?} {:?}", notice.message, notice.keys, notice.hint);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
    let (message, hint) = world.profile("x").error();
    assert!(!format!("{message}{hint}").contains('\u{1b}'));
}

#[test]
fn a_notice_names_only_the_first_of_many_keys() {
    let keys: Vec<_> = (0..1000).map(|number| format!("zz{number} = 1")).collect();
    let loaded = World::new().project(&keys.join("\n")).load();
    assert_eq!(loaded.findings.notices[0].keys.len(), 1000);
    assert!(loaded.findings.notices[0].message.ends_with(" and 960 more"));
}

#[test]
fn the_users_own_file_is_no_projects_even_if_home_is_a_repository() {
    let world = World::new().user("approval_policy = \"never\"").working_in("home/code");
    std::fs::create_dir_all(world.path("home/.git")).unwrap();
    assert_eq!(world.notices(), []);
    assert_eq!(world.shown("approval_policy").0, json!("never"));
}
