//! The program on a terminal of its own, whose screen can be looked at.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    num::NonZeroU16,
    os::unix::fs::OpenOptionsExt as _,
    process::{Child, Command},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use attache_testkit::project::TestProject;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::OFlags,
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

/// How long something may take to appear before the test has failed.
const DEADLINE: Duration = Duration::from_secs(25);

/// How often the reader looks whether the terminal was closed.
const LOOK_UP: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A terminal with a screen, and the program on it.
pub(crate) struct Pty {
    master: File,
    slave: File,
    program: Child,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

/// What the terminal has got.
struct Seen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    /// How many bytes were answered for already.
    answered: usize,
    /// Whether nobody looks at it any more.
    is_closed: bool,
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

impl Pty {
    /// Starts the program on a terminal of 24 rows.
    pub(crate) fn start(project: &TestProject, arguments: &[&str]) -> Self {
        Self::of_size((24, 80), project, arguments)
    }

    pub(crate) fn of_size(
        (rows, columns): (u16, u16),
        project: &TestProject,
        arguments: &[&str],
    ) -> Self {
        // The program must not hold it: then closing it would not close the terminal.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        tcsetwinsize(&master, size(rows, columns)).unwrap();
        let open = || {
            let flags = OFlags::NOCTTY.bits().cast_signed();
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name).unwrap()
        };
        let slave = open();
        let own = project.command(arguments);
        let mut program = Command::new("setsid");
        program.args(["--ctty", "--wait"]).arg(own.get_program()).args(own.get_args()).env_clear();
        for (name, value) in own.get_envs() {
            program.env(name, value.unwrap_or_default());
        }
        program.current_dir(own.get_current_dir().unwrap());
        program.stdin(open()).stdout(open()).stderr(open());
        let program = program.spawn().unwrap();
        let master = File::from(master);
        let parser = vt100::Parser::new(cells(rows), cells(columns), 10_000);
        let seen = Seen { parser, bytes: Vec::new(), answered: 0, is_closed: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let pty = Self { master, slave, program, seen };
        pty.watch();
        pty
    }

