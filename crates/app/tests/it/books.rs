//! A main agent with many children, and what can go wrong: afterwards the books balance.
//!
//! Every run that began has ended, every call has one answer, no process is left, and the tokens of the tree
//! are those that the server has counted.

use std::{
    fs,
    io::Read as _,
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Answer, Gate, Request, ScriptedServer, Turn, WireApi, text, tool_call},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::providers::{lab, used};

const API: WireApi = WireApi::Chat;
const AGENTS: &str = r#"{"worker": {"description": "Works.", "prompt": "You work.", "tools": ["Read"],
    "maxTimeSeconds": 60}}"#;

/// A server that plays a main agent and its children by what it is asked.
#[derive(Clone)]
struct Play {
    children: usize,
    turns: usize,
    in_background: bool,
    /// What the children of these numbers get instead of an answer.
    odd: Vec<(usize, Answer)>,
    /// The request whose answer waits, counted from 1, and where it waits.
    held: Option<(usize, Gate)>,
    counted: Arc<AtomicU64>,
    asked: Arc<AtomicUsize>,
}

impl Play {
    fn new(children: usize, turns: usize) -> Self {
        Self {
            children,
            turns,
            in_background: false,
            odd: Vec::new(),
            held: None,
            counted: Arc::default(),
            asked: Arc::default(),
        }
    }

    fn start(&self) -> ScriptedServer {
        let (server, play) = (ScriptedServer::start(), self.clone());
        server.respond(move |request| play.answer(request));
        server
    }

    fn answer(&self, request: &Request) -> Answer {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = self.turn(&request.json());
        match &self.held {
            Some((held, gate)) if *held == number => answer.gated(gate, 0),
            _ => answer,
        }
    }

    fn turn(&self, body: &Value) -> Answer {
        let messages = body["messages"].as_array().unwrap();
        let answered = messages.iter().filter(|message| message["role"] == "tool").count();
        let first = messages.iter().find(|message| message["role"] == "user").unwrap();
        let first = first["content"].as_str().unwrap();
        let Some((_, number)) = first.split_once("CHILD ") else {
            return self.count(if answered == 0 { self.fan_out() } else { text(["All is done."]) });
        };
        let number: usize = number.split_whitespace().next().unwrap().parse().unwrap();
        if let Some((_, odd)) = self.odd.iter().find(|(odd, _)| *odd == number) {
            return odd.clone();
        }
        self.count(if answered < self.turns {
            let path = json!({"path": "src/main.py", "limit": answered + 1});
            tool_call(&format!("read_{answered}"), "read_file", &path)
        } else {
            let result = json!({"result": format!("result of {number}.")});
            tool_call("done", "complete_task", &result)
        })
    }

    fn fan_out(&self) -> Turn {
        (0..self.children).fold(Turn::empty(), |turn, number| {
            let task = json!({
                "subagent_type": "worker", "prompt": format!("CHILD {number} "), "description": "works a bit",
                "run_in_background": self.in_background,
            });
            turn.then_tool_call(&format!("task_{number}"), "Task", &task)
        })
    }

    fn count(&self, turn: Turn) -> Answer {
        self.counted.fetch_add(110, Ordering::SeqCst);
        API.answer(&turn.using(used(100)))
    }

    fn tokens(&self) -> u64 {
        self.counted.load(Ordering::SeqCst)
    }
}

/// The last request of the main agent.
fn mains_last_request(server: &ScriptedServer) -> Value {
    let requests = server.requests();
    let mut mains = requests.iter().map(Request::json).filter(|body| {
        let first = body["messages"][0]["content"].as_str();
        !first.is_some_and(|system| system.contains("You work."))
    });
    mains.next_back().unwrap()
}

/// The answers to calls in it, with the ids of their calls.
fn answers(server: &ScriptedServer) -> Vec<(String, String)> {
    let last = mains_last_request(server);
    let messages = last["messages"].as_array().unwrap();
    let answers = messages.iter().filter(|message| message["role"] == "tool");
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    answers.map(|answer| (word(&answer["tool_call_id"]), word(&answer["content"]))).collect()
}

