//! Errors: with `--json` one object on stderr, and always the tip that helps.

use serde_json::{Value, json};

use crate::project;

#[test]
fn an_error_is_one_object_with_json() {
    let project = project();
    project.file("~/.attache/config.toml", "");
    for (arguments, message, hint) in [
        (&["show", "Exlpore", "--json"][..], "there is no agent `Exlpore`", "Explore"),
        (&["--json", "rn"], "there is no command `rn`", "attache run"),
        (&["run", "--json"], "required", "usage: attache run"),
        (&["list", "--json", "--jsn"], "unexpected argument '--jsn'", "--json"),
        (&["list", "--json", "-c", "subagents.max_dept=1"], "max_dept", "subagents.max_depth"),
        (&["--json"], "there is no command", "--help"),
        (&["run", "Exlpore", "x", "--output-format", "json"], "no agent `Exlpore`", "Explore"),
        (&["run", "Exlpore", "x", "--output-format=stream-json"], "no agent `Exlpore`", "Explore"),
        (&["exec", "--output-format", "stream-json", "--jsn"], "unexpected argument", "--json"),
    ] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let error: Value = serde_json::from_str(&ran.stderr)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", ran.stderr));
        let keys: Vec<_> = error["error"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["message", "hint"]);
        assert!(error["error"]["message"].as_str().unwrap().contains(message), "{error}");
        assert!(error["error"]["hint"].as_str().unwrap().contains(hint), "{error}");
    }
}

#[test]
fn the_object_is_the_last_line_whatever_is_noticed_before() {
    let project = project();
    project.file(".attache/config.toml", "[model_providers.x]\nbase_url = \"https://x.example\"\n");
    for arguments in [
        &["run", "Exlpore", "x", "--json"][..],
        &["run", "Exlpore", "x", "--output-format", "stream-json"],
    ] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let (last, before) = lines.split_last().unwrap();
        assert!(!before.is_empty(), "nothing was noticed: {}", ran.stderr);
        assert!(before.iter().all(|line| line.starts_with("notice: ")), "{}", ran.stderr);
        let error: Value = serde_json::from_str(last).unwrap();
        assert!(error["error"]["message"].is_string(), "{error}");
    }
    let listed = project.run(&["--agents", "{\"a\":{}}", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.stderr.contains("notice: --agents: `a`: "), "{}", listed.stderr);
    assert!(listed.stderr.contains("write them in `prompt`"), "{}", listed.stderr);
    assert!(!listed.stderr.contains("error:"), "{}", listed.stderr);
}

#[test]
fn a_wrong_first_word_leads_to_the_command_or_the_agent() {
    let project = project();
    project.file(".claude/agents/two.md", "---\nname: Two Words\ndescription: d\n---\nx\n");
    for (word, hint) in [
        ("rn", "did you mean `attache run`?"),
        ("explore", "attache run Explore \"what to do\""),
        ("two-words", "attache run 'Two Words' \"what to do\""),
        ("frobnicate", "`attache --help` lists the commands"),
    ] {
        let ran = project.run(&[word, "where is it?"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(hint), "{word}: {}", ran.stderr);
    }
}

#[test]
fn help_and_version_are_results() {
    let project = project();
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"], &["help", "config"]] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!ran.stdout.is_empty() && !ran.stdout.contains('\u{1b}'));
    }
    let ran = project.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: attache"), "{}", ran.stderr);
}

#[test]
fn times_are_read_as_people_write_them() {
    let project = project();
    project.file("a.txt", "zebra\n");
    let ran = project.run(&["run", "Explore", "zebra", "--timeout", "1h30m"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("(0s/5400s)"), "{}", ran.stderr);
    for wrong in ["5x", "0", "-1"] {
        let ran = project.run(&["run", "Explore", "zebra", &format!("--timeout={wrong}")]);
        assert_eq!(ran.code, Some(2), "{wrong}");
    }
}

#[test]
fn standard_input_that_is_no_text_is_refused_with_its_size() {
    let project = project();
    let ran = project.run_with_input(&["run", "Explore", "-f", "-"], "\u{0}PNG");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("standard input is not text (4 B of binary data)"),
        "{}",
        ran.stderr
    );
    let file = project.file("task.txt", b"caf\xe9 review");
    let ran = project.run(&["run", "Explore", "-f", file.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("task.txt is not UTF-8 text (11 B)"), "{}", ran.stderr);
    let ran = project.run_with_input(&["run", "Explore", "-f", "-"], &"x".repeat((4 << 20) + 1));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("standard input is larger than 4.0 MB"), "{}", ran.stderr);
    let file = project.file("big.txt", "x".repeat(6 << 20));
    let ran = project.run(&["run", "Explore", "-f", file.to_str().unwrap()]);
    assert!(ran.stderr.contains("big.txt is larger than 4.0 MB: 6.0 MB"), "{}", ran.stderr);
}

