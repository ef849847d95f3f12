//! Nobody reads: the run goes on, and clocks and signals still end the program.

use std::{
    fs,
    io::{ErrorKind, PipeReader, PipeWriter, Read as _, Write as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, text},
};
use rustix::io::ioctl_fionbio;

use crate::providers::{completes, lab, looks};

/// Stops a process as Ctrl-C does.
pub(crate) fn interrupt(process: u32) {
    let status = Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap();
    assert!(status.success());
}

/// A pipe that has no room left, and nobody who reads it.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    ioctl_fionbio(&writer, true).unwrap();
    loop {
        match writer.write(&[b'x'; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// Waits until a run's transcript says that it has ended.
fn wait_for_end(project: &TestProject) {
    let deadline = Instant::now() + Duration::from_mins(1);
    let sessions = project.home().join(".attache/sessions");
    let ended = || {
        let folders = fs::read_dir(&sessions).into_iter().flatten().flatten();
        let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten());
        files.flatten().any(|file| {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            text.contains("\"type\":\"ended\"")
        })
    };
    while !ended() {
        assert!(Instant::now() < deadline, "the run never ended");
        std::thread::yield_now();
    }
}

#[test]
fn a_run_ends_though_nobody_reads_its_events() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    server.answer(api.answer(&looks(100)));
    server.answer(api.answer(&completes("Found.")));
    let project = lab(&server, api, "");
    let (mut reader, writer) = full_pipe();
    let mut program = project
        .command(&["run", "Explore", "where?", "--output-format", "stream-json"])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for_end(&project);
    assert!(program.try_wait().unwrap().is_none(), "a result is not thrown away");
    // Whoever reads late gets everything.
    let mut shown = String::new();
    reader.read_to_string(&mut shown).unwrap();
    let lines: Vec<&str> = shown.trim_start_matches('x').lines().collect();
    assert!(lines[0].contains("\"STARTED\""), "{}", lines[0]);
    assert!(lines.last().unwrap().starts_with("{\"type\":\"result\""), "{lines:?}");
    assert_eq!(program.wait().unwrap().code(), Some(0));
}

#[test]
fn an_interrupt_ends_a_program_whose_output_nobody_reads() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let api = WireApi::Chat;
    server.answer(api.answer(&text(["Half a"])).gated(&gate, 1));
    let project = lab(&server, api, "");
    let (_reader, writer) = full_pipe();
    let (_other, stderr) = full_pipe();
    let mut program = project
        .command(&["run", "Explore", "where?", "--output-format", "stream-json"])
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(stderr)
        .spawn()
        .unwrap();
    gate.wait_until_reached(1);
    interrupt(program.id());
    assert_eq!(program.wait().unwrap().code(), Some(130));
    wait_for_end(&project);
}

#[test]
fn a_result_is_printed_though_nobody_reads_the_progress() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    server.answer(api.answer(&looks(100)));
    server.answer(api.answer(&completes("Found.")));
    let project = lab(&server, api, "");
    let (_reader, stderr) = full_pipe();
    let output = project
        .command(&["run", "Explore", "where?"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Found.\n");
}
