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
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("is not a directory") && ran.stdout.contains("ATTACHE_HOME"));
}

#[test]
fn broken_settings_are_a_failed_check_and_the_others_go_on() {
    let project = project();
    project.file("~/.attache/config.toml", "model = \"x\"\n[subagents]\nmax_depth = \"deep\"\n");
    let ran = project.run(&["doctor", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!((&checks[0]["name"], &checks[0]["level"]), (&"settings".into(), &"error".into()));
    assert!(checks[0]["detail"].as_str().unwrap().contains("config.toml:3:"), "{report}");
    assert_eq!(checks.last().unwrap()["name"], "git");
}

#[test]
fn a_provider_without_a_model_is_told_by_doctor_models_and_run_alike() {
    let project = project();
    let settings =
        "model_provider = \"lab\"\n[model_providers.lab]\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    project.file("~/.attache/config.toml", settings);
    let told = "o model is named for the provider";
    assert!(project.run(&["doctor"]).stdout.contains(told));
    assert!(project.run(&["models"]).stdout.contains(told));
    assert_eq!(project.json(&["models", "--json"])["default"]["model"], serde_json::Value::Null);
    assert!(project.run(&["run", "Explore", "x"]).stderr.contains(told));

    // A provider that does not exist is not one without a model.
    project.file("~/.attache/config.toml", "model_provider = \"nobody\"\n");
    let told = "here is no provider";
    assert!(project.run(&["doctor"]).stdout.contains(told));
    assert!(project.run(&["models"]).stdout.contains(told));
    assert!(project.run(&["run", "Explore", "x"]).stderr.contains(told));
}

#[test]
fn sandbox_is_tried_and_its_level_told() {
    let project = project();
    let sandbox = |arguments: &[&str]| {
        let report = project.json(&[&["doctor", "--json"], arguments].concat());
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == "sandbox").unwrap().clone()
    };
    let usual = sandbox(&[]);
    let detail = usual["detail"].as_str().unwrap();
    match usual["level"].as_str().unwrap() {
        "ok" => {
            assert!(detail.starts_with("workspace-write, with namespaces, Landlock "), "{detail}");
            assert!(detail.ends_with("seccomp"), "{detail}");
        }
        // This machine offers less, and that is said.
        "warning" => assert!(detail.contains("not available"), "{detail}"),
        other => panic!("{other}: {detail}"),
    }
    let none = sandbox(&["-c", "sandbox_mode=danger-full-access"]);
    assert_eq!(none["level"], "warning");
    assert_eq!(none["detail"], "danger-full-access: commands are not confined");
}

#[test]
fn a_home_that_cannot_be_made_is_named() {
    let project = project().with_env("ATTACHE_HOME", "/proc/nope");
    let ran = project.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("/proc/nope cannot be created: "), "{}", ran.stdout);
}

#[test]
fn a_home_whose_name_is_not_utf8_is_an_error_and_no_other_is_used() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let project = project();
    let output = project
        .command(&["config", "path"])
        .env("ATTACHE_HOME", OsStr::from_bytes(b"/tmp/h\xe9m"))
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("the value of ATTACHE_HOME is not UTF-8"), "{told}");
}
