//! `attache doctor`.

use crate::project;

#[test]
fn a_fresh_machine_is_fine_and_says_what_is_missing() {
    let project = project();
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("offline") && ran.stdout.contains("OPENAI_API_KEY"));
    let report = project.json(&["doctor", "--json"]);
    let names: Vec<_> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].clone()).collect();
    assert_eq!(names, ["home", "project", "agents", "model", "sandbox", "git"]);
    assert_eq!(report["checks"][0]["level"], "ok");
}

#[test]
fn keys_are_found_and_never_printed() {
    let project = project().with_env("ANTHROPIC_API_KEY", "sk-hush-hush");
    let ran = project.run(&["doctor"]);
    assert!(ran.stdout.contains("on anthropic"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("hush") && !ran.stderr.contains("hush"));
}

#[test]
fn a_home_that_is_no_folder_is_named() {
    let project = project();
    let file = project.file("~/occupied", "x");
    let project = project.with_env("ATTACHE_HOME", file.to_str().unwrap());
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("is no folder") && ran.stderr.contains("ATTACHE_HOME"));
}
