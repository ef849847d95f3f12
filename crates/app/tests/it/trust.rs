//! `attache trust` and `attache untrust`.

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::{
    project,
    providers::{completes, lab},
};

fn tools(record: &Value) -> Vec<&str> {
    record["effective_tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.as_str().unwrap())
        .collect()
}

#[test]
fn trust_gives_what_the_file_asks_for_until_the_file_changes() {
    let project = project();
    project.agent("worker", "description: d\ntools: Read, Write, Edit, apply_patch, Bash");
    let show = || project.json(&["show", "worker", "--json"]);
    assert_eq!(tools(&show()), ["read_file"]);
    let trusted = project.json(&["trust", "worker", "--yes", "--json"]);
    assert_eq!(trusted[0]["name"], "worker");
    let record = show();
    assert_eq!(record["trusted"], true);
    for tool in ["read_file", "write_file", "edit_file", "apply_patch", "shell"] {
        assert!(tools(&record).contains(&tool), "{tool}");
    }
    assert_eq!(record["withheld_tools"], json!([]));
    project.agent("worker", "description: changed\ntools: Read, Write, Edit, apply_patch, Bash");
    let record = show();
    assert_eq!((tools(&record), &record["trusted"]), (vec!["read_file"], &json!(false)));
    project.run(&["trust", "worker", "--yes"]);
    assert_eq!(project.run(&["untrust", "worker"]).code, Some(0));
    assert_eq!(tools(&show()), ["read_file"]);
}

#[test]
fn trust_is_recorded_at_home_and_never_in_the_project() {
    let project = project();
    project.agent("worker", "description: d");
    project.run(&["trust", "worker", "--yes"]);
    assert!(project.home().join(".attache/trust.json").is_file());
    assert!(!project.root().join(".attache").exists());
}

#[test]
fn off_a_terminal_trust_needs_a_yes() {
    let project = project();
    project.agent("worker", "description: d\ntools: Bash, Read");
    let ran = project.run_with_input(&["trust", "worker"], "y\n");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--yes"));
    assert!(ran.stderr.contains("gets: shell"), "it is said what trust gives: {}", ran.stderr);
    assert_eq!(project.json(&["show", "worker", "--json"])["trusted"], false);
}

#[test]
fn all_lists_first_and_then_trusts_all() {
    let project = project();
    project.agent("one", "description: d");
    project.agent("two", "description: d");
    let ran = project.run(&["trust", "--all", "--yes"]);
    assert!(ran.stderr.contains("one (.claude/agents/one.md)") && ran.stderr.contains("two ("));
    assert_eq!(ran.stdout, "trusted one\ntrusted two\n");
    let listed = project.json(&["trust", "--list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0]["unchanged"], true);
    project.run(&["untrust", "--all"]);
    assert_eq!(project.json(&["trust", "--list", "--json"]), json!([]));
}

#[test]
fn what_cannot_be_trusted_is_said() {
    let project = project();
    for arguments in [
        &["trust"][..],
        &["trust", "nobody", "--yes"],
        &["trust", "Explore", "--yes"],
        &["untrust"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains("hint:"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_projects_settings_are_trusted_as_they_stand() {
    let project = project();
    project.file(
        ".attache/config.toml",
        "model_provider = \"mine\"\n[model_providers.mine]\nbase_url = \"http://127.0.0.1:1/v1\"\n",
    );
    let origin = || {
        let settings = project.json(&["config", "--json", "model_provider", "-q"]);
        settings[0]["value"].clone()
    };
    assert_eq!(origin(), json!(null));
    let ran = project.run(&["list"]);
    assert!(ran.stderr.contains("notice:") && ran.stderr.contains("model_provider"));
    assert!(ran.stderr.contains("attache trust --project"));
    assert_eq!(project.run(&["trust", "--project", "--yes"]).code, Some(0));
    assert_eq!(origin(), json!("mine"));
    project.file(".attache/config.toml", "model_provider = \"other\"\n");
    assert_eq!(origin(), json!(null), "changed settings are untrusted again");
}

#[test]
fn a_damaged_record_is_no_trust() {
    let project = project();
    project.agent("worker", "description: d");
    project.file("~/.attache/trust.json", "{");
    let ran = project.run(&["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("trust.json") && ran.stderr.contains("hint:"));
}

#[test]
fn what_trust_would_give_is_told_before_it_is_given() {
    let project = project();
    project.agent("trust-keeper", "description: d\ntools: Read, Write, Bash, trusty");
    let gains = |arguments: &[&str]| project.json(arguments)[0]["gains"].clone();
    let trust = ["trust", "trust-keeper", "--yes", "--json"];
    assert_eq!(gains(&trust), json!(["write_file", "shell", "exec_command", "write_stdin"]));
    assert_eq!(gains(&trust), json!([]), "it has them now");
}

#[test]
fn trust_covers_where_the_base_directory_leads() {
    let project = project();
    let outside = project.file("~/data/notes.txt", "numbers\n");
    let outside = outside.parent().unwrap().to_path_buf();
    let other = project.file("~/elsewhere/notes.txt", "secrets\n");
    let other = other.parent().unwrap().to_path_buf();
    let link = project.root().join("base");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    project.agent("worker", "description: d\nbaseDir: base\ntools: Read, Glob, Bash");
    let ran = project.run(&["trust", "worker", "--yes"]);
    assert!(ran.stderr.contains(&format!("the folder {}", outside.display())), "{}", ran.stderr);
    let show = || project.json(&["show", "worker", "--json"]);
    assert_eq!(show()["trusted"], true);
    assert_eq!(
        project.run(&["run", "worker", "--model", "offline", "numbers?", "-q"]).code,
        Some(0)
    );
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let record = show();
    assert_eq!((tools(&record).contains(&"shell"), &record["trusted"]), (false, &json!(false)));
    let lost = &record["diagnostics"][0];
    assert_eq!((&lost["code"], &lost["severity"]), (&json!("trust_lost"), &json!("warning")));
    let message = lost["message"].as_str().unwrap();
    for folder in [&outside, &other] {
        assert!(message.contains(folder.to_str().unwrap()), "{message}");
    }
    let ran = project.run(&["run", "worker", "--model", "offline", "secrets?", "-q"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    // Inside the workspace every agent may work.
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(&link).unwrap();
    assert_eq!(show()["trusted"], true);
    std::fs::remove_dir(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let ran = project.run(&["trust", "worker", "--yes"]);
    assert!(ran.stderr.contains(&format!("the folder {}", other.display())), "{}", ran.stderr);
    assert_eq!(show()["trusted"], true);
}

#[test]
fn a_record_in_a_pipe_is_an_error_and_not_waited_for() {
    let project = project();
    let home = project.file("~/.attache/config.toml", "");
    let pipe = home.with_file_name("trust.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = project.run(&["list"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("is a pipe or a device, not a regular file"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint:"), "{}", ran.stderr);
}

#[test]
fn nothing_to_trust_is_said_as_it_is() {
    let project = project();
    for (arguments, told) in [
        (&["trust", "--project", "--yes"][..], "this project has no settings files"),
        (&["trust", "--all", "--yes"], "every agent is trusted already"),
        (&["untrust", "--project"], "nothing here was trusted"),
    ] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {}", ran.stderr);
    }
}

/// A trusted agent writes `before.txt`; then something happens; then it tries to write `after.txt` and
/// to read. The last request of the model.
fn with_meanwhile(meanwhile: impl FnOnce(&TestProject)) -> (TestProject, String) {
    let (server, gate, api) = (ScriptedServer::start(), Gate::new(), WireApi::Chat);
    let write = |path: &str| tool_call(path, "write_file", &json!({"path": path, "content": "x"}));
    let look = json!({"path": "src/main.py"});
    server.answer(api.answer(&write("before.txt")));
    let then = write("after.txt").then_tool_call("look", "read_file", &look);
    server.answer(api.answer(&then).gated(&gate, 0));
    server.answer(api.answer(&completes("Done.")));
    let project = lab(&server, api, "");
    project.agent("worker", "description: d\ntools: Read, Write");
    assert_eq!(project.run(&["trust", "worker", "--yes"]).code, Some(0));
    let ran = std::thread::scope(|scope| {
        let run = scope.spawn(|| project.run(&["run", "worker", "go", "--approve", "all"]));
        gate.wait_until_reached(1);
        meanwhile(&project);
        gate.open();
        run.join().unwrap()
    });
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(told.contains("print(1)"), "{told}");
    assert!(project.root().join("before.txt").exists(), "{told}");
    (project, told)
}

#[test]
fn trust_that_is_withdrawn_during_a_run_counts_for_the_next_call() {
    let (project, _) = with_meanwhile(|project| {
        project.agent("other", "description: d");
        project.run(&["trust", "other", "--yes"]);
    });
    assert!(project.root().join("after.txt").exists());
    let (project, told) = with_meanwhile(|project| {
        assert_eq!(project.run(&["untrust", "worker"]).code, Some(0));
    });
    assert!(!project.root().join("after.txt").exists());
    assert!(told.contains("the agent worker is no longer trusted"), "{told}");
    let (project, told) = with_meanwhile(|project| {
        project.agent("worker", "description: changed\ntools: Read, Write");
        project.run(&["trust", "worker", "--yes"]);
    });
    assert!(!project.root().join("after.txt").exists());
    assert!(told.contains("the agent worker is no longer trusted"), "{told}");
}

#[test]
fn an_agent_with_errors_cannot_be_trusted() {
    let project = project();
    project.file(".claude/agents/bad.md", "---\nname: bad\n---\nx\n");
    let ran = project.run(&["trust", "bad", "--yes"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("the agent `bad` has errors"), "{}", ran.stderr);
    let all = project.run(&["trust", "--all", "--yes"]);
    assert!(!all.stdout.contains("bad"), "{all:?}");
    assert_eq!(project.json(&["trust", "--list", "--json"]), serde_json::json!([]));
}
