//! `attache may`: rules of settings and of Claude's files, judged by the real program.

use std::process::Command;

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::project;

/// A project with an agent that is trusted and may use everything.
fn with_worker() -> TestProject {
    let project = project();
    project.agent("worker", "description: d");
    assert_eq!(project.run(&["trust", "worker", "--yes"]).code, Some(0));
    project
}

fn may(project: &TestProject, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> =
        ["may"].iter().chain(arguments).chain(&["--json"]).copied().collect();
    let ran = project.run(&arguments);
    let told: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", ran.stdout, ran.stderr));
    let code = i32::from(told["verdict"] != "allow");
    assert_eq!(ran.code, Some(code), "{told}");
    told
}

fn verdict(project: &TestProject, arguments: &[&str]) -> String {
    may(project, arguments)["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn tools_of_mcp_servers_are_judged_without_starting_one() {
    let project = with_worker();
    project.file(
        "~/.attache/config.toml",
        "[permissions]\nallow = [\"mcp__db__query\"]\n[mcp_servers.db]\ncommand = \"no-such-program\"\n\
         disabled_tools = [\"drop\"]\n",
    );
    project.agent("careful", "description: d\ndisallowedTools: mcp__db__write");
    for (agent, tool, expected) in [
        ("worker", "mcp__db__query", "allow"),
        ("worker", "mcp__db__write", "ask"),
        ("worker", "mcp__db__drop", "deny"),
        ("worker", "mcp__other__query", "deny"),
        ("careful", "mcp__db__write", "deny"),
        ("Explore", "mcp__db__write", "deny"),
    ] {
        assert_eq!(verdict(&project, &[agent, tool, "{}"]), expected, "{agent} {tool}");
    }
}

#[test]
fn it_tells_verdict_reason_and_rule() {
    let project = with_worker();
    project.file(
        "~/.attache/config.toml",
        "[permissions]\nallow = [\"Bash(cargo test *)\"]\nask = [\"Bash(git push *)\"]\ndeny = [\"Read(.env)\"]\n",
    );
    for (tool, argument, expected, rule) in [
        ("Bash", "git status", "allow", None),
        ("shell", "cargo test --all", "allow", Some("Bash(cargo test *)")),
        ("shell", "cargo test && make", "ask", None),
        ("shell", "git push origin", "ask", Some("Bash(git push *)")),
        ("Read", ".env", "deny", Some("Read(.env)")),
        ("shell", "cat .env", "deny", Some("Read(.env)")),
        ("Write", "src/a.rs", "ask", None),
        ("web_fetch", "https://example.com/", "ask", None),
        ("exec_command", "{ ls; }", "allow", None),
        ("shell", r#"{"command": ["rm", "x"]}"#, "ask", None),
    ] {
        let told = may(&project, &["worker", tool, argument]);
        assert_eq!((&told["verdict"], &told["rule"]), (&json!(expected), &json!(rule)), "{told}");
        assert!(told["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{told}");
    }
    let text = project.run(&["may", "worker", "Bash", "rm -rf x"]);
    assert_eq!(
        (text.code, text.stdout.as_str()),
        (Some(1), "ask: `rm` is not known to be read-only\n")
    );
}

#[test]
fn rights_and_modes_of_the_agent_count() {
    let project = with_worker();
    project.agent("plain", "description: d");
    let told = may(&project, &["plain", "Bash", "ls"]);
    assert_eq!(told["verdict"], "deny");
    assert!(told["reason"].as_str().unwrap().contains("attache trust plain"), "{told}");
    assert_eq!(verdict(&project, &["plain", "Bash", "ls", "--trust"]), "allow");
    assert_eq!(verdict(&project, &["Explore", "Bash", "ls"]), "deny");
    assert_eq!(verdict(&project, &["Explore", "Read", "x"]), "allow");
    for (name, header, tool, argument, expected) in [
        ("quiet", "approvalMode: suppress", "Bash", "make", "deny"),
        ("planner", "permissionMode: plan", "Bash", "make", "deny"),
        ("planner", "permissionMode: plan", "Read", "a.txt", "allow"),
        ("editor", "permissionMode: acceptEdits", "Write", "a.txt", "allow"),
        ("editor", "permissionMode: acceptEdits", "Write", ".git/config", "ask"),
        ("editor", "permissionMode: acceptEdits", "Write", "/etc/passwd", "deny"),
        ("editor", "permissionMode: acceptEdits", "Read", "../other/a.txt", "deny"),
        (
            "editor",
            "permissionMode: acceptEdits",
            "Glob",
            r#"{"pattern": "*", "path": "/etc"}"#,
            "deny",
        ),
        ("reckless", "permissionMode: bypassPermissions", "Bash", "make", "ask"),
        ("reckless", "permissionMode: bypassPermissions", "Write", "a.txt", "ask"),
        ("silent", "permissionMode: dontAsk", "Bash", "make", "deny"),
        ("gitter", "tools: Bash(git *)", "Bash", "git push", "ask"),
        ("gitter", "tools: Bash(git *)", "Bash", "ls", "deny"),
    ] {
        project.agent(name, &format!("description: d\n{header}"));
        let found = verdict(&project, &[name, tool, argument, "--trust"]);
        assert_eq!(found, expected, "{header}: {tool} {argument}");
    }
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let project = project();
    project.agent("editor", "description: d\npermissionMode: acceptEdits");
    project.file("src/a.rs", "");
    project.file(".git/hooks/x", "");
    std::os::unix::fs::symlink(".git/hooks", project.root().join("harmless")).unwrap();
    std::os::unix::fs::symlink("/tmp", project.root().join("outside")).unwrap();
    let judged = |path: &str| verdict(&project, &["editor", "Write", path, "--trust"]);
    assert_eq!(judged("src/a.rs"), "allow");
    assert_eq!(judged("src/new/b.rs"), "allow");
    assert_eq!(judged("harmless/pre-commit"), "ask");
    assert_eq!(judged("outside/x"), "deny");
    assert_eq!(judged("src/../.git/hooks/x"), "ask");
    // A protected path that is a link is protected under its other name too.
    project.file("shared/agents/a.md", "");
    assert_eq!(judged("shared/agents/b.md"), "allow");
    std::os::unix::fs::symlink("shared", project.root().join(".gemini")).unwrap();
    assert_eq!(judged("shared/agents/b.md"), "ask");
    let rule = "permissions.allow=[\"Bash(touch *)\", \"Bash(ls *)\"]";
    let command = |line: &str| verdict(&project, &["editor", "Bash", line, "--trust", "-c", rule]);
    assert_eq!(command("touch src/x"), "allow");
    assert_eq!(command("touch shared/agents/b.md"), "ask");
    assert_eq!(command("ls shared/agents"), "allow");
}

#[test]
fn the_answer_to_a_question_can_be_given_beforehand() {
    let project = with_worker();
    assert_eq!(verdict(&project, &["worker", "Bash", "make", "--approve", "all"]), "allow");
    assert_eq!(verdict(&project, &["worker", "Bash", "make", "--approve", "deny"]), "deny");
    assert_eq!(verdict(&project, &["worker", "Bash", "make", "--approve", "ask"]), "ask");
}

#[test]
fn what_cannot_be_judged_at_all_is_a_usage_error() {
    let project = with_worker();
    for arguments in [
        &["may", "nobody", "Bash", "ls"][..],
        &["may", "worker", "Bsh", "ls"],
        &["may", "worker", "Read", "{\"path\": "],
        &["may", "worker", "TodoWrite", "x"],
        &["may", "worker"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {} {}", ran.stdout, ran.stderr);
    }
}

#[test]
fn rules_of_claude_count_and_a_projects_allow_rules_only_with_trust() {
    let project = with_worker();
    project.file(
        "~/.claude/settings.json",
        r#"{"model": "opus", "permissions": {"allow": ["Bash(make:*)"], "deny": ["Read(./secrets/**)"]}}"#,
    );
    project.file(
        ".claude/settings.json",
        r#"{"permissions": {"allow": ["Bash(npm run lint)"], "deny": ["Bash(curl:*)"], "ask": ["Bash(make install)"]}}"#,
    );
    project.file(".claude/settings.local.json", r#"{"permissions": {"deny": ["WebFetch"]}}"#);
    let judged = |argument: &str| verdict(&project, &["worker", "Bash", argument]);
    assert_eq!(judged("make all"), "allow");
    assert_eq!(judged("make install"), "ask");
    assert_eq!(judged("curl x"), "deny");
    assert_eq!(judged("cat secrets/key"), "deny");
    assert_eq!(verdict(&project, &["worker", "WebFetch", "https://a.b/"]), "deny");
    assert_eq!(judged("npm run lint"), "ask");
    let noticed = project.run(&["list"]).stderr;
    assert!(
        noticed.contains("permissions.allow") && noticed.contains("trust --project"),
        "{noticed}"
    );
    let trusted = project.json(&["trust", "--project", "--yes", "--json"]);
    let gains = trusted.to_string();
    assert!(gains.contains("Bash(npm run lint)"), "{gains}");
    assert_eq!(judged("npm run lint"), "allow");
    assert_eq!(judged("curl x"), "deny");
    let entries = project.json(&["config", "permissions.deny", "--json"]);
    let origins: Vec<String> = entries
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["origin"].as_str().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(origins, ["settings.json:1", "settings.json:1", "settings.local.json:1"]);
}

/// Makes the rules of a project unreadable.
type Break = fn(&TestProject);

#[test]
fn rules_that_cannot_be_read_fail_closed_and_never_hang() {
    let broken: &[(&str, Break)] = &[
        ("truncated", |project| {
            project.file(".claude/settings.json", r#"{"permissions": {"deny": ["Read(.env)"#);
        }),
        ("a list", |project| {
            project.file(".claude/settings.json", "[]");
        }),
        ("wrong type", |project| {
            project.file(".claude/settings.json", r#"{"permissions": {"deny": "Bash"}}"#);
        }),
        ("numbers", |project| {
            project.file(".claude/settings.json", r#"{"permissions": {"deny": [5]}}"#);
        }),
        ("not UTF-8", |project| {
            project.file(".claude/settings.json", [0xff, 0xfe]);
        }),
        ("huge", |project| {
            project.file(".claude/settings.json", vec![b' '; 2 * 1024 * 1024]);
        }),
        ("a directory", |project| {
            project.file(".claude/settings.json/x", "");
        }),
        ("a dangling link", |project| {
            project.file(".claude/x", "");
            let link = project.root().join(".claude/settings.json");
            std::os::unix::fs::symlink("nowhere", link).unwrap();
        }),
        ("a pipe", |project| {
            project.file(".claude/x", "");
            let pipe = project.root().join(".claude/settings.json");
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }),
        ("the user's own", |project| {
            project.file("~/.claude/settings.json", "{");
        }),
        ("the project's own", |project| {
            project.file(".attache/config.toml", "permissions = [\n");
        }),
    ];
    for (what, break_it) in broken {
        let project = with_worker();
        break_it(&project);
        let ran = project.run(&["may", "worker", "Read", "README.md", "--json"]);
        assert_eq!(ran.code, Some(1), "{what}: {} {}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("\"verdict\":\"ask\""), "{what}: {}", ran.stdout);
        assert!(ran.stderr.contains("notice:"), "{what}: {}", ran.stderr);
    }
}

#[test]
fn entries_that_are_not_understood_never_widen() {
    let project = with_worker();
    project.file(
        "~/.attache/config.toml",
        "[permissions]\nallow = [\"Bash(a && b)\", \"Nonsense\"]\n",
    );
    project.file(
        "~/.claude/settings.json",
        r#"{"permissions": {"allow": ["NotebookEdit", "Bash(x"], "deny": ["WebFetch(example.com)"], "additionalDirectories": ["/x"]}}"#,
    );
    let ran = project.run(&["may", "worker", "Bash", "a", "--json"]);
    assert!(ran.stdout.contains("\"ask\""), "{}", ran.stdout);
    for told in ["`Bash(a && b)`", "`Nonsense`", "`Bash(x`", "`WebFetch(example.com)`"] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("NotebookEdit"), "{}", ran.stderr);
    let denied = verdict(&project, &["worker", "WebFetch", "https://other.example/"]);
    assert_eq!(denied, "deny");
}

#[test]
fn show_lists_what_is_unasked_asked_and_never() {
    let project = with_worker();
    project.file(
        "~/.attache/config.toml",
        "[permissions]\nallow = [\"Bash(make *)\"]\nask = [\"WebFetch\"]\ndeny = [\"Read(.env)\"]\n",
    );
    let shown = project.json(&["show", "worker", "--json"]);
    let has = |list: &str, what: &str| {
        shown["permissions"][list].as_array().unwrap().contains(&json!(what))
    };
    for (list, what) in [
        ("unasked", "read_file"),
        ("unasked", "commands that only read"),
        ("unasked", "Bash(make *)"),
        ("asked", "other commands"),
        ("asked", "write_file"),
        ("asked", "WebFetch"),
        ("asked", "writes to protected paths"),
        ("never", "Read(.env)"),
    ] {
        assert!(has(list, what), "{list} {what}: {}", shown["permissions"]);
    }
    let page = project.run(&["show", "worker"]).stdout;
    assert!(page.contains("unasked") && page.contains("commands that only read"), "{page}");
    let explore = project.json(&["show", "Explore", "--json"])["permissions"].clone();
    assert_eq!(explore["asked"], json!([]));
}

#[test]
fn trust_shows_commands_servers_and_settings() {
    let project = project();
    project.agent(
        "worker",
        "description: d\ntools: Read, Bash(git *)\nmcpServers:\n  db:\n    command: npx\n    args: [-y, server]\n",
    );
    let told = project.run(&["trust", "worker"]).stderr;
    for what in ["shell", "only for Bash(git *)", "the MCP server db (npx -y server)"] {
        assert!(told.contains(what), "{what}: {told}");
    }
    project.file(
        ".attache/config.toml",
        "approval_policy = \"never\"\n[permissions]\nallow = [\"Bash\"]\n[mcp_servers.db]\ncommand = \"npx\"\n",
    );
    let told = project.run(&["trust", "--project"]).stderr;
    for what in [
        "approval_policy = \"never\"",
        "permissions.allow = [\"Bash\"]",
        "mcp_servers.db.command = \"npx\"",
    ] {
        assert!(told.contains(what), "{what}: {told}");
    }
}

#[test]
fn the_sandbox_approves_where_it_is_whole() {
    let project = with_worker();
    let judged = |arguments: &[&str]| {
        let all: Vec<&str> = ["worker", "Bash", "make"].iter().chain(arguments).copied().collect();
        may(&project, &all)
    };
    let in_sandbox = judged(&["--approve", "sandbox"]);
    let whole = in_sandbox["verdict"] == "allow";
    if !whole {
        // A machine without the whole sandbox: it is said, and asked.
        assert!(in_sandbox["reason"].as_str().unwrap().contains("sandbox"), "{in_sandbox}");
        println!("this machine lacks a part of the sandbox: {in_sandbox}");
    }
    let bare = judged(&["--approve", "sandbox", "--sandbox", "danger-full-access"]);
    assert_eq!(bare["verdict"], "ask", "{bare}");
    let write = |mode: &str| {
        let arguments = ["worker", "Write", "a.txt", "--approve", "sandbox", "--sandbox", mode];
        verdict(&project, &arguments)
    };
    assert_eq!(write("read-only"), "ask");
    assert_eq!(write("workspace-write"), if whole { "allow" } else { "ask" });
}

#[test]
fn rules_about_files_hold_for_commands_wherever_they_run_and_through_links() {
    let project = with_worker();
    project.file("secret/a", "TOP\n");
    project.file(".env", "ENV\n");
    project.file("src/b", "\n");
    std::os::unix::fs::symlink(".env", project.root().join("envlink")).unwrap();
    std::os::unix::fs::symlink("secret", project.root().join("slink")).unwrap();
    project.file(
        "~/.attache/config.toml",
        "[permissions]\ndeny = [\"Read(.env)\", \"Read(secret/**)\", \"Edit(src/**)\"]\n",
    );
    for command in [
        json!("cat envlink"),
        json!("cat slink/a"),
        json!("cd secret && cat a"),
        json!("cd src/../secret; head a"),
        json!({"command": "cat a", "workdir": "secret"}),
        json!({"command": "cat a", "workdir": "slink"}),
    ] {
        let text = command.as_str().map_or_else(|| command.to_string(), str::to_owned);
        assert_eq!(verdict(&project, &["worker", "Bash", &text]), "deny", "{text}");
    }
    for command in [
        json!("cd src && echo x > b"),
        json!("cd src; touch new"),
        json!({"command": "echo x > b", "workdir": "src"}),
    ] {
        let text = command.as_str().map_or_else(|| command.to_string(), str::to_owned);
        let verdict = verdict(&project, &["worker", "Bash", &text, "--approve", "sandbox"]);
        assert_ne!(verdict, "allow", "{text}");
    }
    // Reading what may not be changed is no change.
    assert_eq!(verdict(&project, &["worker", "Bash", "cd src && cat b"]), "allow");
}

#[test]
fn whoever_may_not_edit_may_not_write_in_another_way() {
    let project = with_worker();
    project.file("~/.attache/config.toml", "[permissions]\ndeny = [\"Edit\"]\n");
    for tool in ["edit_file", "write_file"] {
        assert_eq!(verdict(&project, &["worker", tool, "a.txt", "--approve", "all"]), "deny");
    }
}

#[test]
fn settings_before_and_after_the_command_both_count() {
    let project = with_worker();
    let deny = "permissions.deny=[\"Bash(ls *)\"]";
    let ran = project.run(&["-c", deny, "may", "worker", "Bash", "ls", "-c", "model=\"x\""]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.starts_with("deny"), "{ran:?}");
}

/// In its home `ask` asks, and a pattern that is allowed after it does not.
#[test]
fn what_an_opencode_agent_asks_about_is_asked() {
    let project = project();
    let header = "description: d\npermission:\n  read:\n    \"*.env\": ask\n    \"secret/**\": deny\n  webfetch: ask\n  \
                  bash:\n    \"*\": ask\n    \"pwd*\": allow\n    \"git push *\": deny\n";
    project.file(".opencode/agent/a.md", format!("---\n{header}---\nx\n"));
    project.file(".opencode/agent/all.md", "---\ndescription: d\npermission: ask\n---\nx\n");
    assert_eq!(project.run(&["trust", "--all", "--yes"]).code, Some(0));
    for (tool, what, expected) in [
        ("Bash", "ls", "ask"),
        ("Bash", "pwd", "allow"),
        ("Bash", "pwd && ls", "ask"),
        ("Bash", "git push origin", "deny"),
        ("Read", "a.env", "ask"),
        ("Read", "secret/x", "deny"),
        ("Read", "x", "allow"),
    ] {
        assert_eq!(verdict(&project, &["a", tool, what]), expected, "{tool} {what}");
    }
    // No allow rule of the settings lifts it.
    let allow = "permissions.allow=[\"Bash\"]";
    let told = may(&project, &["a", "Bash", "ls", "-c", allow]);
    assert_eq!((&told["verdict"], &told["rule"]), (&json!("ask"), &json!("shell")), "{told}");
    assert!(told["reason"].as_str().unwrap().contains("agent a"), "{told}");
    assert_eq!(verdict(&project, &["all", "Read", "x"]), "ask");
    let shown = project.json(&["show", "all", "--json"]);
    assert!(shown["permissions"]["unasked"].as_array().unwrap().is_empty(), "{shown}");
    let native = project.run(&["show", "a", "--as", "md"]).stdout;
    assert!(native.contains("askTools") && native.contains("!shell(pwd*)"), "{native}");
}

#[test]
fn what_an_opencode_agent_is_allowed_after_a_denial_works() {
    let project = project();
    let header = "description: d\npermission:\n  \"*\": deny\n  read: allow\n  edit:\n    \"*\": deny\n    \"docs/*\": allow\n  \
                  bash:\n    \"*\": deny\n    \"git status\": allow\n    \"git log*\": ask\n  \
                  webfetch:\n    \"*\": deny\n    \"https://a.com/*\": allow\n";
    project.file(".opencode/agent/a.md", format!("---\n{header}---\nx\n"));
    let late = "description: d\npermission:\n  bash:\n    \"git status\": allow\n    \"*\": deny\n";
    project.file(".opencode/agent/late.md", format!("---\n{late}---\nx\n"));
    assert_eq!(project.run(&["trust", "--all", "--yes"]).code, Some(0));
    for (agent, tool, what, expected) in [
        ("a", "Bash", "git status", "allow"),
        ("a", "Bash", "git log -1", "ask"),
        ("a", "Bash", "git push", "deny"),
        ("a", "Bash", "git status && rm x", "deny"),
        ("a", "Read", "x", "allow"),
        ("a", "Grep", "x", "deny"),
        ("a", "Write", "docs/a/b.md", "ask"),
        ("a", "Write", "src/a.rs", "deny"),
        ("a", "WebFetch", "https://a.com/x", "ask"),
        ("a", "WebFetch", "https://b.a.com/x", "deny"),
        ("a", "WebFetch", "https://b.com/x", "deny"),
        ("late", "Bash", "git status", "deny"),
    ] {
        assert_eq!(verdict(&project, &[agent, tool, what]), expected, "{agent} {tool} {what}");
    }
    let native = project.run(&["show", "a", "--as", "md"]).stdout;
    assert!(native.contains("denyTools") && native.contains("!shell(git status)"), "{native}");
}

#[test]
fn a_call_that_would_fail_is_told() {
    let project = with_worker();
    for (arguments, reason) in [
        (&["Read"][..], "parameter `path` is required"),
        (&["Write", ""], "parameter `path` is required"),
        (&["Bash"], "parameter `command` is required"),
        (
            &["Bash", "{\"command\": \"ls\", \"workdir\": \"/etc\"}"],
            "`/etc` is outside of the workspace",
        ),
        (
            &["Bash", "{\"command\": \"ls\", \"workdir\": \"nowhere\"}"],
            "there is no directory `nowhere`",
        ),
    ] {
        let told = may(&project, &[&["worker"], arguments].concat());
        assert_eq!(told["verdict"], "deny", "{told}");
        assert!(told["reason"].as_str().unwrap().contains(reason), "{told}");
    }
}

#[test]
fn a_rule_may_name_the_argument_it_is_about() {
    let project = with_worker();
    let rules = |rules: &str| format!("permissions.deny=[{rules}]");
    for (rule, tool, what, expected) in [
        ("\"Task(subagent_type:k1)\"", "Task", "k1", "deny"),
        ("\"Read(file_path:secret/**)\"", "Read", "secret/x", "deny"),
        ("\"Bash(command:git status)\"", "Bash", "git status", "deny"),
    ] {
        let depth = "subagents.max_depth=2";
        let asked = ["worker", tool, what, "-c", &rules(rule), "-c", depth];
        assert_eq!(verdict(&project, &asked), expected, "{rule}");
    }
    let wrong = project.run(&["may", "worker", "Task", "k1", "-c", &rules("\"Task(model:opus)\"")]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("names agents"), "{}", wrong.stderr);
}
