//! `attache validate`.

use serde_json::json;

use crate::project;

#[test]
fn a_file_report_has_the_documented_shape() {
    let project = project();
    project.file("a/agents/one.md", "---\nname: one\ndescription: It is: one\n---\nbody\n");
    project.file("a/agents/README.md", "# Read me\n");
    project.file(
        "a/agents/two.yaml",
        "agentType: two\nwhenToUse: d\npromptConfig: {systemPrompt: x}\n",
    );
    project.file("a/config.yaml", "name: not an agent\ndescription: but a config\n");
    let ran = project.run(&["validate", "--json", "a"]);
    assert_eq!(ran.code, Some(0));
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let paths: Vec<_> =
        report.as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(
        paths,
        ["a/agents/README.md", "a/agents/one.md", "a/agents/two.yaml", "a/config.yaml"]
    );
    assert_eq!(
        (&report[2]["status"], &report[3]["status"]),
        (&json!("active"), &json!("not_a_definition"))
    );
    assert_eq!(report[0]["status"], "not_a_definition");
    assert_eq!(report[0]["definition"], json!(null));
    let one = &report[1];
    let keys: Vec<&String> = one.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["path", "dialect", "status", "recovered", "definition", "diagnostics"]);
    assert_eq!((&one["status"], &one["recovered"]), (&json!("active"), &json!(true)));
    let keys: Vec<&String> = one["diagnostics"][0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["severity", "code", "message", "line", "column", "hint"]);
    assert_eq!(one["diagnostics"][0]["code"], "recovered");
    assert_eq!(one["diagnostics"][0]["line"], 3);
    let definition = &one["definition"];
    assert_eq!(definition["agentType"], "one");
    assert_eq!(definition["whenToUse"], "It is: one");
    assert_eq!(definition["tools"], "all");
    assert_eq!(definition["promptConfig"]["systemPrompt"], "body");
    assert_eq!(
        definition["runConfig"],
        json!({"maxTimeSeconds": 300, "maxTurns": 50, "gracePeriodSeconds": 60, "maxTokens": null, "maxCostUsd": null})
    );
}

#[test]
fn errors_fail_and_warnings_only_when_strict() {
    let project = project();
    let warned = project.file("warned.md", "---\nname: warned\ndescription: a: b\n---\nbody\n");
    let broken = project.file("broken.md", "---\nname: broken\n---\nbody\n");
    let sound = project.file("sound.md", "---\nname: sound\ndescription: d\n---\nbody\n");
    let code = |arguments: &[&str]| project.run(arguments).code;
    assert_eq!(code(&["validate", sound.to_str().unwrap()]), Some(0));
    assert_eq!(code(&["validate", "--strict", sound.to_str().unwrap()]), Some(0));
    assert_eq!(code(&["validate", warned.to_str().unwrap()]), Some(0));
    assert_eq!(code(&["validate", "--strict", warned.to_str().unwrap()]), Some(1));
    assert_eq!(code(&["validate", broken.to_str().unwrap(), sound.to_str().unwrap()]), Some(1));
    assert_eq!(code(&["validate", "missing.md"]), Some(2));
}

