//! The terminal UI in a real terminal: what is typed, what is seen, and what is left behind.

mod approvals;
mod blocks;
mod board;
mod commands;
mod ending;
mod forms;
mod manners;
pub(crate) mod pty;
mod tmux;

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call},
};
use rustix::process::Signal;
use serde_json::{Value, json};

use self::pty::Pty;
use crate::providers::{completes, lab, looks, used};

const API: WireApi = WireApi::Chat;
const AGENTS: &str = r#"{"worker": {"description": "Works.", "prompt": "You work.",
    "model": "lab-2", "tools": ["Read", "LS"]}}"#;
const PROMPT: &str = "Ask something, or /help";

fn chatting(server: &ScriptedServer) -> TestProject {
    lab(server, API, "").with_env("TERM", "xterm-256color")
}

fn task(prompt: &str) -> Value {
    json!({"subagent_type": "worker", "prompt": prompt, "description": format!("look at {prompt}")})
}

/// Leaves, and checks that the terminal is as it was.
fn leave(mut pty: Pty) {
    pty.types_until_the_end("\x04");
    let (code, is_restored) = pty.end();
    assert_eq!((code, is_restored), (Some(0), true), "{}", pty.screen());
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let server = ScriptedServer::start();
    let ran = chatting(&server).run(&["chat"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("needs a terminal") && ran.stderr.contains("--plain"), "{ran:?}");
}

#[test]
fn the_bare_program_talks_and_keeps_the_conversation_in_the_scrollback() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let answer = text(["# Result\n\nIt is **here**:\n\n", "```rust\nfn main() {}\n```\n", "Done."]);
    server.answer(API.answer(&looks(100)));
    server.answer(API.answer(&answer.using(used(2000))).gated(&gate, 2));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &[]);
    pty.wait_for(PROMPT);
    pty.types("where is it?\r");
    gate.wait_until_reached(1);
    pty.wait_for("✓ list_dir \".\"");
    pty.wait_for("Working");
    gate.open();
    pty.wait_for("Done.");
    pty.wait_for(PROMPT);
    let screen = pty.screen();
    for part in [
        "› where is it?",
        "  Result",
        "  It is here:",
        "│ fn main() {}",
        "2 turns · 2,",
        "lab-1 · ",
    ] {
        assert!(screen.contains(part), "{part:?} is not in\n{screen}");
    }
    assert!(!screen.contains("Working"), "{screen}");

    // A second message goes on with the first, and what has no room goes up.
    let long: Vec<String> = (0..40).map(|line| format!("line {line}\n")).collect();
    server.answer(API.answer(&text(long)));
    pty.types("again\x0aand again\r");
    pty.wait_for("line 39");
    pty.wait_for(PROMPT);
    let everything = pty.everything();
    for part in ["› where is it?", "› again", "  and again", "line 0\n", "line 39"] {
        assert!(everything.contains(part), "{part:?} is not in\n{everything}");
    }
    let messages = server.requests()[2].json()["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "again\nand again");
    leave(pty);
    server.assert_done();
}

#[test]
fn nothing_is_drawn_while_nothing_happens() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["Hello."])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("hi\r");
    pty.wait_for("Hello.");
    pty.wait_for(PROMPT);
    let drawn = pty.bytes().len();
    // A key that changes nothing is looked at after everything before it.
    pty.types("\x1b[15~");
    pty.types("x");
    pty.wait_for("› x");
    let more = pty.bytes().len() - drawn;
    assert!(more < 200, "{more} bytes for one letter");
    pty.types("\x15");
    pty.wait_for(PROMPT);
    leave(pty);
}

