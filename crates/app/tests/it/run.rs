//! `attache run`, with the model that needs no key and no network.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Gate, ScriptedServer, WireApi},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::{
    project,
    providers::{completes, lab},
};

/// A small program to ask questions about.
fn with_code(project: &TestProject) {
    project
        .file("src/tool_filter.py", "import os\n\n\ndef tool_filter(tools):\n    return tools\n");
    project.file("src/main.py", "from tool_filter import tool_filter\n\nprint(tool_filter([1]))\n");
    project.file("README.md", "# Sample\n\nNothing of interest.\n");
}

fn object(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_question_about_code_is_answered_with_files_and_lines() {
    let project = project();
    with_code(&project);
    let ran = project.run(&["run", "Explore", "where is the tool filter and what calls it?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in ["src/tool_filter.py:4", "src/main.py:", "no language model"] {
        assert!(ran.stdout.to_lowercase().contains(part), "{part} is not in {}", ran.stdout);
    }
    assert!(ran.stderr.contains("[Explore] Starting: where is the tool filter"));
    assert!(ran.stderr.contains("[Explore] Turn 1/30 (0s/120s)"));
    assert!(ran.stderr.contains("[Explore] → grep_files \""));
    assert!(ran.stderr.contains("[Explore] Completed in"));
    assert!(ran.stderr.contains("offline"), "it is said which model answers");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'));
}

#[test]
fn what_is_not_there_is_not_found() {
    let project = project();
    with_code(&project);
    // In two pieces, or a search of this repository would find it here.
    let question = concat!("where is the kaf", "ka consumer?");
    let ran = project.run(&["run", "Explore", question, "-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.starts_with("Nothing was found for"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("tool_filter.py:4"), "{}", ran.stdout);
}

#[test]
fn the_result_is_one_object_with_every_field() {
    let project = project();
    with_code(&project);
    let result = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let keys: Vec<&String> = result.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "agent_id",
            "agent_type",
            "status",
            "recovered_from",
            "partial",
            "result",
            "output",
            "error",
            "turns_used",
            "duration_seconds",
            "total_duration_ms",
            "total_tool_use_count",
            "total_tokens",
            "usage",
            "cost_usd",
            "model",
            "session_id",
            "parent_id",
            "transcript",
            "artifacts",
            "tree",
            "resumed_from",
            "changes"
        ]
    );
    assert_eq!(result["agent_type"], "Explore");
    assert_eq!((&result["status"], &result["partial"]), (&json!("goal"), &json!(false)));
    assert_eq!(
        result["model"],
        json!({"id": "offline", "provider": "offline", "chosen_by": "parent", "asked": "inherit"})
    );
    assert_eq!(result["tree"]["agents"], 1);
    assert!(result["total_tool_use_count"].as_u64().unwrap() > 0);
    assert!(result["agent_id"].as_str().unwrap().starts_with("agent-"));
}

#[test]
fn events_come_one_a_line_and_the_result_last() {
    let project = project();
    with_code(&project);
    let ran = project.run(&["run", "Plan", "tool filter", "--output-format", "stream-json"]);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    assert_eq!((&last["type"], &last["status"]), (&json!("result"), &json!("goal")));
    assert!(events.iter().all(|event| event["type"] == "event"));
    assert_eq!(events[0]["event_type"], "STARTED");
    assert_eq!(events.last().unwrap()["event_type"], "COMPLETED");
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let progress = &events.iter().find(|event| event["event_type"] == "TURN_START").unwrap()["data"]
        ["progress"];
    let keys: Vec<&String> = progress.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["turns_completed", "max_turns", "elapsed_seconds", "max_seconds"]);
    for key in ["agent_id", "ts", "session_id"] {
        assert!(events.iter().all(|event| event[key].is_string()), "{key}");
    }
}

#[test]
fn every_event_is_on_disk_and_nobody_else_may_read_it() {
    let project = project();
    with_code(&project);
    let result = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let path = result["transcript"].as_str().unwrap();
    let id = result["agent_id"].as_str().unwrap();
    let session = result["session_id"].as_str().unwrap();
    assert!(path.ends_with(&format!("/.attache/sessions/{session}/{id}.jsonl")), "{path}");
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path), 0o600);
    assert_eq!(mode(path.rsplit_once('/').unwrap().0), 0o700);
    let text = fs::read_to_string(path).unwrap();
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!((&header["type"], &header["format"]), (&json!("header"), &json!(1)));
    assert_eq!(header["run"]["source"], json!({"sub_agent": "explore"}));
}

