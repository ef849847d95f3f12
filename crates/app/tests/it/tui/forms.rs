//! MCP servers and the screen: a form of one, and one that is slow to begin.

use std::fs;

use attache_testkit::scripted_server::{ScriptedServer, text, tool_call};
use serde_json::json;

use super::{API, PROMPT, Pty, chatting, leave};
use crate::{mcp_client::server, providers::used};

#[test]
fn a_server_asks_for_values_and_gets_what_is_typed() {
    let model = ScriptedServer::start();
    let call = tool_call("call_1", "mcp__lab__form", &json!({}));
    model.answer(API.answer(&call.using(used(100))));
    model.answer(API.answer(&text(["Booked."]).using(used(100))));
    let project = chatting(&model);
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{written}\n{}", server(&[], ""))).unwrap();
    let mut pty = Pty::start(&project, &[]);
    pty.wait_for(PROMPT);
    pty.types("book a room\r");
    pty.wait_for("is asked by the MCP server lab");
    pty.wait_for("Where to?");
    pty.wait_for("City:");
    pty.types("Rome\r");
    pty.wait_for("nights (a whole number");
    pty.types("many\r");
    pty.wait_for("type a whole number");
    pty.types("2\r");
    pty.wait_for("Booked.");
    let told = String::from_utf8_lossy(&model.requests()[1].body).into_owned();
    assert!(told.contains(r#"\"city\": \"Rome\""#) && told.contains(r#"\"nights\": 2"#), "{told}");
    pty.wait_for(PROMPT);
    leave(pty);
}

#[test]
fn a_message_that_waits_for_a_server_is_seen_and_esc_gives_it_back() {
    let model = ScriptedServer::start();
    let project = chatting(&model);
    let path = project.home().join(".attache/config.toml");
    let written = fs::read_to_string(&path).unwrap();
    let silent = server(&["silent"], "startup_timeout_sec = 600");
    fs::write(&path, format!("{written}\n{silent}")).unwrap();
    let mut pty = Pty::start(&project, &[]);
    pty.wait_for(PROMPT);
    pty.types("book a room\r");
    pty.wait_for("› book a room  (being sent)");
    pty.wait_for("Starting · Esc stops");
    pty.types("quickly\r");
    pty.wait_for("the message before is being sent; Esc stops it");
    pty.types("\x15\x1b");
    pty.wait_for("stopped before it began");
    pty.wait_until("the message is back", |screen| {
        screen.contains("› book a room") && !screen.contains("being sent")
    });
    assert!(!pty.screen().contains("Stopping"), "{}", pty.screen());
    pty.types("\x03");
    pty.wait_for(PROMPT);
    leave(pty);
    assert!(model.requests().is_empty());
}
