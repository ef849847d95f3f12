//! Which layer wins, and what each may say.

use serde_json::json;

use super::{World, strings};

/// `model` set in every layer up to `count` of them.
fn layered(count: usize) -> World {
    let mut world = World::new();
    for layer in 0..count {
        world = match layer {
            0 => world.codex("model = \"codex\""),
            1 => world.user("\nmodel = \"user\""),
            2 => world.project("model = \"root\""),
            3 => world.file("repo/a/.attache/config.toml", "model = \"near\""),
            4 => world.variable("ATTACHE_MODEL", "variable"),
            5 => world.typed("model=typed"),
            6 => world.flag("--model", "model", "flag"),
            _ => unreachable!("seven layers"),
        };
    }
    world
}

#[test]
fn each_layer_wins_over_those_before() {
    for (count, value, origin) in [
        (0, json!(null), "built-in"),
        (1, json!("codex"), "home/.codex/config.toml:1"),
        (2, json!("user"), "home/.attache/config.toml:2"),
        (3, json!("root"), "repo/.attache/config.toml:1"),
        (4, json!("near"), "repo/a/.attache/config.toml:1"),
        (5, json!("variable"), "environment ATTACHE_MODEL"),
        (6, json!("typed"), "-c"),
        (7, json!("flag"), "--model"),
    ] {
        assert_eq!(layered(count).shown("model"), (value, origin.to_owned()), "{count} layers");
    }
}

#[test]
fn defaults_are_those_of_the_design() {
    let loaded = World::new().load();
    assert_eq!(loaded.findings.notices, []);
    let entries = loaded.settings.entries();
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| {
            assert_eq!(entry.origin.to_string(), "built-in", "{}", entry.key);
            format!("{} = {}", entry.key, entry.value)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "model = null",
            "model_provider = null",
            "approval_policy = \"on-request\"",
            "sandbox_mode = \"workspace-write\"",
            "sandbox_deny_read = []",
            "sandbox_workspace_write.network_access = false",
            "sandbox_workspace_write.writable_roots = []",
            "sandbox_workspace_write.writable_git = false",
            "permissions.allow = []",
            "permissions.ask = []",
            "permissions.deny = []",
            "model_aliases = null",
            "model_providers = null",
            "model_prices = null",
            "model_context_windows = null",
            "mcp_servers = null",
            "workspace_roots = []",
            "durability = \"process\"",
            "retention_days = null",
            "stall_seconds = 90",
            "tool_timeout_seconds = 120",
            "tools.subagent_tools = true",
            "tools.web_fetch_private_hosts = []",
            "tools.web_search_provider = null",
            "tools.web_search_base_url = null",
            "tools.web_search_env_key = null",
            "subagents.enabled = true",
            "subagents.discovery = \"auto\"",
            "subagents.agents_dir = null",
            "subagents.default_model = null",
            "subagents.default_timeout_seconds = 300",
            "subagents.default_max_turns = 50",
            "subagents.max_depth = 1",
            "subagents.max_concurrent = 16",
            "subagents.auto_route = false",
            "subagents.name_from = \"frontmatter\"",
            "subagents.require_description = true",
            "subagents.model_allowlist = []",
            "subagents.max_tree_tokens = 0",
            "subagents.max_tree_cost_usd = 0.0",
            "profile = null",
            "profiles = null",
        ]
    );
}

#[test]
fn only_shared_keys_of_codex_are_taken_and_the_rest_gives_no_notice() {
    let world = World::new().codex(
        r#"
        model = "m"
        approval_policy = "never"
        profile = "p"
        retention_days = "not even of the right type"
        sandbox_mode = "read-only"
        [sandbox_workspace_write]
        network_access = true
        exclude_slash_tmp = true
        [tools]
        web_search = true
        subagent_tools = false
        [subagents]
        maxDepth = 3
        [profiles.p]
        model = "of the profile"
        approval_policy = "never"
        model_reasoning_effort = "high"
        [model_providers.x]
        base_url = "http://x"
        requires_openai_auth = true
        "#,
    );
    assert_eq!(world.notices(), []);
    for (key, value) in [
        ("model", json!("m")),
        ("approval_policy", json!("never")),
        ("retention_days", json!(null)),
        ("profile", json!(null)),
        ("sandbox_mode", json!("read-only")),
        ("sandbox_workspace_write.network_access", json!(true)),
        ("sandbox_workspace_write.writable_git", json!(false)),
        ("tools.subagent_tools", json!(false)),
        ("subagents.max_depth", json!(3)),
        ("model_providers.x.base_url", json!("http://x")),
    ] {
        assert_eq!(world.shown(key).0, value, "{key}");
    }
    let world = world.profile("p");
    assert_eq!(world.shown("model").0, json!("of the profile"));
    assert_eq!(world.shown("approval_policy").0, json!("never"));
    for other in ["\"on-failure\"", "{ granular = true }", "5"] {
        let world = World::new().codex(&format!("approval_policy = {other}"));
        assert_eq!(world.shown("approval_policy").0, json!("on-request"), "{other}");
    }
}

