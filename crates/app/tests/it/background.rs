//! Runs across processes: started in one, watched, told and stopped from others, killed and resumed.

mod messages;

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Answer, Gate, ScriptedServer, Turn, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::{
    project,
    providers::{completes, lab, looks, used},
    terminal::Terminal,
};

/// An agent that may use every tool.
const AGENTS: &str = r#"{"smith": {"description": "d", "prompt": "You forge."}}"#;
const API: WireApi = WireApi::Anthropic;

/// A run in the background.
pub(crate) struct Background {
    pub(crate) id: String,
    pub(crate) pid: String,
}

impl Background {
    pub(crate) fn start(project: &TestProject, arguments: &[&str]) -> Self {
        let mut words = vec!["run", "--background", "--json"];
        words.extend(arguments);
        let started = project.json(&words);
        assert_eq!(started["status"], "running", "{started}");
        let id = started["agent_id"].as_str().unwrap().to_owned();
        Self { id, pid: started["pid"].to_string() }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.pid]).status().unwrap();
        assert!(sent.success(), "{signal} {}", self.pid);
    }

    fn state(&self, project: &TestProject) -> String {
        let all = project.json(&["tasks", "--all", "--json"]);
        let mut tasks = all.as_array().unwrap().iter();
        let task = tasks.find(|task| task["agent_id"] == self.id.as_str());
        task.unwrap()["status"].as_str().unwrap().to_owned()
    }
}

/// A server whose first answer waits at the gate before its first byte.
pub(crate) fn waiting_server(gate: &Gate, turns: &[Turn]) -> ScriptedServer {
    let server = ScriptedServer::start();
    for (number, turn) in turns.iter().enumerate() {
        let answer = API.answer(turn);
        server.answer(if number == 0 { answer.gated(gate, 0) } else { answer });
    }
    server
}

fn looks_at(call: &str, path: &str) -> Turn {
    tool_call(call, "list_dir", &json!({ "path": path })).using(used(100))
}

fn output(project: &TestProject, id: &str) -> Ran {
    project.run(&["output", id, "--wait", "--timeout", "1m"])
}

#[test]
fn wrong_usage_is_told_at_once_and_nothing_runs() {
    let server = ScriptedServer::start();
    let project = lab(&server, API, "");
    for (words, told) in [
        (vec!["run", "Explorr", "x", "--background"], "Explorr"),
        (vec!["run", "Explore", "--background"], "there is no task"),
        (vec!["run", "Explore", "x", "--background", "--approve", "ask"], "nobody can be asked"),
        (
            vec!["run", "Explore", "x", "--background", "--output-format", "stream-json"],
            "no events",
        ),
        (vec!["run", "Explore", "x", "--background", "--nonsense"], "--nonsense"),
        (vec!["run", "--background", "--resume", "agent-none", "x"], "agent-none"),
        (vec!["output", "agent-none"], "agent-none"),
        (vec!["stop", "agent-none"], "agent-none"),
        (vec!["send", "agent-none", "x"], "agent-none"),
    ] {
        let ran = project.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{words:?}: {ran:?}");
        assert!(ran.stderr.contains(told), "{words:?}: {ran:?}");
    }
    assert_eq!(project.json(&["tasks", "--all", "--json"]), json!([]));
    assert_eq!(project.run(&["tasks"]).stdout, "no runs\n");
    server.assert_done();
}

