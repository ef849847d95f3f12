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
  --> .claude/agents/one.md:4:8
  |
4 | tools: Read, Grpe
  |        ^
  = help: did you mean `Grep`?
";
    assert!(ran.stdout.contains(shown), "{}", ran.stdout);
    assert!(
        ran.stdout.ends_with("1 definition checked, 0 sound, 1 with warnings\n"),
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
