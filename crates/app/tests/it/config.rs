//! `attache config`.

use serde_json::json;

use crate::project;

#[test]
fn every_value_has_an_origin() {
    let project = project().with_env("ATTACHE_SUBAGENTS__MAX_DEPTH", "3");
    let file = project.file("~/.attache/config.toml", "model = \"mine\"\n");
    let settings = project.json(&["config", "--json", "-c", "subagents.max_concurrent=2"]);
    let find = |key: &str| {
        let all = settings.as_array().unwrap();
        let entry = all.iter().find(|entry| entry["key"] == key).unwrap();
        (entry["value"].clone(), entry["origin"].as_str().unwrap().to_owned())
    };
    assert_eq!(find("subagents.enabled"), (json!(true), "built-in".to_owned()));
    let (value, origin) = find("model");
    assert_eq!(value, "mine");
    assert!(origin.starts_with(file.to_str().unwrap()), "{origin}");
    assert_eq!(find("subagents.max_depth").0, 3);
    assert!(find("subagents.max_depth").1.contains("ATTACHE_SUBAGENTS__MAX_DEPTH"));
    assert_eq!(find("subagents.max_concurrent").0, 2);
    assert!(find("subagents.max_concurrent").1.contains("-c"));
}

#[test]
fn a_mistake_is_told_with_its_place_and_a_remedy() {
    let project = project();
    project.file("~/.attache/config.toml", "model = \"x\"\n[subagents]\nmax_depth = \"deep\"\n");
    let ran = project.run(&["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("config.toml:3:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("max_depth"));
    let ran = crate::project().run(&["list", "-c", "subagents.max_dept=1"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("subagents.max_depth"), "{}", ran.stderr);
}

#[test]
fn secrets_are_not_shown() {
    let project = project();
    project.file(
        "~/.attache/config.toml",
        "[model_providers.x]\nbase_url = \"https://x.example\"\n[model_providers.x.http_headers]\nAuthorization = \"Bearer hush\"\n",
    );
    for arguments in [&["config"][..], &["config", "--json"]] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(0));
        assert!(!ran.stdout.contains("hush") && ran.stdout.contains("***"), "{}", ran.stdout);
    }
}

#[test]
fn only_keys_that_begin_so() {
    let project = project();
    let ran = project.run(&["config", "subagents"]);
    assert!(ran.stdout.contains("subagents.enabled") && !ran.stdout.contains("approval_policy"));
    assert_eq!(project.run(&["config", "nonsense"]).code, Some(2));
}

#[test]
fn a_key_shows_itself_and_what_is_below_it() {
    let project = project();
    let keys = |key: &str| -> Vec<String> {
        let entries = project.json(&["config", key, "--json"]);
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| entry["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys("model"), ["model"]);
    assert_eq!(keys("tools"), ["tools.subagent_tools"]);
    assert_eq!(project.run(&["config", "mod"]).code, Some(2));
}

#[test]
fn a_broken_file_of_an_untrusted_project_is_only_a_notice() {
    let project = project();
    project.file(".attache/config.toml", "model = [\n");
    project.file(".mcp.json", "{");
    let ran = project.run(&["config", "model", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("is ignored").count(), 2, "{}", ran.stderr);
    assert!(ran.stderr.contains(".attache/config.toml:1"), "{}", ran.stderr);
    let refused = project.run(&["trust", "--project", "--yes"]);
    assert_eq!(refused.code, Some(2));
    project.file(".mcp.json", "{}");
    project.file(".attache/config.toml", "model = \"m\"\n");
    assert_eq!(project.run(&["trust", "--project", "--yes"]).code, Some(0));
    // What the user vouches for, and the user's own, must be right.
    project.file("~/.attache/config.toml", "model = [\n");
    assert_eq!(project.run(&["list"]).code, Some(2));
}