#[test]
fn a_key_without_effect_is_told_and_no_setting_is() {
    let project = project();
    project.agent("mover", "description: d\nskills: tidy\nmemory: project");
    project.file(
        "~/.attache/config.toml",
        "approval_policy = \"never\"\n[mcp_servers.x]\ncommand = \"x\"\n",
    );
    let ran = project.run(&["list"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let told = "`skills` has no effect yet: ";
    assert!(project.run(&["run", "mover", "x"]).stderr.contains(told));
    let page = project.run(&["show", "mover"]).stdout;
    assert!(page.contains(told) && page.contains("`memory` has no effect yet: "), "{page}");
    assert_eq!(project.json(&["config", "approval_policy", "--json"])[0]["value"], json!("never"));
}

#[test]
fn a_problem_of_an_agent_on_the_command_line_is_told_once() {
    let agents = r#"{"x": {"prompt": "p"}}"#;
    let ran = project().run(&["--agents", agents, "run", "x", "hello"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stderr.matches("there is no description").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("--> --agents:1:1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: fix what --agents says"), "{}", ran.stderr);
}

#[test]
fn a_folder_of_agents_that_is_not_there_is_an_error() {
    for command in [&["list"][..], &["run", "Explore", "x"]] {
        let ran = project().run(&[&["--agents-dir", "no/such"], command].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let told = "--agents-dir: there is no folder no/such";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn negative_numbers_are_refused_for_what_they_are() {
    for (option, told) in
        [("--timeout", "`-5` is not a length of time"), ("--max-turns", "-5 is not in")]
    {
        let ran = project().run(&["run", "Explore", "x", option, "-5"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert!(!ran.stderr.contains("-- -5"), "{}", ran.stderr);
    }
}

#[test]
fn a_line_end_in_a_file_name_is_escaped() {
    let project = project();
    project.file("a\nerror: b.md", "---\nname: a\n---\nbody\n");
    let ran = project.run(&["validate", "."]);
    assert!(ran.stdout.contains("a\\nerror: b.md:1:1"), "{}", ran.stdout);
    assert!(!ran.stdout.lines().any(|line| line.starts_with("error: b.md")), "{}", ran.stdout);
}

#[test]
fn a_model_that_cannot_be_reached_is_told_with_the_place_that_names_it() {
    let project = project();
    let file = project.file(".attache/config.toml", "model = \"gpt-5\"\n");
    let ran = project.run(&["run", "Explore", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
    let told = format!("`model` is set by {}:1", file.display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
}

#[test]
fn every_command_that_reads_standard_input_refuses_what_is_no_text() {
    let project = project();
    for (arguments, told) in [
        (
            &["chat", "--plain", "--model", "offline"][..],
            "a line of standard input is not text (4 B",
        ),
        (&["suggest", "-"], "standard input is not text (4 B of binary data)"),
        (&["exec", "-"], "standard input is not text (4 B of binary data)"),
        (&["send", "x", "-"], "standard input is not text (4 B of binary data)"),
    ] {
        let ran = project.run_with_input(arguments, "\u{0}PNG");
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{arguments:?}: {}", ran.stderr);
    }
    let path = project.file("key", b"\xff\xfe\xfd".as_slice());
    let mut login = project.command(&["login", "openai"]);
    let ran = login.stdin(std::fs::File::open(path).unwrap()).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{told}");
    assert!(told.contains("standard input is not a key (3 B of binary data)"), "{told}");
}

#[test]
fn an_empty_value_is_not_taken_for_an_omitted_one() {
    let project = project();
    for arguments in [
        &["run", "Explore", "x", "--model", ""][..],
        &["run", "Explore", "x", "--provider", ""],
        &["exec", "x", "--model", ""],
        &["chat", "--plain", "--model", ""],
        &["run", "Explore", "x", "--resume", ""],
        &["run", "", "x"],
        &["show", ""],
        &["may", "Explore", ""],
        &["transcript", ""],
        &["list", "--profile", ""],
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(!ran.stderr.contains("no model provider"), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn a_model_and_a_provider_that_do_not_go_together_are_refused() {
    let project = project();
    for (words, told) in [
        (&["--model", ""][..], "it is empty"),
        (&["--provider", "  "], "it is empty"),
        (&["--provider", "offline", "--model", "gpt-5"], "--provider offline has one model"),
        (&["--model", "offline", "--provider", "openai"], "--model offline is built in"),
    ] {
        for command in [&["run", "Explore", "x"][..], &["exec", "x"], &["chat", "--plain"]] {
            let ran = project.run(&[command, words].concat());
            assert_eq!(ran.code, Some(2), "{command:?} {words:?}: {ran:?}");
            assert!(ran.stderr.contains(told), "{words:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_private_host_that_would_match_nothing_is_refused() {
    let project = project();
    for (host, is_right) in [
        ("127.0.0.1:8080", false),
        ("http://localhost", false),
        ("", false),
        ("localhost", true),
        ("::1", true),
        ("[::1]", true),
    ] {
        let setting = format!("tools.web_fetch_private_hosts=[\"{host}\"]");
        let ran = project.run(&["run", "Explore", "zebra", "-c", &setting]);
        assert_eq!(ran.code == Some(0), is_right, "{host}: {ran:?}");
        let told = ran.stderr.contains("`tools.web_fetch_private_hosts` is not the name");
        assert_eq!(told, !is_right, "{host}: {}", ran.stderr);
    }
}
