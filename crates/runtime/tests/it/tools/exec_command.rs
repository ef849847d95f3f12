//! `exec_command` and `write_stdin`: programs that go on and are talked to.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use super::{Fixture, ending::Sleeper};

/// The answer of a command that goes on, which must be there.
async fn start(fixture: &Fixture, arguments: Value) -> String {
    let answer = fixture.answer("exec_command", arguments).await;
    assert!(!answer.is_error, "{}", answer.text);
    answer.text
}

async fn typed(fixture: &Fixture, session: usize, chars: &str) -> String {
    fixture.answer("write_stdin", json!({"session_id": session, "chars": chars})).await.text
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_session_is_an_error_that_lists_the_others() {
    let fixture = Fixture::new();
    let text = typed(&fixture, 7, "x").await;
    assert_eq!(text, "there is no session 7: none is open; start one with exec_command");
    start(&fixture, json!({"command": "cat", "yield_time_ms": 0})).await;
    let text = typed(&fixture, 7, "x").await;
    assert_eq!(text, "there is no session 7: open are 1 (`cat`)");
    let missing = fixture.answer("write_stdin", json!({"chars": "x"})).await;
    assert_eq!(missing.text, "parameter `session_id` (a number) is required");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_no_longer_than_calls_may_take() {
    let mut fixture = Fixture::new();
    fixture.context.usual_time_limit = Duration::from_millis(50);
    let call = json!({"command": "cat", "yield_time_ms": 99_999_999});
    let text = start(&fixture, call).await;
    assert!(text.contains("session"), "{text}");
    let text = fixture.answer("write_stdin", json!({"session_id": 1, "yield_time_ms": 99_999_999}));
    assert!(!text.await.is_error);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_needs_no_session() {
    let fixture = Fixture::new();
    let answer = fixture.answer("exec_command", json!({"command": "echo hi; exit 2"})).await;
    assert!(answer.is_error && answer.text.starts_with("hi\n[exit code 2, "), "{}", answer.text);
    let text = typed(&fixture, 1, "x").await;
    assert!(text.contains("none is open"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_talked_to_through_a_pipe() {
    for fixture in Fixture::both() {
        talk_through_a_pipe(&fixture).await;
    }
}

async fn talk_through_a_pipe(fixture: &Fixture) {
    let text = start(fixture, json!({"command": "cat", "yield_time_ms": 0})).await;
    assert_eq!(text, "(no output)\n[still running, session_id 1]");
    assert_eq!(typed(fixture, 1, "one\n").await, "one\n[still running, session_id 1]");
    // Only what is new.
    assert_eq!(typed(fixture, 1, "two\n").await, "two\n[still running, session_id 1]");
    let waited = json!({"session_id": 1, "yield_time_ms": 10});
    let waited = fixture.answer("write_stdin", waited).await;
    assert_eq!(waited.text, "(no output)\n[still running, session_id 1]");
    let text = typed(fixture, 1, "three\n\u{4}").await;
    assert!(text.starts_with("three\n[exit code 0, "), "{text}");
    assert!(typed(fixture, 1, "four\n").await.contains("no session 1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_ends_the_wait_and_an_answer_goes_on() {
    let fixture = Fixture::new();
    let command = "read -p 'Name? ' -r name; echo; echo \"Hello $name\"";
    let ask = "printf 'Name? '; read -r name; echo \"Hello $name\"";
    let text = start(&fixture, json!({"command": ask, "yield_time_ms": 60_000})).await;
    assert_eq!(text, "Name? \n[still running, session_id 1]");
    let text = typed(&fixture, 1, "Ada\n").await;
    assert!(text.starts_with("Hello Ada\n[exit code 0, "), "{text}");
    let text = start(&fixture, json!({"command": command, "tty": true})).await;
    assert_eq!(text, "Name? \n[still running, session_id 2]");
    let text = typed(&fixture, 2, "Bob\n").await;
    assert!(text.contains("Hello Bob\n[exit code 0, "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interpreter_keeps_its_state() {
    let fixture = Fixture::new();
    let python = json!({"command": ["python3", "-i", "-q", "-u"], "yield_time_ms": 60_000});
    let text = start(&fixture, python).await;
    assert!(text.contains(">>> ") && text.ends_with("\n[still running, session_id 1]"), "{text}");
    typed(&fixture, 1, "x = 6 * 7\n").await;
    let text = typed(&fixture, 1, "print('answer', x)\n").await;
    assert!(text.starts_with("answer 42\n"), "{text}");
    let text = typed(&fixture, 1, "exit(3)\n").await;
    assert!(text.contains("[exit code 3, "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_one_and_has_a_size() {
    let fixture = Fixture::new();
    let answer =
        start(&fixture, json!({"command": "test -t 0 && test -t 1 && stty size", "tty": true}))
            .await;
    assert!(answer.starts_with("40 160\n[exit code 0, "), "{answer}");
    let answer = fixture
        .answer("exec_command", json!({"command": "test -t 0 || test -t 1 || echo none"}))
        .await;
    assert!(answer.text.starts_with("none\n"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_nobody_reads_does_not_hang_the_call() {
    let fixture = Fixture::new();
    start(&fixture, json!({"command": "sleep 1000", "yield_time_ms": 0})).await;
    let much = json!({"session_id": 1, "chars": "x".repeat(1 << 20), "yield_time_ms": 100});
    let answer = fixture.answer("write_stdin", much).await;
    assert!(answer.is_error);
    assert!(
        answer.text.contains("it does not read its input: 65536 of 1048576 bytes were taken"),
        "{}",
        answer.text
    );
    start(
        &fixture,
        json!({"command": "exec 0<&-; echo closed; sleep 1000", "yield_time_ms": 1000}),
    )
    .await;
    let text = typed(&fixture, 2, "x\n").await;
    assert!(text.contains("its input is closed"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_bounded_and_end_with_their_run() {
    for fixture in Fixture::both() {
        let mut sleepers: Vec<Sleeper> = (0..16).map(|_| Sleeper::new()).collect();
        for sleeper in &sleepers {
            let arguments = json!({"command": format!("exec {sleeper}"), "yield_time_ms": 0});
            start(&fixture, arguments).await;
        }
        let answer = fixture.answer("exec_command", json!({"command": "true"})).await;
        let expected = "16 sessions are open; end one first: open are 1 (`exec sleep ";
        assert!(answer.is_error && answer.text.starts_with(expected), "{}", answer.text);
        let ended = sleepers.remove(3);
        ended.wait_for();
        ended.kill();
        // The one that has ended makes room for another.
        while fixture.answer("exec_command", json!({"command": "true"})).await.is_error {}
        sleepers.iter().for_each(Sleeper::wait_for);
        drop(fixture);
        sleepers.iter().for_each(Sleeper::wait_until_gone);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn control_characters_work_on_a_terminal() {
    // Only the sandbox's helper makes a terminal the controlling one.
    let fixture = Fixture::new().sandboxed();
    let arguments = json!({"command": "trap 'echo; echo interrupted; exit 7' INT; echo up; while :; do read -r x; done", "tty": true, "yield_time_ms": 500});
    assert!(start(&fixture, arguments).await.starts_with("up\n[still running"));
    let text = typed(&fixture, 1, "\u{3}").await;
    assert!(text.contains("interrupted\n[exit code 7, "), "{text}");
    start(&fixture, json!({"command": "cat", "tty": true, "yield_time_ms": 0})).await;
    let text = typed(&fixture, 2, "line\n").await;
    assert_eq!(text, "line\nline\n[still running, session_id 2]");
    let text = typed(&fixture, 2, "\u{4}").await;
    assert!(text.contains("[exit code 0, "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn long_output_of_a_session_is_cut_and_each_part_kept_whole() {
    let fixture = Fixture::new();
    let command = "seq 1 20000; read -r x; seq 1 30000";
    let arguments = json!({"command": command, "yield_time_ms": 2000, "max_output_tokens": 100});
    let first = fixture.answer("exec_command", arguments).await;
    assert!(first.text.len() < 700 && first.text.contains("session_id 1"), "{}", first.text);
    assert_eq!(fs::read_to_string(&first.artifacts[0]).unwrap().lines().count(), 20_000);
    let second = fixture.answer("write_stdin", json!({"session_id": 1, "chars": "\n"})).await;
    assert!(second.text.contains("\n30000\n[exit code 0, "), "{}", second.text);
    assert_eq!(fs::read_to_string(&second.artifacts[0]).unwrap().lines().count(), 30_000);
}
