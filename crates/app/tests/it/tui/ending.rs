//! What is left when the program ends otherwise than by its keys: by a signal, or because its terminal is gone.

use attache_testkit::scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call};
use rustix::process::Signal;

use serde_json::{Value, json};

use super::{
    AGENTS, API, PROMPT,
    blocks::{path, project},
    chatting, leave,
    pty::Pty,
    task,
};
use crate::providers::{completes, lab, looks};

#[test]
fn a_signal_while_the_board_is_open_leaves_the_conversation_and_no_mode() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let server = ScriptedServer::start();
        server.answer(API.answer(&text(["Here it is."])));
        let project = chatting(&server);
        let mut pty = Pty::start(&project, &["chat"]);
        pty.wait_for(PROMPT);
        pty.types("go\r");
        pty.wait_for("Here it is.");
        pty.wait_for(PROMPT);
        pty.types("\x14");
        pty.wait_for(" Tasks");
        pty.signal(signal);
        let (code, is_restored) = pty.end();
        assert_eq!((code, is_restored), (Some(130), true), "{signal:?}: {}", pty.screen());
        pty.wait_for("resume with: attache chat --resume agent-");
        let screen = pty.screen();
        assert!(screen.contains("Here it is.") && !screen.contains(" Tasks"), "{screen}");
        assert!(!screen.contains(PROMPT), "{screen}");
        let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
        for (on, off) in [
            ("\u{1b}[?1049h", "\u{1b}[?1049l"),
            ("\u{1b}[?1000h", "\u{1b}[?1000l"),
            ("\u{1b}[?1006h", "\u{1b}[?1006l"),
            ("\u{1b}[?2004h", "\u{1b}[?2004l"),
            ("\u{1b}[?25l", "\u{1b}[?25h"),
            ("\u{1b}[?2026h", "\u{1b}[?2026l"),
        ] {
            assert!(bytes.rfind(off) > bytes.rfind(on), "{off:?} is missing: {bytes:?}");
        }
    }
}

#[test]
fn agents_that_a_kill_cut_off_keep_their_blocks() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let (first, gate) = (Gate::new(), Gate::new());
    let both = tool_call("c1", "Task", &task("one")).then_tool_call("c2", "Task", &task("two"));
    server.answer_on(&api.path("lab-1"), api.answer(&both));
    for _ in 0..2 {
        server.answer_on(&api.path("lab-2"), api.answer(&looks(100)).gated(&first, 0));
    }
    server.always_on(&api.path("lab-2"), api.answer(&text(["never"])).gated(&gate, 0));
    let project = lab(&server, api, "").with_env("TERM", "xterm-256color");
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("look\r");
    // Both have asked before either is answered.
    first.wait_until_reached(2);
    first.open();
    gate.wait_until_reached(2);
    pty.wait_until("both at work", |screen| screen.matches("Turn 2/50").count() == 2);
    pty.signal(Signal::KILL);
    pty.end();
    let pty = Pty::start(&project, &["chat", "--resume"]);
    pty.wait_for("was cut off");
    let screen = pty.screen();
    assert!(
        screen.find("✗ [worker] look at one") < screen.find("✗ [worker] look at two"),
        "{screen}"
    );
    assert_eq!(screen.matches("│ ✓ list_dir").count(), 2, "{screen}");
    assert_eq!(screen.matches("│ cut off").count(), 2, "{screen}");
    leave(pty);
    gate.open();
}

#[test]
fn a_branch_does_not_wait_for_background_agents_that_a_kill_cut_off() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let gate = Gate::new();
    let mut begin = task("one");
    begin["run_in_background"] = json!(true);
    server.answer_on(&path("lab-1"), api.answer(&tool_call("c1", "Task", &begin)));
    server.answer_on(&path("lab-1"), api.answer(&text(["It works."])));
    server.always_on(&path("lab-2"), api.answer(&text(["never"])).gated(&gate, 0));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("begin\r");
    pty.wait_for("1 agent works in the background");
    gate.wait_until_reached(1);
    pty.signal(Signal::KILL);
    pty.end();
    let tasks = project.json(&["tasks", "--all", "--json"]);
    let mut runs = tasks.as_array().unwrap().iter();
    let main = runs.find(|run| run["agent_type"] == "attache").unwrap();
    let id = main["agent_id"].as_str().unwrap();
    server.answer_on(&path("lab-1"), api.answer(&text(["It is gone."])));
    let ran = project.run(&["exec", "--resume", id, "--at", "2", "and now?"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "It is gone.\n"), "{ran:?}");
    let asked = server.requests().last().unwrap().json().to_string();
    assert!(asked.contains("interrupted") && asked.contains("and now?"), "{asked}");
    gate.open();
}

