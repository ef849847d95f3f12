//! The program on a terminal of its own.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    process::Command,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use attache_testkit::{
    project::TestProject,
    scripted_server::{Answer, Gate, ScriptedServer, WireApi, text, tool_call},
};
use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, Winsize, tcgetattr, tcsetattr,
        tcsetwinsize,
    },
};

use serde_json::json;

use crate::{
    project,
    providers::{completes, lab, looks},
    slow_readers::interrupt,
};

/// Where the program's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    Terminal,
    /// Standard output to a pipe, standard error nowhere; standard input is the terminal, which makes it
    /// the program's own.
    Pipes,
}

/// A terminal, and the program on it. Somebody reads along.
pub(crate) struct Terminal {
    master: File,
    slave: File,
    program: std::process::Child,
    shown: JoinHandle<Vec<u8>>,
}

impl Terminal {
    pub(crate) fn with(project: &TestProject, arguments: &[&str]) -> Self {
        Self::of_columns(80, project, arguments)
    }

    pub(crate) fn of_columns(columns: u16, project: &TestProject, arguments: &[&str]) -> Self {
        Self::running(columns, project.command(arguments), Streams::Terminal)
    }

    /// The program as somebody starts it at a terminal: `/dev/tty` is that terminal.
    pub(crate) fn controlling(project: &TestProject, arguments: &[&str], streams: Streams) -> Self {
        let program = project.command(arguments);
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(program.get_program()).args(program.get_args());
        command.env_clear();
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command.current_dir(program.get_current_dir().unwrap());
        Self::running(80, command, streams)
    }

    fn running(columns: u16, mut program: Command, streams: Streams) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let open = || {
            let flags = OFlags::NOCTTY.bits().cast_signed();
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name).unwrap()
        };
        let slave = open();
        program.stdin(open()).stdout(open()).stderr(open());
        if streams == Streams::Pipes {
            program.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
        }
        let program = program.spawn().unwrap();
        let master = File::from(master);
        let mut reader = master.try_clone().unwrap();
        let shown = std::thread::spawn(move || {
            let mut shown = Vec::new();
            let mut byte = [0];
            while reader.read_exact(&mut byte).is_ok() && byte != [4] {
                shown.extend(byte);
            }
            shown
        });
        Self { master, slave, program, shown }
    }

    /// The program's process.
    pub(crate) fn process(&self) -> u32 {
        self.program.id()
    }

    /// Waits until a single key is awaited: keys in the first moments of a question do not count.
    pub(crate) fn wait_for_silence(&mut self) {
        self.wait_for(|modes| {
            let is_silent = !modes.local_modes.intersects(LocalModes::ECHO | LocalModes::ICANON);
            is_silent && modes.special_codes[SpecialCodeIndex::VMIN] == 1
        });
    }

    /// Waits until what is typed is shown, or is not.
    pub(crate) fn wait_for_echo(&mut self, wanted: bool) {
        self.wait_for(|modes| modes.local_modes.contains(LocalModes::ECHO) == wanted);
    }

    fn wait_for(&mut self, wanted: impl Fn(&Termios) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !wanted(&tcgetattr(&self.slave).unwrap()) {
            assert!(Instant::now() < deadline, "it never asked");
            assert!(self.program.try_wait().unwrap().is_none(), "it ended without asking");
            std::thread::yield_now();
        }
    }

    /// Shows what is typed, as a shell does when it takes the terminal back.
    pub(crate) fn echo(&self) {
        let mut modes = tcgetattr(&self.slave).unwrap();
        modes.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON);
        tcsetattr(&self.slave, OptionalActions::Now, &modes).unwrap();
    }

    /// What was shown, once it has ended.
    pub(crate) fn end(mut self) -> (Option<i32>, String, bool) {
        let code = self.program.wait().unwrap().code();
        let echo = tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO);
        // A marker of our own: the terminal has no end while somebody holds it.
        self.slave.write_all(b"\x04").unwrap();
        let shown = self.shown.join().unwrap();
        (code, String::from_utf8_lossy(&shown).into_owned(), echo)
    }

    /// Types into it.
    pub(crate) fn types(&mut self, text: &[u8]) {
        self.master.write_all(text).unwrap();
    }
}

#[test]
fn the_live_line_has_colours_where_they_are_wanted() {
    for (variable, colours) in [("NO_COLOR", false), ("SOMETHING", true)] {
        let project = project().with_env("TERM", "xterm").with_env(variable, "1");
        project.file("a.txt", "nothing\n");
        let (code, shown, _) = Terminal::with(&project, &["run", "Explore", "zebra"]).end();
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("Turn 1/30"), "{shown}");
        assert_eq!(shown.contains("\u{1b}[36m"), colours, "{variable}: {shown:?}");
    }
}

/// What stands on the screen in the end, as far as this program's own codes go: lines that were erased are
/// gone.
fn screen(shown: &str) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    let mut row = 0;
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {}
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(String::new());
                }
            }
            '\u{1b}' => {
                let mut code = String::new();
                while !code.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
                    code.push(letters.next().unwrap());
                }
                match code.strip_prefix('[').and_then(|code| code.strip_suffix('A')) {
                    Some(up) => row -= up.parse::<usize>().unwrap(),
                    None if code == "[J" => {
                        lines.truncate(row + 1);
                        lines[row].clear();
                    }
                    None => assert!(code.ends_with('m'), "a code nobody asked for: {code}"),
                }
            }
            other => lines[row].push(other),
        }
    }
    lines
}

