//! Finding and reading the files: levels of a project, broken files, and what is not a file.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::json;

use super::World;

#[test]
fn project_files_are_merged_from_the_root_to_the_working_directory() {
    let world = World::new()
        .project("model = \"root\"\nstall_seconds = 1\ntool_timeout_seconds = 1")
        .file("repo/a/.attache/config.toml", "model = \"a\"\nstall_seconds = 2")
        .file("repo/a/b/.attache/config.toml", "model = \"b\"")
        .file("repo/a/b/c/.attache/config.toml", "model = \"below\"")
        .file(".attache/config.toml", "model = \"above\"\nretention_days = 1");
    for (key, value, origin) in [
        ("model", json!("b"), "repo/a/b/.attache/config.toml:1"),
        ("stall_seconds", json!(2), "repo/a/.attache/config.toml:2"),
        ("tool_timeout_seconds", json!(1), "repo/.attache/config.toml:3"),
        ("retention_days", json!(null), "built-in"),
    ] {
        assert_eq!(world.shown(key), (value, origin.to_owned()), "{key}");
    }
    let nearer_root = world.working_in("repo/a");
    assert_eq!(nearer_root.shown("model").0, json!("a"));
}

#[test]
fn a_worktrees_git_file_is_a_root_too() {
    let world = World::new()
        .project("model = \"outer\"")
        .file("repo/a/.git", "gitdir: elsewhere")
        .file("repo/a/.attache/config.toml", "stall_seconds = 5");
    assert_eq!(world.shown("model").0, json!(null));
    assert_eq!(world.shown("stall_seconds").0, json!(5));
}

#[test]
fn outside_of_a_repository_only_the_working_directory_counts() {
    let world = World::new()
        .file("loose/.attache/config.toml", "model = \"parent\"")
        .file("loose/x/.attache/config.toml", "stall_seconds = 5")
        .working_in("loose/x");
    assert_eq!(world.shown("model").0, json!(null));
    assert_eq!(world.shown("stall_seconds").0, json!(5));
}

#[test]
fn mcp_json_gives_servers_to_a_trusted_project() {
    let world = World::new()
        .file(
            "repo/.mcp.json",
            "\u{feff}{\n \"$schema\": \"x\",\n \"mcpServers\": {\n  \"a\": {\"type\": \"http\", \
             \"url\": \"http://a\", \"headers\": {\"X\\u002dKey\": \"${K}\"}, \"env\": null},\n  \
             \"b\": {\"command\": \"b\", \"args\": [\"1\"], \"cwd\": \"sub\", \"timeout\": 5}\n }\n}",
        )
        .project("[mcp_servers.b]\nargs = [\"2\"]")
        .trusted();
    assert_eq!(world.notices(), []);
    let servers = world.load().settings.mcp_servers;
    let (a, b) = (&servers["a"], &servers["b"]);
    assert_eq!(a.url.as_deref(), Some("http://a"));
    assert_eq!(a.http_headers["X-Key"].expose(), "${K}");
    assert_eq!(a.extra.0["type"], json!("http"));
    assert_eq!(b.command.as_deref(), Some("b"));
    assert_eq!(b.args, ["2"], "the program's own format wins");
    assert_eq!(b.cwd.as_deref(), Some(world.path("repo/sub").as_path()));
    assert_eq!(b.extra.0["timeout"], json!(5));
    assert_eq!(world.shown("mcp_servers.b.command"), (json!("b"), "repo/.mcp.json:5".to_owned()));
}

