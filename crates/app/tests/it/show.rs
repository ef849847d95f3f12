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
    assert_eq!(before["disallowedTools"], json!(["write", "shell(rm *)"]));
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
