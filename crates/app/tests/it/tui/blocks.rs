//! Blocks of agents: focus, folds, transcripts, background, and what becomes of agents when the UI is left.

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use super::{AGENTS, PROMPT, leave, pty::Pty, task};
use crate::providers::{completes, lab, looks};

const API: WireApi = WireApi::Gemini;

pub(super) fn path(model: &str) -> String {
    API.path(model)
}

pub(super) fn project(server: &ScriptedServer) -> TestProject {
    lab(server, API, "").with_env("TERM", "xterm-256color")
}

fn in_background(prompt: &str) -> Value {
    let mut call = task(prompt);
    call["run_in_background"] = json!(true);
    call
}

#[test]
fn a_block_gets_the_focus_unfolds_and_opens_its_transcript() {
    let server = ScriptedServer::start();
    server.answer_on(&path("lab-1"), API.answer(&tool_call("c1", "Task", &task("one"))));
    server.answer_on(&path("lab-1"), API.answer(&text(["It is over."])));
    let said = text(["I look first."]).then_tool_call("c2", "list_dir", &json!({"path": "."}));
    server.answer_on(&path("lab-2"), API.answer(&said));
    server.answer_on(&path("lab-2"), API.answer(&looks(100)));
    server.answer_on(&path("lab-2"), API.answer(&completes("found it")));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("\t");
    pty.wait_for("no agent has worked in this conversation yet");
    pty.types("look\r");
    pty.wait_for("It is over.");
    pty.wait_for("Tab looks at agents");
    assert!(!pty.screen().contains("I look first."), "{}", pty.screen());
    // What is in the scrollback cannot change: the block is shown again, unfolded.
    pty.types("\x0f");
    pty.wait_for("▸ ✓ [worker] look at one");
    pty.wait_for("│ I look first.");
    pty.wait_for("agent 1 of 1 · Enter transcript · Ctrl-O folds");
    pty.types("\x0f");
    pty.wait_until("it is folded", |screen| !screen.contains("I look first."));
    pty.types("\r");
    pty.wait_for("Transcript of worker");
    pty.wait_for("I look first.");
    pty.types("q");
    pty.wait_for("agent 1 of 1");
    // A letter is for the input.
    pty.types("x");
    pty.wait_for("› x");
    assert!(!pty.screen().contains("▸"), "{}", pty.screen());
    pty.types("\x15");
    leave(pty);
}

#[test]
fn escape_stops_the_turn_and_the_agents_in_the_background_go_on() {
    let server = ScriptedServer::start();
    let (agent, half) = (Gate::new(), Gate::new());
    let begin = tool_call("c1", "Task", &in_background("one"));
    server.answer_on(&path("lab-1"), API.answer(&begin));
    server.answer_on(&path("lab-1"), API.answer(&text(["It works."])));
    server.answer_on(&path("lab-1"), API.answer(&text(["Half ", "way"])).gated(&half, 2));
    server.answer_on(&path("lab-1"), API.answer(&text(["It came back."])));
    server.answer_on(&path("lab-2"), API.answer(&completes("found it")).gated(&agent, 0));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("begin\r");
    pty.wait_for("1 agent works in the background");
    agent.wait_until_reached(1);
    pty.types("and this\r");
    half.wait_until_reached(1);
    pty.wait_for("Half");
    pty.types("\x1b");
    pty.wait_for("stopped; background agents go on");
    pty.wait_for("1 agent works in the background");
    pty.wait_for("● [worker] look at one");
    pty.types("\x1b");
    pty.wait_for("background agents go on; Ctrl-T shows them");
    agent.open();
    pty.wait_for("✓ [worker] look at one");
    pty.wait_for("It came back.");
    pty.wait_until("the hint is gone", |screen| {
        !screen.contains("background agents go on; Ctrl-T")
    });
    pty.wait_for(PROMPT);
    leave(pty);
    server.assert_done();
}

#[test]
fn agents_in_the_background_go_on_when_the_conversation_is_left() {
    let server = ScriptedServer::start();
    let agent = Gate::new();
    let begin = tool_call("c1", "Task", &in_background("one"));
    server.answer_on(&path("lab-1"), API.answer(&begin));
    server.answer_on(&path("lab-1"), API.answer(&text(["It works."])));
    server.answer_on(&path("lab-2"), API.answer(&text(["never"])).gated(&agent, 0));
    server.answer_on(&path("lab-2"), API.answer(&completes("found it later")));
    let project = project(&server);
    project.agent("worker", "description: Works\nmodel: lab-2\ntools: Read, LS");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("begin\r");
    pty.wait_for("1 agent works in the background");
    agent.wait_until_reached(1);
    pty.types("\x04");
    pty.wait_for("Ctrl-D again stops 1 background agent and quits · k quits, they go on");
    pty.types("k");
    let (code, is_restored) = pty.end();
    assert_eq!((code, is_restored), (Some(0), true), "{}", pty.screen());
    pty.wait_for("goes on in the background as agent-");
    let everything = pty.everything().replace('\n', "");
    let id = everything.split("goes on in the background as ").nth(1).unwrap();
    let ran = project.run(&["output", id.get(..42).unwrap(), "--wait"]);
    assert!(ran.stdout.contains("found it later"), "{ran:?}");
    agent.open();
}

#[test]
fn ctrl_d_twice_leaves_what_is_under_way() {
    let server = ScriptedServer::start();
    let half = Gate::new();
    server.answer_on(&path("lab-1"), API.answer(&text(["Half ", "way"])).gated(&half, 2));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    half.wait_until_reached(1);
    pty.wait_for("Half");
    pty.types("\x04");
    pty.wait_for("an answer is under way: Ctrl-D again stops it and quits");
    pty.types("\x04");
    let (code, is_restored) = pty.end();
    assert_eq!((code, is_restored), (Some(0), true), "{}", pty.screen());
    pty.wait_for("resume with: attache chat --resume");
}
