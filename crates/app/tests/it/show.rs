//! `attache show`.

use serde_json::json;

use crate::project;

#[test]
fn any_spelling_finds_the_agent() {
    let project = project();
    project.file(".claude/agents/x.md", "---\nname: C# MCP Expert\ndescription: d\n---\nx\n");
    for name in ["C# MCP Expert", "c-sharp-mcp-expert", "C_SHARP_MCP_EXPERT"] {
        assert_eq!(project.json(&["show", name, "--json"])["name"], "C# MCP Expert");
    }
}

#[test]
fn the_page_says_what_the_agent_gets_and_why() {
    let project = project();
    project.agent(
        "reviewer",
        "description: Reviews diffs\ntools: [Read, Bash, \"mcp__docs__find\"]\nmodel: opus\nkeywords: [review]",
    );
    project
        .file("~/.attache/agents/reviewer.md", "---\nname: reviewer\ndescription: Mine\n---\nx\n");
    let page = project.run(&["show", "reviewer"]).stdout;
    for part in [
        "reviewer (active)",
        "Reviews diffs",
        ".claude/agents/reviewer.md (project, claude)",
        "~/.attache/agents/reviewer.md (user)",
        "none: no model provider is set up for `opus` (chosen by: definition)",
        "attache trust reviewer",
        "mcp__docs__find: ",
        "50 turns, 300 s, 60 s grace",
        "You are reviewer.",
    ] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
}