/// Asserts that no process is left which has the home of that project.
fn assert_no_process(project: &TestProject) {
    let home = project.home().display().to_string();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        let is_ours = String::from_utf8_lossy(&environment).contains(&home);
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        assert!(!is_ours, "{}", String::from_utf8_lossy(&command).replace('\0', " "));
    }
}

fn states(project: &TestProject) -> Vec<String> {
    let tasks = project.json(&["tasks", "--all", "--json"]);
    let tasks = tasks.as_array().unwrap().iter();
    tasks.map(|task| task["status"].as_str().unwrap().to_owned()).collect()
}

fn exec(project: &TestProject, arguments: &[&str]) -> Child {
    let words = [&["exec", "--agents", AGENTS, "--json", "-q"], arguments].concat();
    let mut command = project.command(&words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How a program ended, and the object it printed.
fn finished(mut child: Child) -> (Option<i32>, Value) {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    let code = child.wait().unwrap().code();
    let object =
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {code:?} {out} {err}"));
    (code, object)
}

/// Asserts that everything of a tree that ended well adds up.
fn assert_balanced(play: &Play, server: &ScriptedServer, project: &TestProject, result: &Value) {
    assert_eq!(result["tree"]["agents"], play.children + 1, "{result}");
    assert_eq!(result["tree"]["total_tokens"], play.tokens(), "{result}");
    let states = states(project);
    assert_eq!(states.len(), play.children + 1);
    assert!(states.iter().all(|state| state == "completed"), "{states:?}");
    let answers = answers(server);
    assert_eq!(answers.len(), play.children);
    for (number, (call, answer)) in answers.iter().enumerate() {
        assert_eq!(call, &format!("task_{number}"));
        assert!(answer.contains(&format!("result of {number}.")), "{answer}");
    }
    server.wait_until_idle();
    assert_no_process(project);
}

fn fan_out(children: usize, turns: usize, settings: &str) {
    let play = Play::new(children, turns);
    let server = play.start();
    let project = lab(&server, API, settings);
    let (code, result) = finished(exec(&project, &["go"]));
    assert_eq!((code, &result["result"]), (Some(0), &json!("All is done.")), "{result}");
    assert_balanced(&play, &server, &project, &result);
}

#[test]
fn eight_children_with_ten_turns_each() {
    fan_out(8, 10, "");
}

#[test]
fn two_hundred_children_wait_for_their_turn() {
    fan_out(200, 2, "");
}

#[test]
fn a_thousand_children() {
    fan_out(1000, 1, "subagents.max_concurrent = 128");
}

#[test]
fn children_that_hang_die_or_flood_harm_nobody_else() {
    let gate = Gate::new();
    let flood = json!({"result": "flood ".repeat(200_000)});
    let mut play = Play::new(6, 2);
    play.odd = vec![
        (1, Answer::new().wait_for(&gate)),
        (2, API.error(400, "invalid_request_error", "no such thing")),
        (3, API.answer(&tool_call("done", "complete_task", &flood).using(used(100)))),
        (4, Answer::new().body("<html>").reset()),
    ];
    let server = play.start();
    let project = lab(&server, API, "subagents.default_timeout_seconds = 1");
    let agents = AGENTS
        .replace("\"maxTimeSeconds\": 60", "\"gracePeriodSeconds\": 1, \"maxTimeSeconds\": 2");
    let child = project
        .command(&["exec", "--agents", &agents, "--json", "-q", "go"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (code, result) = finished(child);
    // It answered, and agents failed whose work nobody took up.
    assert_eq!((code, &result["result"]), (Some(1), &json!("All is done.")), "{result}");
    let answers = answers(&server);
    assert_eq!(answers.len(), 6);
    let expected = ["result of 0.", "timeout", "no such thing", "flood", "error", "result of 5."];
    for ((_, answer), expected) in answers.iter().zip(expected) {
        assert!(answer.contains(expected), "{expected}: {answer}");
    }
    // The flood is bounded for the parent, and it is told where the whole is.
    assert!(answers[3].1.len() < 100_000, "{}", answers[3].1.len());
    assert!(answers[3].1.contains("full text: "), "{}", answers[3].1);
    assert_eq!(states(&project).len(), 7);
    server.wait_until_idle();
    assert_no_process(&project);
}

#[test]
fn a_main_agent_that_ignores_its_children_is_told_of_each_once() {
    let mut play = Play::new(5, 2);
    play.in_background = true;
    let server = play.start();
    let project = lab(&server, API, "");
    let (code, result) = finished(exec(&project, &["go"]));
    assert_eq!((code, &result["result"]), (Some(0), &json!("All is done.")), "{result}");
    assert_eq!(result["tree"]["agents"], 6, "{result}");
    assert_eq!(result["tree"]["total_tokens"], play.tokens(), "{result}");
    let last = mains_last_request(&server).to_string();
    for number in 0..5 {
        assert_eq!(last.matches(&format!("result of {number}.")).count(), 1, "{number}: {last}");
    }
    assert!(states(&project).iter().all(|state| state == "completed"));
    assert_no_process(&project);
}

/// 1 main with 3 children of 2 turns: 1 + 9 + 1 requests.
const REQUESTS: usize = 11;

#[test]
fn interrupted_in_any_phase_everything_ends() {
    for held in 1..=REQUESTS {
        let (mut play, gate) = (Play::new(3, 2), Gate::new());
        play.held = Some((held, gate.clone()));
        let server = play.start();
        let project = lab(&server, API, "");
        let child = exec(&project, &["go"]);
        gate.wait_until_reached(1);
        let process = Pid::from_child(&child);
        kill_process(process, Signal::INT).unwrap();
        let (code, result) = finished(child);
        assert_eq!((code, &result["status"]), (Some(130), &json!("aborted")), "{held}: {result}");
        let states = states(&project);
        let goes_on = |state: &String| state == "running" || state == "queued";
        assert!(!states.iter().any(goes_on), "{held}: {states:?}");
        server.wait_until_idle();
        assert_no_process(&project);
    }
}

#[test]
fn killed_in_any_phase_it_goes_on_where_it_was() {
    for held in 1..=REQUESTS {
        let (mut play, gate) = (Play::new(3, 2), Gate::new());
        play.held = Some((held, gate.clone()));
        let server = play.start();
        let project = lab(&server, API, "");
        let mut child = exec(&project, &["go"]);
        gate.wait_until_reached(1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(states(&project).contains(&"interrupted".to_owned()), "{held}");
        let (code, result) = finished(exec(&project, &["--resume", "last"]));
        assert_eq!(
            (code, &result["result"]),
            (Some(0), &json!("All is done.")),
            "{held}: {result}"
        );
        // Every call has one answer, whatever became of it, and each agent is told of once.
        let answers = answers(&server);
        let calls: Vec<&str> = answers.iter().map(|(call, _)| call.as_str()).collect();
        assert_eq!(calls, ["task_0", "task_1", "task_2"], "{held}");
        let last = mains_last_request(&server).to_string();
        for agent in project.json(&["tasks", "--all", "--json"]).as_array().unwrap() {
            let is_child = agent["agent_type"] == "worker";
            let named = last.matches(agent["agent_id"].as_str().unwrap()).count();
            assert!(!is_child || named == 1, "{held}: {agent} in {last}");
        }
        assert!(!states(&project).contains(&"running".to_owned()), "{held}");
        // The journals have what the server sent, but for answers that were under way when the process was
        // killed: the one that was held, and at most one of each other child.
        let spent = project.json(&["usage", "--json"])["total"]["total_tokens"].as_u64().unwrap();
        let lost = play.tokens() - spent;
        assert!((110..=330).contains(&lost) && lost.is_multiple_of(110), "{held}: {lost}");
        assert_no_process(&project);
    }
}
