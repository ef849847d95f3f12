//! Text of providers, projects and the command line cannot steer a terminal or deceive its reader.

use attache_testkit::scripted_server::{Answer, ScriptedServer, WireApi, text};
use serde_json::json;

use crate::{
    project,
    providers::{completes, lab},
    terminal::Terminal,
};

/// Clears the screen, writes the clipboard, turns text around, hides some of it.
const HOSTILE: &str = "a\u{1b}[2J\u{1b}]52;c;aGk=\u{7}b\u{9b}31m\u{202e}c\u{200b}d\u{e0041}e";
const SHOWN: &str = r"a\u001b[2J\u001b]52;c;aGk=\u0007b\u009b31m\u202ec\u200bd\udb40\udc41e";

fn assert_harmless(text: &str) {
    let obeyed = |letter: char| {
        matches!(letter, '\u{202e}' | '\u{200b}' | '\u{e0041}' | '\u{7f}' | '\u{fdd0}'..='\u{fdef}')
            || (letter.is_control() && letter != '\n')
    };
    assert!(!text.contains(obeyed), "{text:?}");
}

#[test]
fn a_providers_error_is_shown_escaped() {
    for json in [false, true] {
        let server = ScriptedServer::start();
        let refusal = json!({"error": {"message": HOSTILE}});
        server.answer(Answer::new().status(400).json(&refusal));
        let project = lab(&server, WireApi::Chat, "");
        let mut arguments = vec!["run", "Explore", "x"];
        arguments.extend(json.then_some("--json"));
        let ran = project.run(&arguments);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(SHOWN), "{}", ran.stderr);
        assert_harmless(&ran.stderr);
        assert_harmless(&ran.stdout);
        assert!(!json || ran.stdout.contains(SHOWN), "{}", ran.stdout);
    }
}

#[test]
fn names_of_a_project_are_shown_escaped() {
    let project = project();
    project.file(".attache/config.toml", format!("model = {}\n", json!(HOSTILE)));
    project.file(&format!(".claude/agents/{HOSTILE}.md"), "---\nname: x\ndescription: d\n---\nx\n");
    for arguments in [
        &["doctor"][..],
        &["models"],
        &["models", "--json"],
        &["config"],
        &["list"],
        &["list", "--json"],
        &["show", "x"],
        &["untrust", "x"],
        &["run", "x", "task"],
        &["show", HOSTILE],
        &[HOSTILE],
        &["list", HOSTILE],
        &["run", "x", &format!("--{HOSTILE}")],
        &["completions", HOSTILE],
    ] {
        let ran = project.run(arguments);
        assert_harmless(&ran.stdout);
        assert_harmless(&ran.stderr);
    }
    assert!(project.run(&["models"]).stdout.contains(SHOWN));
    assert!(project.run(&["show", "x"]).stdout.contains(SHOWN));
    assert!(project.run(&[HOSTILE]).stderr.contains(SHOWN));
}

#[test]
fn a_result_keeps_its_bytes_in_a_pipe_and_is_escaped_on_a_terminal() {
    for terminal in [false, true] {
        let server = ScriptedServer::start();
        let api = WireApi::Chat;
        let first = text([HOSTILE]);
        server.answer(api.answer(&first));
        server.answer(api.answer(&completes(HOSTILE)));
        let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
        let arguments = ["run", "Explore", "x"];
        if terminal {
            let (code, shown, _) = Terminal::with(&project, &arguments).end();
            assert_eq!(code, Some(0), "{shown}");
            assert!(!shown.contains("\u{1b}]") && !shown.contains("\u{1b}[2J"), "{shown:?}");
            assert!(!shown.contains(['\u{202e}', '\u{9b}', '\u{200b}', '\u{e0041}']), "{shown:?}");
        } else {
            let ran = project.run(&arguments);
            assert_eq!(ran.stdout, format!("{HOSTILE}\n"));
            assert_harmless(&ran.stderr);
        }
    }
}
