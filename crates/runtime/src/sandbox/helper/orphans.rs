//! Orphans: what a command left running when it ended.
//!
//! A shell does not wait for `> >(tee log)` or `server &`. What is about to end may do so; what goes on is
//! killed, and the agent is told.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::poll,
    io::Errno,
    process::{WaitOptions, wait},
    time::Timespec,
};

/// How long they have to end by themselves.
const TO_END: Duration = Duration::from_millis(200);
/// How often they are looked at.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// What the agent is told about those that go on.
const TOLD: &str = "[what was left running in the background was killed]\n";

/// Waits for the orphans of a command that has ended, and tells of those that go on. They are children of
/// this process.
pub(super) fn let_finish(stderr: &OwnedFd) {
    let until = Instant::now() + TO_END;
    while are_left() {
        if Instant::now() >= until {
            // Nobody is left to be told if this fails.
            let _nobody_reads = rustix::io::write(stderr, TOLD.as_bytes());
            return;
        }
        let _no_event = poll(&mut [], Some(&PAUSE));
    }
}

/// Collects those that have ended, and says whether others have not.
fn are_left() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
