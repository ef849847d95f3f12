//! What an agent's file takes away stays away, in the program as a whole.

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::project;

/// The record of an agent with that header.
fn record(header: &str) -> Value {
    let project = project();
    project.agent("a", &format!("description: d\n{header}"));
    project.json(&["show", "a", "--json"])
}

fn tools(record: &Value) -> Vec<&str> {
    let tools = record["effective_tools"].as_array().unwrap();
    tools.iter().map(|tool| tool.as_str().unwrap()).collect()
}

#[test]
fn a_mapping_of_tools_grants_at_most_what_it_names() {
    for header in [
        "tools: {Read}",
        "tools:\n  Read:",
        "tools: {Read: true, Grep: 1}",
        "tools: {Read: true, Grep: allow, Glob: maybe}",
        "tools: {Read: true, Grep: false}",
    ] {
        assert_eq!(tools(&record(header)), ["read_file"], "{header}");
    }
    for header in ["tools: {Read: 1}", "tools: {Read: maybe, Grep: false}", "tools: {}"] {
        assert!(tools(&record(header)).is_empty(), "{header}");
    }
    let all = record("color: red");
    let off = record("tools: {Grep: false}");
    assert_eq!(tools(&off).len(), tools(&all).len() - 1);
    assert!(!tools(&off).contains(&"grep_files"));
}

