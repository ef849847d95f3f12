//! Boundaries that hold wherever an agent works and however a restriction is written: the real program.

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::{
    project,
    providers::{completes, lab, used},
};

/// The verdict of `attache may`, started in a folder of the project.
fn verdict_in(project: &TestProject, folder: &str, arguments: &[&str]) -> String {
    let arguments: Vec<&str> =
        ["may"].iter().chain(arguments).chain(&["--json"]).copied().collect();
    let ran = project.run_in(folder, &arguments);
    let told: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {arguments:?} {ran:?}"));
    told["verdict"].as_str().unwrap().to_owned()
}

fn verdict(project: &TestProject, arguments: &[&str]) -> String {
    verdict_in(project, "", arguments)
}

/// What the model was told about each call of a run, one a turn.
fn results(
    settings: &str,
    prepare: impl Fn(&TestProject),
    run: &[&str],
    calls: &[Value],
) -> String {
    let server = ScriptedServer::start();
    for (index, call) in calls.iter().enumerate() {
        let tool = call["tool"].as_str().unwrap();
        let turn = tool_call(&format!("call_{index}"), tool, &call["arguments"]).using(used(10));
        server.answer(WireApi::Chat.answer(&turn));
    }
    server.answer(WireApi::Chat.answer(&completes("done")));
    let project = lab(&server, WireApi::Chat, settings);
    prepare(&project);
    let ran = project.run(run);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned()
}

#[test]
fn a_link_is_judged_by_where_it_leads() {
    let project = project();
    project.file("secret/a.txt", "TOP SECRET\n");
    project.file(".env", "KEY=1\n");
    for (target, link) in [(".env", "envlink"), ("secret", "folder")] {
        std::os::unix::fs::symlink(target, project.root().join(link)).unwrap();
    }
    let rules = "[permissions]\ndeny = [\"Read(.env)\", \"Read(secret/**)\"]\n";
    project.file("~/.attache/config.toml", rules);
    project.agent("reader", "description: d");
    for (tool, path) in [("Read", "envlink"), ("Read", "folder/a.txt"), ("LS", "folder")] {
        assert_eq!(verdict(&project, &["reader", tool, path]), "deny", "{tool} {path}");
    }
    let search = json!({"pattern": "x", "path": "folder"}).to_string();
    assert_eq!(verdict(&project, &["reader", "Grep", &search]), "deny");
    assert_eq!(verdict(&project, &["reader", "Grep", "x"]), "allow");
}

/// `git status` runs what the settings of the repository name, and these may have come with a download.
#[test]
fn a_command_that_only_reads_can_write_nothing_through_what_it_runs() {
    let prepare = |project: &TestProject| {
        project.agent("worker", "description: d");
        project.run(&["trust", "worker", "--yes"]);
        let git = |arguments: &[&str]| {
            let mut git = std::process::Command::new("git");
            assert!(git.args(arguments).current_dir(project.root()).status().unwrap().success());
        };
        git(&["init", "--quiet"]);
        // The name stands in no message unless something lists it.
        git(&["config", "core.fsmonitor", "touch plan''ted 2>/dev/null; false"]);
    };
    let calls = ["git status", "ls"]
        .map(|command| json!({"tool": "shell", "arguments": {"command": command}}));
    let told = results("", prepare, &["run", "worker", "x"], &calls);
    assert!(told.contains("main.py") || told.contains("src"), "{told}");
    assert!(!told.contains("planted"), "{told}");
    let bare = ["run", "worker", "x", "--sandbox", "danger-full-access"];
    assert!(results("", prepare, &bare, &calls).contains("planted"));
}

