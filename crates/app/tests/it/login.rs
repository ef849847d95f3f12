//! `attache login` and `attache logout`.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::{Command, Stdio},
};

use attache_testkit::project::TestProject;
use serde_json::{Value, json};

use crate::{project, terminal::Terminal};

const KEY: &str = "sk-ant-0123456789-abcd";

fn file(project: &TestProject) -> PathBuf {
    project.home().join(".attache/credentials.json")
}

fn mode(path: &std::path::Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn on_disk(project: &TestProject) -> Value {
    serde_json::from_str(&fs::read_to_string(file(project)).unwrap()).unwrap()
}

fn log_in(project: &TestProject, provider: &str, key: &str) {
    let ran = project.run_with_input(&["login", provider], &format!("{key}\n"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains(key) && !ran.stderr.contains(key), "{ran:?}");
}

fn states(project: &TestProject) -> Value {
    let list = project.json(&["login", "--list", "--json", "-q"]);
    let list = list.as_array().unwrap().clone();
    list.iter()
        .map(|kept| (kept["provider"].as_str().unwrap().to_owned(), kept["state"].clone()))
        .collect()
}

#[test]
fn a_key_on_the_command_line_is_refused_and_not_repeated() {
    let project = project();
    for arguments in [
        &["login", "anthropic", KEY][..],
        &["login", "anthropic", "--key", KEY],
        &["login", "anthropic", "--api-key", KEY],
        &["login", "anthropic", "-", KEY],
        &["login", KEY, KEY],
    ] {
        let ran = project.run_with_input(arguments, "sk-ant-another-one\n");
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.stderr.contains("shell's history"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("attache login ") && !ran.stderr.contains(KEY),
            "{}",
            ran.stderr
        );
        assert!(!file(&project).exists());
    }
}

#[test]
fn only_providers_that_want_a_key_get_one() {
    let project = project();
    project.file("~/.attache/config.toml", "[model_providers.lab]\nenv_key = \"LAB\"\n");
    let refused = |provider: &str| {
        let ran = project.run_with_input(&["login", provider], KEY);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{provider}");
        assert!(ran.stderr.contains("hint:") && !ran.stderr.contains(KEY), "{}", ran.stderr);
        ran.stderr
    };
    for unknown in ["antropic", "OpenAI", KEY] {
        let said = refused(unknown);
        assert!(said.contains("there are: anthropic, openai, gemini, lab"), "{said}");
    }
    for keyless in ["ollama", "offline"] {
        assert!(refused(keyless).contains("needs no key"));
    }
    assert!(refused("lab").contains("has no base_url"));
    for address in ["lab.example", "https://u:p4ssword@lab.example", "https://evil\\\\@lab.example"]
    {
        let settings = format!("[model_providers.lab]\nbase_url = \"{address}\"\n");
        project.file("~/.attache/config.toml", settings);
        let said = refused("lab");
        assert!(said.contains("base_url of `lab`") && !said.contains("p4ssword"), "{said}");
    }
    project.file(
        "~/.attache/config.toml",
        "[model_providers.ollama]\nbase_url = \"https://o.example\"\n",
    );
    log_in(&project, "ollama", KEY);
    let ran = project.run(&["login"]);
    assert_eq!(ran.code, Some(2));
    assert!(!project.run(&["login", "--list", "openai"]).stderr.is_empty());
}

#[test]
fn what_is_no_key_is_not_kept() {
    let project = project();
    let two = format!("{KEY}\n{KEY}\n");
    let bearer = format!("Bearer {KEY}");
    let quoted = format!("\"{KEY}\"");
    for wrong in ["", "  \n", "seven77", &two, &bearer, &quoted, "sk-ant-ключ-0123"] {
        let ran = project.run_with_input(&["login", "anthropic"], wrong);
        assert_eq!(ran.code, Some(2), "{wrong:?}");
        assert!(ran.stderr.contains("hint:") && !ran.stderr.contains(KEY), "{}", ran.stderr);
        assert!(!file(&project).exists());
    }
}

#[test]
fn the_file_is_its_owners_alone_whatever_the_umask() {
    let project = project();
    let mut command = Command::new("sh");
    command
        .args(["-c", "umask 0; echo \"$KEY\" | \"$0\" login anthropic -"])
        .arg(env!("CARGO_BIN_EXE_attache"))
        .env_clear()
        .env("HOME", project.home())
        .env("PATH", "/usr/bin:/bin")
        .env("KEY", KEY);
    assert!(command.current_dir(project.root()).output().unwrap().status.success());
    assert_eq!(mode(&file(&project)), 0o600);
    assert_eq!(mode(file(&project).parent().unwrap()), 0o700);
    let expected = json!({"version": 1, "keys": {
        "anthropic": {"origin": "https://api.anthropic.com", "key": KEY}}});
    assert_eq!(on_disk(&project), expected);
    // A second one replaces the file and keeps its mode and its neighbour.
    log_in(&project, "openai", "sk-0123456789-wxyz");
    assert_eq!(mode(&file(&project)), 0o600);
    assert_eq!(on_disk(&project)["keys"].as_object().unwrap().len(), 2);
    let left: Vec<_> = fs::read_dir(file(&project).parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside it");
}

#[test]
fn a_file_that_others_can_read_is_not_used_and_the_remedy_is_named() {
    let project = project();
    log_in(&project, "anthropic", KEY);
    for exposed in [0o644, 0o640, 0o602] {
        fs::set_permissions(file(&project), fs::Permissions::from_mode(exposed)).unwrap();
        for arguments in [&["login", "openai"][..], &["login", "--list"], &["logout", "anthropic"]]
        {
            let ran = project.run_with_input(arguments, "sk-0123456789-wxyz");
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?}");
            let remedy = format!("chmod 600 '{}'", file(&project).display());
            assert!(ran.stderr.contains(&remedy), "{}", ran.stderr);
        }
        assert_eq!(mode(&file(&project)), exposed, "it is not mended in silence");
    }
    fs::set_permissions(file(&project), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(states(&project), json!({"anthropic": "used"}));
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let project = project();
    let target = project.file("~/elsewhere.json", "{\"version\":1,\"keys\":{}}");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(project.home().join(".attache")).unwrap();
    for target in [target.clone(), project.home().join("not-there.json")] {
        symlink(&target, file(&project)).unwrap();
        let ran = project.run_with_input(&["login", "anthropic"], KEY);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("is a link") && ran.stderr.contains("hint:"), "{}", ran.stderr);
        assert!(fs::symlink_metadata(file(&project)).unwrap().is_symlink());
        fs::remove_file(file(&project)).unwrap();
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "{\"version\":1,\"keys\":{}}");
    assert!(!project.home().join("not-there.json").exists());
    fs::create_dir(file(&project)).unwrap();
    assert!(project.run(&["login", "--list"]).stderr.contains("is a directory"));
}

#[test]
fn a_damaged_file_is_told_without_what_it_holds() {
    let project = project();
    for damaged in [
        format!("{{\"version\":1,\"keys\":\"{KEY}\"}}"),
        format!("{{\"version\":1,\"keys\":{{\"openai\":{{\"origin\":\"{KEY}\",\"key\":\"x\"}}}}}}"),
        format!("{{\"version\":1,\"keys\":{{\"openai\":{{\"key\":\"{KEY}\"}}}}}}"),
        format!("{{\"version\":\"{KEY}\"}}"),
        "{\"version\":2}".to_owned(),
        "{".to_owned(),
    ] {
        project.file("~/.attache/credentials.json", &damaged);
        fs::set_permissions(file(&project), fs::Permissions::from_mode(0o600)).unwrap();
        let ran = project.run_with_input(&["login", "openai"], "sk-0123456789-wxyz");
        assert_eq!(ran.code, Some(2), "{damaged}");
        assert!(ran.stderr.contains("is damaged") && !ran.stderr.contains(KEY), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(file(&project)).unwrap(), damaged, "it is left as it is");
        // Other commands go on.
        assert_eq!(project.run(&["usage"]).code, Some(0));
    }
}

#[test]
fn a_list_shows_where_and_no_more_than_the_end() {
    let project = project();
    let ran = project.run(&["login", "--list"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("no key is stored"), "{}", ran.stdout);
    assert_eq!(project.json(&["login", "--list", "--json"]), json!([]));
    log_in(&project, "anthropic", KEY);
    log_in(&project, "openai", "twelve-chars");
    let list = project.json(&["login", "--list", "--json"]);
    let expected = json!([
        {"provider": "anthropic", "kept_in": "file", "path": file(&project), "origin": "https://api.anthropic.com",
         "ends_with": "abcd", "state": "used", "variable": null},
        {"provider": "openai", "kept_in": "file", "path": file(&project), "origin": "https://api.openai.com",
         "ends_with": null, "state": "used", "variable": null},
    ]);
    assert_eq!(list, expected);
    let ran = project.run(&["login", "--list"]);
    assert!(ran.stdout.contains("…abcd") && ran.stdout.contains("***"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("-abcd") && !ran.stdout.contains("twelve"), "{}", ran.stdout);
    let kept = project.run_with_input(&["login", "anthropic", "--json"], KEY);
    assert_eq!(serde_json::from_str::<Value>(&kept.stdout).unwrap(), expected[0]);
}

#[test]
fn a_key_stays_with_the_origin_it_was_given_for() {
    let project = project();
    log_in(&project, "openai", KEY);
    let elsewhere = "[model_providers.openai]\nbase_url = \"https://evil.example/v1\"\n";
    // An untrusted project changes nothing, also not what a new login is for.
    project.file(".attache/config.toml", elsewhere);
    assert_eq!(states(&project), json!({"openai": "used"}));
    log_in(&project, "openai", KEY);
    assert_eq!(on_disk(&project)["keys"]["openai"]["origin"], "https://api.openai.com");
    assert_eq!(project.run(&["trust", "--project", "--yes"]).code, Some(0));
    assert_eq!(states(&project), json!({"openai": "other_origin"}));
    log_in(&project, "openai", KEY);
    assert_eq!(on_disk(&project)["keys"]["openai"]["origin"], "https://evil.example");
    fs::remove_file(project.root().join(".attache/config.toml")).unwrap();
    assert_eq!(states(&project), json!({"openai": "other_origin"}));
    // Another path or spelling of the same origin is the same.
    project.file(
        "~/.attache/config.toml",
        "[model_providers.openai]\nbase_url = \"https://EVIL.example:443/other\"\n",
    );
    assert_eq!(states(&project), json!({"openai": "used"}));
}

#[test]
fn providers_of_ones_own_and_what_is_odd_about_them() {
    let project = project().with_env("LAB_KEY", "in-the-environment");
    project.file(
        "~/.attache/config.toml",
        "[model_providers.lab]\nbase_url = \"http://lab.example:8000/v1\"\nenv_key = \"LAB_KEY\"\n",
    );
    let ran = project.run_with_input(&["login", "lab"], KEY);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("only for http://lab.example:8000"), "{}", ran.stdout);
    assert!(ran.stderr.contains("LAB_KEY is set and overrides"), "{}", ran.stderr);
    assert!(ran.stderr.contains("not encrypted"), "{}", ran.stderr);
    assert_eq!(states(&project), json!({"lab": "environment_wins"}));
    assert!(project.run(&["login", "--list"]).stdout.contains("not used: LAB_KEY is set"));
    fs::remove_file(project.home().join(".attache/config.toml")).unwrap();
    assert_eq!(states(&project), json!({"lab": "no_provider"}));
    // It can be forgotten all the same.
    assert_eq!(
        project.json(&["logout", "lab", "--json"]),
        json!({"provider": "lab", "removed": true})
    );
}

#[test]
fn logging_out_forgets_one_key_and_no_other() {
    let project = project().with_env("OPENAI_API_KEY", "in-the-environment");
    log_in(&project, "anthropic", KEY);
    log_in(&project, "openai", "sk-0123456789-wxyz");
    let ran = project.run(&["logout", "openai"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "removed the key of openai for https://api.openai.com\n")
    );
    assert!(ran.stderr.contains("OPENAI_API_KEY is set, and its key is still used"));
    assert!(!fs::read_to_string(file(&project)).unwrap().contains("wxyz"));
    assert_eq!(states(&project), json!({"anthropic": "used"}));
    let ran = project.run(&["logout", "openai"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "no key is stored for openai\n"));
    let ran = project.run(&["logout", "nobody"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("keys are stored for: anthropic"), "{}", ran.stderr);
    assert_eq!(project.run(&["logout", "anthropic"]).code, Some(0));
    assert!(!file(&project).exists());
}

#[test]
fn who_logs_in_at_the_same_time_loses_nothing() {
    const MANY: usize = 12;
    let project = project();
    let providers = (0..MANY).map(|number| {
        format!("[model_providers.p{number}]\nbase_url = \"https://p{number}.example\"\n")
    });
    project.file("~/.attache/config.toml", providers.collect::<String>());
    let children: Vec<_> = (0..MANY)
        .map(|number| {
            let mut child = project
                .command(&["login", &format!("p{number}")])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
            child
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(on_disk(&project)["keys"].as_object().unwrap().len(), MANY);
}

#[test]
fn a_key_that_is_kept_is_in_no_transcript() {
    let project = project();
    project.file(
        "~/.attache/config.toml",
        "[model_providers.lab]\nbase_url = \"https://l.example\"\n",
    );
    log_in(&project, "lab", KEY);
    project.file("src/config.py", format!("TOOL_FILTER_KEY = '{KEY}'\n"));
    let task = format!("where is TOOL_FILTER_KEY {KEY}?");
    let ran = project.run(&["run", "Explore", &task, "--model", "offline", "-q"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = transcripts(&project);
    assert!(text.contains("where is TOOL_FILTER_KEY ***?") && text.contains("src/config.py"));
    assert!(!text.contains(KEY));
}

fn transcripts(project: &TestProject) -> String {
    let mut text = String::new();
    let mut folders = vec![project.home().join(".attache/sessions")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    text
}

#[test]
fn a_terminal_is_asked_and_shows_nothing_of_it() {
    let project = project();
    let mut terminal = Terminal::with(&project, &["login", "anthropic"]);
    terminal.wait_for_silence();
    terminal.types(format!("{KEY}\r").as_bytes());
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("Key of anthropic for https://api.anthropic.com (not shown): "),
        "{shown}"
    );
    assert!(!shown.contains("0123456789"), "{shown}");
    assert!(echo, "the terminal is as it was");
    assert_eq!(on_disk(&project)["keys"]["anthropic"]["key"], KEY);
}

#[test]
fn an_interrupt_at_the_question_changes_nothing() {
    let project = project();
    let mut terminal = Terminal::with(&project, &["login", "anthropic"]);
    terminal.wait_for_silence();
    terminal.types(b"sk-ant-01\x03");
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("nothing was changed") && echo, "{shown}");
    assert!(!file(&project).exists());
}