#[test]
fn a_restriction_takes_away_or_says_that_it_does_not() {
    for header in [
        "disallowedTools: [\"*_file\"]",
        "tools: {\"*_file\": false}",
        "tools: {\"rea?\": false}",
        "disallowedTools: {Read}",
        "disallowedTools: [Raed]",
        "disabledFeatures: [Raed]",
    ] {
        let record = record(header);
        assert_eq!(record["status"], "active", "{header}");
        for reader in ["read_file", "grep_files", "glob_files", "list_dir", "view_image"] {
            assert!(!tools(&record).contains(&reader), "{header}: {reader}");
        }
    }
    for header in ["disallowedTools: [Zork]", "disabledFeatures: [network]"] {
        let record = record(header);
        let said = record["diagnostics"][0]["message"].as_str().unwrap();
        assert!(said.ends_with("nothing is taken away"), "{header}: {said}");
    }
    for header in ["disallowedTools: 5", "disabledFeatures: 5", "disabledFeatures: {a: b}"] {
        assert_eq!(record(header)["status"], "invalid", "{header}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_an_error() {
    for header in ["mcpServers: 5", "hooks: 5", "hooks: true", "memory: 7"] {
        let record = record(header);
        assert_eq!(record["status"], "invalid", "{header}");
        assert_eq!(record["diagnostics"][0]["code"], "bad_type", "{header}: {record}");
    }
    for header in ["name: true\ndescription: d", "name: b\ndescription: 5"] {
        let project = project();
        project.file(".claude/agents/b.md", format!("---\n{header}\n---\nHelp.\n"));
        let list = project.json(&["list", "--json"]);
        let records = list["records"].as_array().unwrap();
        let record = records.iter().find(|record| record["scope"] == "project").unwrap();
        assert_eq!(record["status"], "invalid", "{header}");
        assert_eq!(record["diagnostics"][0]["code"], "bad_type", "{header}: {record}");
    }
    for header in ["mcpServers: \"5\"", "memory: \"7\"", "memory: project"] {
        assert_eq!(record(header)["status"], "active", "{header}");
    }
}

/// The tools of an opencode agent with that header, where there is an MCP server.
fn opencode(header: &str) -> (Vec<String>, Value) {
    let project = project();
    project.file("~/.attache/config.toml", "[mcp_servers.srv]\ncommand = \"srv\"\n");
    let text = format!("---\nname: a\ndescription: d\n{header}\n---\nHelp.\n");
    project.file(".opencode/agent/a.md", text);
    project.run(&["trust", "a", "--yes"]);
    let record = project.json(&["show", "a", "--json"]);
    (tools(&record).into_iter().map(str::to_owned).collect(), record)
}

#[test]
fn what_opencode_denies_takes_the_tools_of_mcp_servers_too() {
    let has_mcp = |tools: &[String]| tools.iter().any(|tool| tool.starts_with("mcp__"));
    let has = |tools: &[String], tool: &str| tools.iter().any(|has| has == tool);
    let (all, _) = opencode("color: red");
    assert!(has_mcp(&all) && has(&all, "shell") && has(&all, "apply_patch"), "{all:?}");
    for header in ["permission:\n  \"*\": deny", "permission: deny"] {
        let (none, _) = opencode(header);
        assert!(none.is_empty(), "{header}: {none:?}");
    }
    for (header, meant) in [
        ("permissions: [Read]", "tools"),
        ("permissions: read-only", "readonly"),
        ("permission: sometimes", "disallowedTools"),
    ] {
        let (tools, record) = opencode(header);
        assert!(!has_mcp(&tools) && !has(&tools, "shell"), "{header}: {tools:?}");
        assert!(!has(&tools, "write_file") && has(&tools, "read_file"), "{header}: {tools:?}");
        let hint = record["diagnostics"][0]["hint"].as_str().unwrap();
        assert!(hint.contains(&format!("`{meant}`")), "{header}: {hint}");
        assert_eq!(record["diagnostics"][0]["severity"], "warning", "{header}");
    }
    for header in ["disabledFeatures: [mcp]", "disabledFeatures: [mcp_servers]"] {
        let (tools, record) = opencode(header);
        assert!(!has_mcp(&tools) && has(&tools, "shell"), "{header}: {tools:?}");
        assert_eq!(record["diagnostics"], json!([]), "{header}");
    }
    let (tools, _) = opencode("tools:\n  write: false\n  edit: false");
    for writer in ["write_file", "edit_file", "apply_patch"] {
        assert!(!has(&tools, writer), "{writer}: {tools:?}");
    }
    // Whoever may not edit may not do so in another way, whatever else is switched on.
    let (tools, _) = opencode("tools:\n  edit: false\n  patch: true");
    assert!(!has(&tools, "apply_patch") && !has(&tools, "edit_file"), "{tools:?}");
    let (tools, _) = opencode("tools:\n  patch: false");
    assert!(!has(&tools, "apply_patch") && has(&tools, "edit_file"), "{tools:?}");
}

fn with_secrets() -> TestProject {
    let project = project();
    project.file("secret.txt", "launch_code = 12345\n");
    project.file("src/main.py", "def launch_code():\n    return None\n");
    project
}

#[test]
fn what_may_not_be_read_is_not_found_either() {
    let question = "where is launch_code?";
    let free = with_secrets();
    let ran = free.run(&["run", "Explore", question, "--model", "offline", "-q"]);
    assert!(ran.stdout.contains("12345"), "{ran:?}");
    let header = "---\nname: a\ndescription: d\n";
    for (path, rules) in [
        (".claude/agents/a.md", "disallowedTools: Read(secret.txt)"),
        (".opencode/agent/a.md", "permission:\n  read:\n    secret.txt: deny"),
    ] {
        let project = with_secrets();
        project.file(path, format!("{header}{rules}\n---\nSearch.\n"));
        let ran = project.run(&["run", "a", question, "--model", "offline", "-q"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("src/main.py:1"), "{rules}: {ran:?}");
        assert!(!ran.stdout.contains("12345"), "{rules}: {ran:?}");
    }
}

#[test]
fn offline_does_not_judge() {
    let project = with_secrets();
    project.agent(
        "judge",
        "description: d\noutputSchema:\n  type: object\n  required: [verdict, score, safe, summary]\n  \
         properties:\n    verdict: {enum: [approve, reject]}\n    score: {type: integer, minimum: 1}\n    \
         safe: {type: boolean}\n    summary: {type: string}",
    );
    let ran =
        project.run(&["run", "judge", "is launch_code secure?", "--model", "offline", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(result["status"], "error_no_complete_task_call");
    assert_eq!((&result["output"], &result["partial"]), (&Value::Null, &json!(false)));
    let text = result["result"].as_str().unwrap();
    assert!(
        text.contains("`verdict`, `score`, `safe`") && text.contains("src/main.py:1"),
        "{text}"
    );
}

#[test]
fn an_invalid_schema_is_reported_at_its_place() {
    let project = project();
    let path = project.agent("a", "description: d\noutputConfig:\n  schema: {type: strnig}");
    let ran = project.run(&["validate", "--json", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let files: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(files[0]["status"], "invalid");
    let said = &files[0]["diagnostics"][0];
    assert_eq!((&said["code"], &said["line"]), (&json!("invalid_schema"), &json!(5)));
    let ran = project.run(&["run", "a", "x", "--model", "offline"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("not a valid JSON Schema"), "{ran:?}");
}

#[test]
fn what_takes_everything_away_does_and_a_second_list_widens_nothing() {
    let project = project();
    for (index, header) in [
        "disallowedTools: all",
        "disallowedTools: [all]",
        "disallowedTools: {all: true}",
        "disabledFeatures: [all]",
        "tools: {all: false}",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("none-{index}");
        project.agent(&name, &format!("description: d\n{header}"));
        let shown = project.json(&["show", &name, "--json"]);
        assert_eq!(shown["effective_tools"], serde_json::json!([]), "{header}: {shown}");
    }
    for (index, header) in [
        "tools: [Read]\nallowed-tools: \"*\"",
        "tools: [Read]\nallowed-tools: [Grep]",
        "tools: [Read]\nTools: [Grep]",
    ]
    .iter()
    .enumerate()
    {
        let name = format!("one-{index}");
        project.agent(&name, &format!("description: d\n{header}"));
        let shown = project.json(&["show", &name, "--json"]);
        assert_eq!(shown["effective_tools"], serde_json::json!(["read_file"]), "{header}: {shown}");
        let codes = shown["diagnostics"].to_string();
        assert!(codes.contains("duplicate_key"), "{header}: {codes}");
    }
}

/// DESIGN: a slip in a restriction never grants more; trust does not lift that.
#[test]
fn a_slip_in_a_restriction_keeps_the_dangerous_tools_away() {
    for (header, meant) in [
        ("disalowedTools: Bash", "disallowedTools"),
        ("tool: Read", "tools"),
        ("permision: {bash: deny}", "permission"),
        ("sandbox: read-only", "sandbox_mode"),
        ("permissions: {deny: [Bash]}", "disallowedTools"),
        ("deny: [Bash]", "disallowedTools"),
        ("blocked_tools: [Bash]", "disallowedTools"),
        ("network: false", "permission"),
    ] {
        let project = project();
        project.agent("a", &format!("description: d\n{header}"));
        project.run(&["trust", "a", "--yes"]);
        let record = project.json(&["show", "a", "--json"]);
        assert_eq!(record["trusted"], true, "{header}");
        let names = tools(&record);
        assert!(names.contains(&"read_file"), "{header}: {names:?}");
        for tool in ["shell", "write_file", "edit_file", "apply_patch", "exec_command"] {
            assert!(!names.contains(&tool), "{header}: {tool}");
        }
        let found = &record["diagnostics"][0];
        assert_eq!(found["code"], "unclear_restriction", "{header}: {record}");
        assert_eq!(found["hint"], format!("did you mean `{meant}`?"), "{header}");
        assert_eq!(project.run(&["validate"]).code, Some(0), "{header}");
        assert_eq!(project.run(&["validate", "--strict"]).code, Some(1), "{header}");
    }
}