#[test]
fn agents_have_a_block_each_and_go_to_the_background() {
    let server = ScriptedServer::start();
    let (first, agent) = (Gate::new(), Gate::new());
    let both =
        tool_call("call_1", "Task", &task("one")).then_tool_call("call_2", "Task", &task("two"));
    let path = |model: &str| WireApi::Gemini.path(model);
    let api = WireApi::Gemini;
    server.answer_on(&path("lab-1"), api.answer(&both));
    server.answer_on(&path("lab-1"), api.answer(&text(["They are on their way."])));
    // Each end may be announced in a turn of its own.
    server.always_on(&path("lab-1"), api.answer(&text(["Both are done."])));
    for (turn, gate) in [(looks(100), &first), (completes("found it"), &agent)] {
        server.answer_on(&path("lab-2"), api.answer(&turn).gated(gate, 0));
        server.answer_on(&path("lab-2"), api.answer(&turn).gated(gate, 0));
    }
    let project = lab(&server, api, "").with_env("TERM", "xterm-256color");
    let mut pty = Pty::of_size((30, 80), &project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("look everywhere\r");
    // Both have asked before either is answered.
    first.wait_until_reached(2);
    first.open();
    agent.wait_until_reached(2);
    pty.wait_until("two blocks", |screen| {
        screen.matches("● [worker] look at ").count() == 2
            && screen.matches("Turn 2/50 (").count() == 2
            && screen.matches("✓ list_dir \".\"").count() == 2
            && screen.contains("2 agents running")
    });
    pty.types("\x02");
    pty.wait_for("They are on their way.");
    pty.wait_for("2 agents work in the background");
    pty.wait_until("in the background", |screen| screen.matches("in the background").count() >= 3);
    agent.open();
    pty.wait_for("Both are done.");
    pty.wait_for(PROMPT);
    let everything = pty.everything();
    assert_eq!(everything.matches("✓ [worker] look at ").count(), 2, "{everything}");
    leave(pty);
}

#[test]
fn a_message_while_it_works_is_read_with_the_next_turn_and_escape_stops() {
    let server = ScriptedServer::start();
    let (first, second) = (Gate::new(), Gate::new());
    server.answer(API.answer(&looks(100)).gated(&first, 0));
    server.answer(API.answer(&text(["Half ", "way"])).gated(&second, 2));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    first.wait_until_reached(1);
    pty.types("and quickly\r");
    pty.wait_for("› and quickly  (read with the next turn)");
    first.open();
    server.wait_for_request(2);
    pty.wait_until("it was read", |screen| {
        screen.contains("› and quickly") && !screen.contains("(read with the next turn)")
    });
    second.wait_until_reached(1);
    pty.wait_for("Half");
    pty.types("\x1b");
    pty.wait_for("stopped after");
    pty.wait_for(PROMPT);
    assert!(pty.screen().contains("Half"), "{}", pty.screen());
    leave(pty);
}

#[test]
fn approvals_queue_up_and_are_answered_with_keys() {
    let server = ScriptedServer::start();
    let write = |file: &str| json!({"path": file, "content": "new\n"});
    let three = tool_call("call_1", "write_file", &write("a.txt"))
        .then_tool_call("call_2", "write_file", &write("b.txt"))
        .then_tool_call("call_3", "write_file", &write("a.txt"));
    server.answer(API.answer(&three));
    server.answer(API.answer(&tool_call("call_4", "write_file", &write("a.txt"))));
    server.answer(API.answer(&text(["Well."])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("write\r");
    pty.wait_for("asks to call write_file");
    for part in
        ["[attache] asks", "+new", "why: ", "[y]es", "[s]ession (`a.txt`)", "[n]o", "[a]bort"]
    {
        assert!(pty.screen().contains(part), "{part:?} is not in\n{}", pty.screen());
    }
    // What is pasted is not an answer.
    pty.types("\x1b[200~yes\x1b[201~");
    assert!(!project.root().join("a.txt").exists());
    pty.types("s");
    pty.wait_for("[s]ession (`b.txt`)");
    pty.types("n");
    pty.wait_for("words for the agent:");
    pty.types("not here\r");
    pty.wait_for("Well.");
    assert!(project.root().join("a.txt").exists() && !project.root().join("b.txt").exists());
    let told = String::from_utf8_lossy(&server.requests()[1].body).into_owned();
    assert!(told.contains("not here"), "{told}");
    leave(pty);
    server.assert_done();
}

#[test]
fn a_signal_or_a_closed_terminal_leaves_nothing_behind() {
    for signal in [Signal::TERM, Signal::HUP] {
        let server = ScriptedServer::start();
        let gate = Gate::new();
        server.answer(API.answer(&text(["Half ", "way"])).gated(&gate, 2));
        let project = chatting(&server);
        let mut pty = Pty::start(&project, &["chat"]);
        pty.wait_for(PROMPT);
        pty.types("go\r");
        gate.wait_until_reached(1);
        pty.wait_for("Half");
        pty.signal(signal);
        let (code, is_restored) = pty.end();
        assert_eq!((code, is_restored), (Some(130), true), "{signal:?}: {}", pty.screen());
        pty.wait_for("resume with: attache chat --resume agent-");
        let screen = pty.screen();
        assert!(!screen.contains("Esc stops"), "{screen}");
        let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
        assert!(bytes.contains("\u{1b}[?2004l") && bytes.contains("\u{1b}[?25h"), "{bytes:?}");
    }
}

#[test]
fn ctrl_c_clears_then_stops_then_quits() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&text(["Half ", "way"])).gated(&gate, 2));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("wrong");
    pty.wait_for("› wrong");
    pty.types("\x03");
    pty.wait_for(PROMPT);
    pty.types("go\r");
    gate.wait_until_reached(1);
    pty.types("\x03");
    pty.wait_for("stopped after");
    pty.wait_for("Ctrl-C again quits");
    pty.types("\x03");
    assert_eq!(pty.end(), (Some(0), true));
}

