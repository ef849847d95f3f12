//! `attache mcp add`, `list`, `remove`, and the lines of `doctor`.

use std::fs;

use serde_json::json;

use super::script;
use crate::project;

#[test]
fn what_cannot_be_added_is_refused_and_changes_nothing() {
    let project = project();
    for (words, told) in [
        (&["mcp", "add", "x"][..], "neither a command nor --url"),
        (&["mcp", "add", "a.b", "--", "c"], "cannot be the name"),
        (&["mcp", "add", "x", "--env", "A", "--", "c"], "--env takes NAME=VALUE"),
        (&["mcp", "add", "x", "--url", "http://h", "--", "c"], "cannot be used with"),
        (&["mcp", "remove", "x"], "no MCP server `x`"),
    ] {
        let ran = project.run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(!project.home().join(".attache/config.toml").exists());
}

#[test]
fn a_server_is_added_listed_and_removed() {
    let project = project();
    project.file("~/.attache/config.toml", "# mine\nmodel = \"m\"\n");
    let script = script();
    let add = ["mcp", "add", "lab", "--env", "A=b c", "--", "python3", script.as_str(), "escapes"];
    assert_eq!(project.run(&add).code, Some(0));
    let text = fs::read_to_string(project.home().join(".attache/config.toml")).unwrap();
    assert!(text.starts_with("# mine\nmodel = \"m\"\n") && text.contains("\"b c\""), "{text}");
    let again = project.run(&add);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("already"), "{}", again.stderr);
    let missing = ["mcp", "add", "gone", "--", "no-such-program"];
    assert_eq!(project.run(&missing).code, Some(0));

    let listed = project.json(&["mcp", "list", "--json"]);
    assert_eq!(listed[1]["state"], "ready", "{listed}");
    assert!(listed[1]["tools"].as_array().unwrap().contains(&json!("mcp__lab__echo")), "{listed}");
    assert_eq!((&listed[0]["name"], &listed[0]["state"]), (&json!("gone"), &json!("failed")));
    assert!(listed[0]["reason"].as_str().unwrap().contains("no such program"), "{listed}");
    let page = project.run(&["mcp", "list"]);
    assert!(page.stdout.contains("mcp__lab__echo") && !page.stdout.contains('\u{1b}'), "{page:?}");
    let checks = project.run(&["doctor"]).stdout;
    assert!(checks.contains("lab: 14 tools") && checks.contains("gone: cannot run"), "{checks}");

    assert_eq!(project.run(&["mcp", "remove", "lab"]).code, Some(0));
    assert_eq!(project.run(&["mcp", "remove", "gone"]).code, Some(0));
    assert_eq!(project.json(&["mcp", "list", "--json"]), json!([]));
}

#[test]
fn a_server_that_cannot_be_reached_is_told_in_plain_words_without_its_token() {
    let project = project();
    // Nobody listens there: the port was free, and is not used again at once.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    project.file(
        "~/.attache/config.toml",
        format!("[mcp_servers.n]\nurl = \"http://127.0.0.1:{port}/x?token=SECRETT\"\n"),
    );
    for arguments in
        [&["mcp", "list"][..], &["mcp", "list", "--json"], &["doctor"], &["doctor", "--json"]]
    {
        let ran = project.run(arguments);
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains("it cannot be reached"), "{arguments:?}: {told}");
        for part in ["SECRETT", "rmcp", "::", "Transport"] {
            assert!(!told.contains(part), "{arguments:?}: {part} is in {told}");
        }
    }
}