#[test]
fn a_run_shows_text_calls_and_its_end_and_leaves_no_live_line() {
    let server = ScriptedServer::start();
    let api = WireApi::Chat;
    let first = looks(100)
        .then_tool_call("call_2", "read_file", &json!({ "path": "nope.rs" }))
        .then_tool_call("call_3", "grep_files", &json!({ "pattern": "(?i:\\bprint\\w*)" }))
        .then_text(["I look ", "around.\nThen"]);
    server.answer(api.answer(&first));
    let refused = tool_call("call_4", "shell", &json!({ "command": "rm" }));
    server.answer(api.answer(&refused));
    server.answer(Answer::new().status(503).header("retry-after", "0"));
    server.answer(api.answer(&completes("Found.")));
    let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let (code, shown, _) = Terminal::with(&project, &["run", "Explore", "where?"]).end();
    assert_eq!(code, Some(0), "{shown}");
    let lines = screen(&shown);
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    for line in [
        "[Explore] Starting: where?",
        "I look around.",
        "Then",
        "  ✓ list_dir \".\"  ",
        "  ✓ grep_files \"print\"  ",
        "  ✗ read_file \"nope.rs\"  failed after ",
        "  ✗ shell  refused: ",
        "[Explore] retrying, attempt 2 of 6 in ",
        "[Explore] Completed in ",
        "Found.",
    ] {
        assert!(has(line), "{line:?} is not in {lines:#?}");
    }
    let end = lines.iter().find(|line| line.contains("Completed in")).unwrap();
    for part in ["(goal, 3 turns, ", " tokens, ", "cost unknown, agent-"] {
        assert!(end.contains(part), "{part:?} is not in {end}");
    }
    assert!(shown.contains("[Explore] Turn 1/30 · 0s/120s"), "{shown:?}");
    assert!(!lines.iter().any(|line| line.contains("Turn ")), "a stale line: {lines:#?}");
}

#[test]
fn an_interrupted_run_leaves_no_live_line() {
    let server = ScriptedServer::start();
    let gate = Gate::new();
    let api = WireApi::Chat;
    server.answer(api.answer(&text(["Half a"])).gated(&gate, 1));
    let project = lab(&server, api, "").with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    let terminal = Terminal::with(&project, &["run", "Explore", "where?"]);
    gate.wait_until_reached(1);
    interrupt(terminal.process());
    let (code, shown, _) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    let lines = screen(&shown);
    assert!(lines.iter().any(|line| line.starts_with("stopping; ")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("(aborted, 1 turn, ")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("Turn ")), "a stale line: {lines:#?}");
}

#[test]
fn tables_can_be_read_on_forty_columns() {
    let project = project().with_env("TERM", "xterm").with_env("NO_COLOR", "1");
    project.agent("reviewer", "description: Reviews what was changed and says what to do about it");
    for (arguments, parts) in [
        (&["config", "subagents"][..], &["subagents.default_timeout_seconds", "  value   300"][..]),
        (&["list"], &["reviewer", "active, untrusted", "Reviews what"]),
        (&["models", "openai"], &["gpt-5.6-terra", "needs"]),
    ] {
        let (code, shown, _) = Terminal::of_columns(40, &project, arguments).end();
        assert_eq!(code, Some(0), "{shown}");
        for part in parts {
            assert!(shown.contains(part), "{part:?} is not in\n{shown}");
        }
        let longest = shown.lines().map(|line| line.trim_end().chars().count()).max();
        let words = shown.lines().filter(|line| line.trim_end().chars().count() == 1).count();
        assert!(words == 0, "one letter a line:\n{shown}");
        assert!(arguments[0] == "models" || longest <= Some(40), "{longest:?}\n{shown}");
    }
    project.file("a.txt", "zebra\n");
    assert_eq!(project.run(&["run", "Explore", "zebra"]).code, Some(0));
    let (_, usage, _) = Terminal::of_columns(40, &project, &["usage"]).end();
    for part in ["runs       1", "tokens     0", "reasoning  0"] {
        assert!(usage.contains(part), "{part:?} is not in\n{usage}");
    }
    let (_, wide, _) = Terminal::with(&project, &["list"]).end();
    let row = wide.lines().find(|line| line.starts_with("reviewer")).unwrap();
    assert!(row.contains("active, untrusted  Reviews what was changed"), "{wide}");
}

#[test]
fn a_page_goes_through_the_pager_on_a_terminal_alone() {
    let project = project().with_env("TERM", "xterm").with_env("PAGER", "sed s/^/paged:/");
    let (code, shown, _) = Terminal::with(&project, &["show", "Explore"]).end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.starts_with("paged:"), "{shown}");
    let (_, shown, _) = Terminal::with(&project, &["show", "Explore", "--json"]).end();
    assert!(!shown.contains("paged:"), "{shown}");
    assert!(!project.run(&["show", "Explore"]).stdout.contains("paged:"));
}

#[test]
fn a_terminal_that_cannot_move_its_cursor_gets_plain_lines() {
    let project = project().with_env("TERM", "dumb");
    project.file("a.txt", "zebra\n");
    let (code, shown, _) = Terminal::with(&project, &["run", "Explore", "zebra"]).end();
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    assert!(shown.contains("[Explore]"), "{shown}");
}