#[test]
fn a_killed_conversation_comes_back_as_it_looked() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(API.answer(&looks(100)));
    server.answer(API.answer(&text(["First answer."])));
    server.answer(API.answer(&text(["Lost ", "words"])).gated(&gate, 2));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("first\r");
    pty.wait_for("First answer.");
    pty.wait_for(PROMPT);
    pty.types("second\r");
    gate.wait_until_reached(1);
    pty.wait_for("Lost");
    let before = pty.screen();
    pty.signal(Signal::KILL);
    pty.end();
    server.answer(API.answer(&text(["Third answer."])));
    let mut pty = Pty::start(&project, &["chat", "--resume"]);
    pty.wait_for("was cut off");
    let after = pty.screen();
    let kept = before.lines().take_while(|line| !line.contains("› second"));
    for line in kept.filter(|line| !line.trim().is_empty()) {
        assert!(after.contains(line), "{line:?} is not in\n{after}");
    }
    assert!(after.contains("› second"), "{after}");
    pty.types("third\r");
    pty.wait_for("Third answer.");
    pty.wait_for(PROMPT);
    let request = server.requests().last().unwrap().json().to_string();
    assert!(request.contains("first") && request.contains("third"), "{request}");
    leave(pty);
}

#[test]
fn another_size_leaves_no_pieces() {
    let server = ScriptedServer::start();
    server.answer(
        API.answer(&text(["A sentence that is longer than forty columns, so that it is broken."])),
    );
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    pty.wait_for("is broken.");
    pty.wait_for(PROMPT);
    for (rows, columns) in [(24, 40), (10, 60), (30, 100), (24, 80)] {
        let rule = "─".repeat(usize::from(columns));
        pty.resize_until((rows, columns), |screen| {
            screen.lines().filter(|line| *line == rule).count() == 2
                && screen.lines().filter(|line| line.starts_with('─')).count() == 2
                && screen.matches("A sentence that").count() == 1
                && screen.matches(PROMPT).count() == 1
        });
    }
    leave(pty);
}

