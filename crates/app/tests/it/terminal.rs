//! The program on a terminal of its own.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    time::{Duration, Instant},
};

use attache_testkit::project::TestProject;
use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};

use crate::project;

/// A terminal, and the program on it.
pub(crate) struct Terminal {
    master: File,
    slave: File,
    program: std::process::Child,
}

impl Terminal {
    pub(crate) fn with(project: &TestProject, arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || {
            let flags = OFlags::NOCTTY.bits().cast_signed();
            OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name).unwrap()
        };
        let slave = open();
        let mut program = project.command(arguments);
        let program = program.stdin(open()).stdout(open()).stderr(open()).spawn().unwrap();
        Self { master: File::from(master), slave, program }
    }

    /// Waits until nothing that is typed is shown any more.
    pub(crate) fn wait_for_silence(&mut self) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO) {
            assert!(Instant::now() < deadline, "it never asked");
            assert!(self.program.try_wait().unwrap().is_none(), "it ended without asking");
            std::thread::yield_now();
        }
    }

    /// What was shown, once it has ended.
    pub(crate) fn end(mut self) -> (Option<i32>, String, bool) {
        let code = self.program.wait().unwrap().code();
        let echo = tcgetattr(&self.slave).unwrap().local_modes.contains(LocalModes::ECHO);
        // A marker of our own: the terminal has no end while somebody holds it.
        self.slave.write_all(b"\x04").unwrap();
        let mut shown = Vec::new();
        let mut byte = [0];
        while self.master.read_exact(&mut byte).is_ok() && byte != [4] {
            shown.extend(byte);
        }
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
        // Little is said: nobody reads along.
        let (code, shown, _) = Terminal::with(&project, &["run", "Explore", "zebra"]).end();
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("Turn 1/30"), "{shown}");
        assert_eq!(shown.contains("\u{1b}[36m"), colours, "{variable}: {shown:?}");
    }
}
