//! Every mistake says what, where, and what to do.

use super::World;

fn check(world: &World, message: &str, hint: &str) {
    assert_eq!(world.error(), (message.to_owned(), hint.to_owned()));
}

/// Line and column, the text with `;` for the end of a line, the key, what is expected, what it is.
const WRONG: &str = r#"
1:9  | model = 5                          | model                 | a string              | a whole number
1:9  | model = true                       | model                 | a string              | true or false
1:9  | model = 2026-01-01                 | model                 | a string              | a date
1:17 | stall_seconds = "9"                | stall_seconds         | a whole number from 1 | a string
1:17 | stall_seconds = 0                  | stall_seconds         | a whole number from 1 | 0
1:17 | stall_seconds = -1                 | stall_seconds         | a whole number from 1 | -1
1:17 | stall_seconds = 1.0                | stall_seconds         | a whole number from 1 | a number with a fraction
1:17 | stall_seconds = 5_000_000_000      | stall_seconds         | a whole number from 1 | 5000000000, which is too large
1:19 | workspace_roots = "/x"             | workspace_roots       | a list of paths       | a string
1:25 | workspace_roots = ["x", 1]         | workspace_roots       | a list of paths       | a list with a whole number in it
1:13 | subagents = 1                      | subagents             | a table               | a whole number
1:19 | model_providers = []               | model_providers       | a table               | a list
1:19 | model_aliases.a = 1                | model_aliases.a       | a string              | a whole number
1:21 | model_providers.a = "x"            | model_providers.a     | a table               | a string
2:26 | [model_providers.a]; http_headers = {"X.Y" = 1} | model_providers.a.http_headers."X.Y" | a string | a whole number
2:9  | [mcp_servers.a]; args = "x"        | mcp_servers.a.args    | a list of strings     | a string
2:10 | [mcp_servers.a]; args = [1]        | mcp_servers.a.args    | a list of strings     | a list with a whole number in it
2:12 | [mcp_servers.a]; enabled = 1       | mcp_servers.a.enabled | true or false         | a whole number
2:8  | [mcp_servers.a]; cwd = 1           | mcp_servers.a.cwd     | a path                | a whole number
2:12 | [subagents]; enabled = "yes"       | subagents.enabled     | true or false         | a string
2:18 | [subagents]; maxTreeTokens = -1    | subagents.max_tree_tokens | a whole number from 0 | -1
2:22 | [subagents]; max_tree_cost_usd = -0.5 | subagents.max_tree_cost_usd | a number from 0 | -0.5
2:22 | [subagents]; max_tree_cost_usd = nan  | subagents.max_tree_cost_usd | a number from 0 | NaN
2:14 | [profiles.p.subagents]; max_depth = "x" | profiles.p.subagents.max_depth | a whole number from 0 | a string
2:10 | [model_prices.m]; input = "1"      | model_prices.m.input  | a number from 0       | a string
"#;

#[test]
fn a_wrong_type_of_every_kind_names_key_place_and_what_is_expected() {
    for row in WRONG.lines().filter(|row| !row.is_empty()) {
        let columns: Vec<_> = row.split('|').map(str::trim).collect();
        let [place, text, key, expected, found] = columns[..] else {
            panic!("{row}");
        };
        check(
            &World::new().user(&text.replace(';', "\n")),
            &format!("home/.attache/config.toml:{place}: `{key}` must be {expected}, not {found}"),
            &format!("write {expected} there, or remove the key"),
        );
    }
}

/// A setting, the column of the entry, why it would do nothing, and what to do.
const USELESS: [(&str, u32, &str, &str); 6] = [
    (
        "sandbox_deny_read = [\"*.pem\"]",
        22,
        "`*.pem` in `sandbox_deny_read` is a pattern",
        "Read(*.pem)",
    ),
    ("sandbox_deny_read = [\"\"]", 22, "`` in `sandbox_deny_read` is empty", "write a path"),
    ("sandbox_deny_read = [\"a.txt\"]", 22, "`a.txt` in `sandbox_deny_read` is relative", "~/"),
    (
        "workspace_roots = [\"/a\", \"../out\"]",
        26,
        "`../out` in `workspace_roots` is relative",
        "~/",
    ),
    ("workspace_roots = [\"/nowhere/*\"]", 20, "is a pattern", "name folders"),
    (
        "sandbox_workspace_write.writable_roots = [\"/\"]",
        43,
        "`/` in `sandbox_workspace_write.writable_roots` is the whole disk",
        "danger-full-access",
    ),
];