#[test]
fn a_run_goes_on_where_it_was_left() {
    let project = project();
    with_code(&project);
    let first = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let id = first["agent_id"].as_str().unwrap();
    let second = object(&project.run(&["run", "--resume", id, "and the readme?", "--json"]));
    assert_eq!(second["resumed_from"], id);
    assert_ne!(second["agent_id"], id);
    assert_eq!(second["status"], "goal");
    let text = fs::read_to_string(second["transcript"].as_str().unwrap()).unwrap();
    assert!(text.contains("and the readme?") && text.contains("tool filter"));
    let call = &["run", "--resume", id, "again", "--json", "--model", "offline"];
    assert_eq!(object(&project.run(call))["model"]["chosen_by"], "call", "it says who chose now");
    let second = object(&project.run(&["run", "--resume", id, "and the readme?", "--json"]));
    let third = object(&project.run(&["run", "--resume", "last", "more", "--json"]));
    assert_eq!(third["resumed_from"], second["agent_id"]);
}

#[test]
fn a_resumed_run_takes_the_agents_name_and_no_new_inputs() {
    let project = project();
    with_code(&project);
    let first = object(&project.run(&["run", "Explore", "the tool filter", "--json"]));
    let id = first["agent_id"].as_str().unwrap();
    let second = project.run(&["run", "explore", "--resume", id, "and", "the readme?", "--json"]);
    let transcript = object(&second)["transcript"].as_str().unwrap().to_owned();
    let header: Value =
        serde_json::from_str(fs::read_to_string(transcript).unwrap().lines().next().unwrap())
            .unwrap();
    assert_eq!(header["run"]["task"], "and the readme?");
    // After the id it is the task's first word.
    let third = project.run(&["run", "--resume", id, "explore", "the readme", "--json"]);
    let transcript = object(&third)["transcript"].as_str().unwrap().to_owned();
    let lines = fs::read_to_string(transcript).unwrap();
    assert!(lines.lines().next().unwrap().contains("\"explore the readme\""), "{lines}");
    let ran = project.run(&["run", "--resume", id, "--input", "zork=1"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--input"), "{}", ran.stderr);
    let elsewhere = project.file("~/elsewhere/a.txt", "");
    let elsewhere = elsewhere.parent().unwrap().to_str().unwrap().to_owned();
    let ran = project.run(&["run", "--resume", id, "more", "--cwd", &elsewhere]);
    assert!(ran.stderr.contains("continues in the directory it began in"), "{}", ran.stderr);
}

#[test]
fn limits_of_one_run_do_not_cost_the_next_its_trust() {
    let project = project();
    with_code(&project);
    project.agent("worker", "description: d\ntools: Read, Grep, Bash");
    project.run(&["trust", "worker", "--yes"]);
    let caps = ["--max-turns", "7", "--timeout", "77", "-c", "subagents.max_tree_tokens=100000"];
    project.run(
        &[&["run", "worker", "--model", "offline", "the tool filter", "-q"], &caps[..]].concat(),
    );
    let resume = ["run", "--resume", "last", "more", "--output-format", "stream-json", "-q"];
    let withheld = |ran: &Ran| -> Value {
        let started = ran.stdout.lines().find(|line| line.contains("\"STARTED\"")).unwrap();
        let started: Value = serde_json::from_str(started).unwrap();
        started["data"]["withheld_tools"].clone()
    };
    let ran = project.run(&resume);
    assert!(!withheld(&ran).to_string().contains("untrusted"), "{}", ran.stdout);
    // A file that says something else is another matter.
    project.agent("worker", "description: other\ntools: Read, Grep, Bash");
    let ran = project.run(&resume);
    assert!(withheld(&ran).to_string().contains("untrusted"), "{}", ran.stdout);
}

#[test]
fn whoever_names_the_provider_has_chosen() {
    let project = project();
    let result = object(&project.run(&["run", "Explore", "x", "--provider", "offline", "--json"]));
    assert_eq!(
        result["model"],
        json!({"id": "offline", "provider": "offline", "chosen_by": "call", "asked": "inherit"})
    );
}

#[test]
fn a_full_disk_in_the_middle_is_told_in_the_result() {
    let project = project();
    with_code(&project);
    let program = env!("CARGO_BIN_EXE_attache");
    let command = project.command(&["run", "Explore", "where is the tool filter?", "--json"]);
    let arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let variables: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    // No file may grow beyond 8 KB; the header fits.
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let ran = Command::new("bash")
        .args(["-c", limited, program])
        .args(arguments)
        .env_clear()
        .envs(variables)
        .current_dir(project.root())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!((ran.status.code(), &result["status"]), (Some(1), &json!("error")), "{told}");
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("no room") && error.contains("ulimit -f"), "{error}");
    assert!(told.contains("attache run --resume"), "{told}");
}

/// A transcript cut at any byte is what a killed process leaves.
#[test]
fn a_run_that_was_cut_off_is_resumed() {
    let project = project();
    with_code(&project);
    let first = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let path = first["transcript"].as_str().unwrap();
    let whole = fs::read(path).unwrap();
    let lines: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(index, _)| index + 1)
        .collect();
    for cut in [lines[1], lines[3] + 5, lines[lines.len() / 2] + 1, whole.len() - 3] {
        fs::write(path, &whole[..cut]).unwrap();
        let id = first["agent_id"].as_str().unwrap();
        let ran = project.run(&["run", "--resume", id, "--json"]);
        assert_eq!(object(&ran)["status"], "goal", "cut at {cut}: {ran:?}");
    }
}