#[test]
fn tables_are_merged_key_by_key_and_lists_are_replaced() {
    let world = World::new()
        .codex("[model_providers.x]\nbase_url = \"http://x\"\nenv_key = \"X_KEY\"")
        .user(
            "[model_providers.x]\nbase_url = \"http://y\"\n[subagents]\nmodel_allowlist = [\"a\"]",
        )
        .typed("model_providers.x.request_max_retries=1")
        .typed("subagents.model_allowlist=[\"b\"]");
    for (key, value, origin) in [
        ("model_providers.x.base_url", json!("http://y"), "home/.attache/config.toml:2"),
        ("model_providers.x.env_key", json!("X_KEY"), "home/.codex/config.toml:3"),
        ("model_providers.x.request_max_retries", json!(1), "-c"),
        ("subagents.model_allowlist", json!(["b"]), "-c"),
    ] {
        assert_eq!(world.shown(key), (value, origin.to_owned()), "{key}");
    }
}

#[test]
fn a_server_that_changes_its_transport_keeps_nothing_of_the_old_one() {
    let world = World::new()
        .codex(
            "[mcp_servers.s]\ncommand = \"npx\"\nargs = [\"-y\"]\nenabled = false\n\
             [mcp_servers.t]\nurl = \"http://t\"\nbearer_token_env_var = \"T\"",
        )
        .user("[mcp_servers.s]\nurl = \"http://s\"\n[mcp_servers.t]\ncommand = \"t\"");
    let servers = world.load().settings.mcp_servers;
    let (s, t) = (&servers["s"], &servers["t"]);
    assert_eq!((s.command.as_deref(), s.args.len(), s.enabled), (None, 0, false));
    assert_eq!(s.url.as_deref(), Some("http://s"));
    assert_eq!((t.url.as_deref(), t.bearer_token_env_var.as_deref()), (None, None));
    assert_eq!(t.command.as_deref(), Some("t"));
}

#[test]
fn variables_follow_the_scheme() {
    let world = World::new()
        .variable("ATTACHE_MODEL", "4.1")
        .variable("ATTACHE_PROVIDER", "lab")
        .variable("ATTACHE_APPROVAL_POLICY", "never")
        .variable("ATTACHE_SUBAGENTS__MAX_DEPTH", "3")
        .variable("ATTACHE_SUBAGENTS__ENABLED", "false")
        .variable("ATTACHE_SUBAGENTS__MODEL_ALLOWLIST", "[\"a\", \"b\"]")
        .variable("ATTACHE_SUBAGENTS__MAX_TREE_COST_USD", "2")
        .variable("ATTACHE_MODEL_ALIASES", "{ fast = \"m\" }")
        .variable("ATTACHE_STALL_SECONDS", "")
        .variable("ATTACHE_HOME", "/elsewhere")
        .variable("ATTACHE_SUBAGENT_MODEL", "x")
        .variable("CODEX_SUBAGENT_MODEL", "x");
    assert_eq!(world.notices(), []);
    for (key, value, origin) in [
        ("model", json!("4.1"), "environment ATTACHE_MODEL"),
        ("model_provider", json!("lab"), "environment ATTACHE_PROVIDER"),
        ("approval_policy", json!("never"), "environment ATTACHE_APPROVAL_POLICY"),
        ("subagents.max_depth", json!(3), "environment ATTACHE_SUBAGENTS__MAX_DEPTH"),
        ("subagents.enabled", json!(false), "environment ATTACHE_SUBAGENTS__ENABLED"),
        (
            "subagents.model_allowlist",
            json!(["a", "b"]),
            "environment ATTACHE_SUBAGENTS__MODEL_ALLOWLIST",
        ),
        (
            "subagents.max_tree_cost_usd",
            json!(2),
            "environment ATTACHE_SUBAGENTS__MAX_TREE_COST_USD",
        ),
        ("model_aliases.fast", json!("m"), "environment ATTACHE_MODEL_ALIASES"),
        ("stall_seconds", json!(90), "built-in"),
    ] {
        assert_eq!(world.shown(key), (value, origin.to_owned()), "{key}");
    }
    let both = world.variable("ATTACHE_MODEL_PROVIDER", "full");
    assert_eq!(both.shown("model_provider").0, json!("full"));
}

