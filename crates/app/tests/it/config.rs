//! `attache config`.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::{project, terminal::Terminal};

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
    let tools = [
        "tools.subagent_tools",
        "tools.web_fetch_private_hosts",
        "tools.web_search_provider",
        "tools.web_search_base_url",
        "tools.web_search_env_key",
    ];
    assert_eq!(keys("tools"), tools);
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
    // Trusted projects' settings and the user's own must be valid.
    project.file("~/.attache/config.toml", "model = [\n");
    assert_eq!(project.run(&["list"]).code, Some(2));
}

const WRITTEN: &str =
    "# mine\nmodel = \"old\" # the big one\n\n[subagents]\n# deep\nmax_depth = 2\n";

#[test]
fn a_key_is_set_and_removed_and_the_rest_stays_as_it_was() {
    let project = project();
    let file = project.file("~/.attache/config.toml", WRITTEN);
    let text = || fs::read_to_string(&file).unwrap();
    for (key, value) in [
        ("model", "gpt-5"),
        ("subagents.default_max_turns", "20"),
        ("model_prices.\"gpt-5.1\".input", "1.25"),
        ("subagents.model_allowlist", "[\"a\", \"b\"]"),
    ] {
        let ran = project.run(&["config", "set", key, value]);
        assert_eq!(ran.code, Some(0), "{key}: {ran:?}");
    }
    assert_eq!(
        text(),
        "# mine\nmodel = \"gpt-5\" # the big one\n\n[subagents]\n# deep\nmax_depth = 2\n\
         default_max_turns = 20\nmodel_allowlist = [\"a\", \"b\"]\n\n\
         [model_prices.\"gpt-5.1\"]\ninput = 1.25\n"
    );
    assert_eq!(project.json(&["config", "model", "--json"])[0]["value"], "gpt-5");
    let removed = project.json(&["config", "unset", "subagents.max_depth", "--json"]);
    assert_eq!(removed["removed"], true);
    assert!(!text().contains("max_depth"), "{}", text());
    let again = project.json(&["config", "unset", "subagents.max_depth", "--json"]);
    assert_eq!(again["removed"], false);
    assert_eq!(project.run(&["config", "path"]).stdout.trim(), file.to_str().unwrap());
}