#[test]
fn a_resumed_run_has_only_what_its_header_and_today_both_allow() {
    let project = project();
    with_code(&project);
    project.agent("worker", "description: d\ntools: Read, Grep, Bash\nmaxTurns: 20");
    let header = |ran: &Ran| -> Value {
        let lines = fs::read_to_string(object(ran)["transcript"].as_str().unwrap()).unwrap();
        let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        header["run"].clone()
    };
    let begun = project.run(&[
        "run",
        "worker",
        "--model",
        "offline",
        "tool filter",
        "--max-turns",
        "7",
        "--json",
    ]);
    let begun = header(&begun);
    assert_eq!(begun["rights"], json!({"grep_files": [], "read_file": []}));
    assert_eq!(begun["limits"]["max_turns"], 7);
    assert_eq!(begun["definition"]["runConfig"]["maxTurns"], 20);
    // Trust that came later widens no run that began without it.
    project.run(&["trust", "worker", "--yes"]);
    let resumed = header(&project.run(&["run", "--resume", "last", "more", "--json"]));
    assert_eq!(resumed["rights"], begun["rights"]);
    assert_eq!(resumed["limits"]["max_turns"], 7);
    let withheld = resumed["withheld_tools"].to_string();
    assert!(withheld.contains("the run that this one continues did not have it"), "{withheld}");
    let longer = ["run", "--resume", "last", "more", "--max-turns", "9", "--json"];
    assert_eq!(header(&project.run(&longer))["limits"]["max_turns"], 9);
    // A run that was nested is judged as nested when it goes on.
    let nested = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let path = nested["transcript"].as_str().unwrap();
    let lines = fs::read_to_string(path).unwrap();
    let lines = lines.replacen("\"depth\":1", "\"depth\":3", 1);
    fs::write(path, lines.replacen("\"parent_id\":null", "\"parent_id\":\"agent-0\"", 1)).unwrap();
    let resumed = header(&project.run(&["run", "--resume", "last", "more", "--json"]));
    assert_eq!((&resumed["depth"], &resumed["parent_id"]), (&json!(3), &json!("agent-0")));
}

#[test]
fn limits_lead_to_a_last_chance_and_say_so() {
    let project = project();
    with_code(&project);
    let result =
        object(&project.run(&["run", "Explore", "tool filter", "--max-turns", "1", "--json"]));
    assert_eq!(result["status"], "goal");
    assert!(result["recovered_from"] == "max_turns" || result["recovered_from"].is_null());
    assert_eq!(result["turns_used"], 1);
}