#[test]
fn nothing_that_a_model_or_a_tool_writes_steers_the_terminal() {
    let server = ScriptedServer::start();
    let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil";
    server.answer(API.answer(&tool_call("c\u{1b}[1m", "read_file", &json!({"path": hostile}))));
    server.answer(API.answer(&text([hostile, "\n```\n", hostile, "\n```\n"])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    pty.wait_until("the answer", |screen| screen.matches("evil").count() >= 3);
    pty.wait_for(PROMPT);
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    assert!(!bytes.contains("\u{1b}]0") && !bytes.contains('\u{202e}'), "{bytes:?}");
    assert!(!bytes.contains('\u{7}'), "{bytes:?}");
    leave(pty);
}

#[test]
fn the_board_shows_follows_and_stops_runs_and_leaves_the_conversation_alone() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let api = WireApi::Gemini;
    let path = |model: &str| api.path(model);
    server.answer_on(&path("lab-1"), api.answer(&tool_call("call_1", "Task", &task("one"))));
    server.always_on(&path("lab-1"), api.answer(&text(["It was stopped."])));
    server.answer_on(&path("lab-2"), api.answer(&looks(100)));
    server.answer_on(&path("lab-2"), api.answer(&completes("found it")).gated(&gate, 0));
    let project = lab(&server, api, "").with_env("TERM", "xterm-256color");
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("look\r");
    gate.wait_until_reached(1);
    pty.wait_for("Turn 2/50");
    let before = pty.screen();
    pty.types("/tasks\r");
    pty.wait_until("two runs", |screen| {
        screen.contains(" Tasks") && screen.matches("running ").count() == 2
    });
    assert!(!pty.screen().contains("› look"), "{}", pty.screen());
    // The newest is the worker.
    pty.wait_for("▸ running     worker");
    pty.types("\r");
    pty.wait_for("Transcript of worker");
    pty.wait_for("follows the run");
    pty.wait_for("list_dir");
    pty.types("q");
    pty.wait_for(" Tasks");
    pty.types("s");
    pty.wait_for("interrupted worker");
    pty.types("q");
    pty.wait_for("It was stopped.");
    pty.wait_for(PROMPT);
    let first = before.lines().next().unwrap();
    assert!(pty.everything().contains(first), "{}", pty.everything());
    assert!(pty.screen().contains("✗ [worker]"), "{}", pty.screen());
    leave(pty);
}

#[test]
fn another_conversation_is_resumed_and_its_changes_are_shown() {
    let server = ScriptedServer::start();
    let project = chatting(&server);
    let write = json!({"path": "new.txt", "content": "the new text\n"});
    server.answer(API.answer(&tool_call("call_1", "write_file", &write)));
    server.answer(API.answer(&text(["Written."])));
    let ran = project.run(&["exec", "write it", "--approve", "all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("/diff\r");
    pty.wait_for("no file was changed");
    pty.types("q");
    pty.wait_for(PROMPT);
    pty.types("/resume\r");
    pty.wait_for(" Conversations");
    pty.wait_for("▸ completed   attache");
    pty.types("\r");
    pty.wait_for("Written.");
    for part in ["› write it", "✓ write_file \"new.txt\"", "+the new text"] {
        assert!(pty.screen().contains(part), "{part:?} is not in\n{}", pty.screen());
    }
    pty.types("/diff\r");
    pty.wait_for("+++ b/new.txt");
    pty.types("q");
    pty.wait_for(PROMPT);
    server.answer(API.answer(&text(["Still here."])));
    pty.types("and now?\r");
    pty.wait_for("Still here.");
    let messages = server.requests()[2].json()["messages"].to_string();
    assert!(messages.contains("write it") && messages.contains("and now?"), "{messages}");
    leave(pty);
    server.assert_done();
}

#[test]
fn commands_agents_and_files_are_completed() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["Seen."])));
    let project = chatting(&server);
    project.agent("broken", "tools: Read");
    project.file("src/deeply/nested.rs", "");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("/cos");
    pty.wait_for("tokens and cost of this conversation");
    pty.types("\r\r");
    pty.wait_for("0 runs, 0 tokens");
    pty.types("/nonsense\r");
    pty.wait_for("there is no command /nonsense");
    pty.types("/agents\r");
    pty.wait_for(" Agents");
    pty.wait_for("Explore");
    pty.wait_for("invalid");
    pty.types("q");
    pty.wait_for(PROMPT);
    pty.types("see @nest");
    pty.wait_for("@src/deeply/nested.rs");
    pty.types("\t");
    pty.wait_for("› see @src/deeply/nested.rs");
    pty.types("\r");
    pty.wait_for("Seen.");
    let request = server.requests()[0].json()["messages"].to_string();
    assert!(request.contains("see @src/deeply/nested.rs"), "{request}");
    pty.wait_for(PROMPT);
    pty.types("/help\r");
    pty.wait_for("Ctrl-O");
    leave(pty);
}

#[test]
fn an_agent_that_fits_is_offered_and_needs_a_yes() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["First."])));
    server.answer(API.answer(&text(["Second."])));
    let project = chatting(&server);
    project.agent("lawyer", "description: Knows contracts\nkeywords: [contract]\ntools: Read");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("read the contract\r");
    pty.wait_for("lawyer is for this (keyword contract)");
    assert!(server.requests().is_empty(), "it was sent without a yes");
    pty.types("n");
    pty.wait_for("First.");
    pty.wait_for(PROMPT);
    pty.types("read the contract again\r");
    pty.wait_for("lawyer is for this");
    pty.types("y");
    pty.wait_for("Second.");
    let asked = |request: usize| server.requests()[request].json()["messages"].to_string();
    assert!(!asked(0).contains("Use the agent"), "{}", asked(0));
    assert!(asked(1).contains("Use the agent `lawyer` for this."), "{}", asked(1));
    leave(pty);
}