    /// Reads along, and answers where the cursor is, as terminals do.
    fn watch(&self) {
        let seen = Arc::clone(&self.seen);
        let mut reader = self.master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            loop {
                let mut waiting = [PollFd::new(&reader, PollFlags::IN)];
                let ready = poll(&mut waiting, Some(&LOOK_UP));
                if seen.0.lock().unwrap().is_closed {
                    return;
                }
                if ready.is_ok_and(|ready| ready == 0) {
                    continue;
                }
                let Ok(length) = reader.read(&mut piece) else { return };
                if length == 0 {
                    return;
                }
                // Whoever waits for bytes does not wait for the screen.
                seen.0.lock().unwrap().bytes.extend(&piece[..length]);
                seen.1.notify_all();
                let mut state = seen.0.lock().unwrap();
                state.parser.process(&piece[..length]);
                let from = state.answered;
                let asked = state.bytes[from..].windows(4).position(|four| four == b"\x1b[6n");
                // What was looked at is not looked at again, except for the beginning of a question.
                let end = state.bytes.len().saturating_sub(3);
                state.answered = asked.map_or(from.max(end), |at| from + at + 4);
                if asked.is_some() {
                    let (row, column) = state.parser.screen().cursor_position();
                    drop(state);
                    let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                    reader.write_all(answer.as_bytes()).unwrap();
                }
                seen.1.notify_all();
            }
        });
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.seen.0.lock().unwrap().parser.screen().contents()
    }

    /// What is on the screen, and what has left it at its top.
    pub(crate) fn everything(&self) -> String {
        let mut state = self.seen.0.lock().unwrap();
        let mut lines: Vec<String> = Vec::new();
        let length = state.parser.screen().scrollback_len();
        let columns = state.parser.screen().size().1.get();
        for back in (1..=length).rev() {
            state.parser.screen_mut().set_scrollback(back);
            lines.extend(state.parser.screen().rows(0, columns).take(1));
        }
        state.parser.screen_mut().set_scrollback(0);
        lines.push(state.parser.screen().contents());
        lines.join("\n")
    }

    /// The row and column of the cursor.
    pub(crate) fn cursor(&self) -> (u16, u16) {
        self.seen.0.lock().unwrap().parser.screen().cursor_position()
    }

    /// Every byte that was written.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().bytes.clone()
    }

    /// Waits until what was written from that byte on holds these.
    pub(crate) fn wait_for_bytes(&self, from: usize, wanted: &[u8]) {
        let state = self.seen.0.lock().unwrap();
        let not_yet = |seen: &mut Seen| {
            !seen.bytes[from..].windows(wanted.len()).any(|bytes| bytes == wanted)
        };
        let (state, waited) = self.seen.1.wait_timeout_while(state, DEADLINE, not_yet).unwrap();
        drop(state);
        assert!(!waited.timed_out(), "{:?} never came", String::from_utf8_lossy(wanted));
    }

    /// Waits until the screen holds a text.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| screen.contains(text));
    }

    /// Waits until the screen is as wanted.
    pub(crate) fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let state = self.seen.0.lock().unwrap();
        let not_yet = |seen: &mut Seen| !wanted(&seen.parser.screen().contents());
        let (state, waited) = self.seen.1.wait_timeout_while(state, DEADLINE, not_yet).unwrap();
        let screen = state.parser.screen().contents();
        drop(state);
        assert!(!waited.timed_out(), "{what:?} never came; the screen is\n{screen}");
    }

    /// Gives it another size, until the screen is as wanted. A frame that is on its way while the size changes
    /// was laid out for the old one: then the next change mends it.
    pub(crate) fn resize_until(&self, (rows, columns): (u16, u16), wanted: impl Fn(&str) -> bool) {
        for _ in 0..10 {
            self.resize(rows, columns);
            let state = self.seen.0.lock().unwrap();
            let not_yet = |seen: &mut Seen| !wanted(&seen.parser.screen().contents());
            let moment = Duration::from_secs(3);
            let (state, waited) = self.seen.1.wait_timeout_while(state, moment, not_yet).unwrap();
            drop(state);
            if !waited.timed_out() {
                return;
            }
            self.resize(rows, columns - 1);
        }
        panic!("the screen is\n{}", self.seen.0.lock().unwrap().parser.screen().contents());
    }

    /// Types into it.
    pub(crate) fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Gives it another size.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        self.seen.0.lock().unwrap().parser.screen_mut().set_size(cells(rows), cells(columns));
        tcsetwinsize(&self.master, size(rows, columns)).unwrap();
    }

    /// The id of the program's process.
    pub(crate) fn id(&self) -> u32 {
        // `setsid` makes no new process where it need not.
        self.program.id()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Closes the terminal, as a window that is closed or a connection that breaks does; the exit code.
    pub(crate) fn close(self) -> Option<i32> {
        let Self { master, slave, mut program, seen } = self;
        seen.0.lock().unwrap().is_closed = true;
        drop((master, slave));
        program.wait().unwrap().code()
    }

    /// Types this until the program ends: it does not leave while something is under way.
    pub(crate) fn types_until_the_end(&mut self, text: &str) {
        let began = Instant::now();
        while began.elapsed() < DEADLINE {
            self.types(text);
            let typed = Instant::now();
            while typed.elapsed() < Duration::from_secs(1) {
                if self.program.try_wait().unwrap().is_some() {
                    return;
                }
                std::thread::yield_now();
            }
        }
        self.program.kill().unwrap();
        panic!("it does not end; the screen is\n{}", self.screen());
    }

    /// Waits for the end; the exit code, and whether the terminal is as it was.
    pub(crate) fn end(&mut self) -> (Option<i32>, bool) {
        let code = self.program.wait().unwrap().code();
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        (code, modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG))
    }
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