#[test]
fn people_see_the_line_and_a_caret() {
    let project = project();
    project.agent("one", "description: d\ntools: Read, Grpe");
    let ran = project.run(&["validate"]);
    assert_eq!(ran.code, Some(0));
    let shown = "\
warning[unknown_tool]: there is no tool `Grpe`; it is not granted
  --> .claude/agents/one.md:4:14
  |
4 | tools: Read, Grpe
  |              ^
  = help: did you mean `Grep`?
";
    assert!(ran.stdout.contains(shown), "{}", ran.stdout);
    assert!(
        ran.stdout.ends_with("1 definition checked, 0 ok, 1 with warnings\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn without_a_path_every_file_is_checked_even_one_that_lost() {
    let project = project();
    project.agent("same", "description: d");
    project.file("~/.claude/agents/same.md", "---\nname: same\n---\nbody\n");
    let report = project.json(&["validate", "--json"]);
    let statuses: Vec<_> =
        report.as_array().unwrap().iter().map(|file| file["status"].clone()).collect();
    assert_eq!(statuses, ["invalid", "active"]);
}

#[test]
fn paths_follow_cwd() {
    let project = project();
    project.file("sub/agents/one.md", "---\nname: one\ndescription: d\n---\nbody\n");
    let report = project.json(&["validate", "--json", "--cwd", "sub", "agents"]);
    let path = report[0]["path"].as_str().unwrap();
    assert!(path.ends_with("/project/sub/agents/one.md"), "{path}");
    assert_eq!(project.run(&["validate", "--cwd", "nowhere"]).code, Some(2));
}

#[test]
fn the_place_of_a_file_decides_its_dialect_however_it_is_named() {
    let project = project();
    let text = "---\nname: one\ndescription: d\n---\nbody\n";
    for place in [".codex/agents", "~/.config/opencode/agent", "~/.attache/agents"] {
        project.file(&format!("{place}/one.md"), text);
    }
    let dialect = |folder: &str, path: &str| {
        let ran = project.run_in(folder, &["validate", "--json", path]);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report[0]["path"], path);
        (report[0]["dialect"].clone(), report[0]["definition"]["source"].clone())
    };
    let codex = (json!("codex"), json!("project"));
    assert_eq!(dialect("", ".codex/agents/one.md"), codex);
    assert_eq!(dialect(".codex/agents", "one.md"), codex);
    assert_eq!(dialect(".codex", "agents/one.md"), codex);
    let home = project.home();
    let at_home = |below: &str| home.join(below).to_str().unwrap().to_owned();
    let opencode = (json!("opencode"), json!("user"));
    assert_eq!(dialect("", &at_home(".config/opencode/agent/one.md")), opencode);
    let native = (json!("attache"), json!("user"));
    assert_eq!(dialect("", &at_home(".attache/agents/one.md")), native);
}

#[test]
fn a_file_name_that_is_no_text_spoils_nothing() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let project = project();
    let good = project.agent("good", "description: d");
    let odd = good.with_file_name(OsStr::from_bytes(b"odd\xff.md"));
    std::fs::write(&odd, "---\nname: odd\ndescription: d\n---\nbody\n").unwrap();
    let report = project.json(&["validate", "--json"]);
    assert_eq!(report.as_array().unwrap().len(), 2);
    assert!(report[1]["path"].as_str().unwrap().ends_with("odd\u{fffd}.md"));
    let inventory = project.json(&["list", "--json"]);
    assert_eq!(inventory["records"].as_array().unwrap().len(), 4);
    let refused = project.run(&["trust", "odd", "--yes"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("rename the file"), "{}", refused.stderr);
    assert_eq!(project.run(&["untrust", "odd", "--json"]).code, Some(0));
}

#[test]
fn a_file_without_front_matter_says_so_where_it_is_named() {
    let project = project();
    project.file(".claude/agents/notes.md", "# Notes\n\nNo header here.\n");
    let ran = project.run(&["validate", ".claude/agents/notes.md"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("there is no front matter"), "{}", ran.stdout);
    assert_eq!(project.run(&["validate", "--json", ".claude/agents/notes.md"]).code, Some(1));
    assert_eq!(
        project.run(&["validate", ".claude/agents"]).code,
        Some(0),
        "a folder may hold others"
    );
    let ran = project.run(&["run", "notes", "hello"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there is no agent `notes`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("notes.md is not a definition"), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no front matter"), "{}", ran.stderr);
}

#[test]
fn problems_of_agents_on_the_command_line_are_shown() {
    let project = project();
    let agents = r#"{"one": {"description": "d", "prompt": "p", "tools": ["Read", "Grpe"]}}"#;
    for command in [&["list"][..], &["show", "one"]] {
        let ran = project.run(&[&["--agents", agents], command].concat());
        assert!(
            ran.stderr.contains("warning: --agents: `one`: there is no tool `Grpe`"),
            "{command:?} {}",
            ran.stderr
        );
    }
    let ran = project.run(&["--agents", agents, "validate", "--strict"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("--agents:one"), "{}", ran.stdout);
}

#[test]
fn a_finding_of_many_files_is_shown_once_and_counted() {
    let project = project();
    for index in 0..9 {
        project.agent(&format!("a{index}"), "description: d\ntools: Read, Frobnicate");
    }
    let ran = project.run(&["validate"]);
    assert_eq!(ran.stdout.matches("there is no tool `Frobnicate`").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("a1.md:4:14, "), "{}", ran.stdout);
    assert!(ran.stdout.contains("and 5 more"), "{}", ran.stdout);
    assert!(ran.stdout.contains("findings: unknown_tool 9\n"), "{}", ran.stdout);
}

#[test]
fn a_note_that_changes_what_an_agent_may_do_is_shown_unasked() {
    let project = project();
    project.agent("a", "description: d\nreadonly: true\nvibe: calm");
    let ran = project.run(&["validate"]);
    assert!(ran.stdout.contains("note[restriction_applied]"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("unused_key"), "{}", ran.stdout);
    assert!(project.run(&["validate", "--notes"]).stdout.contains("unused_key"));
}

#[test]
fn a_tab_is_named_on_its_own_line() {
    let project = project();
    for (header, line) in [
        ("tools:\n\t- Read\n\t- Grep", 5),
        ("\tcolor: red", 4),
        ("hooks:\n  a: 1\n\tb: 2", 6),
        ("tools:\n  - Read\n\t- Grep", 6),
        ("color:\n  \tred\nhooks:\n\ta: b", 7),
    ] {
        project.agent("a", &format!("description: d\n{header}"));
        let report = project.json(&["validate", "--json"]);
        let found = &report[0]["diagnostics"][0];
        assert_eq!(found["line"], line, "{header:?}: {found}");
        assert!(found["hint"].as_str().unwrap().contains("tab"), "{header:?}: {found}");
    }
}

#[test]
fn a_key_near_a_known_one_is_a_warning_with_that_key() {
    for (header, meant) in [
        ("max_turn: 3", "maxTurns"),
        ("modle: sonnet", "model"),
        ("timeout: 30", "maxTimeSeconds"),
        ("runConfig: {maxturn: 3}", "maxTurns"),
    ] {
        let project = project();
        project.file("a.md", format!("---\nname: a\ndescription: d\n{header}\n---\nbody\n"));
        let ran = project.run(&["validate", "a.md"]);
        assert_eq!(ran.code, Some(0), "{header}: {ran:?}");
        assert!(ran.stdout.contains(&format!("did you mean `{meant}`?")), "{header}: {ran:?}");
        assert_eq!(project.run(&["validate", "--strict", "a.md"]).code, Some(1), "{header}");
    }
}

#[test]
fn what_has_no_effect_and_what_is_not_shown_is_told() {
    let project = project();
    project.file("a.md", "---\nname: a\ndescription: d\nmemory: user\nlevel: 3\n---\nbody\n");
    let ran = project.run(&["validate", "a.md"]);
    assert!(ran.stderr.contains("`memory` has no effect yet"), "{ran:?}");
    assert!(ran.stderr.contains("1 note not shown: use --notes"), "{ran:?}");
    let ran = project.run(&["validate", "a.md", "--notes"]);
    assert!(ran.stdout.contains("`level` is not a known key"), "{ran:?}");
    assert!(!ran.stderr.contains("not shown"), "{ran:?}");
}

#[test]
fn two_files_of_one_folder_with_one_name_are_a_warning() {
    let project = project();
    let agent = "---\nname: twin\ndescription: d\n---\nbody\n";
    project.file("a/agents/twin.md", agent);
    project.file("a/agents/other.md", agent);
    project.file("b/agents/twin.md", agent);
    let ran = project.run(&["validate", "--json", "--strict", "a", "b"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let conflicts = |file: &serde_json::Value| {
        let all = file["diagnostics"].as_array().unwrap();
        all.iter().filter(|found| found["code"] == "conflict").count()
    };
    let conflicts: Vec<usize> = report.as_array().unwrap().iter().map(conflicts).collect();
    assert_eq!(conflicts, [1, 1, 0], "{report}");
    let message = &report[0]["diagnostics"].to_string();
    assert!(message.contains("twin.md"), "{message}");
    assert_eq!(project.run(&["validate", "--strict", "b"]).code, Some(0));
}