#[test]
fn the_task_comes_from_anywhere() {
    let project = project();
    with_code(&project);
    let file = project.file("question.txt", "where is the tool filter?");
    let found = |ran: &Ran| ran.stdout.contains("src/tool_filter.py");
    assert!(found(&project.run(&["run", "Explore", "-f", file.to_str().unwrap(), "-q"])));
    assert!(found(
        &project.run_with_input(&["run", "Explore", "-f", "-", "-q"], "the tool filter")
    ));
    assert!(found(&project.run_with_input(&["run", "Explore", "-", "-q"], "the tool filter")));
    assert!(found(&project.run_with_input(&["run", "Explore", "-q"], "the tool filter")));
    assert!(
        found(&project.run(&["run", "explore", "the", "tool", "filter", "-q"])),
        "any spelling"
    );
    let both =
        &project.run_with_input(&["run", "Explore", "where is", "-", "-q"], "the tool filter");
    assert!(found(both));
    let twice = ["run", "Explore", "-f", file.to_str().unwrap(), "-"];
    assert!(project.run_with_input(&twice, "x").stderr.contains("given twice"));
    // What is passed over is told.
    let mut command = project.command(&["run", "Explore", "where is it?"]);
    let ran = command.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    let told = String::from_utf8(ran.stderr).unwrap();
    assert!(told.contains("standard input is not read"), "{told}");
}

