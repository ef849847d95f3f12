//! The chat as people use it: under tmux, started from a shell. `ATTACHE_SCREENS` names a directory for captured screens.
//!
//! Needs tmux (`scripts/tmux` installs it); without it the test says that it did not check.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Gate, ScriptedServer, WireApi, text, tool_call},
};
use serde_json::json;
use tempfile::TempDir;

use super::{
    PROMPT,
    blocks::{path, project},
};
use crate::providers::{completes, looks};

const API: WireApi = WireApi::Gemini;
const AGENTS: &str = r#"{
    "worker": {"description": "Works.", "prompt": "You work.", "model": "lab-2", "tools": ["LS"]},
    "scribe": {"description": "Writes.", "prompt": "You write.", "model": "lab-3", "tools": ["Write"]}}"#;
/// How long something may take to appear before the test has failed.
const DEADLINE: Duration = Duration::from_secs(30);

/// A tmux server of its own with one window, in which a shell runs.
struct Tmux {
    folder: TempDir,
    variables: Vec<(String, String)>,
    /// The client that is told whenever something is written.
    watcher: Child,
    written: Arc<(Mutex<u64>, Condvar)>,
    screens: Option<PathBuf>,
}

impl Tmux {
    /// A shell in the project, with the program on its path; none without tmux.
    fn start(project: &TestProject) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!(
                "tmux is not here: the chat was not tried under it; scripts/tmux installs it"
            );
            return None;
        }
        let own = project.command(&[]);
        let mut variables: Vec<(String, String)> = own
            .get_envs()
            .filter_map(|(name, value)| {
                Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned()))
            })
            .collect();
        let beside = Path::new(own.get_program()).parent().unwrap().display();
        for (name, value) in &mut variables {
            if name == "PATH" {
                *value = format!("{beside}:{value}");
            }
        }
        variables.extend(
            [("PS1", "$ "), ("AGENTS", AGENTS), ("LC_ALL", "C.UTF-8")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let folder = TempDir::new().unwrap();
        let shell = ["bash", "--norc", "--noprofile"];
        let root = project.root();
        let begin = ["new-session", "-d", "-x", "80", "-y", "24", "-c", root.to_str().unwrap()];
        let ran = tmux(folder.path(), &variables, &[&begin[..], &shell[..]].concat()).status();
        assert!(ran.unwrap().success());
        let mut watcher = tmux(folder.path(), &variables, &["-C", "attach", "-f", "ignore-size"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let written = Arc::new((Mutex::new(0), Condvar::new()));
        let (lines, told) = (watcher.stdout.take().unwrap(), Arc::clone(&written));
        std::thread::spawn(move || {
            for _ in BufReader::new(lines).lines().map_while(Result::ok) {
                *told.0.lock().unwrap() += 1;
                told.1.notify_all();
            }
        });
        #[expect(clippy::disallowed_methods, reason = "the documented way to keep the screens")]
        let screens = env::var_os("ATTACHE_SCREENS").map(PathBuf::from);
        Some(Self { folder, variables, watcher, written, screens })
    }

    fn ask(&self, words: &[&str]) -> String {
        let answer = tmux(self.folder.path(), &self.variables, words).output().unwrap();
        assert!(answer.status.success(), "{words:?}: {answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Types a text, and Enter.
    fn sends(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
        self.press(&["Enter"]);
    }

    /// Presses keys, as tmux calls them.
    fn press(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// What is on the screen, and what has left it at its top.
    fn everything(&self) -> String {
        self.ask(&["capture-pane", "-p", "-S", "-"])
    }

    /// Keeps the screen for people who want to look at it.
    fn keep(&self, name: &str) {
        if let Some(folder) = &self.screens {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join(format!("{name}.txt")), self.screen()).unwrap();
        }
    }

    fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let began = Instant::now();
        loop {
            let before = *self.written.0.lock().unwrap();
            let screen = self.screen();
            if wanted(&screen) {
                return;
            }
            let left = DEADLINE.checked_sub(began.elapsed());
            let left = left.unwrap_or_else(|| panic!("{what:?} never came:\n{screen}"));
            let state = self.written.0.lock().unwrap();
            drop(self.written.1.wait_timeout_while(state, left, |now| *now == before).unwrap());
        }
    }

    /// Changes the number of columns, and waits until the input stands between two rules of that length.
    fn resize(&self, columns: usize) {
        self.ask(&["resize-window", "-x", &columns.to_string(), "-y", "24"]);
        let rule = "─".repeat(columns);
        self.wait_until("the new size", |screen| {
            let rules = || screen.lines().filter(|line| line.starts_with('─'));
            rules().count() == 2 && rules().all(|line| line == rule)
        });
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        drop(tmux(self.folder.path(), &self.variables, &["kill-server"]).status());
        drop(self.watcher.wait());
    }
}

fn tmux(folder: &Path, variables: &[(String, String)], words: &[&str]) -> Command {
    let mut command = Command::new("tmux");
    command.env_clear().envs(variables.iter().cloned());
    command.arg("-S").arg(folder.join("socket")).args(["-f", "/dev/null"]).args(words);
    command
}

fn task(agent: &str, prompt: &str) -> serde_json::Value {
    json!({"subagent_type": agent, "prompt": prompt, "description": format!("look at {prompt}")})
}

/// Two agents: one looks and is slow, the other writes a file.
fn script(server: &ScriptedServer, slow: &Gate) {
    let both = text(["I ask **two** agents 🦀.\n\n"])
        .then_tool_call("c1", "Task", &task("worker", "one"))
        .then_tool_call("c2", "Task", &task("scribe", "two"));
    server.answer_on(&path("lab-1"), API.answer(&both));
    server.answer_on(&path("lab-2"), API.answer(&looks(100)));
    server.answer_on(&path("lab-2"), API.answer(&completes("found it")).gated(slow, 0));
    let write = json!({"path": "notes.txt", "content": "one\ntwo\n"});
    server.answer_on(&path("lab-3"), API.answer(&tool_call("w", "write_file", &write)));
    server.answer_on(&path("lab-3"), API.answer(&completes("written")));
    server.answer_on(&path("lab-1"), API.answer(&text(["One is on its way."])));
    server.answer_on(&path("lab-1"), API.answer(&text(["Both are done."])));
}

#[test]
fn a_whole_session_under_tmux() {
    let server = ScriptedServer::start();
    let (slow, cut) = (Gate::new(), Gate::new());
    script(&server, &slow);
    let project = project(&server);
    let Some(tmux) = Tmux::start(&project) else { return };
    tmux.wait_for("$");
    tmux.sends("attache chat --agents \"$AGENTS\"");
    tmux.wait_for(PROMPT);

    // Type and delegate: a block for each agent. The other one asks; nothing is written before the yes.
    tmux.sends("look at both, 日本 too");
    tmux.wait_for("[scribe] look at two, asks to call write_file  (its clock is paused)");
    slow.wait_until_reached(1);
    tmux.wait_until("the block of the worker", |screen| {
        screen.contains("● [worker] look at one") && screen.contains("Turn 2/50 (")
    });
    tmux.keep("1-question-80");
    tmux.resize(40);
    tmux.keep("2-question-40");
    tmux.resize(80);
    assert!(!project.root().join("notes.txt").exists());
    tmux.press(&["y"]);
    tmux.wait_for("✓ [scribe] look at two");
    assert_eq!(fs::read_to_string(project.root().join("notes.txt")).unwrap(), "one\ntwo\n");

    // To the background; the main agent answers meanwhile.
    tmux.press(&["C-b"]);
    tmux.wait_for("One is on its way.");
    tmux.wait_for("1 agent works in the background");
    tmux.keep("3-background-80");

    // The board, a transcript on it, and back.
    tmux.press(&["C-t"]);
    tmux.wait_until("the board", |screen| {
        screen.contains(" Tasks") && screen.contains("running     worker")
    });
    tmux.keep("4-board-80");
    tmux.press(&["Enter"]);
    tmux.wait_for("Transcript of ");
    tmux.press(&["q"]);
    tmux.wait_for(" Tasks");
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);

    // Another size, twice; then the worker ends.
    tmux.resize(40);
    tmux.keep("5-background-40");
    tmux.resize(80);
    slow.open();
    tmux.wait_for("Both are done.");
    tmux.wait_for(PROMPT);
    tmux.keep("6-done-80");

    // Quit: the conversation stays on the screen, and the shell reads lines again.
    tmux.press(&["C-d"]);
    tmux.wait_for("resume with: attache chat --resume agent-");
    tmux.sends("echo back in the shell");
    tmux.wait_until("the shell", |screen| screen.contains("\nback in the shell\n"));
    let everything = tmux.everything();
    for part in ["› look at both, 日本 too", "I ask two agents 🦀.", "✓ [worker] look at one"]
    {
        assert!(everything.contains(part), "{part:?} is not in\n{everything}");
    }
    tmux.keep("7-quit-80");

    // Resume; then the program is killed in the middle of an answer, and resumed again.
    server.answer_on(&path("lab-1"), API.answer(&text(["Half ", "way"])).gated(&cut, 2));
    tmux.sends("clear; sh -c 'echo $$ > pid; exec attache chat --resume'");
    tmux.wait_until("the conversation", |screen| {
        screen.contains("Both are done.") && screen.contains(PROMPT)
    });
    tmux.keep("8-resumed-80");
    tmux.sends("go on");
    cut.wait_until_reached(1);
    tmux.wait_for("Half");
    let id = fs::read_to_string(project.root().join("pid")).unwrap();
    let killed = Command::new("kill").args(["-9", id.trim()]).status().unwrap();
    assert!(killed.success());
    tmux.wait_for("Killed");
    server.answer_on(&path("lab-1"), API.answer(&text(["All is well."])));
    tmux.sends("clear; attache chat --resume");
    tmux.wait_until("the cut", |screen| {
        screen.contains("was cut off") && screen.contains("› go on") && screen.contains(PROMPT)
    });
    tmux.keep("9-killed-80");
    tmux.sends("again");
    tmux.wait_for("All is well.");
    tmux.wait_for(PROMPT);
    let asked = server.requests().last().unwrap().json().to_string();
    assert!(asked.contains("look at both, 日本 too") && asked.contains("go on"), "{asked}");
    tmux.press(&["C-d"]);
    tmux.wait_for("resume with: attache chat --resume agent-");
    server.assert_done();
}
