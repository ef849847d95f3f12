//! The process that was started itself, and the group it leads.
//!
//! Invariant: it is ended with its group and reaped, even if its owner is dropped. Its number is not
//! given back to the system before the group was killed, so no other group is ever hit.
//!
//! A helper of the sandbox is asked to end: it ends everything below it, and tidies up. If it does not
//! within a moment it is killed; what is below it dies then as well.

use std::{
    io,
    os::fd::OwnedFd,
    process::Child,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
    },
};
use tokio::io::{Interest, unix::AsyncFd};

use super::{channel::registered, exit::Exit};
use crate::sandbox::Aftermath;

/// How long a helper has to end when it is asked to.
const TO_TIDY_UP: Timespec = Timespec { tv_sec: 3, tv_nsec: 0 };

/// What ends a process with all that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Killing its group.
    Kill,
    /// Asking it: it is a helper of the sandbox.
    Ask,
}

/// A process and its group.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    stop: Stop,
    /// Becomes readable when the process ends; none where the kernel offers no such thing.
    ended: Option<AsyncFd<OwnedFd>>,
    /// None once it was reaped.
    child: Mutex<Option<Child>>,
    /// What is due when everything it started has ended.
    aftermath: Mutex<Aftermath>,
}

impl Leader {
    /// Takes a process over that leads a group of its own.
    pub(super) fn new(mut child: Child, stop: Stop) -> io::Result<Self> {
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let Some(pid) = number else {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("the process has no number"));
        };
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).ok();
        let ended = pidfd.and_then(|fd| registered(fd, Interest::READABLE).ok());
        Ok(Self {
            pid,
            stop,
            ended,
            child: Mutex::new(Some(child)),
            aftermath: Mutex::new(Aftermath::None),
        })
    }

    /// The same with something that is due when it has ended.
    pub(super) fn followed_by(mut self, aftermath: Aftermath) -> Self {
        self.aftermath = Mutex::new(aftermath);
        self
    }

    /// What is due now that it has ended and was reaped.
    pub(super) fn take_aftermath(&self) -> Aftermath {
        let mut aftermath = self.aftermath.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut aftermath, Aftermath::None)
    }

    fn child(&self) -> MutexGuard<'_, Option<Child>> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the process has ended. It is not reaped by that.
    pub(super) async fn ended(&self) {
        if let Some(ended) = &self.ended
            && ended.readable().await.is_ok()
        {
            return;
        }
        let pid = self.pid;
        let wait = tokio::task::spawn_blocking(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            waitid(WaitId::Pid(pid), options).is_ok()
        });
        // An error means that nobody is left to wait for.
        wait.await.unwrap_or_default();
    }

    /// Ends the process and its group. Does nothing once it was reaped.
    pub(super) fn stop(&self) {
        let signal = match self.stop {
            Stop::Kill => Signal::KILL,
            Stop::Ask => Signal::TERM,
        };
        self.signal(signal);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child();
        if child.is_some() {
            // Only a group without members is an error.
            kill_process_group(self.pid, signal).unwrap_or_default();
        }
    }

    /// Kills what is left of its group and reaps it. Waits for its end: call it when it has ended.
    pub(super) fn reap(&self) -> io::Result<Exit> {
        self.signal(Signal::KILL);
        match self.child().take() {
            Some(mut child) => child.wait().map(Exit::from),
            None => Err(io::Error::other("the process was reaped already")),
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        self.stop();
        let pid = self.pid;
        let Some(mut child) = self.child().take() else { return };
        let aftermath = self.take_aftermath();
        let is_over = !matches!(child.try_wait(), Ok(None));
        if is_over && matches!(aftermath, Aftermath::None) {
            return;
        }
        // It ends within a moment; a thread that drives runs does not wait for it.
        let reap = move || {
            if !is_over {
                if !ends_soon(pid) {
                    kill_process_group(pid, Signal::KILL).unwrap_or_default();
                }
                child.wait().map(drop).unwrap_or_default();
            }
            // Nobody waits for the answer of this command any more.
            drop(aftermath.settle());
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(reap)),
            Err(_) => reap(),
        }
    }
}

/// Waits a moment for a process to end, and says whether it did.
fn ends_soon(pid: Pid) -> bool {
    let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    let mut events = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut events, Some(&TO_TIDY_UP)).is_ok_and(|ready| ready > 0)
}
