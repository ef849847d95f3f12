//! Questions of several agents: each names its agent, none is lost, and waiting is nobody's time.

use attache_testkit::scripted_server::{ScriptedServer, WireApi, text, tool_call};
use serde_json::{Value, json};

use super::{
    PROMPT,
    blocks::{path, project},
    leave,
    pty::Pty,
    task,
};
use crate::providers::completes;

const API: WireApi = WireApi::Gemini;
const WRITERS: &str = r#"{"worker": {"description": "Works.", "prompt": "You work.",
    "model": "lab-2", "tools": ["Read", "Write", "Bash"]}}"#;

fn write(file: &str) -> Value {
    json!({"path": file, "content": "new\n"})
}

/// A server for two agents that write a file each and then end.
fn two_writers() -> ScriptedServer {
    let server = ScriptedServer::start();
    let both = tool_call("c1", "Task", &task("one")).then_tool_call("c2", "Task", &task("two"));
    server.answer_on(&path("lab-1"), API.answer(&both));
    server.always_on(&path("lab-1"), API.answer(&text(["Both are over."])));
    for file in ["a.txt", "b.txt"] {
        server.answer_on(&path("lab-2"), API.answer(&tool_call("w", "write_file", &write(file))));
    }
    server.always_on(&path("lab-2"), API.answer(&completes("done")));
    server
}

#[test]
fn questions_of_two_agents_queue_up_and_every_clock_that_waits_stands_still() {
    let server = two_writers();
    let project = project(&server);
    let mut pty = Pty::of_size((30, 80), &project, &["chat", "--agents", WRITERS]);
    pty.wait_for(PROMPT);
    pty.types("write\r");
    pty.wait_for("(1 of 2, its clock is paused)");
    pty.wait_until("both wait", |screen| {
        screen.matches(" paused\n").count() + screen.matches(" paused · ").count() == 2
            && screen.contains("Waits for your answer · its clock is paused at ")
    });
    let screen = pty.screen();
    let parts = ["[worker] look at ", ", asks to call write_file", "+new", "then [worker] asks"];
    for part in parts.into_iter().chain(["why: ", "[y]es", "[n]o", "[a]bort"]) {
        assert!(screen.contains(part), "{part:?} is not in\n{screen}");
    }
    // Ctrl-D does not answer, and says what does.
    pty.types("\x04");
    pty.wait_for("a question waits for your answer; Ctrl-C twice quits");
    pty.types("n");
    pty.wait_for("words for the agent:");
    pty.types("\x1b[200~not here,\rplease\x1b[201~\r");
    pty.wait_for("asks to call write_file  (its clock is paused)");
    pty.types("y");
    pty.wait_for("Both are over.");
    pty.wait_for(PROMPT);
    let written = ["a.txt", "b.txt"].map(|file| project.root().join(file).exists());
    assert_ne!(written[0], written[1], "one was refused, the other approved");
    let told = server.requests();
    let told = told.iter().map(|request| String::from_utf8_lossy(&request.body));
    assert_eq!(told.filter(|body| body.contains("not here, please")).count(), 1);
    leave(pty);
}

#[test]
fn an_abort_ends_the_agent_that_asked_and_no_other() {
    let server = two_writers();
    let project = project(&server);
    let mut pty = Pty::of_size((30, 80), &project, &["chat", "--agents", WRITERS]);
    pty.wait_for(PROMPT);
    pty.types("write\r");
    pty.wait_for("(1 of 2, its clock is paused)");
    pty.types("a");
    pty.wait_for("asks to call write_file  (its clock is paused)");
    pty.wait_for("✗ [worker] look at ");
    pty.types("y");
    pty.wait_for("✓ [worker] look at ");
    pty.wait_for("Both are over.");
    pty.wait_for(PROMPT);
    leave(pty);
}

#[test]
fn a_long_change_is_read_with_keys_and_the_wheel_before_it_is_answered() {
    let server = ScriptedServer::start();
    let lines: Vec<String> = (0..60).map(|line| format!("text of line {line}\n")).collect();
    let long = json!({"path": "long.txt", "content": lines.concat()});
    server.answer_on(&path("lab-1"), API.answer(&tool_call("c1", "write_file", &long)));
    server.answer_on(&path("lab-1"), API.answer(&text(["Written."])));
    let project = project(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("write\r");
    pty.wait_for("+text of line 4");
    pty.wait_for("lines more; v shows more");
    pty.types("v");
    pty.wait_for("+text of line 10");
    // Pages down to the end, not beyond it.
    pty.types(&"\x1b[6~".repeat(12));
    pty.wait_for("+text of line 59");
    pty.types("\x1b[A");
    pty.wait_until("one line up", |screen| screen.contains("… 1 line more"));
    pty.types("y");
    pty.wait_for("Written.");
    assert!(project.root().join("long.txt").exists());
    leave(pty);
}
