//! The task board and the agents: every key, runs of other processes, and files that change meanwhile.

use attache_testkit::scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call};
use serde_json::json;

use super::{
    AGENTS, PROMPT,
    blocks::{path, project},
    leave,
    pty::Pty,
    task,
};
use crate::providers::{completes, looks};

const API: WireApi = WireApi::Gemini;

#[test]
fn a_run_gets_a_message_goes_to_the_background_and_is_branched_from_the_board() {
    let server = ScriptedServer::start();
    let (first, second) = (Gate::new(), Gate::new());
    server.answer_on(&path("lab-1"), API.answer(&tool_call("c1", "Task", &task("one"))));
    server.answer_on(&path("lab-1"), API.answer(&text(["It is on its way."])));
    server.always_on(&path("lab-1"), API.answer(&text(["It is over."])));
    server.answer_on(&path("lab-2"), API.answer(&looks(100)).gated(&first, 0));
    server.answer_on(&path("lab-2"), API.answer(&completes("found it")).gated(&second, 0));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat", "--agents", AGENTS]);
    pty.wait_for(PROMPT);
    pty.types("look\r");
    first.wait_until_reached(1);
    pty.types("\x14");
    pty.wait_for("▸ running     worker");
    pty.wait_for("here");
    pty.types("r");
    pty.wait_for("it is still under way; b branches off, m sends a message");
    pty.types("b");
    pty.wait_for("no turn of it is over yet");
    pty.types("m");
    pty.wait_for("message:");
    pty.types("hurry\r");
    pty.wait_until("it was sent", |screen| !screen.contains("message: "));
    pty.types("g");
    pty.types("q");
    pty.wait_for("It is on its way.");
    pty.wait_for("in the background");
    first.open();
    second.wait_until_reached(1);
    let mut asked = server.requests().into_iter().filter(|request| request.path == path("lab-2"));
    assert!(String::from_utf8_lossy(&asked.next_back().unwrap().body).contains("hurry"));
    second.open();
    pty.wait_for("It is over.");
    pty.wait_for(PROMPT);
    pty.types("\x14");
    pty.wait_for("▸ completed   worker");
    pty.types("s");
    pty.wait_for("it has ended");
    // The run of the agent goes on as a conversation of its own.
    server.answer_on(&path("lab-2"), API.answer(&completes("and more")));
    pty.types("b");
    pty.wait_for("hurry");
    pty.wait_for(PROMPT);
    pty.types("what else?\r");
    pty.wait_for("and more");
    pty.wait_for(PROMPT);
    assert!(!pty.screen().contains("Starting"), "{}", pty.screen());
    leave(pty);
}

#[test]
fn a_run_of_another_process_is_seen_and_stopped_and_one_that_ended_goes_on() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer_on(&path("lab-2"), API.answer(&text(["never"])).gated(&gate, 0));
    let project = project(&server);
    project.agent("worker", "description: Works\nmodel: lab-2\ntools: Read, LS");
    let ran = project.run(&["run", "worker", "look", "--background"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    gate.wait_until_reached(1);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("/tasks\r");
    pty.wait_for("▸ running     worker");
    pty.wait_for("elsewhere");
    pty.types("s");
    pty.wait_for("▸ interrupted worker");
    server.answer_on(&path("lab-2"), API.answer(&completes("found it")));
    pty.types("m");
    pty.wait_for("message:");
    pty.types("go on\r");
    pty.wait_for("it goes on in the background as agent-");
    pty.wait_for("completed   worker");
    pty.types("q");
    pty.wait_for(PROMPT);
    leave(pty);
    gate.open();
}

#[test]
fn a_question_is_answered_on_the_board() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let write = json!({"path": "a.txt", "content": "new\n"});
    let api = API.answer(&tool_call("c1", "write_file", &write));
    server.answer_on(&path("lab-1"), api.gated(&gate, 0));
    server.answer_on(&path("lab-1"), API.answer(&text(["Written."])));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("write\r");
    gate.wait_until_reached(1);
    pty.types("\x14");
    pty.wait_for(" Tasks");
    gate.open();
    pty.wait_for("[attache] asks to call write_file  (its clock is paused)");
    assert!(pty.screen().contains(" Tasks"), "{}", pty.screen());
    pty.types("y");
    pty.wait_for("completed   attache");
    pty.types("q");
    pty.wait_for("Written.");
    assert!(project.root().join("a.txt").exists());
    leave(pty);
}

#[test]
fn the_agents_follow_their_files_and_the_users_trust() {
    let server = ScriptedServer::start();
    let project = project(&server).with_env("EDITOR", "sed -i s/contracts/leases/");
    project.agent("lawyer", "description: Knows contracts\ntools: Read, Write");
    let mut pty = Pty::of_size((30, 100), &project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("/agents\r");
    pty.wait_for("active, untrusted");
    // A new file is seen without a key, and so is a broken one.
    project.agent("baker", "description: Bakes bread");
    pty.wait_for("Bakes bread");
    project.agent("broken", "tools: Read");
    pty.wait_for("1 problem");
    let ran = project.run(&["trust", "lawyer", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    pty.wait_until("trusted", |screen| {
        screen.lines().any(|line| line.contains("lawyer") && !line.contains("untrusted"))
    });
    // The cursor goes to the lawyer; its file is changed in the editor.
    let at = |screen: &str| screen.lines().any(|line| line.contains("▸ lawyer"));
    for _ in 0..10 {
        if at(&pty.screen()) {
            break;
        }
        let before = pty.screen();
        pty.types("j");
        pty.wait_until("the next one", |screen| screen != before);
    }
    pty.types("e");
    pty.wait_for("Knows leases");
    pty.types("\r");
    pty.wait_for("Agent lawyer");
    pty.wait_for("trust it: attache trust lawyer");
    pty.types("q");
    pty.wait_for(" Agents");
    pty.types("t");
    pty.wait_for("› @lawyer");
    pty.types("\x15");
    pty.wait_for(PROMPT);
    leave(pty);
}