#[test]
fn a_path_that_would_do_nothing_is_an_error() {
    for (text, column, why, remedy) in USELESS {
        let (message, hint) = World::new().user(text).error();
        let place = format!("home/.attache/config.toml:1:{column}: ");
        assert!(message.starts_with(&place) && message.contains(why), "{text}: {message}");
        assert!(hint.contains(remedy), "{text}: {hint}");
    }
    let typed = World::new().typed("sandbox_deny_read=[\"**/*.pem\"]").error();
    assert!(typed.0.contains("is a pattern"), "{typed:?}");
}

#[test]
fn a_wrong_word_lists_the_words_and_the_nearest() {
    check(
        &World::new().user("approval_policy = \"on_request\""),
        "home/.attache/config.toml:1:19: `approval_policy` must be one of \"untrusted\", \
         \"on-request\", \"never\", not \"on_request\"",
        "did you mean \"on-request\"?",
    );
    check(
        &World::new().codex("[model_providers.x]\nwire_api = \"zzz\""),
        "home/.codex/config.toml:2:12: `model_providers.x.wire_api` must be one of \"responses\", \
         \"chat\", \"anthropic\", \"gemini\", not \"zzz\"",
        "write one of \"responses\", \"chat\", \"anthropic\", \"gemini\" there, or remove the key",
    );
}

#[test]
fn a_mistake_is_an_error_even_where_a_later_layer_hides_it() {
    let world = World::new().codex("model = 1").user("model = \"m\"").typed("model=m");
    assert_eq!(
        world.error().0,
        "home/.codex/config.toml:1:9: `model` must be a string, not a whole number"
    );
}

#[test]
fn variables_overrides_and_flags_are_named() {
    check(
        &World::new().variable("ATTACHE_STALL_SECONDS", "soon"),
        "environment ATTACHE_STALL_SECONDS: `stall_seconds` must be a whole number from 1, not a \
         string",
        "set ATTACHE_STALL_SECONDS to a whole number from 1, or unset it",
    );
    check(
        &World::new().typed("model=5"),
        "-c: `model` must be a string, not a whole number",
        "write a string",
    );
    check(
        &World::new().flag("--timeout", "subagents.default_timeout_seconds", 0),
        "--timeout: `subagents.default_timeout_seconds` must be a whole number from 1, not 0",
        "give --timeout a whole number from 1",
    );
    check(
        &World::new().typed("model.x=5"),
        "-c: `model` must be a string, not a table",
        "write a string",
    );
}

#[test]
fn an_unknown_key_on_the_command_line_is_an_error_with_the_nearest() {
    check(
        &World::new().typed("subagents.max_dept=1"),
        "-c: there is no setting `subagents.max_dept`",
        "did you mean `subagents.max_depth`?",
    );
    check(
        &World::new().typed("modle=1"),
        "-c: there is no setting `modle`",
        "did you mean `model`?",
    );
    check(
        &World::new().typed("zzz.y=1"),
        "-c: there is no setting `zzz`",
        "`attache config` lists every setting",
    );
    check(
        &World::new().typed("subagents={max_dept=1}"),
        "-c: there is no setting `subagents.max_dept`",
        "did you mean `subagents.max_depth`?",
    );
    check(
        &World::new().flag("--x", "subagents.x", 1),
        "--x: there is no setting `subagents.x`",
        "`attache config` lists every setting",
    );
}

#[test]
fn a_malformed_override_is_not_repeated_beyond_its_key() {
    let hint = "write it as KEY=VALUE, e.g. -c subagents.default_max_turns=20";
    for (argument, message) in [
        ("model", "-c model: it has no `=`"),
        ("", "-c : it has no `=`"),
        ("=sk-secret", "-c : a part of the key is empty"),
        ("model..x=sk-secret", "-c model..x: a part of the key is empty"),
        ("model.\"x=sk-secret", "-c model.\"x: a quote is not closed"),
        (
            "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=1",
            "-c a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a: the key has too many parts",
        ),
    ] {
        check(&World::new().typed(argument), message, hint);
    }
}

#[test]
fn no_error_repeats_a_secret() {
    for world in [
        World::new().user("[model_providers.p]\nhttp_headers = \"sk-secret\""),
        World::new().user("[model_providers.p]\nhttp_headers.a = [\"sk-secret\"]"),
        World::new().user("[mcp_servers.p]\nenv.TOKEN = \"sk-secret"),
        World::new().typed("model_providers.p.http_headers=sk-secret"),
        World::new().typed("nothing.token=sk-secret"),
    ] {
        let (message, hint) = world.error();
        assert!(!format!("{message} {hint}").contains("sk-secret"), "{message} {hint}");
    }
}