#[test]
fn unknown_variables_give_a_notice_with_the_nearest() {
    let world = World::new()
        .variable("ATTACHE_MODLE", "m")
        .variable("ATTACHE_SUBAGENTS_MAX_DEPTH", "2")
        .variable("ATTACHE_ZZZ", "1")
        .variable("ATTACHE_SUBAGENT", "")
        .variable("ATTACHE_MODEL_PROVIDERS", "{ x = { base_ulr = \"u\" } }");
    assert_eq!(
        world.notices(),
        [
            (String::new(), strings(&["ATTACHE_MODLE"]), "did you mean ATTACHE_MODEL?".into()),
            (
                String::new(),
                strings(&["ATTACHE_SUBAGENTS_MAX_DEPTH"]),
                "did you mean ATTACHE_SUBAGENTS__MAX_DEPTH?".into()
            ),
            (String::new(), strings(&["ATTACHE_ZZZ"]), String::new()),
        ]
    );
    let slip =
        "environment ATTACHE_MODEL_PROVIDERS: there is no setting `model_providers.x.base_ulr`";
    assert_eq!(world.slips(), [slip]);
}

#[test]
fn overrides_are_toml_or_else_strings() {
    for (argument, key, value) in [
        ("model=gpt-5.1", "model", json!("gpt-5.1")),
        ("model=\"gpt 5\"", "model", json!("gpt 5")),
        (" model = x ", "model", json!("x")),
        ("model=a=b", "model", json!("a=b")),
        ("model=", "model", json!("")),
        ("model=1\nother = 2", "model", json!("1\nother = 2")),
        ("subagents.max_depth=0x2", "subagents.max_depth", json!(2)),
        ("subagents.maxDepth=2", "subagents.max_depth", json!(2)),
        ("subagents={enabled=false}", "subagents.enabled", json!(false)),
        ("model_prices.\"gpt-5.1\".input=1.5", "model_prices.\"gpt-5.1\".input", json!(1.5)),
        ("model_aliases.\"a=\\\"b\"=m", "model_aliases.\"a=\\\"b\"", json!("m")),
        ("mcp_servers.s.anything.at.all=1", "mcp_servers.s.anything", json!({"at": {"all": 1}})),
    ] {
        let world = World::new().typed(argument);
        assert_eq!(world.shown(key), (value, "-c".to_owned()), "{argument}");
    }
}

#[test]
fn the_last_override_wins_and_flags_win_over_it() {
    let world = World::new().typed("model=a").typed("model=b");
    assert_eq!(world.shown("model").0, json!("b"));
    let world = world
        .flag("--max-turns", "subagents.default_max_turns", 7)
        .typed("subagents.default_max_turns=8");
    let shown = world.shown("subagents.default_max_turns");
    assert_eq!(shown, (json!(7), "--max-turns".to_owned()));
}

#[test]
fn camel_case_is_accepted_in_subagents_only_and_the_listed_spelling_wins() {
    let world = World::new().user(
        "modelProvider = \"x\"\n[subagents]\ndefaultTimeoutSeconds = 10\nmaxTreeCostUsd = 1.5\n\
         defaultMaxTurns = 1\ndefault_max_turns = 2",
    );
    assert_eq!(world.shown("subagents.default_timeout_seconds").0, json!(10));
    assert_eq!(world.shown("subagents.max_tree_cost_usd").0, json!(1.5));
    assert_eq!(world.shown("subagents.default_max_turns").0, json!(2));
    assert!(world.slips()[0].contains(":1: there is no setting `modelProvider`"));
}

const SLIPS: &str = "modle = \"x\"\n[subagents]\nmax_deep = 2\nzzz = 1\n[model_providers.p]\nbase = \"u\"\n\
                     [permissions]\ndenny = [\"Bash\"]\n";

#[test]
fn unknown_keys_of_the_users_files_are_slips_with_their_lines() {
    for world in [World::new().user(SLIPS), World::new().project(SLIPS).trusted()] {
        let slips = world.slips();
        let keys = ["modle", "subagents.max_deep", "subagents.zzz", "model_providers.p.base"];
        let lines = [1, 3, 4, 6];
        for ((key, line), slip) in keys.into_iter().zip(lines).zip(&slips) {
            let expected = format!("config.toml:{line}: there is no setting `{key}`");
            assert!(slip.ends_with(&expected), "{slip}");
        }
        assert!(slips[4].contains(":8: there is no setting `permissions.denny`"));
        assert_eq!(slips.len(), 5);
        assert_eq!(world.notices(), []);
    }
}

#[test]
fn unknown_keys_of_codex_are_its_own() {
    let world = World::new().codex(SLIPS);
    assert_eq!((world.slips(), world.notices()), (vec![], vec![]));
}

