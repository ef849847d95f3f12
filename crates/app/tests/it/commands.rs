//! Commands of agents in the whole program: run in the sandbox, shown as they come, gone with the program.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::providers::{completes, lab};

const API: WireApi = WireApi::Chat;
/// An agent that the user typed, and so trusts.
const WORKER: &str = r#"{"worker": {"description": "Works.", "prompt": "You work."}}"#;

/// A project whose model runs that command and then is done.
fn running(server: &ScriptedServer, arguments: &Value) -> TestProject {
    server.answer(API.answer(&tool_call("call_1", "shell", arguments)));
    server.answer(API.answer(&completes("done")));
    lab(server, API, "")
}

/// A run of the worker in which everything is approved, as a stream of events.
const STREAMED: [&str; 9] = [
    "run",
    "worker",
    "go",
    "--agents",
    WORKER,
    "--approve",
    "all",
    "--output-format",
    "stream-json",
];

/// What the model was told about its command.
fn told(server: &ScriptedServer) -> String {
    let request = server.requests()[1].json();
    let messages = request["messages"].as_array().unwrap();
    let result = messages.iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_runs_without_keys_and_is_shown_as_it_comes() {
    let server = ScriptedServer::start();
    let command = "echo hello; env | grep -e LAB -e ^ATTACHE; cat; echo $TMPDIR > out.txt";
    let project = running(&server, &json!({ "command": command }));
    let ran = project.run(&STREAMED);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = told(&server);
    assert!(text.starts_with("hello\n[exit code 0, "), "{text}");
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let chunk = events.iter().find(|event| event["event_type"] == "TOOL_OUTPUT_CHUNK");
    assert_eq!(chunk.unwrap()["data"]["text"], "hello\n", "{}", ran.stdout);
    let transcript = fs::read_to_string(events.last().unwrap()["transcript"].as_str().unwrap());
    assert!(!transcript.unwrap().contains("tool_output_chunk"));
    // The run's directory for temporary files went with it.
    let temporary = fs::read_to_string(project.root().join("out.txt")).unwrap();
    assert!(!temporary.trim().is_empty() && fs::metadata(temporary.trim()).is_err());
}

#[test]
fn a_command_that_nobody_approves_does_not_run() {
    let server = ScriptedServer::start();
    let project = running(&server, &json!({"command": "touch was-here"}));
    let ran = project.run(&["run", "worker", "go", "--agents", WORKER]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!project.root().join("was-here").exists());
}

/// Whether a process has this argument.
fn lives(word: &str) -> bool {
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.next() == Some(b"sleep") && words.next() == Some(word.as_bytes())
    })
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn whatever_ends_the_program_ends_its_commands() {
    for signal in ["-KILL", "-TERM", "-INT", "-HUP"] {
        let server = ScriptedServer::start();
        let unique = std::process::id();
        let marks = [1, 2, 3].map(|number| format!("1000.{unique}{number}{}", signal.len()));
        let [one, two, three] = &marks;
        let command = format!(
            "trap '' TERM INT HUP; sleep {one} & setsid sleep {two} >/dev/null 2>&1 & (setsid sh -c 'sleep {three} & exit' &); echo up; wait"
        );
        let project = running(&server, &json!({ "command": command }));
        let mut child = project
            .command(&STREAMED)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_up = |line: String| line.contains("TOOL_OUTPUT_CHUNK") && line.contains("up");
        assert!(lines.by_ref().any(|line| is_up(line.unwrap())), "{signal}");
        wait_until("the commands start", || marks.iter().all(|mark| lives(mark)));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        child.wait().unwrap();
        wait_until("the commands end", || !marks.iter().any(|mark| lives(mark)));
    }
}

#[test]
fn a_file_that_a_rule_denies_reading_is_hidden_from_every_command() {
    let agents = r#"{"worker": {"description": "Works.", "prompt": "You work.", "disallowedTools": ["Read(own/**)"]}}"#;
    let command = "f=.e; cat ${f}nv sub/${f}nv o*n/a; cat open.txt";
    for (rules, is_hidden) in [("", false), ("deny = [\"Read(.env)\"]", true)] {
        let server = ScriptedServer::start();
        server.answer(API.answer(&tool_call("call_1", "shell", &json!({ "command": command }))));
        server.answer(API.answer(&completes("done")));
        let project = lab(&server, API, &format!("[permissions]\n{rules}\n"));
        for (path, text) in
            [(".env", "KEY1"), ("sub/.env", "KEY2"), ("own/a", "KEY3"), ("open.txt", "open")]
        {
            project.file(path, text);
        }
        let ran = project.run(&["run", "worker", "go", "--agents", agents, "--approve", "all"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let text = told(&server);
        assert!(text.contains("open"), "{text}");
        assert!(!text.contains("KEY3"), "the agent's own rule: {text}");
        assert_eq!(!text.contains("KEY1") && !text.contains("KEY2"), is_hidden, "{text}");
    }
}

#[test]
fn a_file_that_a_rule_denies_writing_is_read_only_for_every_command() {
    let agents = r#"{"worker": {"description": "Works.", "prompt": "You work.", "disallowedTools": ["Edit(own/**)"]}}"#;
    let command = "l=lock; for f in ${l}ed/a ${l}ed/new w.tx[t] o[w]n/a open.txt; do echo new > $f; done; mv ${l}ed moved; cat ${l}ed/a; true";
    let rules = "deny = [\"Edit(locked/**)\", \"Write(w.txt)\"]";
    for (rules, is_kept) in [("", false), (rules, true)] {
        let server = ScriptedServer::start();
        server.answer(API.answer(&tool_call("call_1", "shell", &json!({ "command": command }))));
        server.answer(API.answer(&completes("done")));
        let project = lab(&server, API, &format!("[permissions]\n{rules}\n"));
        let files = ["locked/a", "w.txt", "own/a", "open.txt"];
        for path in files {
            project.file(path, "old");
        }
        let ran = project.run(&["run", "worker", "go", "--agents", agents, "--approve", "all"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let is_old = |path: &str| {
            let text = fs::read_to_string(project.root().join(path));
            text.is_ok_and(|text| text == "old")
        };
        let text = told(&server);
        assert!(is_old("own/a"), "the agent's own rule: {text}");
        assert!(!is_old("open.txt"), "{text}");
        assert_eq!(is_old("locked/a"), is_kept, "{text}");
        assert_eq!(is_old("w.txt"), is_kept, "{text}");
        assert!(!project.root().join("locked/new").exists(), "{text}");
        assert_eq!(project.root().join("moved").exists(), !is_kept, "{text}");
    }
}

#[test]
fn a_tool_that_is_not_there_says_what_to_set() {
    for (settings, expected) in [
        ("", "set `tools.web_search_provider`"),
        ("[tools]\nweb_search_provider = \"brave\"\n", "set `BRAVE_API_KEY`"),
        ("[tools]\nweb_search_provider = \"searxng\"\n", "needs `tools.web_search_base_url`"),
    ] {
        let server = ScriptedServer::start();
        server.answer(API.answer(&completes("done")));
        let project = lab(&server, API, settings);
        let agents =
            r#"{"w": {"description": "d", "prompt": "p", "tools": ["Read", "WebSearch"]}}"#;
        let ran = project.run(&["run", "w", "go", "--agents", agents]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}
