//! The supervisor: stays outside of the confinement and ends the command with the program.
//!
//! Invariant: it does not end before everything below it is dead, unless it is killed itself; then the init
//! is killed by the kernel (with namespaces) or kills its descendants (without).

use std::{
    fs::{self, File},
    io::Read as _,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::{
    sched::{CloneFlags, unshare},
    sys::{
        signal::{SigSet, Signal as NixSignal},
        signalfd::{SfdFlags, SignalFd},
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, getgid, getppid, getuid, pidfd_open,
        pidfd_send_signal, waitpid,
    },
};
use safe_fork::fork;

use super::{
    Ended, Message, Order, descriptors, end, init,
    placeholder::Placeholders,
    setup_error::{SetupError, Step as _},
};
use crate::sandbox::{Mode, planted::sweep_known, protected::Protected};

/// The signals that ask the supervisor to end the command.
const ENDING: [NixSignal; 4] =
    [NixSignal::SIGTERM, NixSignal::SIGINT, NixSignal::SIGHUP, NixSignal::SIGQUIT];

/// Runs the command and waits for it.
pub(super) fn supervise(message: &Message, order: Order<'_>) -> Result<Ended, SetupError> {
    descriptors::close_inherited()?;
    let program = watch_program(message.program)?;
    let mut asked_to_end = SigSet::empty();
    for signal in ENDING {
        asked_to_end.add(signal);
    }
    asked_to_end.thread_block().step("block signals")?;
    let signals =
        SignalFd::with_flags(&asked_to_end, SfdFlags::SFD_CLOEXEC).step("listen for signals")?;
    let null = descriptors::open_null()?;

    let uses_namespaces = uses_namespaces(message);
    let placeholders = if uses_namespaces {
        Placeholders::create(&message.protected, message.spares.as_deref())?
    } else {
        Placeholders::default()
    };
    if uses_namespaces {
        enter_namespaces()?;
    }
    let (report, reported) = pipe_with(PipeFlags::CLOEXEC).step("open a pipe")?;
    let Some(init) = fork().step("start the init")? else {
        // The init holds nothing of the supervisor's: its end of the pipe shows whether the supervisor lives.
        drop((report, program, signals, null, placeholders));
        end(init::init(message, &File::from(reported), order));
    };
    drop(reported);
    descriptors::release_standard_streams(&null)?;

    // Without namespaces the init has to find and kill its descendants before it ends.
    let ending = if uses_namespaces { Signal::KILL } else { Signal::TERM };
    let ended = wait(init.pid(), &program, &signals, ending).and_then(|ended| match ended {
        Watched::Ended(status) => Ok(told(report)?.unwrap_or(status)),
        Watched::WasAsked(signal) => Ok(Ended::Signal(signal)),
    });
    placeholders.remove();
    if has_ended(&program) {
        sweep(message);
    }
    // So that this process can end by a signal, if the command did.
    asked_to_end.thread_unblock().step("unblock signals")?;
    ended
}

/// Whether a process has ended.
fn has_ended(process: &OwnedFd) -> bool {
    let mut events = [PollFd::new(process, PollFlags::IN)];
    poll(&mut events, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Moves away what the command planted: the program is no longer there to do it.
fn sweep(message: &Message) {
    let Some(into) = &message.planted else { return };
    let roots: Vec<PathBuf> = message.policy.roots().cloned().collect();
    let known: Vec<&Path> = message.protected.iter().map(Protected::path).collect();
    sweep_known(&roots, &known, !uses_namespaces(message), into);
}

/// Whether the command gets namespaces of its own.
pub(super) fn uses_namespaces(message: &Message) -> bool {
    message.level.namespaces && message.policy.mode != Mode::DangerFullAccess
}

/// A descriptor that becomes readable when the program ends.
fn watch_program(program: u32) -> Result<OwnedFd, SetupError> {
    let expected = i32::try_from(program).ok().and_then(Pid::from_raw);
    let parent = getppid().filter(|parent| Some(*parent) == expected);
    let gone = || SetupError::new("start the command", Errno::SRCH.into());
    let watched = pidfd_open(parent.ok_or_else(gone)?, PidfdFlags::empty());
    let watched = watched.step("watch the program")?;
    // If it ended before it was watched, its number may mean another process by now.
    if getppid() == expected { Ok(watched) } else { Err(gone()) }
}

/// Makes the next child the first process of new namespaces.
fn enter_namespaces() -> Result<(), SetupError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC)
        .step("create namespaces")?;
    fs::write("/proc/self/setgroups", "deny").step("give up changing groups")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).step("map the user")?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).step("map the group")
}

/// How a wait for the init came to its end.
enum Watched {
    Ended(Ended),
    /// The init was ended, for this signal.
    WasAsked(i32),
}

/// Waits until the init ends, or ends it.
fn wait(
    init: u32,
    program: &OwnedFd,
    signals: &SignalFd,
    ending: Signal,
) -> Result<Watched, SetupError> {
    let pid = i32::try_from(init).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| SetupError::new("watch the init", Errno::SRCH.into()))?;
    let init = pidfd_open(pid, PidfdFlags::empty()).step("watch the init")?;
    let [program_ended, is_asked, init_ended] =
        wait_for_any([program.as_fd(), signals.as_fd(), init.as_fd()])?;
    let is_over = !init_ended && (program_ended || is_asked);
    if is_over {
        let _may_be_gone = pidfd_send_signal(&init, ending);
    }
    let status = waitpid(Some(pid), WaitOptions::empty()).step("wait for the init")?;
    if is_over {
        let asked = if is_asked { signals.read_signal().ok().flatten() } else { None };
        let number = asked.and_then(|info| i32::try_from(info.ssi_signo).ok());
        return Ok(Watched::WasAsked(number.unwrap_or(Signal::KILL.as_raw())));
    }
    let ended = status.and_then(|(_, status)| Ended::from_status(status));
    Ok(Watched::Ended(ended.unwrap_or(Ended::Code(super::SETUP_FAILED))))
}

/// Waits until one of the descriptors is readable, and says which are.
pub(super) fn wait_for_any<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
) -> Result<[bool; N], SetupError> {
    let mut events = descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    while let Err(error) = poll(&mut events, None) {
        if error != Errno::INTR {
            return Err(SetupError::new("wait for the command", error.into()));
        }
    }
    Ok(events.map(|event| !event.revents().is_empty()))
}

/// How the command ended, as the init told it. An init that failed told nothing.
fn told(report: OwnedFd) -> Result<Option<Ended>, SetupError> {
    let mut text = Vec::new();
    let _length = File::from(report).read_to_end(&mut text).step("read how the command ended")?;
    Ok(serde_json::from_slice(&text).ok())
}
