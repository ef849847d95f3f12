//! Manners on a terminal: how often it is drawn, colours, long pastes, history, letters of every width.

use std::time::{Duration, Instant};

use attache_testkit::scripted_server::{Gate, ScriptedServer, text, tool_call};
use serde_json::json;

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

/// The numbers of every sequence that sets a colour or a style.
fn styles(pty: &Pty) -> Vec<String> {
    let text = String::from_utf8_lossy(&pty.bytes()).into_owned();
    let pieces = text.split("\u{1b}[").skip(1).filter_map(|piece| {
        let end = piece.find(|letter: char| !(letter.is_ascii_digit() || letter == ';'))?;
        piece.get(end..)?.starts_with('m').then(|| piece.get(..end).unwrap_or_default().to_owned())
    });
    pieces.collect()
}

/// Whether a sequence sets no colour: bold, faint, italic, underlined, reversed, struck, and their ends.
fn is_plain(style: &str) -> bool {
    let ends = ["22", "23", "24", "27", "29", "39", "49", "59"];
    let sets = ["", "0", "1", "2", "3", "4", "7", "9"];
    style.split(';').all(|number| sets.contains(&number) || ends.contains(&number))
}

/// Shows every part that has colours: text, code, a change, a question, lists and a transcript.
fn every_colour(colours: &[(&str, &str)]) -> Pty {
    let server = ScriptedServer::start();
    let answer = "# Title\n\n`code` and **bold**\n```rust\nlet x = 1; // one\n```\n> quote\n";
    let write = json!({"path": "a.txt", "content": "new\n"});
    server.answer(API.answer(&tool_call("c1", "write_file", &write)));
    server.answer(API.answer(&tool_call("c2", "read_file", &json!({"path": "none"}))));
    server.answer(API.answer(&text([answer])));
    let project = colours
        .iter()
        .fold(chatting(&server), |project, (name, value)| project.with_env(name, value));
    project.agent("broken", "tools: Read");
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    pty.wait_for("[y]es");
    pty.types("y");
    pty.wait_for("│ let x = 1;");
    pty.wait_for(PROMPT);
    for (keys, seen) in [("\x14", " Tasks"), ("\r", "Transcript of"), ("q", " Tasks")] {
        pty.types(keys);
        pty.wait_for(seen);
    }
    pty.types("q");
    pty.wait_for(PROMPT);
    pty.types("/agents\r");
    pty.wait_for("invalid");
    pty.types("q");
    pty.wait_for(PROMPT);
    pty.types_until_the_end("\x04");
    assert_eq!(pty.end(), (Some(0), true), "{}", pty.screen());
    pty
}

#[test]
fn without_colour_there_is_none() {
    let pty = every_colour(&[("NO_COLOR", "1")]);
    for style in styles(&pty) {
        assert!(is_plain(&style), "{style}");
    }
}

/// A theme chooses the six colours so that they can be read on its background, light or dark. Backgrounds, black,
/// white and grey are never set, so the text is always the terminal's own on the terminal's own.
#[test]
fn on_light_and_dark_backgrounds_only_the_terminals_own_colours_are_used() {
    let pty = every_colour(&[]);
    let used = styles(&pty);
    assert!(used.iter().any(|style| style.contains("38;5;")), "{used:?}");
    for style in used {
        let rest = style.strip_prefix("38;5;").map_or(style.as_str(), |rest| {
            let (colour, rest) = rest.split_once(';').unwrap_or((rest, ""));
            assert!(["1", "2", "3", "4", "5", "6"].contains(&colour), "{style}");
            rest
        });
        assert!(is_plain(rest), "{style}");
    }
    // The terminal is not asked what its background is, so no answer can get into the input.
    let bytes = String::from_utf8_lossy(&pty.bytes()).into_owned();
    assert!(!bytes.contains("\u{1b}]1"), "{bytes:?}");
}

#[test]
fn the_wheel_moves_through_full_screens_and_the_scrollback_is_the_terminals() {
    let server = ScriptedServer::start();
    let lines: Vec<String> = (0..60).map(|line| format!("line {line}\n")).collect();
    server.answer(API.answer(&text(lines)));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    pty.wait_for("line 59");
    pty.wait_for(PROMPT);
    let has = |pty: &Pty, code: &str| String::from_utf8_lossy(&pty.bytes()).contains(code);
    assert!(!has(&pty, "\u{1b}[?1000h"), "the conversation leaves the mouse alone");
    pty.types("\x14");
    pty.wait_for(" Tasks");
    assert!(has(&pty, "\u{1b}[?1000h") && has(&pty, "\u{1b}[?1006h"));
    pty.types("\r");
    pty.wait_for("Transcript of attache");
    pty.wait_for("task      go");
    pty.types("\x1b[<65;10;10M");
    pty.wait_until("three lines down", |screen| {
        !screen.contains("task      go") && screen.contains("started   ")
    });
    pty.types("\x1b[<64;10;10M");
    pty.wait_for("task      go");
    // A click does nothing.
    pty.types("\x1b[<0;10;10M\x1b[<0;10;10m");
    pty.types("qq");
    pty.wait_for(PROMPT);
    pty.wait_for_bytes(0, b"\x1b[?1000l");
    leave(pty);
}

#[test]
fn letters_of_every_width_are_typed_moved_over_and_removed_one_by_one() {
    let server = ScriptedServer::start();
    server.answer(API.answer(&text([
        "| 数据 | b |\n|---|---|\n| 👩‍💻 | c |\n\n数据库数据库数据库数据库数据库\n",
    ])));
    let project = chatting(&server);
    let mut pty = Pty::of_size((15, 40), &project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("数据x");
    pty.wait_for("› 数据x");
    assert_eq!(pty.cursor().1, 7, "{}", pty.screen());
    pty.types("\x1b[D\x1b[D");
    pty.types("\x7f");
    pty.wait_for("› 据x");
    assert_eq!(pty.cursor().1, 2, "{}", pty.screen());
    pty.types("\x05👩\u{200d}💻");
    pty.types("\x7f!");
    pty.wait_for("› 据x!");
    pty.types("\r");
    pty.wait_for("数据 │ b");
    pty.wait_for("据库数据库");
    pty.wait_for(PROMPT);
    let sent = server.requests()[0].json()["messages"].to_string();
    assert!(sent.contains("据x!") && !sent.contains("👩"), "{sent}");
    leave(pty);
}

#[test]
fn a_storm_of_sizes_while_an_answer_arrives_ends_in_a_whole_screen() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let pieces: Vec<String> = (0..30).map(|line| format!("line {line} of the answer\n")).collect();
    server.answer(API.answer(&text(pieces)).gated(&gate, 12));
    let project = chatting(&server);
    let mut pty = Pty::start(&project, &["chat"]);
    pty.wait_for(PROMPT);
    pty.types("go\r");
    gate.wait_until_reached(1);
    for round in 0..40 {
        pty.resize(8 + round % 23, 30 + round * 7 % 90);
    }
    gate.open();
    pty.resize(24, 80);
    let rule = "─".repeat(80);
    pty.resize_until((24, 80), |screen| {
        screen.contains("line 29 of the answer")
            && screen.contains(PROMPT)
            && screen.lines().filter(|line| *line == rule).count() == 2
            && screen.lines().filter(|line| line.starts_with('─')).count() == 2
            && (12..30).all(|line| screen.matches(&format!("line {line} of")).count() == 1)
    });
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
