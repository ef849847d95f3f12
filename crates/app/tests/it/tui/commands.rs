//! The commands that change the conversation, and what stays of them.

use attache_testkit::scripted_server::{ScriptedServer, text, tool_call};
use serde_json::json;

use super::{API, PROMPT, chatting, leave, pty::Pty};
use crate::providers::lab;

#[test]
fn the_model_stays_for_a_new_conversation_and_approvals_are_refused_at_once() {
    let server = ScriptedServer::start();
    let write = json!({"path": "a.txt", "content": "new\n"});
    server.answer(API.answer(&text(["First."])));
    server.answer(API.answer(&text(["Second."])));
    server.answer(API.answer(&tool_call("c1", "write_file", &write)));
    server.answer(API.answer(&text(["Third."])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("/model lab-2\r");
    pty.wait_for("lab-2 answers from the next message on");
    for (sent, answer) in [("first question\r", "First."), ("/clear\r", "a new conversation")] {
        pty.types(sent);
        pty.wait_for(answer);
        pty.wait_for(PROMPT);
    }
    pty.types("two\r");
    pty.wait_for("Second.");
    pty.wait_for(PROMPT);
    let asked = |number: usize| server.requests()[number].json();
    assert_eq!([&asked(0)["model"], &asked(1)["model"]], ["lab-2", "lab-2"]);
    assert!(!asked(1)["messages"].to_string().contains("first question"), "{}", asked(1));
    pty.types("/approve deny\r");
    pty.wait_for("calls that need approval are refused");
    pty.types("write\r");
    pty.wait_for("✗ write_file \"a.txt\"  refused");
    pty.wait_for("Third.");
    pty.wait_for(PROMPT);
    assert!(!project.root().join("a.txt").exists());
    pty.types("/cost\r");
    pty.wait_for("2 runs, ");
    // Two conversations, though there were three messages.
    pty.types("/resume\r");
    pty.wait_for(" Conversations");
    pty.wait_for("▸ completed   attache write");
    let screen = pty.screen();
    assert_eq!(screen.matches("completed   attache ").count(), 2, "{screen}");
    pty.types("q");
    pty.wait_for(PROMPT);
    leave(pty);
    server.assert_done();
}

#[test]
fn an_agent_that_fits_is_used_without_a_question_where_the_settings_say_so() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["Read."])));
    let settings = "[subagents]\nauto_route = true\n";
    let project = lab(&server, API, settings).with_env("TERM", "xterm-256color");
    project.agent("lawyer", "description: Knows contracts\nkeywords: [contract]\ntools: Read");
    // Another one with the keyword fits less well, though its name comes first: `exec` decides in the same way.
    project.agent("actor", "description: Plays\nkeywords: [contract]\ntools: Read");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("read the contract\r");
    pty.wait_for("`lawyer` gets this: its keyword `contract` is in it");
    pty.wait_for("Read.");
    pty.wait_for(PROMPT);
    let asked = server.requests()[0].json()["messages"].to_string();
    assert!(asked.contains("Use the agent `lawyer` for this."), "{asked}");
    leave(pty);
}