#[test]
fn it_goes_on_by_itself_and_everybody_gets_its_result() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[looks(100), completes("It is in src/main.py.")]);
    let project = lab(&server, API, "[model_prices.lab-1]\ninput = 1.0\noutput = 10.0\n");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    assert_eq!(run.state(&project), "running");
    let early = project.run(&["output", &run.id]);
    assert_eq!((early.code, early.stdout.as_str()), (Some(1), ""), "{early:?}");
    assert!(early.stderr.contains("still runs"), "{early:?}");
    let timed = project.run(&["output", &run.id, "--wait", "--timeout", "1"]);
    assert_eq!(timed.code, Some(1));
    assert!(timed.stderr.contains("still runs after 1 s"), "{timed:?}");
    let waiters: Vec<Child> = (0..5)
        .map(|_| {
            let mut waiter = project.command(&["output", "last", "--wait", "--json"]);
            waiter.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let follower = project.command(&["transcript", &run.id, "--follow"]);
    let follower = { follower }.stdout(Stdio::piped()).spawn().unwrap();
    gate.open();
    let mut results = Vec::new();
    for waiter in waiters {
        let ended = waiter.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0));
        results.push(serde_json::from_slice::<Value>(&ended.stdout).unwrap());
    }
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    assert_eq!(results[0]["result"], "It is in src/main.py.");
    assert_eq!((&results[0]["turns_used"], &results[0]["total_tokens"]), (&json!(2), &json!(220)));
    let followed = String::from_utf8(follower.wait_with_output().unwrap().stdout).unwrap();
    assert!(followed.contains("It is in src/main.py."), "{followed}");
    assert_eq!(output(&project, &run.id).stdout, "It is in src/main.py.\n");
    assert_eq!(run.state(&project), "completed");
    let tasks = project.json(&["tasks", "--json"]);
    let task = &tasks[0];
    assert_eq!((&task["turns"], &task["total_tokens"]), (&json!(2), &json!(220)), "{task}");
    assert_eq!(task["description"], "where?");
    assert!(task["ended_at"].is_string() && task["unread_messages"] == 0, "{task}");
    server.assert_done();
}

/// The result is rebuilt from the journal exactly as `run --json` printed it.
#[test]
fn the_result_of_any_run_can_be_had_again() {
    let server = ScriptedServer::start();
    let writes = json!({ "file_path": "new.txt", "content": "one\n" });
    server.answer(API.answer(&tool_call("call_1", "write_file", &writes).using(used(100))));
    server.answer(API.answer(&completes("Written.")));
    server.answer(Answer::new().status(400).body("no"));
    let project = lab(&server, API, "[model_prices.lab-1]\ninput = 1.0\noutput = 10.0\n");
    let words = ["run", "smith", "write", "--agents", AGENTS, "--json", "-q", "--approve", "all"];
    let printed = project.json(&words);
    assert_eq!(printed["changes"]["files"], json!(["new.txt"]), "{printed}");
    assert_eq!(project.json(&["output", "last", "--json"]), printed);
    let failed = project.run(&["run", "Explore", "x", "--json", "-q"]);
    let again = project.run(&["output", "last", "--json"]);
    assert_eq!((failed.code, again.code), (Some(1), Some(1)));
    assert_eq!(again.stdout, failed.stdout);
    server.assert_done();
}

#[test]
fn a_terminal_that_is_closed_does_not_end_it() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("Still here.")]);
    let project = lab(&server, API, "");
    let words = ["run", "Explore", "x", "--background"];
    let terminal = Terminal::controlling(&project, &words, crate::terminal::Streams::Terminal);
    server.wait_for_request(1);
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    // The terminal is gone; the same signal again, sent by hand.
    let run = Background { id: "last".to_owned(), pid: pid_of_last(&project) };
    run.signal("-HUP");
    gate.open();
    assert_eq!(output(&project, "last").stdout, "Still here.\n");
    server.assert_done();
}

/// The process that writes the newest transcript, as the system knows it.
fn pid_of_last(project: &TestProject) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let tasks = project.json(&["tasks", "--json"]);
    let path = tasks[0]["transcript"].as_str().unwrap();
    let inode = format!(":{} ", fs::metadata(path).unwrap().ino());
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let lock = locks.lines().find(|line| line.contains(&inode)).unwrap();
    lock.split_whitespace().nth(4).unwrap().to_owned()
}

