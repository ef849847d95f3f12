//! A panic on a real terminal: this test starts itself again on a pty, where it panics.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    num::NonZeroU16,
    os::unix::fs::OpenOptionsExt as _,
    process::Command,
};

use rustix::{
    fs::OFlags,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

use super::*;

/// What the copy of this test on the pty is to do.
const ROLE: &str = "ATTACHE_TEST_PANICS";
const NAME: &str = "tui::terminal::tests::a_panic_leaves_the_terminal_as_it_was";

/// The copy: takes the terminal, shows something, and panics.
fn panics(covers: bool) {
    let mut terminal = Terminal::take().unwrap();
    let live = Frame { lines: vec![Line::raw("live part"), Line::raw("status")], cursor: None };
    terminal.show(&[Line::raw("the conversation")], &live).unwrap();
    if covers {
        terminal.cover(true).unwrap();
        terminal.show(&[], &live).unwrap();
    }
    panic!("on purpose");
}

/// What a terminal got until the copy ended, and whether it is as it was.
fn on_a_terminal(covers: bool) -> (Vec<u8>, bool) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).unwrap();
    let open = || {
        let flags = OFlags::NOCTTY.bits().cast_signed();
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(&name).unwrap()
    };
    let slave = open();
    let mut copy = Command::new("setsid")
        .args(["--ctty", "--wait"])
        .arg(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(ROLE, if covers { "covered" } else { "inline" })
        .env("RUST_BACKTRACE", "0")
        .stdin(open())
        .stdout(open())
        .stderr(open())
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    // The test says last that it failed.
    while !String::from_utf8_lossy(&bytes).contains("test result: FAILED") {
        let length = master.read(&mut piece).unwrap();
        bytes.extend(&piece[..length]);
        if piece[..length].windows(4).any(|four| four == b"\x1b[6n") {
            master.write_all(b"\x1b[1;1R").unwrap();
        }
    }
    copy.wait().unwrap();
    let modes = tcgetattr(&slave).unwrap().local_modes;
    (bytes, modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the copy is told what to do")]
fn a_panic_leaves_the_terminal_as_it_was() {
    if let Ok(role) = std::env::var(ROLE) {
        return panics(role == "covered");
    }
    for covers in [false, true] {
        let (bytes, is_restored) = on_a_terminal(covers);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(is_restored, "raw mode stays: {text:?}");
        let last = |code: &str| text.rfind(code);
        for (on, off) in [("[?2004h", "[?2004l"), ("[?25l", "[?25h"), ("[?2026h", "[?2026l")] {
            assert!(last(off) > last(on), "{off}: {text:?}");
        }
        for (on, off) in [("[?1049h", "[?1049l"), ("[?1000h", "[?1000l"), ("[?1006h", "[?1006l")] {
            assert_eq!(last(on).is_some(), covers, "{on}: {text:?}");
            assert!(!covers || last(off) > last(on), "{off}: {text:?}");
        }
        let cells = |number| NonZeroU16::new(number).unwrap();
        let mut parser = vt100::Parser::new(cells(24), cells(80), 0);
        parser.process(&bytes);
        let screen = parser.screen().contents();
        assert!(screen.contains("the conversation") && screen.contains("on purpose"), "{screen}");
        assert!(!screen.contains("live part") && !screen.contains("status"), "{screen}");
    }
}
