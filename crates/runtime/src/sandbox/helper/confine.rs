//! Confining this process, and with it everything that it starts. Nothing here can be undone.

use std::{ffi::OsStr, fs, io, os::unix::process::CommandExt as _, process::Command};

use nix::sys::signal::SigSet;
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{
        CapabilitySet, CapabilitySets, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
    },
};

use super::{
    Ended, Message, Order, files,
    setup_error::{SetupError, Step as _},
    supervisor::uses_namespaces,
    syscalls,
};
use crate::sandbox::{Level, Mode, ResourceLimits};

/// Becomes the command, on a machine without namespaces.
pub(super) fn become_command(message: &Message, order: Order<'_>) -> Result<Ended, SetupError> {
    SigSet::empty().thread_set_mask().step("unblock signals")?;
    if message.policy.mode != Mode::DangerFullAccess {
        be_first_when_memory_runs_out();
    }
    let _level = confine(message)?;
    let error = Command::new(order.program).args(order.arguments).exec();
    Ok(not_started(order.program, &error))
}

/// Tries Landlock and the filter of system calls on this process, and prints the level.
pub(super) fn probe(message: &Message) -> Result<Ended, SetupError> {
    let mut found = Level::default();
    set_no_new_privs(true).step("give up new privileges")?;
    if message.level.landlock > 0 {
        found.landlock = files::restrict(&message.policy, true).unwrap_or(0);
    }
    found.seccomp = message.level.seccomp && syscalls::filter(false).is_ok();
    print(found)
}

/// Prints the level for the program that asked for it.
pub(super) fn print(level: Level) -> Result<Ended, SetupError> {
    let text = serde_json::to_vec(&level)
        .map_err(|error| SetupError::new("tell the level", error.into()))?;
    let _length = rustix::io::write(rustix::stdio::stdout(), &text).step("tell the level")?;
    Ok(Ended::Code(0))
}

/// Says why a program could not be started, with a shell's exit code for it.
pub(super) fn not_started(program: &OsStr, error: &io::Error) -> Ended {
    super::tell(&format!("attache: cannot run {}: {error}\n", program.display()));
    Ended::Code(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}

/// Takes from this process what its policy does not allow. Returns what is in force.
pub(super) fn confine(message: &Message) -> Result<Level, SetupError> {
    let policy = &message.policy;
    if policy.mode == Mode::DangerFullAccess {
        return Ok(Level::default());
    }
    let mut level = message.level;
    limit(policy.limits, uses_namespaces(message))?;
    drop_capabilities()?;
    set_no_new_privs(true).step("give up new privileges")?;
    if message.level.landlock > 0 {
        level.landlock = files::restrict(policy, uses_namespaces(message))?;
    }
    if message.level.seccomp {
        syscalls::filter(policy.network)?;
    }
    Ok(level)
}

fn limit(limits: ResourceLimits, has_own_user_namespace: bool) -> Result<(), SetupError> {
    let mut wanted = vec![
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Data, limits.data_bytes),
    ];
    if has_own_user_namespace {
        // Elsewhere all processes of the user count, and there may be more than that already.
        wanted.push((Resource::Nproc, limits.processes));
    }
    for (resource, most) in wanted {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(allowed));
        setrlimit(resource, Rlimit { current: most, maximum: most }).step("set resource limits")?;
    }
    Ok(())
}

/// Limits the processes of this PID namespace. Root is exempt from the limit on processes, but not from this
/// one; kernels before 6.14 do not have it.
pub(super) fn limit_processes_of_namespace(most: u64) {
    /// The kernel takes no less.
    const LEAST: u64 = 301;
    drop(fs::write("/proc/sys/kernel/pid_max", most.max(LEAST).to_string()));
}

/// Makes the kernel choose the command before the program when memory runs out.
pub(super) fn be_first_when_memory_runs_out() {
    // Only a wish: everything else holds without it.
    drop(fs::write("/proc/self/oom_score_adj", "500"));
}

fn drop_capabilities() -> Result<(), SetupError> {
    clear_ambient_capability_set().step("drop the ambient capabilities")?;
    for number in 0..u64::BITS {
        // It ends with the first that the kernel does not know. Without privileges there is nothing to remove.
        let one = CapabilitySet::from_bits_retain(1 << number);
        if remove_capability_from_bounding_set(one).is_err() {
            break;
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).step("drop the capabilities")
}
