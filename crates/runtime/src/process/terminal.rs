//! A pseudo-terminal: the side we hold, and the side a process has for its input and output.

use std::{io, os::fd::OwnedFd};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// Its size: wide enough that programs do not break lines.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 160, ws_xpixel: 0, ws_ypixel: 0 };

/// A pseudo-terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    /// What is typed goes in here, what is shown comes out.
    pub(super) ours: OwnedFd,
    /// What the process gets.
    pub(super) theirs: OwnedFd,
}

impl Terminal {
    /// Opens one that becomes nobody's controlling terminal by that.
    pub(super) fn open() -> io::Result<Self> {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let name = ptsname(&ours, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = openat(CWD, name, flags, Mode::empty())?;
        tcsetwinsize(&ours, SIZE)?;
        Ok(Self { ours, theirs })
    }
}
