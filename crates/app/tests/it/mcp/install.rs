//! `attache mcp install` and `uninstall`: one entry in the settings of a host, and nothing else.

use std::{fs, os::unix::fs::PermissionsExt as _};

use attache_testkit::scripted_server::ScriptedServer;
use serde_json::{Value, json};

use super::API;
use crate::{
    project,
    providers::{completes, lab},
    terminal::Terminal,
};

/// The hosts, where their settings are, and where an entry is in them.
const HOSTS: [(&str, &str, &str); 5] = [
    ("claude", ".claude.json", "/mcpServers/attache"),
    ("gemini", ".gemini/settings.json", "/mcpServers/attache"),
    ("vscode", ".config/Code/User/mcp.json", "/servers/attache"),
    ("cursor", ".cursor/mcp.json", "/mcpServers/attache"),
    ("zed", ".config/zed/settings.json", "/context_servers/attache"),
];

#[test]
fn nothing_is_written_unasked() {
    let project = project();
    let ran = project.run(&["mcp", "install", "nobody", "--yes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for host in ["claude", "codex", "zed"] {
        let ran = project.run(&["mcp", "install", host]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--yes"), "{ran:?}");
        assert!(ran.stderr.contains("attache"), "the change is not shown: {ran:?}");
    }
    assert!(fs::read_dir(project.home()).unwrap().next().is_none(), "something was written");
}

#[test]
fn the_readme_has_the_line_for_each_host() {
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let readme = fs::read_to_string(readme).unwrap();
    for host in HOSTS.map(|(host, _, _)| host).into_iter().chain(["codex"]) {
        assert!(readme.contains(&format!("\nattache mcp install {host} ")), "{host}");
    }
}

#[test]
fn a_person_is_asked() {
    for (answer, is_written) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let project = project();
        let mut terminal = Terminal::with(&project, &["mcp", "install", "cursor"]);
        terminal.types(answer.as_bytes());
        terminal.end();
        assert_eq!(project.home().join(".cursor/mcp.json").exists(), is_written, "{answer:?}");
    }
}

#[test]
fn each_host_gets_one_entry_once_and_loses_it_again() {
    for (host, file, pointer) in HOSTS {
        let project = project();
        let path = project.home().join(file);
        let install = || project.json(&["mcp", "install", host, "--yes", "--json"]);
        let done = install();
        assert_eq!(
            (&done["host"], &done["changed"], &done["backup"]),
            (&json!(host), &json!(true), &Value::Null)
        );
        let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let entry = written.pointer(pointer).unwrap();
        assert_eq!(entry["args"], json!(["mcp"]), "{entry}");
        assert_eq!(entry["command"], env!("CARGO_BIN_EXE_attache"), "{entry}");
        assert_eq!(install()["changed"], false, "twice is once");
        let undone = project.json(&["mcp", "uninstall", host, "--yes", "--json"]);
        assert_eq!(undone["changed"], true, "{undone}");
        assert!(!path.exists(), "{host}: the file was not there before");
    }
}

#[test]
fn what_was_there_before_stays_and_comes_back_byte_by_byte() {
    let before = "// mine\n{\n  \"theme\": \"dark\", // why not\n  \"n\": 1.50,\n}\n";
    for (host, file, _) in HOSTS {
        let project = project();
        let path = project.file(&format!("~/{file}"), before);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let done = project.json(&["mcp", "install", host, "--yes", "--json"]);
        let backup = done["backup"].as_str().unwrap();
        assert_eq!(fs::read_to_string(backup).unwrap(), before, "{host}");
        let after = fs::read_to_string(&path).unwrap();
        assert!(after.contains("// why not") && after.contains("\"n\": 1.50"), "{after}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        let again = project.json(&["mcp", "install", host, "--yes", "--json"]);
        assert_eq!(again["changed"], false, "{host}: twice is once");
        project.json(&["mcp", "uninstall", host, "--yes", "--json"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), before, "{host}");
    }
}

#[test]
fn an_entry_is_written_as_the_host_documents_it() {
    let command = env!("CARGO_BIN_EXE_attache");
    for (host, file, pointer) in HOSTS {
        let project = project();
        project.json(&["mcp", "install", host, "--yes", "--json"]);
        let written = fs::read_to_string(project.home().join(file)).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let mut expected = json!({"command": command, "args": ["mcp"]});
        match host {
            "claude" | "vscode" => expected["type"] = json!("stdio"),
            // No `source`: Zed asks its user to remove it.
            "zed" => expected["env"] = json!({}),
            _ => {}
        }
        assert_eq!(written.pointer(pointer), Some(&expected), "{host}");
    }
}

#[test]
fn an_entry_that_the_user_added_to_is_left_as_it_is() {
    for (host, file, pointer) in HOSTS {
        let project = project();
        project.json(&["mcp", "install", host, "--yes", "--json"]);
        let path = project.home().join(file);
        let mut written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        written.pointer_mut(pointer).unwrap()["timeout"] = json!(600);
        fs::write(&path, written.to_string()).unwrap();
        let again = project.json(&["mcp", "install", host, "--yes", "--json"]);
        assert_eq!(again["changed"], false, "{host}");
    }
}

#[test]
fn a_program_that_has_moved_gets_a_new_entry_and_leaves_none_behind() {
    for (host, file, _) in HOSTS.into_iter().chain([("codex", ".codex/config.toml", "")]) {
        let project = project();
        let before = if host == "codex" { "model = \"x\"\n" } else { "{\"theme\": \"dark\"}\n" };
        let path = project.file(&format!("~/{file}"), before);
        project.json(&["mcp", "install", host, "--yes", "--json"]);
        let here = env!("CARGO_BIN_EXE_attache");
        let moved = fs::read_to_string(&path).unwrap().replace(here, "/opt/earlier/attache");
        fs::write(&path, moved).unwrap();
        let again = project.json(&["mcp", "install", host, "--yes", "--json"]);
        assert_eq!(again["changed"], true, "{host}: {again}");
        assert!(fs::read_to_string(&path).unwrap().contains(here), "{host}");
        project.json(&["mcp", "uninstall", host, "--yes", "--json"]);
        let left = fs::read_to_string(&path).unwrap();
        assert!(!left.contains("attache"), "{host}: {left}");
    }
}

#[test]
fn what_the_user_changed_since_is_kept() {
    let project = project();
    let path = project.file("~/.gemini/settings.json", "{\"a\": 1}\n");
    project.json(&["mcp", "install", "gemini", "--yes", "--json"]);
    let changed = fs::read_to_string(&path).unwrap().replace("\"a\": 1", "\"a\": 2");
    fs::write(&path, changed).unwrap();
    project.json(&["mcp", "uninstall", "gemini", "--yes", "--json"]);
    let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(left, json!({"a": 2, "mcpServers": {}}));
}

#[test]
fn codex_gets_a_table_in_its_own_file() {
    let before = "# mine\nmodel = \"x\"\n";
    let project = project();
    let path = project.file("~/.codex/config.toml", before);
    let install = || project.json(&["mcp", "install", "codex", "--yes", "--json"]);
    let done = install();
    assert_eq!(fs::read_to_string(done["backup"].as_str().unwrap()).unwrap(), before);
    let after = fs::read_to_string(&path).unwrap();
    assert!(after.starts_with(before) && after.contains("[mcp_servers.attache]"), "{after}");
    assert_eq!(install()["changed"], false, "twice is once");
    project.json(&["mcp", "uninstall", "codex", "--yes", "--json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn the_server_is_not_one_of_its_own_agents() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("Done.")));
    let project = lab(&server, API, "");
    project.json(&["mcp", "install", "codex", "--yes", "--json"]);
    let agents = r#"{"smith": {"description": "Forges.", "prompt": "You forge."}}"#;
    let ran = project.run(&["run", "smith", "look", "--agents", agents]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let asked = server.requests()[0].json().to_string();
    assert!(asked.contains("complete_task") && !asked.contains("mcp__attache"), "{asked}");
}

#[test]
fn a_file_that_cannot_be_understood_is_left_alone() {
    let project = project();
    let path = project.file("~/.cursor/mcp.json", "{\n  \"mcpServers\": {\n");
    let ran = project.run(&["mcp", "install", "cursor", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("line "), "{ran:?}");
    assert_eq!(fs::read_to_string(path).unwrap(), "{\n  \"mcpServers\": {\n");
}
