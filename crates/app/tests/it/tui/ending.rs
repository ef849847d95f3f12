//! What is left when the program ends otherwise than by its keys: by a signal, or because its terminal is gone.

use attache_testkit::scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call};
use rustix::process::Signal;

use super::{AGENTS, API, PROMPT, chatting, leave, pty::Pty, task};
use crate::providers::{lab, looks};

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
