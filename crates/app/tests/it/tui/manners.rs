//! Manners on a terminal: how often it is drawn, colours, long pastes, history, letters of every width.

use std::time::{Duration, Instant};

use attache_testkit::scripted_server::{ScriptedServer, text};

use super::{API, PROMPT, chatting, leave, pty::Pty};

/// What every frame begins with.
const FRAME: &[u8] = b"\x1b[?2026h";

fn frames(pty: &Pty) -> usize {
    pty.bytes().windows(FRAME.len()).filter(|bytes| *bytes == FRAME).count()
}

#[test]
fn a_flood_is_drawn_at_most_thirty_times_a_second_and_silence_not_at_all() {
    let server = ScriptedServer::start();
    let pieces: Vec<String> = (0..3000).map(|line| format!("line {line} of many\n")).collect();
    server.answer(API.answer(&text(pieces)));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    let (began, before) = (Instant::now(), frames(&pty));
    pty.types("go\r");
    pty.wait_for("line 2999 of many");
    pty.wait_for("1 turn · ");
    let most = began.elapsed().as_millis() / Duration::from_millis(33).as_millis() + 3;
    let drawn = frames(&pty) - before;
    assert!(drawn as u128 <= most, "{drawn} frames where {most} are enough");
    assert!(pty.everything().contains("line 0 of many"), "the scrollback is whole");
    // Keys that change nothing are taken one after another; then nothing is drawn any more.
    pty.types("x");
    pty.wait_for("› x");
    pty.types("\x15");
    pty.wait_for(PROMPT);
    let before = frames(&pty);
    pty.types("y");
    pty.wait_for("› y");
    let one = frames(&pty) - before;
    assert!(one <= 2, "{one} frames for one key");
    pty.types("\x15");
    pty.wait_for(PROMPT);
    leave(pty);
}

#[test]
fn without_colour_there_is_none() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["# Title\n\n`code` and **bold**\n"])));
    let project = chatting(&server).with_env("NO_COLOR", "1");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    pty.wait_for("code and bold");
    pty.wait_for(PROMPT);
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    let coloured = ["\u{1b}[38;5;", "\u{1b}[48;5;", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m"];
    assert!(coloured.iter().all(|code| !bytes.contains(code)), "{bytes:?}");
    leave(pty);
}

#[test]
fn ten_thousand_lines_are_pasted_and_sent() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text(["Read."])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    let lines: Vec<String> = (0..10_000).map(|line| format!("pasted {line}")).collect();
    pty.types(&format!("\x1b[200~{}\x1b[201~", lines.join("\r")));
    pty.wait_for("pasted 9999");
    pty.types(" and 数据库 👩‍💻\r");
    pty.wait_for("Read.");
    pty.wait_for(PROMPT);
    let messages = server.requests()[0].json()["messages"].as_array().unwrap().clone();
    let sent = messages.last().unwrap()["content"].as_str().unwrap().to_owned();
    assert_eq!(sent, format!("{} and 数据库 👩‍💻", lines.join("\n")));
    leave(pty);
}

#[test]
fn what_was_sent_is_remembered_in_the_next_session() {
    let server = ScriptedServer::start();
    server.always(API.answer(&text(["Yes."])));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("first question\r");
    pty.wait_for("Yes.");
    pty.wait_for(PROMPT);
    leave(pty);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("\x1b[A");
    pty.wait_for("› first question");
    pty.types("\x15");
    pty.wait_for(PROMPT);
    leave(pty);
}
