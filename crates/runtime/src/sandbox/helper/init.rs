//! The init: the first process of a command's namespaces, or the head of its descendants without them.
//!
//! With namespaces it is process 1: the kernel kills everything in them when it ends, and it is killed
//! when the supervisor ends. Without, it collects every orphan among its descendants and kills them all before
//! it ends; so it stays unconfined, where the command cannot reach it.

use std::{
    fs::File,
    os::fd::{AsFd as _, OwnedFd},
    process::Command,
};

use nix::sys::{
    signal::SigSet,
    signalfd::{SfdFlags, SignalFd},
};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getppid, ioctl_tiocsctty,
        pidfd_open, set_child_subreaper, set_dumpable_behavior, set_parent_process_death_signal,
        setsid, wait, waitpid,
    },
    time::Timespec,
};

use safe_fork::fork;

use super::{
    Ended, Message, Order, confine, descendants, descriptors, end, mounts, orphans,
    setup_error::{SetupError, Step as _},
    supervisor::{uses_namespaces, wait_for_any},
};

/// Runs the command; the pipe tells the supervisor how it ended.
pub(super) fn init(message: &Message, pipe: &File, order: Order<'_>) -> Result<Ended, SetupError> {
    own_session()?;
    let ended = if uses_namespaces(message) {
        as_process_one(message, pipe, order)?
    } else {
        as_subreaper(message, pipe, order)?
    };
    let text = serde_json::to_vec(&ended)
        .map_err(|error| SetupError::new("tell how the command ended", error.into()))?;
    let _length = rustix::io::write(pipe, &text).step("tell how the command ended")?;
    Ok(ended)
}

/// A session and process group of the command's own; the terminal is its own too, if it was given one.
fn own_session() -> Result<(), SetupError> {
    let _session = setsid().step("create a session")?;
    if rustix::termios::isatty(rustix::stdio::stdin()) {
        ioctl_tiocsctty(rustix::stdio::stdin()).step("take over the terminal")?;
    }
    Ok(())
}

/// Confines this process and starts the command below it.
fn as_process_one(message: &Message, pipe: &File, order: Order<'_>) -> Result<Ended, SetupError> {
    set_parent_process_death_signal(Some(Signal::KILL)).step("end with the supervisor")?;
    if is_reader_gone(pipe)? {
        // The supervisor ended before the line above.
        return Ok(Ended::Signal(Signal::KILL.as_raw()));
    }
    SigSet::empty().thread_set_mask().step("unblock signals")?;
    mounts::set_up(&message.policy, &message.protected)?;
    confine::limit_processes_of_namespace(message.policy.limits.processes);
    confine::be_first_when_memory_runs_out();
    mounts::seal_proc()?;
    let null = descriptors::open_null()?;
    let level = confine::confine(message)?;
    if message.is_rehearsal {
        return confine::print(level);
    }
    // The command shares this user: it must not read the memory or descriptors of process 1.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).step("protect the init")?;
    let mut command = Command::new(order.program);
    let child = match command.args(order.arguments).spawn() {
        Ok(child) => child.id(),
        Err(error) => return Ok(confine::not_started(order.program, &error)),
    };
    let stderr = descriptors::keep_stderr()?;
    descriptors::release_standard_streams(&null)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_pid().unsigned_abs() == child => {
                orphans::let_finish(&stderr);
                return Ok(Ended::from_status(status).unwrap_or(Ended::Code(super::SETUP_FAILED)));
            }
            // An orphan of the command.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(SetupError::new("wait for the command", error.into())),
        }
    }
}

/// Whether the other end of the pipe is closed.
fn is_reader_gone(pipe: &File) -> Result<bool, SetupError> {
    let mut events = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let _count = poll(&mut events, Some(&now)).step("look for the supervisor")?;
    Ok(events.iter().any(|event| event.revents().contains(PollFlags::ERR)))
}

/// Starts the command in a process that confines itself, and kills all that is left of it.
fn as_subreaper(message: &Message, pipe: &File, order: Order<'_>) -> Result<Ended, SetupError> {
    let supervisor =
        getppid().ok_or_else(|| SetupError::new("find the supervisor", Errno::SRCH.into()))?;
    let supervisor = pidfd_open(supervisor, PidfdFlags::empty()).step("watch the supervisor")?;
    if is_reader_gone(pipe)? {
        // What is watched is the process that adopted this one.
        return Ok(Ended::Signal(Signal::KILL.as_raw()));
    }
    set_child_subreaper(Some(Pid::INIT)).step("collect orphans")?;
    // Blocked by the supervisor already, and by that in this process too.
    let mut asked_to_end = SigSet::empty();
    asked_to_end.add(nix::sys::signal::Signal::SIGTERM);
    let signals =
        SignalFd::with_flags(&asked_to_end, SfdFlags::SFD_CLOEXEC).step("listen for signals")?;
    let null = descriptors::open_null()?;
    let Some(confined) = fork().step("start the command")? else {
        drop((supervisor, signals, null));
        end(confine::become_command(message, order));
    };
    let stderr = descriptors::keep_stderr()?;
    descriptors::release_standard_streams(&null)?;
    let confined = i32::try_from(confined.pid()).ok().and_then(Pid::from_raw);
    let confined =
        confined.ok_or_else(|| SetupError::new("watch the command", Errno::SRCH.into()))?;
    let ended = wait_for_command(confined, &supervisor, &signals, &stderr);
    descendants::kill_all();
    ended
}

fn wait_for_command(
    command: Pid,
    supervisor: &OwnedFd,
    signals: &SignalFd,
    stderr: &OwnedFd,
) -> Result<Ended, SetupError> {
    let watched = pidfd_open(command, PidfdFlags::empty()).step("watch the command")?;
    let [_, _, has_ended] = wait_for_any([supervisor.as_fd(), signals.as_fd(), watched.as_fd()])?;
    if !has_ended {
        return Ok(Ended::Signal(Signal::KILL.as_raw()));
    }
    let status = waitpid(Some(command), WaitOptions::empty()).step("wait for the command")?;
    orphans::let_finish(stderr);
    let ended = status.and_then(|(_, status)| Ended::from_status(status));
    Ok(ended.unwrap_or(Ended::Code(super::SETUP_FAILED)))
}