#[test]
fn a_closed_terminal_ends_the_program_and_loses_nothing() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&text(["First answer."])));
    server.answer(API.answer(&text(["Half ", "way"])).gated(&gate, 2));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("first\r");
    pty.wait_for("First answer.");
    pty.wait_for(PROMPT);
    pty.types("second\r");
    gate.wait_until_reached(1);
    pty.wait_for("Half");
    assert_eq!(pty.close(), Some(130));
    let tasks = project.run(&["tasks", "--all", "--json"]);
    assert!(!tasks.stdout.contains("\"running\""), "{tasks:?}");
    server.answer(API.answer(&text(["Third answer."])));
    let mut pty = Pty::start(&project, &["chat", "--resume"]);
    pty.wait_for(PROMPT);
    for part in ["› first", "First answer.", "› second"] {
        assert!(pty.screen().contains(part), "{part:?} is not in\n{}", pty.screen());
    }
    pty.types("third\r");
    pty.wait_for("Third answer.");
    pty.wait_for(PROMPT);
    leave(pty);
}

const TWO: &str = r#"{
    "worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2", "tools": ["LS"]},
    "runner": {"description": "Runs.", "prompt": "You run.", "model": "lab-3", "tools": ["Bash"]}}"#;

#[test]
fn agents_in_the_background_go_on_when_the_terminal_is_closed() {
    let server = ScriptedServer::start();
    let (first, gate) = (Gate::new(), Gate::new());
    let api = WireApi::Gemini;
    let begin = |agent: &str| {
        json!({"subagent_type": agent, "prompt": "go", "description": "go on and on",
            "run_in_background": true})
    };
    let both = tool_call("c1", "Task", &begin("worker"));
    let both = both.then_tool_call("c2", "Task", &begin("runner"));
    server.answer_on(&path("lab-1"), api.answer(&both));
    server.answer_on(&path("lab-1"), api.answer(&text(["They work."])));
    server.answer_on(&path("lab-2"), api.answer(&text(["never"])).gated(&gate, 0));
    server.answer_on(&path("lab-2"), api.answer(&completes("found it later")));
    let touch = tool_call("c3", "shell", &json!({"command": "touch ran"}));
    server.answer_on(&path("lab-3"), api.answer(&touch).gated(&first, 0));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["--agents", TWO, "chat"]);
    pty.wait_for(PROMPT);
    pty.types("begin\r");
    pty.wait_for("2 agents work in the background");
    gate.wait_until_reached(1);
    first.open();
    pty.wait_for("asks to call shell");
    assert_eq!(pty.close(), Some(130));
    let runs = project.json(&["tasks", "--all", "--json"]);
    let of = |agent: &str| -> Vec<Value> {
        let all = runs.as_array().unwrap().iter();
        all.filter(|run| run["agent_type"] == agent).cloned().collect()
    };
    // The one that works goes on in a process of its own; the other still waits for its answer.
    let (workers, runners) = (of("worker"), of("runner"));
    assert_eq!((workers.len(), runners.len()), (2, 1), "{runs}");
    assert_eq!(runners[0]["status"], "interrupted", "{runs}");
    let id = workers.iter().find(|run| run["status"] != "interrupted").unwrap();
    let ran = project.run(&["output", id["agent_id"].as_str().unwrap(), "--wait"]);
    assert!(ran.stdout.contains("found it later"), "{ran:?}");
    assert!(!project.root().join("ran").exists());
    gate.open();
}