#[test]
fn a_killed_run_is_interrupted_and_can_be_resumed() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100).then_text(["Looking around."])));
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(2);
    let waiter = project.command(&["output", &run.id, "--wait"]);
    let waiter = { waiter }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    run.signal("-KILL");
    let told = waiter.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(1));
    let (stdout, stderr) =
        (String::from_utf8(told.stdout).unwrap(), String::from_utf8(told.stderr).unwrap());
    assert_eq!(stdout, "Looking around.\n");
    assert!(stderr.contains("its process is gone"), "{stderr}");
    assert!(stderr.contains(&format!("attache run --resume {}", run.id)), "{stderr}");
    assert_eq!(run.state(&project), "interrupted");
    let table = project.run(&["tasks"]).stdout;
    assert!(table.contains("attache run --resume agent-"), "{table}");
    let stopped = project.run(&["stop", &run.id]);
    assert_eq!(stopped.code, Some(0));
    assert!(stopped.stderr.contains("its process is gone"), "{stopped:?}");
    server.answer(API.answer(&completes("Found after all.")));
    let resumed = project.json(&["run", "--resume", &run.id, "--json", "-q"]);
    assert_eq!(resumed["result"], "Found after all.");
    assert_eq!(resumed["resumed_from"], run.id.as_str());
    let next = resumed["agent_id"].as_str().unwrap();
    let tasks = project.json(&["tasks", "--json"]);
    assert_eq!(tasks[1]["agent_id"], run.id.as_str(), "{tasks}");
    assert_eq!(tasks[1]["continued_by"], next, "{tasks}");
    // What was resumed without a task has that of the run it goes on with.
    assert_eq!(tasks[0]["description"], "where?", "{tasks}");
    let table = project.run(&["tasks"]).stdout;
    assert!(!table.contains("--resume") && table.contains("continued by agent-"), "{table}");
    server.assert_done();
}

#[test]
fn the_turn_whose_calls_are_under_way_is_counted() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100)));
    // Nobody ever writes to it.
    let waits = json!({"command": "mkfifo hold && cat hold"});
    server.answer(API.answer(&tool_call("call_w", "shell", &waits).using(used(200))));
    let project = lab(&server, API, "");
    let run =
        Background::start(&project, &["smith", "forge", "--agents", AGENTS, "--approve", "all"]);
    server.wait_for_request(2);
    let transcript = |part: &str| {
        let tasks = project.json(&["tasks", "--json"]);
        let path = tasks[0]["transcript"].as_str().unwrap().to_owned();
        fs::read_to_string(path).unwrap().matches(part).count()
    };
    while transcript("\"type\":\"tool_started\"") < 2 {
        std::thread::yield_now();
    }
    let row = || {
        let task = project.json(&["tasks", "--json"])[0].clone();
        (task["turns"].clone(), task["total_tokens"].clone())
    };
    let total = used(100).total_tokens() + used(200).total_tokens();
    assert_eq!(row(), (json!(2), json!(total)));
    run.signal("-KILL");
    project.run(&["output", &run.id, "--wait"]);
    assert_eq!(row(), (json!(2), json!(total)));
}

#[test]
fn the_changes_of_a_killed_run_come_with_their_patch() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    let edit = json!({ "path": "src/main.py", "old_string": "1", "new_string": "zork" });
    server.answer(API.answer(&tool_call("call_1", "edit_file", &edit)));
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let approve = ["smith", "write", "--agents", AGENTS, "--approve", "all"];
    let run = Background::start(&project, &approve);
    server.wait_for_request(2);
    run.signal("-KILL");
    let changes = project.run(&["output", &run.id, "--wait", "--json"]).stdout;
    let changes: Value = serde_json::from_str(&changes).unwrap();
    assert_eq!(changes["changes"]["files"], json!(["src/main.py"]));
    let patch = fs::read_to_string(changes["changes"]["patch"].as_str().unwrap()).unwrap();
    assert!(patch.contains("+++ b/src/main.py") && patch.contains("+print(zork)"), "{patch}");
}

#[test]
fn a_wrong_id_does_not_keep_the_other_runs_from_being_stopped() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(1);
    let stopped = project.run(&["stop", "agent-zork", &run.id]);
    assert_eq!(stopped.code, Some(2), "{stopped:?}");
    assert!(stopped.stderr.contains("agent-zork"), "{stopped:?}");
    assert_eq!(run.state(&project), "interrupted");
}