#[test]
fn a_file_that_is_trusted_again_keeps_the_tools_that_its_run_had() {
    for trusted_again in [true, false] {
        let server = ScriptedServer::start();
        let touch = |name: &str| {
            let call = json!({"command": format!("touch {name}")});
            tool_call(name, "shell", &call).using(used(10))
        };
        for turn in [touch("first"), completes("one"), touch("second"), completes("two")] {
            server.answer(WireApi::Chat.answer(&turn));
        }
        let project = lab(&server, WireApi::Chat, "");
        let trust = || assert_eq!(project.run(&["trust", "worker", "--yes"]).code, Some(0));
        project.agent("worker", "description: d\ntools: Bash");
        trust();
        let ran = project.run(&["run", "worker", "x", "--approve", "all", "-q"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        project.agent("worker", "description: d\ntools: Bash\ncolor: red");
        if trusted_again {
            trust();
        }
        let ran = project.run(&["run", "--resume", "last", "go on", "--approve", "all", "-q"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(project.root().join("first").exists());
        assert_eq!(project.root().join("second").exists(), trusted_again, "{ran:?}");
    }
}

#[test]
fn rules_stay_about_their_files_wherever_an_agent_works() {
    let project = project();
    project.file("secret/a.txt", "TOP SECRET\n");
    project.file("open/a.txt", "open\n");
    project.agent("inside", "description: d\nbaseDir: secret");
    project.agent("beside", "description: d\nbaseDir: open");
    for (file, rules) in [
        ("~/.attache/config.toml", "[permissions]\ndeny = [\"Read(secret/**)\"]\n"),
        (".attache/config.toml", "[permissions]\ndeny = [\"Read(/secret/**)\"]\n"),
        (".claude/settings.json", "{\"permissions\": {\"deny\": [\"Read(./secret/**)\"]}}"),
    ] {
        let path = project.file(file, rules);
        for arguments in [
            ["inside", "read_file", "a.txt"],
            ["inside", "list_dir", "."],
            ["inside", "grep_files", "{\"pattern\": \"x\"}"],
            ["inside", "glob_files", "{\"pattern\": \"*\"}"],
        ] {
            assert_eq!(verdict(&project, &arguments), "deny", "{file} {arguments:?}");
        }
        let trusted = ["inside", "shell", "cat a.txt", "--trust"];
        assert_eq!(verdict(&project, &trusted), "deny", "{file}");
        assert_eq!(verdict(&project, &["beside", "read_file", "a.txt"]), "allow", "{file}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn rules_of_a_project_are_about_the_project_and_not_about_the_folder_one_is_in() {
    let project = project();
    project.file("sub/b", "SECRET\n");
    project.file("sub/sub/b", "open\n");
    project.agent("worker", "description: d");
    for (file, rule) in [
        (".claude/settings.json", "{\"permissions\": {\"deny\": [\"Read(/sub/b)\"]}}"),
        (".claude/settings.json", "{\"permissions\": {\"deny\": [\"Read(sub/b)\"]}}"),
        (".attache/config.toml", "[permissions]\ndeny = [\"Read(./sub/b)\"]\n"),
    ] {
        let path = project.file(file, rule);
        assert_eq!(verdict(&project, &["worker", "read_file", "sub/b"]), "deny", "{rule}");
        assert_eq!(verdict_in(&project, "sub", &["worker", "read_file", "b"]), "deny", "{rule}");
        let command = ["worker", "shell", "cat b", "--trust"];
        assert_eq!(verdict_in(&project, "sub", &command), "deny", "{rule}");
        assert_eq!(
            verdict(&project, &["worker", "read_file", "b", "--cwd", "sub"]),
            "deny",
            "{rule}"
        );
        let other = ["worker", "read_file", "sub/b"];
        assert_eq!(verdict_in(&project, "sub", &other), "allow", "{rule}");
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_workspace_in_a_protected_or_hidden_place_is_no_way_around_the_protection() {
    let project = project();
    project.file("~/.ssh/id", "KEY\n");
    project.file("~/.attache/credentials.json", "{}\n");
    project.file(".git/hooks/pre-commit", "x\n");
    project.agent("worker", "description: d");
    project.agent("hooks", "description: d\nbaseDir: .git/hooks");
    let home = project.home().display().to_string();
    for folder in [".ssh", ".attache"] {
        let folder = format!("{home}/{folder}");
        let agents = r#"{"w": {"description": "d", "prompt": "p"}}"#;
        for (tool, arguments) in [
            ("read_file", "id"),
            ("list_dir", "."),
            ("write_file", "authorized_keys"),
            ("shell", "cat id"),
        ] {
            let judged = ["w", tool, arguments, "--agents", agents, "--cwd", &folder];
            assert_eq!(verdict(&project, &judged), "deny", "{folder} {tool}");
        }
    }
    let write = ["hooks", "write_file", "pre-commit", "--trust", "--approve", "sandbox"];
    assert_eq!(verdict(&project, &write), "ask");
    let ran = project.run(&["run", "hooks", "look", "--model", "offline"]);
    assert!(ran.stderr.contains("lies in a protected path (`.git`)"), "{ran:?}");
}

#[test]
fn the_sandbox_keeps_a_protected_workspace_read_only() {
    let told = results(
        "",
        |project| {
            project.file(".git/hooks/x", "x\n");
            project.agent("hooks", "description: d\nbaseDir: .git/hooks");
        },
        &["run", "hooks", "go", "--trust", "--approve", "sandbox"],
        &[json!({"tool": "shell", "arguments": {"command": "touch made && echo it-was-made"}})],
    );
    assert!(!told.contains("it-was-made\\n") && !told.contains("\"it-was-made"), "{told}");
}

#[test]
fn a_bare_name_denies_at_least_what_it_denies_with_a_pattern() {
    let project = project();
    project.agent("no-changes", "description: d\ndisallowedTools: Write, Edit");
    project.agent("no-reading", "description: d\ndisallowedTools: [Read]");
    project.agent("worker", "description: d");
    project.file("a.txt", "one\n");
    let patch = json!({"patch": "*** Begin Patch\n*** Add File: n\n+x\n*** End Patch"}).to_string();
    let all = ["--trust", "--approve", "all"];
    let judged = |agent: &str, tool: &str, arguments: &str| {
        verdict(&project, &[[agent, tool, arguments].as_slice(), &all].concat())
    };
    assert_eq!(judged("no-changes", "apply_patch", &patch), "deny");
    assert_eq!(judged("no-changes", "shell", "echo x > a.txt"), "deny");
    assert_eq!(judged("no-changes", "shell", "cargo test"), "allow");
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "two"}).to_string();
    assert_eq!(judged("no-reading", "edit_file", &edit), "deny");
    assert_eq!(judged("no-reading", "shell", "cat a.txt"), "deny");
    assert_eq!(judged("no-reading", "shell", "touch b"), "allow");
    for (rule, tool, arguments) in [
        ("Write", "edit_file", edit.as_str()),
        ("Write", "apply_patch", patch.as_str()),
        ("Edit", "shell", "echo x > z"),
        ("Task", "subagent_run", "{\"name\": \"worker\", \"task\": \"x\"}"),
        ("Task(*)", "subagent_run", "{\"name\": \"worker\", \"task\": \"x\"}"),
    ] {
        let settings = format!("[permissions]\ndeny = [\"{rule}\"]\n[subagents]\nmax_depth = 3\n");
        project.file("~/.attache/config.toml", settings);
        assert_eq!(judged("worker", tool, arguments), "deny", "{rule} {tool}");
    }
    for rule in ["Edit", "Edit(src/**)"] {
        project.file("~/.attache/config.toml", format!("[permissions]\nallow = [\"{rule}\"]\n"));
        let write = ["worker", "write_file", "src/x", "--trust"];
        assert_eq!(verdict(&project, &write), "allow", "{rule}");
    }
    let other = ["worker", "write_file", "docs/x", "--trust"];
    assert_eq!(verdict(&project, &other), "ask");
    // An empty bracket is no pattern, and allows nothing.
    project.file("~/.attache/config.toml", "[permissions]\nallow = [\"Bash()\"]\n");
    assert_eq!(verdict(&project, &["worker", "shell", "rm -rf x", "--trust"]), "ask");
}

#[test]
fn a_restriction_that_is_written_carelessly_counts_or_keeps_dangerous_tools_away() {
    let project = project();
    for header in [
        "description: d\ntools:Read",
        "description: d\ntools:[Read]",
        "description: d\ntools = Read",
        "description: Use: when foo\n  tools: Read",
        "description: d\ndisallowedTools:Bash",
        "description: d\nreadonly:true",
        "description: d: x\n- tools: Read",
        "description: d\ntools: \"*, !Bash\"",
        "description: d\ntools: [\"*\", \"!Bash\"]",
        "description: d\ntools: [\"*\", \"-Bash\"]",
        "description: d\ntools: [\"*\", \"not Bash\"]",
        "description: d\ndisallowedTools: Write Bash",
        "description: d\ndisallowedTools: Write; Bash",
        "description: d\ndisallowedTools: Write/Bash",
        "description: d\ndisallowedTools: [Bash tool]",
        "description: d\nhooks: {PreToolUse: [{matcher: Bash, hooks: [{type: command, command: x}]}]}",
        "description: d\nhooks: {PreToolUse: [{hooks: [{type: command, command: x}]}]}",
        "description: d\nhooks: hooks.json",
        "description: d\nbash: false\nwrite: false",
        "description: d\nedit: deny",
        "description: d\nallow_shell: false",
        "description: d\nno_tools: true",
        "description: d\napproval_policy: untrusted",
    ] {
        project.agent("w", header);
        let judged = ["w", "shell", "touch x", "--trust", "--approve", "all"];
        assert_eq!(verdict(&project, &judged), "deny", "{header}");
        let strict = project.run(&["validate", "--strict", ".claude/agents/w.md"]);
        assert_eq!(strict.code, Some(1), "{header}: {strict:?}");
    }
}

#[test]
fn variables_that_settings_take_keys_from_do_not_reach_commands() {
    let server = ScriptedServer::start();
    let call = json!({"command": "env"});
    let turn = tool_call("call_0", "shell", &call).using(used(10));
    server.answer(WireApi::Chat.answer(&turn));
    server.answer(WireApi::Chat.answer(&completes("done")));
    let settings = "[model_providers.corp]\nbase_url = \"http://127.0.0.1:1/v1\"\nenv_key = \"CORP_LLM\"\n\
                    [mcp_servers.far]\nurl = \"http://127.0.0.1:1/mcp\"\nbearer_token_env_var = \"FAR_WORD\"\n\
                    enabled = false\n";
    let project = lab(&server, WireApi::Chat, settings)
        .with_env("CORP_LLM", "shorty")
        .with_env("FAR_WORD", "something-long-enough")
        .with_env("PLAIN", "stays-here");
    project.agent("w", "description: d\ntools: shell");
    let ran = project.run(&["run", "w", "go", "--trust", "--approve", "all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(told.contains("stays-here"), "{told}");
    assert!(!told.contains("shorty") && !told.contains("something-long-enough"), "{told}");
}

#[test]
fn the_strictest_answer_wins_and_the_widest_is_never_stricter_than_another() {
    let project = project();
    project.agent("plain", "description: d");
    project.agent("auto", "description: d\napprovalMode: auto_approve_in_sandbox");
    project.agent("quiet", "description: d\napprovalMode: suppress");
    project.agent("edits", "description: d\npermissionMode: acceptEdits");
    let judged = |agent: &str, tool: &str, argument: &str, approve: &str| {
        let more = ["--trust", "--approve", approve];
        verdict(&project, &[[agent, tool, argument].as_slice(), &more].concat())
    };
    for policy in ["on-request", "never", "untrusted"] {
        project.file("~/.attache/config.toml", format!("approval_policy = \"{policy}\"\n"));
        for agent in ["plain", "auto", "quiet", "edits"] {
            for (tool, argument) in [("shell", "touch z"), ("write_file", "z")] {
                let denied = judged(agent, tool, argument, "deny");
                assert_eq!(denied, "deny", "{policy} {agent} {tool}");
                if judged(agent, tool, argument, "sandbox") == "allow" {
                    let all = judged(agent, tool, argument, "all");
                    assert_eq!(all, "allow", "{policy} {agent} {tool}");
                }
            }
            assert_eq!(judged(agent, "shell", "ls", "deny"), "allow", "{policy} {agent}");
        }
    }
}
