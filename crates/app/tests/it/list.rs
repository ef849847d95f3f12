//! `attache list`.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::project;

fn record<'a>(inventory: &'a Value, name: &str) -> &'a Value {
    let records = inventory["records"].as_array().unwrap();
    records.iter().find(|record| record["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn the_inventory_has_the_documented_shape() {
    let project = project();
    let path = project.agent("reviewer", "description: Reviews\ntools: Read, Bash\nmodel: opus");
    project
        .file("~/.claude/agents/reviewer.md", "---\nname: reviewer\ndescription: Mine\n---\nx\n");
    let inventory = project.json(&["list", "--json"]);
    let keys: Vec<&String> = inventory.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["records", "conflicts", "discovery_events"]);
    let reviewer = record(&inventory, "reviewer");
    let keys: Vec<&String> = reviewer.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "name",
            "scope",
            "dialect",
            "source_path",
            "status",
            "definition",
            "effective_tools",
            "withheld_tools",
            "effective_model",
            "trusted",
            "overrides",
            "diagnostics"
        ]
    );
    assert_eq!(reviewer["scope"], "project");
    assert_eq!(reviewer["dialect"], "claude");
    assert_eq!(reviewer["source_path"], path.to_str().unwrap());
    assert_eq!(reviewer["status"], "active");
    assert_eq!(reviewer["effective_tools"], json!(["read_file"]));
    assert_eq!(reviewer["withheld_tools"][0]["tool"], "shell");
    assert!(reviewer["withheld_tools"][0]["reason"].as_str().unwrap().contains("attache trust"));
    assert_eq!(reviewer["effective_model"]["model"], "opus");
    assert_eq!(reviewer["effective_model"]["chosen_by"], "definition");
    assert_eq!(reviewer["trusted"], false);
    assert_eq!(reviewer["overrides"][0]["scope"], "user");
    assert_eq!(inventory["discovery_events"][0]["kind"], "override");
    assert_eq!(reviewer["definition"]["tools"], json!(["Read", "Bash"]));
}

#[test]
fn the_built_in_agents_are_there() {
    let inventory = project().json(&["list", "--json"]);
    let explore = record(&inventory, "Explore");
    assert_eq!(
        explore["effective_tools"],
        json!(["read_file", "list_dir", "glob_files", "grep_files"])
    );
    assert_eq!(explore["withheld_tools"], json!([]));
    assert_eq!(explore["definition"]["runConfig"]["maxTurns"], 30);
    assert_eq!(explore["definition"]["runConfig"]["maxTimeSeconds"], 120);
    let plan = record(&inventory, "Plan");
    assert_eq!(plan["effective_tools"], json!(["read_file", "glob_files", "grep_files"]));
    assert_eq!(plan["definition"]["forkContext"], true);
    assert_eq!(plan["definition"]["runConfig"]["maxTimeSeconds"], 300);
    assert_eq!((&plan["trusted"], &plan["scope"]), (&json!(true), &json!("builtin")));
}

#[test]
fn the_model_is_chosen_by_the_first_rule_that_names_one() {
    let with_variable = project().with_env("CODEX_SUBAGENT_MODEL", "from-env");
    let without = project();
    let chosen_in = |project: &TestProject, arguments: &[&str]| {
        project.agent("one", "description: d\nmodel: inherit");
        let mut all = vec!["show", "one", "--json"];
        all.extend(arguments);
        let model = project.json(&all)["effective_model"].clone();
        let word = |key: &str| model[key].as_str().unwrap().to_owned();
        (word("model"), word("chosen_by"))
    };
    assert_eq!(chosen_in(&with_variable, &[]), ("from-env".to_owned(), "env".to_owned()));
    let chosen = |arguments: &[&str]| chosen_in(&without, arguments);
    assert_eq!(
        chosen(&["-c", "subagents.default_model=d"]),
        ("d".to_owned(), "default".to_owned())
    );
    assert_eq!(chosen(&["-c", "model=p"]), ("p".to_owned(), "parent".to_owned()));
    assert_eq!(chosen(&[]), ("offline".to_owned(), "parent".to_owned()));
}

#[test]
fn the_table_is_plain_in_a_pipe_and_marks_what_is_wrong() {
    let project = project();
    project.agent("good", "description: A good one");
    project.agent("bad", "tools: Read");
    let ran = project.run(&["list"]);
    assert_eq!(ran.code, Some(0));
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
    let line =
        |name: &str| ran.stdout.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("good").contains("active, untrusted") && line("good").contains("A good one"));
    assert!(line("bad").contains("invalid"));
    assert!(line("Explore").contains("builtin"));
    assert!(ran.stderr.contains("1 agent has errors; `attache validate`"));
    assert!(ran.stdout.lines().all(|line| line == line.trim_end()));
}