#[test]
fn a_wrong_key_or_value_is_refused_and_nothing_is_written() {
    let project = project();
    let file = project.file("~/.attache/config.toml", WRITTEN);
    for (key, value, told) in [
        ("subagents.max_dept", "1", "subagents.max_depth"),
        ("subagents.max_depth", "deep", "a whole number"),
        ("durability", "forever", "\"machine\""),
        ("model.", "x", "a part of the key is empty"),
    ] {
        let ran = project.run(&["config", "set", key, value]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(told), "{told:?} is not in {}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), WRITTEN);
    project.file("~/.attache/config.toml", "model = [\n");
    let ran = project.run(&["config", "set", "model", "x"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("config.toml:1") && ran.stderr.contains("config edit"),
        "{}",
        ran.stderr
    );
    let ran = crate::project().run(&["config", "set", "model", "x"]);
    assert_eq!(ran.code, Some(0), "a first setting needs no file: {ran:?}");
}

#[test]
fn a_link_to_the_settings_stays_a_link() {
    let project = project();
    let real = project.file("~/dotfiles/attache.toml", WRITTEN);
    fs::create_dir_all(project.home().join(".attache")).unwrap();
    let link = project.home().join(".attache/config.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(project.run(&["config", "set", "model", "new"]).code, Some(0));
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("model = \"new\" # the big one"));
}

#[test]
fn what_an_editor_leaves_counts_once_it_is_right() {
    let broken = project().with_env("EDITOR", "sh -c 'echo \"model = [\" > \"$1\"' --");
    let file = broken.file("~/.attache/config.toml", WRITTEN);
    let mut terminal = Terminal::with(&broken, &["config", "edit"]);
    // The editor reads nothing: the answer waits for the question.
    terminal.types(b"n\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("your changes are in"), "{shown}");
    assert_eq!(fs::read_to_string(&file).unwrap(), WRITTEN);

    let right = project().with_env("EDITOR", "sed -i s/old/new/");
    // Also where the settings cannot be loaded.
    let file = right.file("~/.attache/config.toml", "model = \"old\"\n");
    let (code, shown, _) = Terminal::with(&right, &["config", "edit"]).end();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "model = \"new\"\n");
    let left: Vec<_> = fs::read_dir(file.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn what_is_typed_to_be_written_down_is_checked() {
    let project = project();
    for (arguments, told, hint) in [
        (&["set", "model", ""][..], "the value of `model` is empty", "attache config unset model"),
        (&["set", "subagents.max_depth", "abc"], "attache config: `subagents.max_depth`", "write"),
        (&["set", "nosuch", "5"], "attache config: there is no setting `nosuch`", "lists every"),
        (&["unset", "modle"], "attache config: there is no setting `modle`", "`model`"),
        (&["unset", "subagents.max_dept"], "there is no setting", "`subagents.max_depth`"),
    ] {
        let ran = project.run(&[&["config"], arguments].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(told) && ran.stderr.contains(hint), "{}", ran.stderr);
        assert!(!ran.stderr.contains("-c"), "{}", ran.stderr);
    }
    for known in ["model", "model_prices.\"gpt-5.1\".input", "model_providers.lab"] {
        let ran = project.run(&["config", "unset", known]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("is not set in"), "{}", ran.stdout);
    }
    // Also a key that nobody knows goes, if it is there.
    project.file("~/.attache/config.toml", "modle = \"x\"\n");
    let ran = project.run(&["config", "unset", "modle"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn without_a_terminal_no_editor_is_started() {
    let project = project().with_env("EDITOR", "touch started");
    let ran = project.run(&["config", "edit"]);
    assert!(ran.stderr.contains(".attache/config.toml"), "{}", ran.stderr);
    assert!(!project.root().join("started").exists());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("`attache config edit` needs a terminal"), "{}", ran.stderr);
    assert!(ran.stderr.contains("attache config set"), "{}", ran.stderr);
}

/// A slip in a restriction restricts nothing, so nothing runs with it.
#[test]
fn a_slip_in_the_settings_stops_everything_but_what_shows_it() {
    let project = project();
    project.file(
        "~/.attache/config.toml",
        "sandbox_mod = \"read-only\"\n[permissions]\ndenny = [\"Bash\"]\ndeny = [\"Bsh(rm *)\"]\n",
    );
    for arguments in [
        &["run", "Explore", "x"][..],
        &["exec", "x", "--model", "offline"],
        &["may", "Explore", "Read", "x"],
        &["list"],
        &["show", "Explore"],
        &["trust", "--all", "--yes"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?} {ran:?}");
        for told in [
            "config.toml:1: there is no setting `sandbox_mod`",
            "did you mean `sandbox_mode`?",
            "config.toml:3: there is no setting `permissions.denny`",
            "did you mean `permissions.deny`?",
            "config.toml:4: `Bsh(rm *)` in `permissions.deny` is not a rule",
        ] {
            assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
        }
    }
    let shown = project.run(&["config", "permissions"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.contains("Bsh(rm *)"), "{}", shown.stdout);
    assert!(shown.stderr.contains("no agent runs until it is corrected"), "{}", shown.stderr);
    let report = project.run(&["doctor", "--json"]);
    assert_eq!(report.code, Some(1));
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let failed = checks.iter().filter(|check| check["name"] == "settings").count();
    assert_eq!(failed, 3, "{report}");
    assert_eq!(checks.last().unwrap()["name"], "git");
    // One after the other can be removed.
    assert_eq!(project.run(&["config", "unset", "permissions.denny"]).code, Some(0));
    assert_eq!(project.run(&["config", "unset", "sandbox_mod"]).code, Some(0));
    assert_eq!(project.run(&["list"]).code, Some(2));
    assert_eq!(project.run(&["config", "set", "permissions.deny", "[\"Bash(rm\"]"]).code, Some(2));
    assert_eq!(
        project.run(&["config", "set", "permissions.deny", "[\"Bash(rm *)\"]"]).code,
        Some(0)
    );
    assert_eq!(project.run(&["list"]).code, Some(0));
}

#[test]
fn a_slip_in_a_project_asks_until_it_is_trusted_and_cannot_be_trusted() {
    let project = project();
    project.file(".attache/config.toml", "[permissions]\ndenny = [\"Read(.env)\"]\n");
    let ran = project.run(&["may", "Explore", "Read", ".env"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("the rule `*`"), "{}", ran.stdout);
    assert!(ran.stderr.contains("`permissions.denny` (line 2)"), "{}", ran.stderr);
    let trusted = project.run(&["trust", "--project", "--yes"]);
    assert_eq!(trusted.code, Some(2), "{trusted:?}");
    assert!(trusted.stderr.contains("there is no setting `permissions.denny`"));
}

#[test]
fn a_broken_file_of_a_project_is_told_with_what_follows() {
    let project = project();
    project.file(".attache/config.toml", "[permissions\n");
    let ran = project.run(&["may", "Explore", "Read", "x"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for told in ["the project's settings file is ignored: ", "; every call is asked about"] {
        assert!(ran.stderr.contains(told), "{told}: {}", ran.stderr);
    }
}

#[test]
fn changes_of_several_processes_at_once_are_all_kept() {
    let project = project();
    let keys = [
        ("subagents.max_depth", "2"),
        ("subagents.max_concurrent", "3"),
        ("subagents.default_max_turns", "5"),
        ("stall_seconds", "33"),
        ("tool_timeout_seconds", "44"),
        ("retention_days", "9"),
        ("permissions.deny", "[\"Read(.env)\"]"),
    ];
    let set = keys.map(|(key, value)| project.command(&["config", "set", key, value]));
    let names = ["m1", "m2", "m3", "m4", "m5"];
    let added = names.map(|name| project.command(&["mcp", "add", name, "--", "cat"]));
    let started: Vec<_> = set
        .into_iter()
        .chain(added)
        .map(|mut command| command.stdout(Stdio::null()).spawn().unwrap())
        .collect();
    for mut process in started {
        assert_eq!(process.wait().unwrap().code(), Some(0));
    }
    let text = fs::read_to_string(project.home().join(".attache/config.toml")).unwrap();
    for (key, value) in keys {
        let name = key.rsplit('.').next().unwrap();
        assert!(text.contains(&format!("{name} = {value}")), "{key} is lost:\n{text}");
    }
    for name in names {
        assert!(text.contains(&format!("[mcp_servers.{name}]")), "{name} is lost:\n{text}");
    }
}

#[test]
fn an_edited_file_that_another_process_changed_is_left_as_it_is() {
    let project = project();
    let file = project.file("~/.attache/config.toml", "model = \"old\"\n");
    let meanwhile = format!("printf 'model = \"other\"\\n' > {} && echo >>", file.display());
    let project = project.with_env("EDITOR", &meanwhile);
    let (code, shown, _) = Terminal::with(&project, &["config", "edit"]).end();
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("was changed by another program meanwhile"), "{shown}");
    assert!(shown.contains("your changes are in "), "{shown}");
    assert_eq!(fs::read_to_string(file).unwrap(), "model = \"other\"\n");
}

#[test]
fn a_removed_key_leaves_the_comments_above_it() {
    let project = project();
    let file = project.file(
        "~/.attache/config.toml",
        "# my own notes\nmodel = \"x\" # for now\n[subagents]\n# how deep\nmax_depth = 1\n",
    );
    for key in ["model", "subagents.max_depth"] {
        assert_eq!(project.run(&["config", "unset", key]).code, Some(0));
    }
    let left = fs::read_to_string(file).unwrap();
    assert_eq!(left, "# my own notes\n[subagents]\n# how deep\n");
}

#[test]
fn a_home_that_cannot_be_written_is_said_with_what_to_do() {
    let project = project().with_env("ATTACHE_HOME", "/proc/nope");
    let ran = project.run(&["config", "set", "model", "x"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("cannot change /proc/nope/config.toml"), "{}", ran.stderr);
    assert!(ran.stderr.contains("set ATTACHE_HOME"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("config edit"), "{}", ran.stderr);
}