#[test]
fn a_stop_reaches_a_run_in_a_model_call_from_another_process() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100).then_text(["Half of it."])));
    server.answer(API.answer(&completes("never")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(2);
    let stops: Vec<Child> = (0..2)
        .map(|_| {
            let mut stop = project.command(&["stop", &run.id, "--json"]);
            stop.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for stop in stops {
        let ended = stop.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0));
        let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let outcome = told[0]["outcome"].as_str().unwrap().to_owned();
        assert!(["stopped", "had_ended"].contains(&outcome.as_str()), "{told}");
        assert_eq!(told[0]["status"], "interrupted");
    }
    server.wait_for_hangup(1);
    let result: Value =
        serde_json::from_str(&project.run(&["output", &run.id, "--json"]).stdout).unwrap();
    assert_eq!((&result["status"], &result["partial"]), (&json!("aborted"), &json!(true)));
    assert_eq!(result["result"], "Half of it.");
    let again = project.run(&["stop", &run.id]);
    assert_eq!(again.code, Some(0));
    assert!(again.stderr.contains("had ended already (interrupted)"), "{again:?}");
    server.answer(API.answer(&completes("Whole.")));
    assert_eq!(project.run(&["run", "--resume", &run.id, "-q"]).stdout, "Whole.\n");
    server.assert_done();
}

#[test]
fn a_run_in_the_foreground_is_stopped_in_the_same_way() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("never")]);
    let project = lab(&server, API, "");
    let run = project.command(&["run", "Explore", "x", "--json", "-q"]);
    let run = { run }.stdout(Stdio::piped()).spawn().unwrap();
    server.wait_for_request(1);
    assert_eq!(project.run(&["stop", "last"]).code, Some(0));
    let ended = run.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(result["status"], "aborted");
}

#[test]
fn in_the_background_nobody_is_asked_and_only_unattended_tools_are_there() {
    let server = ScriptedServer::start();
    let runs = json!({ "command": "touch made.txt" });
    server.answer(API.answer(&tool_call("call_1", "shell", &runs).using(used(10))));
    server.answer(API.answer(&completes("Refused.")));
    let project = lab(&server, API, "approval_policy = \"untrusted\"\n");
    let run = Background::start(&project, &["smith", "x", "--agents", AGENTS]);
    assert_eq!(output(&project, &run.id).stdout, "Refused.\n");
    let requests = server.requests();
    let second = String::from_utf8(requests[1].body.clone()).unwrap();
    assert!(!project.root().join("made.txt").exists(), "{second}");
    let tools = requests[0].json()["tools"].to_string();
    assert!(tools.contains("edit_file") && !tools.contains("write_file"), "{tools}");
    assert!(second.contains("nobody is there to ask"), "{second}");
}