#[test]
fn switched_off_means_no_agents_and_a_word_about_it() {
    let project = project();
    project.agent("one", "description: d");
    let ran = project.run(&["list", "-c", "subagents.enabled=false"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.contains("switched off"));
    let inventory = project.json(&["list", "--json", "-c", "subagents.enabled=false"]);
    assert_eq!(inventory["records"], json!([]));
    assert_eq!(inventory["discovery_events"][0]["kind"], "disabled");
    assert_eq!(project.run(&["show", "one", "-c", "subagents.enabled=false"]).code, Some(2));
}

#[test]
fn agents_come_from_folders_and_json_on_the_command_line() {
    let project = project();
    project.file("more/extra.md", "---\nname: extra\ndescription: d\n---\nx\n");
    let json = r#"{"inline": {"description": "d", "prompt": "p", "tools": ["Bash"]}}"#;
    let inventory = project.json(&["list", "--json", "--agents-dir", "more", "--agents", json]);
    assert_eq!(record(&inventory, "extra")["status"], "active");
    assert_eq!(record(&inventory, "inline")["scope"], "user");
    assert_eq!(record(&inventory, "inline")["effective_tools"][0], "shell");
    let ran = project.run(&["list", "--agents", "{oops"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--agents") && ran.stderr.contains("hint:"));
}

#[test]
fn settings_change_what_a_file_means() {
    let project = project();
    project.agent("by-file", "description: d").with_extension("md");
    project.file(".claude/agents/stem.md", "---\nname: other\ndescription: d\n---\nx\n");
    project.file(".claude/agents/mute.md", "---\nname: mute\n---\nx\n");
    let names = |arguments: &[&str]| {
        let mut all = vec!["list", "--json"];
        all.extend(arguments);
        let inventory = project.json(&all);
        let records = inventory["records"].as_array().unwrap().clone();
        records
            .iter()
            .map(|record| {
                format!(
                    "{}:{}",
                    record["name"].as_str().unwrap(),
                    record["status"].as_str().unwrap()
                )
            })
            .collect::<Vec<_>>()
    };
    assert!(names(&[]).contains(&"other:active".to_owned()));
    assert!(names(&[]).contains(&"mute:invalid".to_owned()));
    assert!(names(&["-c", "subagents.name_from=filename"]).contains(&"stem:active".to_owned()));
    assert!(
        names(&["-c", "subagents.require_description=false"]).contains(&"mute:active".to_owned())
    );
    let manual = names(&["-c", "subagents.discovery=manual"]);
    assert_eq!(manual, ["Explore:active", "Plan:active"]);
    let limits =
        project.json(&["show", "by-file", "--json", "-c", "subagents.default_max_turns=7"]);
    assert_eq!(limits["definition"]["runConfig"]["maxTurns"], 7);
}

#[test]
fn a_watched_list_is_printed_again_when_a_file_changes() {
    let project = project();
    project.agent("one", "description: d");
    let mut child = project
        .command(&["list", "--watch", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(first["records"].as_array().unwrap().len(), 3);
    // The watch begins after the first list; go on changing the file until the change is told.
    let second = std::thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            for round in 0.. {
                project.agent("two", &format!("description: round {round}"));
                if stopped.recv_timeout(std::time::Duration::from_millis(300)).is_ok() {
                    return;
                }
            }
        });
        let line = lines.next().unwrap().unwrap();
        stop.send(()).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(second["records"].as_array().unwrap().len(), 4);
}

#[test]
fn the_built_in_agents_have_no_diagnostics() {
    let inventory = project().json(&["list", "--json"]);
    for name in ["Explore", "Plan"] {
        assert_eq!(record(&inventory, name)["diagnostics"], json!([]));
    }
}

#[test]
fn tools_of_a_configured_mcp_server_are_granted() {
    let project = project();
    project.file(
        "~/.attache/config.toml",
        "[mcp_servers.docs]\ncommand = \"docs\"\ndisabled_tools = [\"drop\"]\n\
         [mcp_servers.wiki]\ncommand = \"wiki\"\nenabled_tools = [\"read\"]\n\
         [mcp_servers.off]\ncommand = \"off\"\nenabled = false\n",
    );
    project.agent(
        "named",
        "description: d\ntools: Read, mcp__docs__find, mcp__docs__drop, mcp__wiki, mcp__off__x, mcp__none__x",
    );
    project.agent("servers", "description: d\ntools: mcp__docs__*");
    project.agent("all", "description: d");
    let inventory = project.json(&["list", "--json"]);
    let named = record(&inventory, "named");
    assert_eq!(
        named["effective_tools"],
        json!(["read_file", "mcp__docs__find", "mcp__wiki__read"])
    );
    let withheld: Vec<_> =
        named["withheld_tools"].as_array().unwrap().iter().map(|one| one["tool"].clone()).collect();
    assert_eq!(withheld, ["mcp__docs__drop", "mcp__off__x", "mcp__none__x"]);
    assert_eq!(record(&inventory, "servers")["effective_tools"], json!(["mcp__docs__*"]));
    let all = record(&inventory, "all")["effective_tools"].as_array().unwrap();
    assert!(all.contains(&json!("mcp__docs__*")) && all.contains(&json!("mcp__wiki__read")));
}

#[test]
fn a_provider_in_front_of_a_model_is_understood() {
    let project = project();
    let header = "description: d\nmodel: anthropic/claude-x";
    project.file(".opencode/agent/one.md", format!("---\n{header}\n---\nbody\n"));
    let model = |arguments: &[&str]| {
        let record = project.json(&[&["show", "one", "--json"], arguments].concat());
        (record["effective_model"]["provider"].clone(), record["effective_model"]["model"].clone())
    };
    assert_eq!(model(&[]), (json!("anthropic"), json!("claude-x")));
    // A gateway's own models are named like that.
    let gateway = ["-c", "model_providers.hub.base_url=http://x", "-c", "model_provider=hub"];
    assert_eq!(model(&gateway), (json!("hub"), json!("anthropic/claude-x")));
}

#[test]
fn every_tool_that_is_kept_back_is_named() {
    let project = project();
    project.agent("all", "description: d");
    project.agent("one", "description: d\ntools: Read, exec_command");
    project.agent("bash", "description: d\ntools: Read, Bash");
    let inventory = project.json(&["list", "--json"]);
    let withheld = |name: &str| -> Vec<String> {
        let tools = record(&inventory, name)["withheld_tools"].as_array().unwrap();
        tools.iter().map(|one| one["tool"].as_str().unwrap().to_owned()).collect()
    };
    for tool in
        ["shell", "exec_command", "write_stdin", "write_file", "edit_file", "apply_patch", "Task"]
    {
        assert!(withheld("all").contains(&tool.to_owned()), "{tool}");
    }
    assert_eq!(withheld("one"), ["exec_command"]);
    assert_eq!(withheld("bash"), ["shell"]);
}

#[test]
fn what_a_file_says_gives_the_terminal_no_orders() {
    let project = project();
    project.agent("sly", "description: \"a\\e[2Jb\"\ntools: [\"No\\e[31m\"]");
    for arguments in [&["list"][..], &["show", "sly"], &["validate"]] {
        let ran = project.command(arguments).env("CLICOLOR_FORCE", "1").output().unwrap();
        let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    }
}

#[test]
fn a_list_can_be_narrowed() {
    let project = project();
    project.agent("reviewer", "description: d");
    project.file(".gemini/agents/planner.md", "---\nname: planner\ndescription: d\n---\nx\n");
    project.file("~/.attache/agents/broken.md", "---\nname: broken\ndescription: [no]\n---\nx\n");
    let names = |arguments: &[&str]| -> Vec<String> {
        let mut all = vec!["list", "--json"];
        all.extend(arguments);
        let found = project.json(&all);
        let records = found["records"].as_array().unwrap().iter();
        records.map(|record| record["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&["REVIEWER", "Explore"]), ["Explore", "reviewer"]);
    assert_eq!(names(&["--scope", "user"]), ["broken"]);
    assert_eq!(names(&["--dialect", "gemini"]), ["planner"]);
    assert_eq!(names(&["--invalid"]), ["broken"]);
    assert_eq!(names(&["--untrusted", "--scope", "project"]), ["planner", "reviewer"]);
    let ran = project.run(&["list", "reviwer"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("did you mean `reviewer`?"), "{}", ran.stderr);
    let ran = project.run(&["list", "--dialect", "cobol"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("claude"), "{}", ran.stderr);
}

#[test]
fn an_empty_list_says_so() {
    let ran = project().run(&["list", "--dialect", "claude"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "no agents\n"), "{ran:?}");
}

#[test]
fn a_file_in_utf16_is_read() {
    let project = project();
    let text = "---\r\nname: wide\r\ndescription: Größe\r\n---\r\nx\r\n";
    let bytes = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(unit).collect()
    };
    for bytes in [bytes(u16::to_le_bytes), bytes(u16::to_be_bytes)] {
        project.file(".claude/agents/wide.md", bytes);
        let shown = project.json(&["show", "wide", "--json"]);
        assert_eq!(shown["status"], "active", "{shown}");
        assert_eq!(shown["definition"]["whenToUse"], "Größe", "{shown}");
    }
}