#[test]
fn unknown_keys_of_an_untrusted_project_give_a_notice_and_may_not_lose_a_restriction() {
    let world = World::new().project("[tool]\nx = 1");
    assert_eq!(
        world.notices(),
        [(
            "repo/.attache/config.toml".into(),
            strings(&["tool"]),
            "did you mean `tools` for `tool`?".into()
        )]
    );
    assert_eq!(world.load().settings.permissions.ask, []);
    for written in [
        "[permissions]\ndenny = [\"Bash\"]",
        "[permision]\ndeny = [\"Bash\"]",
        "deny = [\"Bash\"]",
        "sandbox_mod = \"read-only\"",
        "[sandbox_workspace_write]\nnetwork_acces = false",
        "[profiles.p.permissions]\ndenny = [\"Bash\"]",
        "[permissions]\ndeny = [\"Bsh(rm *)\"]",
        "[permissions]\nask = [\"Nonsense\"]",
    ] {
        let world = World::new().project(written);
        let ask = &world.load().settings.permissions.ask;
        assert_eq!(ask.len(), 1, "{written}");
        assert_eq!(ask[0].written, "*", "{written}");
        let told = world.load().findings.notices[0].message.clone();
        assert!(told.contains("every call is asked about"), "{told}");
        assert_eq!(world.slips(), [""; 0]);
    }
}

#[test]
fn a_slip_in_what_an_mcp_server_offers_is_seen() {
    let world = World::new()
        .user("[mcp_servers.x]\ncommand = \"c\"\ndisabled_tool = [\"a\"]\nrequired = true");
    assert_eq!(world.slips().len(), 1);
    assert!(world.slips()[0].contains(":3: there is no setting `mcp_servers.x.disabled_tool`"));
}

#[test]
fn a_variable_that_looks_like_a_restriction_is_a_slip() {
    for name in ["ATTACHE_SANDBOX_MOD", "ATTACHE_PERMISSIONS__DENNY", "ATTACHE_APPROVALPOLICY"] {
        let world = World::new().variable(name, "read-only");
        assert!(world.slips()[0].starts_with(&format!("environment {name}: ")), "{name}");
    }
    let world = World::new().variable("ATTACHE_CORPUS", "x");
    assert_eq!((world.slips().len(), world.notices().len()), (0, 1));
}

#[test]
fn a_rule_that_cannot_be_read_is_a_slip_where_it_denies_or_asks() {
    for (list, entry) in [
        ("deny", "Bash(rm"),
        ("deny", "Bsh(rm *)"),
        ("ask", "WebFetch(example.com)"),
        ("deny", "Bash(a && b)"),
        ("deny", "Nonsense"),
        ("deny", "Bash/Write"),
        ("ask", ""),
    ] {
        let rule = format!("permissions.{list} = [\"{entry}\"]");
        for world in [
            World::new().user(&rule),
            World::new().project(&rule).trusted(),
            World::new().typed(&rule),
            World::new().variable(
                &format!("ATTACHE_PERMISSIONS__{}", list.to_uppercase()),
                &format!("[\"{entry}\"]"),
            ),
            World::new().user(&format!("profiles.p.{rule}")).profile("p"),
        ] {
            let slips = world.slips();
            assert_eq!(slips.len(), 1, "{rule}");
            assert!(slips[0].contains(&format!("`{entry}` in `permissions.{list}` is not a rule")));
        }
    }
    // What would allow is left out, and a tool of another host cannot be called here.
    let world = World::new()
        .user("permissions.allow = [\"Nonsense\"]\npermissions.deny = [\"NotebookEdit\"]");
    assert_eq!((world.slips().len(), world.notices().len()), (0, 2));
}

#[test]
fn rules_of_claude_that_cannot_be_read_fail_closed() {
    for (rule, asked) in [("Bsh(rm *)", 1), ("Bash(rm", 0), ("NotebookEdit", 0), ("Qwertyuiop", 0)]
    {
        let text = format!("{{\"permissions\": {{\"deny\": [\"{rule}\"]}}}}");
        let world = World::new().file("home/.claude/settings.json", &text);
        let settings = world.load().settings;
        assert_eq!(settings.permissions.ask.len(), asked, "{rule}");
        assert_eq!(world.slips(), [""; 0]);
    }
}

#[test]
fn a_policy_of_codex_that_is_not_known_is_told_unless_the_user_has_one() {
    for (written, found) in
        [("\"on-failure\"", "\"on-failure\""), ("{ granular = true }", "as a table")]
    {
        let world = World::new().codex(&format!("approval_policy = {written}"));
        let notices = world.load().findings.notices.into_iter();
        let told: Vec<String> = notices.map(|notice| notice.message).collect();
        assert_eq!(
            told,
            [format!("`approval_policy` {found} is not known here, so the usual holds")]
        );
        let own = world.user("approval_policy = \"untrusted\"");
        assert_eq!(own.notices(), []);
    }
}