#[test]
fn a_branch_shares_the_past_up_to_its_turn_and_leaves_the_run_alone() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks_at("call_1", ".").then_text(["First look."])));
    server.answer(API.answer(&looks_at("call_2", "src").then_text(["Second look."])));
    server.answer(API.answer(&completes("The one way.")).gated(&gate, 0));
    let project = lab(&server, API, "");
    let run = Background::start(&project, &["Explore", "where?"]);
    server.wait_for_request(3);
    let wrong = project.run(&["run", "--resume", &run.id, "--at", "7", "x"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("2 turns are over: --at 1 to --at 2"), "{wrong:?}");
    let alone = project.run(&["run", "Explore", "--at", "1", "x"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    let tasks = project.json(&["tasks", "--json"]);
    let journal = tasks[0]["transcript"].as_str().unwrap();
    let before = fs::read(journal).unwrap();
    // While it runs, twice.
    for model in ["lab-2", "lab-3"] {
        server.answer(API.answer(&completes("The other way.")));
        let words =
            ["run", "--resume", &run.id, "--at", "1", "--model", model, "--json", "-q", "go left"];
        let branch = project.json(&words);
        assert_eq!(branch["result"], "The other way.", "{branch}");
        assert_eq!(
            (&branch["model"]["id"], &branch["resumed_from"]),
            (&json!(model), &json!(run.id))
        );
        let asked = server.requests().pop().unwrap();
        let said = asked.json()["messages"].to_string();
        assert!(said.contains("First look.") && said.contains("go left"), "{said}");
        assert!(!said.contains("Second look."), "{said}");
    }
    assert_eq!(fs::read(journal).unwrap(), before);
    gate.open();
    assert_eq!(output(&project, &run.id).stdout, "The one way.\n");
    let page = project.run(&["transcript", "last"]).stdout;
    assert!(page.contains(&format!("resumes   {}, branched off after turn 1", run.id)), "{page}");
    server.assert_done();
}

#[test]
fn the_list_fits_narrow_terminals_and_follows_what_happens() {
    let gate = Gate::new();
    let server = waiting_server(&gate, &[completes("Done.")]);
    let project = lab(&server, API, "");
    let task = "a rather long task that has to be cut somewhere because lines are not endless";
    let run = Background::start(&project, &["Explore", task]);
    server.wait_for_request(1);
    for columns in [40, 80] {
        let (code, shown, _) = Terminal::of_columns(columns, &project, &["tasks"]).end();
        assert_eq!(code, Some(0));
        assert!(shown.contains("running") && shown.contains("agent-"), "{shown}");
        for line in shown.lines() {
            let plain = without_codes(line);
            assert!(plain.chars().count() <= usize::from(columns), "{columns}: {plain:?}");
        }
    }
    let watch = project.command(&["tasks", "--watch", "--json"]);
    let mut watch = { watch }.stdout(Stdio::piped()).spawn().unwrap();
    let stdout = std::io::BufReader::new(watch.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(stdout)
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let first = lines.next().unwrap();
    assert_eq!((&first["agent_id"], &first["status"]), (&json!(run.id), &json!("running")));
    gate.open();
    assert!(lines.any(|task| task["status"] == "completed"));
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(project.root().exists());
}

/// A line without the codes of a terminal.
fn without_codes(line: &str) -> String {
    let mut plain = String::new();
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else if letter != '\r' {
            plain.push(letter);
        }
    }
    plain
}

#[test]
fn without_runs_there_is_nothing_to_show() {
    let project = project();
    let ran = project.run(&["output", "last"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there are no transcripts yet"), "{ran:?}");
}

#[test]
fn of_two_resumes_at_once_one_is_refused_and_a_limit_can_be_gone_beyond() {
    let gate = Gate::new();
    let server = ScriptedServer::start();
    server.answer(API.answer(&looks(100).then_text(["Looking."])));
    server.answer(API.answer(&Turn::empty().then_text(["Half."]).using(used(100))));
    let project = lab(&server, API, "");
    // It ends at a limit.
    let limited = ["run", "Explore", "where?", "--max-turns", "1", "--json", "-q"];
    let ended: Value = serde_json::from_str(&project.run(&limited).stdout).unwrap();
    assert_eq!(ended["status"], "max_turns", "{ended}");
    let id = ended["agent_id"].as_str().unwrap();
    server.answer(API.answer(&completes("Found.")).gated(&gate, 0));
    let resume = ["run", "--resume", id, "go on", "--max-turns", "5", "--json", "-q"];
    let first = { project.command(&resume) }.stdout(Stdio::piped()).spawn().unwrap();
    gate.wait_until_reached(1);
    let second = project.run(&resume);
    assert_eq!((second.code, second.stdout.as_str()), (Some(2), ""), "{second:?}");
    assert!(
        second.stderr.contains(&format!("the run {id} is being resumed by agent-")),
        "{second:?}"
    );
    gate.open();
    let first = first.wait_with_output().unwrap();
    let first: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert_eq!((&first["result"], &first["resumed_from"]), (&json!("Found."), &json!(id)));
    // After its end it can be resumed again, and the past is whole.
    server.answer(API.answer(&completes("Once more.")));
    assert_eq!(project.json(&resume)["result"], "Once more.");
    let said = server.requests().pop().unwrap().json()["messages"].to_string();
    assert!(said.contains("where?") && said.contains("Looking."), "{said}");
    server.assert_done();
}