#[test]
fn an_unknown_agent_gets_the_nearest_name() {
    let ran = project().run(&["show", "Exlpore"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("there is no agent `Exlpore`"));
    assert!(ran.stderr.contains("did you mean `Explore`?"));
}

#[test]
fn a_native_copy_reads_the_same() {
    let project = project();
    project.file(
        ".opencode/agent/ops.md",
        "---\ndescription: \"Runs: things\"\nmode: subagent\ntools: {write: false, bash: true}\npermission: {bash: {\"rm *\": deny}}\nsteps: 3\n---\n\nDo it.\n",
    );
    let native = project.run(&["show", "ops", "--as", "md"]).stdout;
    let before = project.json(&["show", "ops", "--as", "json"]);
    project.file(".attache/agents/ops.md", &native);
    let after = project.json(&["show", "ops", "--json"]);
    assert_eq!(after["dialect"], "attache", "the native file wins");
    for key in [
        "agentType",
        "whenToUse",
        "tools",
        "disallowedTools",
        "runConfig",
        "promptConfig",
        "extras",
    ] {
        assert_eq!(after["definition"][key], before[key], "{key}\n{native}");
    }
    assert_eq!(before["disallowedTools"], json!(["write", "apply_patch", "shell(rm *)"]));
}

#[test]
fn a_broken_agent_is_shown_with_what_is_wrong() {
    let project = project();
    project.file(".claude/agents/broken.md", "---\nname: broken\ndescription: [no]\n---\nx\n");
    let ran = project.run(&["show", "broken"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("broken (invalid)"));
    assert!(ran.stdout.contains("error[bad_type]: `description` must be a text, not a list"));
    assert!(ran.stdout.contains(".claude/agents/broken.md:3:14"));
    let (problem, source) = (ran.stdout.find("error[bad_type]"), ran.stdout.find("source "));
    assert!(problem < source, "what is wrong comes first: {}", ran.stdout);
}

#[test]
fn an_agent_of_the_command_line_says_what_is_wrong_with_it() {
    let ran = project().run(&["show", "bare", "--agents", r#"{"bare": {"description": "d"}}"#]);
    assert!(ran.stdout.contains("bare (invalid)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("error[empty_instructions]"), "{}", ran.stdout);
}

#[test]
fn the_source_is_told_by_its_scope() {
    let project = project();
    let source = |page: &str| {
        let line = page.lines().find(|line| line.starts_with("source")).unwrap();
        line.trim_start_matches("source").trim().to_owned()
    };
    let page = project.run(&["show", "Explore"]).stdout;
    assert_eq!(source(&page), "built in (builtin, attache)");
    let agents = r#"{"x": {"description": "d", "prompt": "p"}}"#;
    let page = project.run(&["--agents", agents, "show", "x"]).stdout;
    assert!(source(&page).starts_with("the command line ("), "{page}");
}

#[test]
fn without_a_provider_the_model_is_what_a_run_gets() {
    let project = project();
    project.agent("rev", "description: d\nmodel: sonnet");
    project.agent("plain", "description: d");
    let model = |name: &str| {
        let page = project.run(&["show", name]).stdout;
        page.lines().find(|line| line.starts_with("model")).unwrap().to_owned()
    };
    assert!(model("rev").contains("none: no model provider is set up for `sonnet`"));
    assert!(model("plain").ends_with("none: no model provider is set up"));
    assert!(model("Explore").contains("offline on offline"), "{}", model("Explore"));
}

/// Keys of a definition that do something.
const EFFECTIVE: [&str; 25] = [
    "agentType",
    "displayName",
    "whenToUse",
    "keywords",
    "color",
    "tools",
    "disallowedTools",
    "source",
    "sourcePath",
    "dialect",
    "baseDir",
    "modelConfig",
    "forkContext",
    "promptConfig",
    "runConfig",
    "inputConfig",
    "outputConfig",
    "disabledFeatures",
    "executionMode",
    "approvalMode",
    "background",
    "isolation",
    "permissionMode",
    "mcpServers",
    "extras",
];
/// Keys that do nothing yet, with a value.
const WITHOUT_EFFECT: [(&str, &str); 3] =
    [("hooks", "{Stop: []}"), ("skills", "[pdf]"), ("memory", "user")];

#[test]
fn every_key_of_a_definition_has_an_effect_or_a_notice() {
    let project = project();
    let without = WITHOUT_EFFECT.map(|(key, value)| format!("{key}: {value}\n")).concat();
    project
        .file(".claude/agents/a.md", format!("---\nname: a\ndescription: d\n{without}---\nbody\n"));
    let ran = project.run(&["show", "a", "--as", "json"]);
    let definition: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let page = project.run(&["show", "a"]).stdout;
    for key in definition.as_object().unwrap().keys() {
        let is_told = page.contains(&format!("`{key}` has no effect yet"));
        let does_nothing = WITHOUT_EFFECT.iter().any(|(name, _)| name == key);
        assert_eq!(is_told, does_nothing, "{key}: {page}");
        assert!(does_nothing || EFFECTIVE.contains(&key.as_str()), "what does `{key}` do?");
    }
}

#[test]
fn names_and_colors_for_people_are_shown() {
    let project = project();
    let header = "name: a\ndescription: d\ndisplayName: The First\ncolor: green\n";
    project.file(".attache/agents/a.md", format!("---\n{header}---\nbody\n"));
    let page = project.run(&["show", "a"]).stdout;
    assert!(page.starts_with("a, The First (active)\n"), "{page}");
    assert!(page.contains("color             green\n"), "{page}");
}

/// A run does not get `web_search` without a provider of searches.
#[test]
fn a_tool_that_no_run_gets_is_not_shown_as_one_of_the_tools() {
    let project = project();
    project.file(".claude/agents/a.md", "---\nname: a\ndescription: d\n---\nbody\n");
    let ran = project.run(&["show", "a", "--json"]);
    let record: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(!record["effective_tools"].to_string().contains("web_search"), "{record}");
    assert!(!record["permissions"].to_string().contains("web_search"), "{record}");
    let withheld = record["withheld_tools"].as_array().unwrap();
    let search = withheld.iter().find(|withheld| withheld["tool"] == "web_search").unwrap();
    assert!(search["reason"].as_str().unwrap().contains("set `tools.web_search_provider`"));
    let ran = project.run(&["may", "a", "web_search", "rust"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("deny: "), "{ran:?}");

    let with = ["-c", "tools.web_search_provider=brave", "show", "a", "--json"];
    let ran = project.command(&with).env("BRAVE_API_KEY", "key-of-a-test").output().unwrap();
    assert!(String::from_utf8_lossy(&ran.stdout).contains("\"web_search\","), "{ran:?}");
}

/// Without a provider an agent that is not built in does not run, and `list` says so.
#[test]
fn an_agent_without_a_model_is_listed_without_one() {
    let project = project();
    project.file(".claude/agents/a.md", "---\nname: a\ndescription: d\n---\nbody\n");
    let listed = project.run(&["list", "a"]).stdout;
    assert!(listed.lines().nth(1).unwrap().contains("  none  "), "{listed}");
    let listed = project.run(&["list", "Explore"]).stdout;
    assert!(listed.contains("offline (parent)"), "{listed}");
}
