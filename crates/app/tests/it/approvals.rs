//! Questions at a terminal of the program's own, and what becomes of them without one.

use attache_testkit::{
    project::TestProject,
    scripted_server::{ScriptedServer, Turn, WireApi, text, tool_call},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::{
    providers::{completes, lab, used},
    terminal::{Streams, Terminal},
};

const RUN: [&str; 4] = ["run", "fixer", "fix it", "--trust"];

/// The model writes these files, one in each turn, then is done.
fn writing(files: &[&str]) -> (ScriptedServer, TestProject) {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    for (number, file) in files.iter().enumerate() {
        server.answer(api.answer(&write(number, file)));
    }
    server.answer(api.answer(&completes("Done.")));
    let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    project.agent("fixer", "description: Fixes what is broken\ntools: Read, Write");
    (server, project)
}

pub(crate) fn write(number: usize, file: &str) -> Turn {
    let content = format!("version {number}\n");
    let arguments = json!({"path": file, "content": content});
    tool_call(&format!("call_{number}"), "write_file", &arguments).using(used(100))
}

fn told(server: &ScriptedServer) -> String {
    String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned()
}

#[test]
fn a_yes_lets_one_call_begin_and_shows_what_it_will_do() {
    let (server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    assert!(!project.root().join("new.txt").exists(), "it was written before anybody said yes");
    terminal.types(b"y");
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(echo, "the terminal was left silent");
    for part in
        ["[fixer] asks to call write_file", "+version 0", "why: ", "[y]es  [s]ession (`new.txt`)"]
    {
        assert!(shown.contains(part), "{part:?} is not in {shown}");
    }
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
    server.assert_done();
}

#[test]
fn a_key_may_come_together_with_enter() {
    let (server, project) = writing(&["a.txt", "b.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    terminal.types(b"y\r");
    server.wait_for_request(2);
    terminal.wait_for_silence();
    terminal.types(b"n\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(project.root().join("a.txt").exists(), "{shown}");
    assert!(!project.root().join("b.txt").exists(), "{shown}");
    server.assert_done();
}

#[test]
fn in_a_plain_chat_the_terminal_belongs_to_the_question() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    server.answer(api.answer(&write(0, "new.txt")));
    server.answer(api.answer(&text(["Written."])));
    let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let mut terminal = Terminal::controlling(&project, &["chat", "--plain"], Streams::Terminal);
    terminal.types(b"write it\n");
    terminal.wait_for_silence();
    terminal.types(b"y");
    server.wait_for_request(2);
    terminal.wait_for_echo(true);
    terminal.types(b"/quit\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Written."), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
    server.assert_done();
}

#[test]
fn a_no_is_told_to_the_agent_with_the_words_and_it_goes_on() {
    let (server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    terminal.types(b"n");
    terminal.wait_for_echo(true);
    terminal.types(b"not in this directory\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!project.root().join("new.txt").exists());
    assert!(told(&server).contains("not in this directory"), "{}", told(&server));
}

#[test]
fn an_approval_for_the_session_covers_the_same_file_and_no_other() {
    let (server, project) = writing(&["a.txt", "a.txt", "b.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    terminal.types(b"s");
    server.wait_for_request(3);
    terminal.wait_for_silence();
    terminal.types(b"n");
    terminal.wait_for_echo(true);
    terminal.types(b"\n");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("a.txt")).unwrap(), "version 1\n");
    assert!(!project.root().join("b.txt").exists());
    assert_eq!(shown.matches("asks to call").count(), 2, "{shown}");
}

#[test]
fn an_abort_ends_the_run() {
    let (_server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    terminal.types(b"a");
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(1), "{shown}");
    assert!(echo && shown.contains("(aborted"), "{shown}");
    assert!(!project.root().join("new.txt").exists());
}

#[test]
fn a_question_that_was_open_at_a_kill_is_asked_again_on_resume() {
    let (server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    let process = i32::try_from(terminal.process()).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
    let (code, shown, _) = terminal.end();
    assert_eq!(code, None, "{shown}");
    assert!(!project.root().join("new.txt").exists());

    let resume = ["run", "--resume", "last", "now finish", "--trust"];
    let mut terminal = Terminal::controlling(&project, &resume, Streams::Terminal);
    terminal.wait_for_silence();
    // The model is not asked before the call has its result.
    assert_eq!(server.requests().len(), 1);
    terminal.types(b"y");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("[fixer] asks to call write_file"), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
    let request = server.requests().last().unwrap().json();
    let roles: Vec<&str> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles[roles.len() - 3..], ["assistant", "tool", "user"], "{request}");
    assert!(told(&server).contains("now finish"), "{}", told(&server));
    server.assert_done();
}

#[test]
fn a_question_of_an_agent_that_was_open_at_a_kill_is_asked_again_when_it_is_continued() {
    const WRITER: &str =
        r#"{"fixer": {"description": "Fixes.", "prompt": "You fix.", "tools": ["Read", "Write"]}}"#;
    const API: WireApi = WireApi::Chat;
    let server = ScriptedServer::start();
    let project = lab(&server, API, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let task = json!({"subagent_type": "fixer", "prompt": "write", "description": "write it"});
    server.answer(API.answer(&tool_call("call_1", "Task", &task).using(used(10))));
    server.answer(API.answer(&write(0, "new.txt")));
    let exec = ["exec", "go", "--agents", WRITER];
    let mut terminal = Terminal::controlling(&project, &exec, Streams::Terminal);
    server.wait_for_request(2);
    terminal.wait_for_silence();
    let process = i32::try_from(terminal.process()).unwrap();
    kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
    assert_eq!(terminal.end().0, None);
    let tasks = project.json(&["tasks", "--all", "--json"]);
    let mut tasks = tasks.as_array().unwrap().iter();
    let fixer = tasks.find(|task| task["agent_type"] == "fixer").unwrap();
    assert_eq!(fixer["status"], "interrupted");
    // The main agent is told, and continues it.
    let mut again = task;
    again["resume"] = fixer["agent_id"].clone();
    server.answer(API.answer(&tool_call("call_2", "Task", &again).using(used(10))));
    server.answer(API.answer(&completes("Written.")));
    server.answer(API.answer(&text(["All done."]).using(used(10))));
    let resume = ["exec", "--resume", "last", "go on", "--agents", WRITER];
    let mut terminal = Terminal::controlling(&project, &resume, Streams::Terminal);
    server.wait_for_request(3);
    terminal.wait_for_silence();
    // The agent's model is not asked before its call has a result.
    assert_eq!(server.requests().len(), 3);
    terminal.types(b"y");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("[fixer] asks to call write_file"), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
    server.assert_done();
}

#[test]
fn a_question_is_asked_again_when_a_stopped_program_goes_on() {
    let (_server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    let process = Pid::from_raw(i32::try_from(terminal.process()).unwrap()).unwrap();
    kill_process(process, Signal::STOP).unwrap();
    // What a shell does in between.
    terminal.echo();
    kill_process(process, Signal::CONT).unwrap();
    terminal.wait_for_silence();
    terminal.types(b"y");
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(echo, "the terminal was left silent");
    assert_eq!(shown.matches("asks to call write_file").count(), 2, "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
}

#[test]
fn an_interrupt_leaves_the_terminal_as_it_was() {
    let (_server, project) = writing(&["new.txt"]);
    let mut terminal = Terminal::controlling(&project, &RUN, Streams::Terminal);
    terminal.wait_for_silence();
    // Ctrl-C, as the keyboard sends it.
    terminal.types(b"\x03");
    let (code, shown, echo) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(echo, "the terminal was left silent");
    assert!(!project.root().join("new.txt").exists());
}

#[test]
fn somebody_is_asked_although_the_output_is_a_pipe() {
    let (_server, project) = writing(&["new.txt"]);
    let arguments = [&RUN[..], &["--json"]].concat();
    let mut terminal = Terminal::controlling(&project, &arguments, Streams::Pipes);
    terminal.wait_for_silence();
    terminal.types(b"y");
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("[fixer] asks to call write_file"), "{shown}");
    assert_eq!(std::fs::read_to_string(project.root().join("new.txt")).unwrap(), "version 0\n");
}

#[test]
fn without_a_terminal_nobody_is_waited_for() {
    let (server, project) = writing(&["new.txt"]);
    let ran = project.run(&RUN);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!project.root().join("new.txt").exists());
    assert!(told(&server).contains("nobody is there to ask"), "{}", told(&server));
    let ran = project.run(&[&RUN[..], &["--approve", "ask"]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("nobody can be asked off a terminal"), "{ran:?}");
}

#[test]
fn everything_can_be_approved_or_denied_beforehand() {
    for (how, is_written) in [("all", true), ("deny", false)] {
        let (_server, project) = writing(&["new.txt"]);
        let ran = project.run(&[&RUN[..], &["--approve", how]].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(project.root().join("new.txt").exists(), is_written, "{how}: {ran:?}");
    }
}
