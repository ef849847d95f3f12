//! `attache chat --plain`: answers as they come, and the last words.

use attache_testkit::scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call};
use serde_json::json;

use crate::{
    providers::{completes, lab},
    terminal::{Streams, Terminal},
};

const AGENTS: &str =
    r#"{"worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2"}}"#;

#[test]
fn every_answer_is_printed_while_agents_work_in_the_background() {
    let server = ScriptedServer::start();
    let api = WireApi::Gemini;
    let gate = Gate::new();
    let begin = json!({"subagent_type": "worker", "prompt": "look", "description": "look around",
        "run_in_background": true});
    let main = api.path("lab-1");
    server.answer_on(&main, api.answer(&tool_call("call_1", "Task", &begin)));
    server.answer_on(&main, api.answer(&text(["It is on its way."])));
    server.answer_on(&main, api.answer(&text(["It found **it**."])));
    server.answer_on(&main, api.answer(&text(["You are welcome."])));
    let agent = api.path("lab-2");
    server.answer_on(&agent, api.answer(&completes("here it is")).gated(&gate, 0));
    let project = lab(&server, api, "");
    let ran = std::thread::scope(|scope| {
        // It ends only after the main agent was asked for its answer.
        scope.spawn(|| {
            server.wait_for_request(3);
            gate.open();
        });
        project.run_with_input(&["chat", "--plain", "--agents", AGENTS], "go\nthanks\n")
    });
    let answers = "It is on its way.\nIt found **it**.\nYou are welcome.\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), answers), "{ran:?}");
    server.assert_done();
}

#[test]
fn a_conversation_that_cannot_be_resumed_fails() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    server.answer(WireApi::Chat.answer(&text(["never"])).gated(&gate, 0));
    let project = lab(&server, WireApi::Chat, "");
    let ran = project.run(&["exec", "go", "--background"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    gate.wait_until_reached(1);
    let ran = project.run_with_input(&["chat", "--plain", "--resume", ran.stdout.trim()], "hi\n");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("still runs"), "{ran:?}");
    let ran = project.run(&["stop", "last"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    gate.open();
}

#[test]
fn the_end_of_input_on_a_terminal_tells_how_to_go_on() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let gate = Gate::new();
    server.answer(api.answer(&text(["Hello ", "there."])).gated(&gate, 2));
    let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let chat = |input: &[u8]| {
        let mut terminal = Terminal::controlling(&project, &["chat", "--plain"], Streams::Terminal);
        terminal.wait_for_echo(true);
        terminal.types(input);
        terminal
    };
    let (code, shown, _) = chat(b"\x04").end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("nothing was said; `attache chat --plain` begins again"), "{shown}");
    // A moment too early: it counts once the answer is there.
    let mut terminal = chat(b"hi\n");
    gate.wait_until_reached(1);
    terminal.types(b"\x04");
    gate.open();
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    let answer = shown.find("Hello there.").unwrap();
    let words = shown.find("resume with: attache chat --plain --resume agent-").unwrap();
    assert!(answer < words, "{shown}");
    // It was shown as it came, and is not printed once more.
    let (_, after) = shown.split_once("[attache] Completed in").unwrap();
    assert!(!after.contains("Hello there."), "{shown}");
    server.assert_done();
}
