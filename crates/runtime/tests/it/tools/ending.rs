//! The end of commands: whatever ends them ends all that they started, in the sandbox and without it.

use std::{
    fmt, fs,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Fixture, shell::output};

/// How long a test waits for something that should happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A sleep that can be told from any other, also from outside of the sandbox.
#[derive(Debug)]
pub(super) struct Sleeper {
    seconds: String,
}

impl Sleeper {
    pub(super) fn new() -> Self {
        Self { seconds: format!("1000.{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000) }
    }

    fn pid(&self) -> Option<Pid> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let mut pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
        let is_it = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            words.next() == Some(b"sleep") && words.next() == Some(self.seconds.as_bytes())
        };
        pids.find(is_it).and_then(Pid::from_raw)
    }

    /// Waits until it is there.
    pub(super) fn wait_for(&self) {
        self.wait(true);
    }

    /// Waits until it is gone.
    pub(super) fn wait_until_gone(&self) {
        self.wait(false);
    }

    fn wait(&self, is_wanted: bool) {
        let began = Instant::now();
        while self.pid().is_some() != is_wanted {
            assert!(began.elapsed() < PATIENCE, "{self} is there: {}", !is_wanted);
            std::thread::yield_now();
        }
    }

    pub(super) fn kill(&self) {
        kill_process(self.pid().unwrap(), Signal::KILL).unwrap();
    }
}

/// The command that starts it.
impl fmt::Display for Sleeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sleep {}", self.seconds)
    }
}

#[test]
fn what_takes_too_long_is_ended_with_all_it_started() {
    for fixture in Fixture::both() {
        let sleepers = [Sleeper::new(), Sleeper::new(), Sleeper::new()];
        let [plain, deaf, nohup] = &sleepers;
        let command = format!(
            "trap '' TERM INT HUP; echo before; {plain} & (trap '' TERM; exec {deaf}) &
             nohup {nohup} >/dev/null 2>&1 & wait"
        );
        let text = fixture.error("shell", json!({"command": command, "timeout_ms": 1000}));
        assert_eq!(
            text,
            "before\n[killed after 1 s, the time limit; raise timeout_ms or use exec_command]"
        );
        sleepers.iter().for_each(Sleeper::wait_until_gone);
    }
}

#[test]
fn daemons_are_ended_in_the_sandbox() {
    let fixture = Fixture::new().sandboxed();
    let sleepers = [Sleeper::new(), Sleeper::new(), Sleeper::new()];
    let [session, forked, closed] = &sleepers;
    let start = format!(
        "setsid {session} & (setsid sh -c '{forked} & exit' &); setsid {closed} <&- >&- 2>&- &"
    );
    let waiting = format!("{start} sleep 1000");
    fixture.error("shell", json!({"command": waiting, "timeout_ms": 1000}));
    sleepers.iter().for_each(Sleeper::wait_until_gone);
    // The same when the command itself ends.
    let text = fixture.text("shell", json!({"command": format!("{start} echo done")}));
    assert!(text.starts_with("done\n[what was left running"), "{text}");
    sleepers.iter().for_each(Sleeper::wait_until_gone);
}

#[test]
fn what_was_left_in_the_background_does_not_hang_the_call() {
    for fixture in Fixture::both() {
        let sleeper = Sleeper::new();
        let text = fixture.text("shell", json!({"command": format!("{sleeper} & echo done")}));
        assert!(text.starts_with("done\n[") && text.contains("[exit code 0, "), "{text}");
        sleeper.wait_until_gone();
        // One that does not stop writing does not either.
        let text = fixture.text("shell", json!({"command": format!("yes & {sleeper} &")}));
        assert!(text.contains("[exit code 0, "), "{}", text.len());
        sleeper.wait_until_gone();
        // One that let go of the output is ended as well.
        let quiet = format!("{sleeper} >/dev/null 2>&1 &");
        fixture.text("shell", json!({ "command": quiet }));
        sleeper.wait_until_gone();
    }
}

#[test]
fn what_was_killed_in_the_background_is_said() {
    for fixture in Fixture::both() {
        let sleeper = Sleeper::new();
        let text = fixture.text("shell", json!({"command": format!("echo a; {sleeper} &")}));
        let said = "what was left running in the background was killed]";
        assert_eq!(text.matches(said).count(), 1, "{text}");
        // What is about to end may do so.
        let text = fixture.text("shell", json!({"command": "echo one > >(sleep 0.01; cat)"}));
        assert_eq!(output(&text), "one");
        assert!(!text.contains(said), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_ends_its_command() {
    for fixture in Fixture::both() {
        let sleeper = Arc::new(Sleeper::new());
        let arguments = json!({"command": format!("{sleeper}; true")});
        let waiting = Arc::clone(&sleeper);
        let is_up = tokio::task::spawn_blocking(move || waiting.wait_for());
        tokio::select! {
            answer = fixture.answer("shell", arguments) => panic!("{answer:?}"),
            is_up = is_up => is_up.unwrap(),
        }
        sleeper.wait_until_gone();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_command() {
    for fixture in Fixture::both() {
        let sleeper = Arc::new(Sleeper::new());
        let cancel = fixture.context.cancel.clone();
        let arguments = json!({"command": format!("{sleeper}; true")});
        let waiting = Arc::clone(&sleeper);
        let cancels = tokio::task::spawn_blocking(move || {
            waiting.wait_for();
            cancel.cancel();
        });
        assert_eq!(fixture.answer("shell", arguments).await.text, "cancelled");
        cancels.await.unwrap();
        sleeper.wait_until_gone();
    }
}

#[test]
fn a_runtime_that_ends_ends_the_commands() {
    for fixture in Fixture::both() {
        let sleeper = Sleeper::new();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let arguments = json!({"command": sleeper.to_string(), "yield_time_ms": 0});
        runtime.block_on(fixture.answer("exec_command", arguments));
        sleeper.wait_for();
        drop(runtime);
        drop(fixture);
        sleeper.wait_until_gone();
    }
}

#[test]
fn nothing_is_left_in_the_workspace_when_a_command_is_ended() {
    let fixture = Fixture::new().sandboxed();
    fixture.error("shell", json!({"command": "sleep 1000", "timeout_ms": 500}));
    let began = Instant::now();
    while fs::read_dir(fixture.root()).unwrap().count() > 0 {
        assert!(began.elapsed() < PATIENCE, "{:?}", fs::read_dir(fixture.root()).unwrap().next());
        std::thread::yield_now();
    }
}