#[test]
fn mcp_json_without_servers_gives_a_notice() {
    let world = World::new().file("repo/.mcp.json", r#"{"servers": {}}"#);
    let notices = world.notices();
    assert_eq!(notices[0].0, "repo/.mcp.json");
    assert_eq!(notices[0].1, ["servers"]);
    assert_eq!(World::new().file("repo/.mcp.json", "{}").notices(), []);
    // The placeholder of a command in the sandbox.
    assert_eq!(World::new().file("repo/.mcp.json/x", "").notices(), []);
}

#[test]
fn a_wrong_type_in_json_is_pointed_at() {
    let world = World::new()
        .file("repo/.mcp.json", "{\"mcpServers\": {\n  \"ü\": {\"ä\": 1, \"args\": \"x\"}}}")
        .trusted();
    assert_eq!(
        world.error().0,
        "repo/.mcp.json:2:25: `mcp_servers.\"ü\".args` must be a list of strings, not a string"
    );
}

#[test]
fn broken_files_are_pointed_at() {
    for (file, text, message) in [
        (
            "home/.attache/config.toml",
            "model = \"a\"\nstall_seconds = = 1\n",
            "home/.attache/config.toml:2:17: not valid TOML: ",
        ),
        (
            "home/.codex/config.toml",
            "a = 1\na = 2",
            "home/.codex/config.toml:2:1: not valid TOML: duplicate key",
        ),
        (
            "repo/.attache/config.toml",
            "stall_seconds = 99999999999999999999",
            "repo/.attache/config.toml:1:17: not valid TOML: the number is too large",
        ),
        ("repo/.mcp.json", "{\n \"mcpServers\": {,}}", "repo/.mcp.json:2:17: not valid JSON: "),
        ("repo/.mcp.json", "[]", "repo/.mcp.json:1:1: not valid JSON: expected an object"),
        ("repo/.mcp.json", "", "repo/.mcp.json:1:1: not valid JSON: "),
    ] {
        let (found, hint) = World::new().trusted().file(file, text).error();
        assert!(found.starts_with(message), "{found}");
        assert!(hint.starts_with("correct line "), "{hint}");
    }
}

#[test]
fn a_broken_file_of_an_untrusted_project_stops_nothing() {
    for (file, text) in [
        ("repo/.attache/config.toml", "stall_seconds = = 1"),
        ("repo/.attache/config.toml", "stall_seconds = \"long\""),
        ("repo/a/.mcp.json", "{"),
    ] {
        let loaded = World::new().user("model = \"mine\"").file(file, text).load();
        assert_eq!(loaded.settings.model.as_deref(), Some("mine"));
        let [notice] = loaded.findings.notices.as_slice() else {
            panic!("{:?}", loaded.findings.notices)
        };
        assert!(notice.message.contains("is ignored"), "{notice:?}");
        assert!(notice.message.contains(file), "{notice:?}");
        assert!(notice.hint.is_some());
    }
    let pipe = World::new();
    fs::create_dir_all(pipe.path("repo/.attache/config.toml")).unwrap();
    assert!(pipe.load().findings.notices[0].message.contains("not a regular file"));
}

#[test]
fn bytes_that_are_no_text_are_pointed_at() {
    let world = World::new();
    fs::write(world.path("home/.attache/config.toml"), b"model = \"a\"\n# \xff").unwrap();
    assert_eq!(world.error().0, "home/.attache/config.toml:2:3: not valid UTF-8: invalid byte");
}

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let toml = format!("a = {}", "[".repeat(400_000));
    let keys = format!("{}a = 1", "a.".repeat(400_000));
    let json = format!("{}{}", "{\"a\":".repeat(150_000), "}".repeat(10));
    for world in [
        World::new().user(&toml),
        World::new().user(&keys),
        World::new().trusted().file("repo/.mcp.json", &json),
    ] {
        assert!(world.error().0.contains("not valid"));
    }
}

#[test]
fn a_megabyte_on_one_line_is_read_at_once() {
    let items = "\"ü\",".repeat(200_000);
    let world = World::new().user(&format!("subagents.model_allowlist = [{items}]"));
    assert_eq!(world.load().settings.subagents.model_allowlist.len(), 200_000);
}

#[test]
fn a_file_too_large_is_refused() {
    let world = World::new().user(&"#".repeat(1024 * 1024));
    world.load();
    let world = world.user(&"#".repeat(1024 * 1024 + 1));
    assert_eq!(world.error().0, "home/.attache/config.toml is larger than 1048576 bytes");
}

#[test]
fn what_is_no_file_is_refused_without_opening_it() {
    let world = World::new();
    let path = world.path("home/.attache/config.toml");
    fs::create_dir(&path).unwrap();
    assert_eq!(world.error().0, "home/.attache/config.toml is not a regular file");
    fs::remove_dir(&path).unwrap();
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert_eq!(world.error().0, "home/.attache/config.toml is not a regular file");
}

#[test]
fn links_are_followed_and_one_to_nowhere_is_an_error() {
    let world = World::new().file("dotfiles/attache.toml", "model = \"linked\"");
    let path = world.path("home/.attache/config.toml");
    symlink(world.path("dotfiles/attache.toml"), &path).unwrap();
    assert_eq!(world.shown("model").0, json!("linked"));
    fs::remove_file(world.path("dotfiles/attache.toml")).unwrap();
    assert_eq!(world.error().0, "cannot read the settings file home/.attache/config.toml");
}

#[test]
fn a_file_in_place_of_the_directory_is_as_good_as_none() {
    let world = World::new().file("repo/.attache", "no directory");
    assert_eq!(world.notices(), []);
}

#[test]
fn relative_paths_start_where_they_are_written() {
    let world = World::new()
        .codex("sandbox_workspace_write.writable_roots = [\"x\"]")
        .user("workspace_roots = [\"~/y\", \"~\", \"/z\"]")
        .file("repo/a/.attache/config.toml", "subagents.agents_dir = \"agents\"");
    let settings = world.load().settings;
    assert_eq!(settings.workspace_roots, [world.path("home/y"), world.path("home"), "/z".into()]);
    assert_eq!(settings.sandbox.writable_roots, [world.path("home/.codex/x")]);
    assert_eq!(settings.subagents.agents_dir, Some(world.path("repo/a/agents")));
    let world = world.typed("subagents.agents_dir=typed").typed("sandbox_deny_read=[\"x\"]");
    let settings = world.load().settings;
    assert_eq!(settings.subagents.agents_dir, Some(world.path("repo/a/b/typed")));
    assert_eq!(settings.sandbox.deny_read, [world.path("repo/a/b/x")]);
}