#[test]
fn a_base_directory_outside_of_the_workspace_needs_trust() {
    let project = project();
    let outside = project.file("~/secret/notes.txt", "the password is swordfish\n");
    let outside = outside.parent().unwrap().to_str().unwrap().to_owned();
    project.file("inside/notes.txt", "nothing here\n");
    std::os::unix::fs::symlink(&outside, project.root().join("link")).unwrap();
    project.agent("inner", "description: d\nbaseDir: inside\ntools: Read, Grep, Glob");
    assert_eq!(
        project.run(&["run", "inner", "--model", "offline", "what is nothing?", "-q"]).code,
        Some(0)
    );
    for (index, base) in [outside.as_str(), "/", "..", "inside/../..", "link"].iter().enumerate() {
        let name = format!("outer-{index}");
        project.agent(&name, &format!("description: d\nbaseDir: {base}\ntools: Read, Grep, Glob"));
        let ran =
            project.run(&["run", &name, "--model", "offline", "what is the password?", "--json"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{base}: {ran:?}");
        assert!(ran.stderr.contains("outside of the workspace"), "{}", ran.stderr);
    }
    let shown = project.run(&["show", "outer-0"]).stdout;
    assert!(shown.contains(&outside), "{shown}");
    // The settings or trust allow it.
    let roots = format!("workspace_roots=[\"{outside}\"]");
    let ran = project.run(&[
        "run",
        "outer-0",
        "--model",
        "offline",
        "what is the password?",
        "-q",
        "-c",
        &roots,
    ]);
    assert!(ran.stdout.contains("notes.txt"), "{ran:?}");
    let ran = project.run(&["trust", "outer-0", "--yes"]);
    assert!(ran.stderr.contains(&outside) || ran.stdout.contains(&outside), "{ran:?}");
    let ran = project.run(&["run", "outer-0", "--model", "offline", "what is the password?", "-q"]);
    assert!(ran.stdout.contains("notes.txt"), "{ran:?}");
    // What was trusted then need not be now.
    project.run(&["untrust", "outer-0"]);
    let ran = project.run(&["run", "--resume", "last", "and now?", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
}

#[test]
fn a_pipe_in_an_agents_folder_holds_nothing_up() {
    let project = project();
    project.agent("sound", "description: d");
    let pipe = project.root().join(".claude/agents/pipe.md");
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    for arguments in [
        &["validate"][..],
        &["validate", ".claude/agents/pipe.md"],
        &["show", "pipe"],
        &["run", "pipe", "--model", "offline", "x"],
        &["trust", "--all", "--yes"],
        &["list"],
    ] {
        let ran = project.run(arguments);
        assert!(ran.code.is_some(), "{arguments:?}: {ran:?}");
    }
    assert_eq!(project.run(&["run", "sound", "--model", "offline", "x", "-q"]).code, Some(0));
}

#[test]
fn inputs_are_typed_and_checked_before_anything_starts() {
    let project = project();
    with_code(&project);
    project.agent(
        "typed",
        "description: d\ninputs:\n  file: {type: string, required: true, description: f}\n  depth: {type: integer, description: n}\n  only: {type: \"string[]\", description: o}",
    );
    let ran = project.run(&[
        "run",
        "typed",
        "--model",
        "offline",
        "--input",
        "file=src/main.py",
        "--input",
        "depth=3",
        "--input",
        "only=a,b",
        "x",
        "--json",
        "-q",
    ]);
    let header = fs::read_to_string(object(&ran)["transcript"].as_str().unwrap()).unwrap();
    let header: Value = serde_json::from_str(header.lines().next().unwrap()).unwrap();
    assert_eq!(
        header["run"]["inputs"],
        json!({"file": "src/main.py", "depth": 3, "only": ["a", "b"]})
    );
    for (arguments, part) in [
        (&["run", "typed", "--model", "offline", "x"][..], "file"),
        (
            &[
                "run",
                "typed",
                "--model",
                "offline",
                "x",
                "--input",
                "file=a",
                "--input",
                "depth=deep",
            ],
            "integer",
        ),
        (&["run", "typed", "--model", "offline", "x", "--input", "fiel=a"], "did you mean `file`?"),
        (&["run", "typed", "--model", "offline", "x", "--input", "file"], "KEY=VALUE"),
    ] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?} {ran:?}");
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn mistakes_are_told_before_any_model_is_called() {
    let project = project();
    project.agent("broken", "tools: Read");
    project.agent("openai-agent", "description: d\nmodel_config: {provider: openai, model: gpt-x}");
    for (arguments, part) in [
        (&["run", "Exlpore", "x"][..], "did you mean `Explore`?"),
        (&["run", "broken", "x"], "missing_description"),
        (&["run", "Explore"], "there is no task"),
        (&["run", "Explore", "-f", "missing.txt"], "missing.txt"),
        (&["run", "Explore", "x", "-f", "y"], "twice"),
        (&["run", "Explore", "x", "--model", "mystery"], "no provider for the model"),
        (&["run", "Explore", "x", "--model", "gpt-x"], "OPENAI_API_KEY"),
        (&["run", "Explore", "x", "--provider", "nobody"], "no provider `nobody`"),
        (&["run", "openai-agent", "x"], "OPENAI_API_KEY"),
        (&["run", "Explore", "x", "--model", "replay:missing.jsonl"], "missing.jsonl"),
        (&["run", "--resume", "agent-unknown"], "agent-unknown"),
        (&["run", "--resume", "last"], "no transcripts"),
        (&["run", "Explore", "x", "--cwd", "missing"], "missing"),
        (&["run", "Explore", "x", "--max-turns", "0"], "--max-turns"),
        (&["run", "Explore", "x", "--approve", "ask"], "--approve"),
        (&["run"], "AGENT"),
        (&["run", "Explore", "x", "-c", "subagents.enabled=false"], "switched off"),
    ] {
        let ran = project.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{arguments:?} {ran:?}");
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!project.home().join(".attache/sessions").exists(), "nothing was begun");
}

#[test]
fn a_model_outside_the_allowlist_is_refused_with_the_list() {
    let project = project();
    let ran = project.run(&[
        "run",
        "Explore",
        "x",
        "--model",
        "z",
        "-c",
        "subagents.model_allowlist=[\"a\",\"b\"]",
    ]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("a, b"), "{}", ran.stderr);
}

#[test]
fn withheld_tools_are_named_on_stderr_and_in_the_first_event() {
    let project = project();
    project.agent("worker", "description: d\ntools: Read, Bash");
    let ran = project.run(&["run", "worker", "--model", "offline", "x"]);
    assert!(
        ran.stderr.contains("withheld: shell: untrusted agents may not use it"),
        "{}",
        ran.stderr
    );
    let ran = project.run(&[
        "run",
        "worker",
        "--model",
        "offline",
        "x",
        "--output-format",
        "stream-json",
        "-q",
    ]);
    let started: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(started["data"]["withheld_tools"][0]["tool"], "shell");
}

#[test]
fn keys_never_reach_a_transcript() {
    let project = project().with_env("SOME_API_KEY", "sk-hush-hush-hush");
    with_code(&project);
    project.file("src/config.py", "tool_filter_key = 'sk-hush-hush-hush'\n");
    let ran = project.run(&["run", "Explore", "tool_filter_key sk-hush-hush-hush", "--json"]);
    let text = fs::read_to_string(object(&ran)["transcript"].as_str().unwrap()).unwrap();
    assert!(text.contains("***") && !text.contains("sk-hush"), "{text}");
}

#[test]
fn a_recording_answers_again_and_departures_are_loud() {
    let project = project();
    with_code(&project);
    let first = object(&project.run(&["run", "Explore", "tool filter", "--json"]));
    let model = format!("replay:{}", first["transcript"].as_str().unwrap());
    let again =
        object(&project.run(&["run", "Explore", "tool filter", "--json", "--model", &model]));
    assert_eq!((&again["status"], &again["result"]), (&first["status"], &first["result"]));
    assert_eq!(again["model"]["provider"], "replay");
    let ran = project.run(&["run", "Explore", "something else", "--json", "--model", &model]);
    assert_eq!((ran.code, &object(&ran)["status"]), (Some(1), &json!("error")));
    assert!(object(&ran)["error"].as_str().unwrap().contains("something else"), "{ran:?}");
    let ran = project.run(&["run", "Plan", "tool filter", "--json", "--model", &model]);
    assert_eq!((ran.code, &object(&ran)["status"]), (Some(1), &json!("error")));
    let told = "it is a recording of `Explore`, not of `Plan`";
    assert!(object(&ran)["error"].as_str().unwrap().contains(told), "{ran:?}");
}

#[test]
fn two_runs_at_once_do_not_meet() {
    let project = project();
    with_code(&project);
    let results: Vec<Value> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| object(&project.run(&["run", "Explore", "tool filter", "--json"])))
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut ids: Vec<&str> =
        results.iter().map(|result| result["agent_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    assert!(results.iter().all(|result| result["status"] == "goal"));
}

/// Enough text that a search is still under way when the signal comes.
#[test]
fn an_interrupt_stops_the_run_cleanly_and_says_how_to_go_on() {
    let project = project();
    let text = "the quick brown fox jumps over the lazy dog\n".repeat(6000);
    for number in 0..300 {
        project.file(&format!("texts/{number}.txt"), &text);
    }
    let mut child = project
        .command(&["run", "Explore", "where does the lazy fox parser jump?"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // The first call is announced once it is under way.
    assert!(lines.by_ref().any(|line| line.unwrap().contains("→ grep_files")));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    let hint = rest.iter().find_map(|line| line.strip_prefix("resume with: attache run --resume "));
    let shown = project.run(&["transcript", hint.expect("the line that resumes it")]).stdout;
    assert!(shown.contains("(interrupted)"), "{shown}");
}

#[test]
fn too_few_open_files_are_told_before_anything_begins() {
    let project = project();
    let command = project.command(&["run", "Explore", "tool filter"]);
    for limit in [6, 7, 8, 12, 31] {
        let ran = Command::new("bash")
            .args([
                "-c",
                &format!("ulimit -n {limit}; exec \"$0\" \"$@\""),
                env!("CARGO_BIN_EXE_attache"),
            ])
            .args(command.get_args())
            .env_clear()
            .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(project.root())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{told}");
        assert!(told.contains(&format!("only {limit} files may be open")), "{told}");
        assert!(told.contains("hint: raise the limit: ulimit -n"), "{told}");
    }
}

/// What the first event of a run says.
fn started(ran: &Ran) -> Value {
    let line = ran.stdout.lines().find(|line| line.contains("\"STARTED\"")).unwrap();
    serde_json::from_str::<Value>(line).unwrap()["data"].clone()
}

#[test]
fn a_resumed_run_gets_no_more_than_its_file_allows_today() {
    let project = project();
    with_code(&project);
    project.agent("tmpa", "description: d\ntools: Read, Grep\nmaxTurns: 40");
    let begun = ["run", "tmpa", "tool filter", "--model", "offline", "-q"];
    assert_eq!(project.run(&begun).code, Some(0));
    let resume = ["run", "--resume", "last", "more", "--output-format", "stream-json"];
    project.agent("tmpa", "description: d\ntools: Grep\nmaxTurns: 3");
    let ran = project.run(&resume);
    let data = started(&ran);
    assert_eq!((&data["tools"], &data["max_turns"]), (&json!(["grep_files"]), &json!(3)), "{data}");
    assert!(ran.stderr.contains("has changed"), "{}", ran.stderr);
    // A file that widens gives nothing that the run did not have.
    project.agent("tmpa", "description: d\ntools: Read, Grep, Glob");
    assert_eq!(started(&project.run(&resume))["tools"], json!(["grep_files"]));
    // A file with errors stops it, and so does the switch.
    project.agent("tmpa", "tools: Read");
    let ran = project.run(&resume);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let off = [&["-c", "subagents.enabled=false"][..], &resume].concat();
    let ran = project.run(&off);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("switched off"), "{}", ran.stderr);
}

#[test]
fn an_agent_without_any_provider_is_no_judge() {
    let project = project();
    with_code(&project);
    project.agent("reviewer", "description: d\nmodel: sonnet");
    let ran = project.run(&["run", "reviewer", "review this", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("OPENAI_API_KEY"), "{}", ran.stderr);
    for chosen in [["--model", "offline"], ["--provider", "offline"]] {
        let asked = [&["run", "reviewer", "tool filter", "--json"][..], &chosen].concat();
        let result = object(&project.run(&asked));
        assert_eq!(
            (&result["model"]["id"], &result["model"]["chosen_by"]),
            (&json!("offline"), &json!("call"))
        );
    }
    // A project cannot choose it for the user.
    project.file(".attache/config.toml", "[subagents]\ndefault_model = \"offline\"\n");
    let ran = project.run(&["run", "reviewer", "review this", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn a_prompt_that_multiplies_the_task_is_refused() {
    let project = project();
    project.file(
        ".attache/agents/manyvar.md",
        format!("---\ndescription: d\n---\n{}", "${prompt} ".repeat(90_000)),
    );
    let ran = project.run(&["run", "manyvar", &"b".repeat(100_000), "--model", "offline"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let told: String = ran.stderr.chars().take(300).collect();
    assert!(told.contains("9000"), "{told}");
}

#[test]
fn a_name_that_is_not_the_runs_agent_is_an_error() {
    let project = project();
    with_code(&project);
    project.run(&["run", "Explore", "tool filter", "-q"]);
    let ran = project.run(&["run", "Plan", "--resume", "last", "more"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("`Explore`") && ran.stderr.contains("`Plan`"), "{}", ran.stderr);
    assert_eq!(project.run(&["run", "--resume", "last", "Plan", "more", "-q"]).code, Some(0));
}

#[test]
fn a_resumed_agent_of_the_command_line_keeps_its_trust() {
    let project = project();
    with_code(&project);
    let agents =
        r#"{"helper": {"description": "d", "prompt": "p", "tools": ["Read", "Grep", "Bash"]}}"#;
    let run = ["--agents", agents, "run", "helper", "--model", "offline", "tool filter", "-q"];
    assert_eq!(project.run(&run).code, Some(0));
    let resume = ["run", "--resume", "last", "more", "--output-format", "stream-json"];
    let ran = project.run(&[&["--agents", agents], &resume[..]].concat());
    let started = ran.stdout.lines().find(|line| line.contains("\"STARTED\"")).unwrap();
    assert!(started.contains("\"shell\"") && !started.contains("untrusted"), "{started}");
    assert!(!ran.stderr.contains("has changed"), "{}", ran.stderr);
    // Without its definition, the agent of the transcript is untrusted.
    let ran = project.run(&resume);
    let started = ran.stdout.lines().find(|line| line.contains("\"STARTED\"")).unwrap();
    assert!(started.contains("untrusted"), "{started}");
}

/// A core file would have the keys in it.
#[test]
fn a_run_leaves_no_core_file() {
    let (server, gate, api) = (ScriptedServer::start(), Gate::new(), WireApi::Chat);
    server.answer(api.answer(&completes("Done.")).gated(&gate, 0));
    let project = lab(&server, api, "");
    // What the program inherits allows core files as far as the machine does.
    let maximum = getrlimit(Resource::Core).maximum;
    setrlimit(Resource::Core, Rlimit { current: maximum, maximum }).unwrap();
    let mut command = project.command(&["run", "Explore", "x", "-q"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    gate.wait_until_reached(1);
    let limits = fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    gate.open();
    assert!(child.wait().unwrap().success());
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}
