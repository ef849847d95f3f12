//! System calls: what a command may not ask of the kernel. They fail with `EPERM`.
//!
//! Invariant: a call that reaches the kernel by another number (a foreign architecture, the x32 numbers of
//! x86-64) is refused as well.

use std::{collections::BTreeMap, io};

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::setup_error::SetupError;

/// Calls that are refused whatever their arguments are.
const REFUSED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Ways around the other checks.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_userfaultfd,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_fanotify_init,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Calls that are refused without network. A pair of connected sockets is allowed.
const NETWORK: &[i64] =
    &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// Flags of `clone` that create namespaces.
const NAMESPACE_FLAGS: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // CLONE_NEWTIME
    0x80,
];

/// Terminal requests that put words into somebody else's mouth, or load a line discipline.
const TERMINAL_REQUESTS: [u64; 3] = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];

/// The bit of a file that makes it run as its owner.
const SET_USER_ID: u64 = 0o4000;

/// Calls that give a file its mode, with the place of the mode among their arguments.
const GIVES_MODE: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    (libc::SYS_openat, 3),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Flags of an opened file that is created: `O_CREAT`, and what `O_TMPFILE` has beside `O_DIRECTORY`.
const CREATES: [u64; 2] = [0o100, 0o20_000_000];

/// The same number on every architecture.
const SYS_FCHMODAT2: i64 = 452;

/// The kind of a socket, without its flags.
const SOCKET_KIND: u64 = 0xf;

/// Refuses the calls for this process and its descendants.
pub(super) fn filter(network: bool) -> Result<(), SetupError> {
    let refused = program(rules(network)?, libc::EPERM)?;
    // Their flags and modes are in memory, where a filter does not look. Programs use `clone` and `openat` then.
    let unknown = [libc::SYS_clone3, libc::SYS_openat2].map(|number| (number, Vec::new()));
    let unknown = program(BTreeMap::from(unknown), libc::ENOSYS)?;
    apply_filter(&unknown).map_err(failed)?;
    apply_filter(&refused).map_err(failed)
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> SetupError {
    SetupError::new("filter system calls", io::Error::other(error))
}

fn program(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> Result<BpfProgram, SetupError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let action = SeccompAction::Errno(errno.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, architecture);
    let compiled: BpfProgram = filter.and_then(TryInto::try_into).map_err(failed)?;
    Ok(if cfg!(target_arch = "x86_64") { without_x32(compiled) } else { compiled })
}

/// Refuses the numbers of the x32 interface, which the rules do not name.
fn without_x32(program: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const ERRNO: u32 = 0x0005_0000;
    let refusal = ERRNO | libc::EPERM.unsigned_abs();
    let mut whole = vec![
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        sock_filter { code: JUMP_IF_AT_LEAST, jt: 0, jf: 1, k: X32 },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: refusal },
    ];
    whole.extend(program);
    whole
}

fn rules(network: bool) -> Result<BTreeMap<i64, Vec<SeccompRule>>, SetupError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    for flag in NAMESPACE_FLAGS {
        let flag = u64::from(flag.unsigned_abs());
        let has_flag = condition(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        rules.entry(libc::SYS_clone).or_default().push(rule(vec![has_flag])?);
    }
    for request in TERMINAL_REQUESTS {
        let is_request = condition(1, SeccompCmpOp::Eq, request)?;
        rules.entry(libc::SYS_ioctl).or_default().push(rule(vec![is_request])?);
    }
    for (number, argument) in GIVES_MODE {
        let gives_bit = || condition(*argument, SeccompCmpOp::MaskedEq(SET_USER_ID), SET_USER_ID);
        let rules = rules.entry(*number).or_default();
        let Some(flags) = flags_of_open(*number) else {
            rules.push(rule(vec![gives_bit()?])?);
            continue;
        };
        // The argument is a mode only if a file is created; otherwise it may be anything.
        for creates in CREATES {
            let is_creating = condition(flags, SeccompCmpOp::MaskedEq(creates), creates)?;
            rules.push(rule(vec![gives_bit()?, is_creating])?);
        }
    }
    // A datagram socket of a pair can still send to any address.
    let datagram = u64::from(libc::SOCK_DGRAM.unsigned_abs());
    let is_datagram = condition(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), datagram)?;
    let _none = rules.insert(libc::SYS_socketpair, vec![rule(vec![is_datagram])?]);
    if network {
        let is_other = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
            .map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())))
            .into_iter()
            .collect::<Result<Vec<_>, _>>()?;
        // Name resolution asks the routing family which addresses there are.
        let netlink = u64::from(libc::AF_NETLINK.unsigned_abs());
        let is_other_netlink = vec![
            condition(0, SeccompCmpOp::Eq, netlink)?,
            condition(2, SeccompCmpOp::Ne, u64::from(libc::NETLINK_ROUTE.unsigned_abs()))?,
        ];
        let _none = rules.insert(libc::SYS_socket, vec![rule(is_other)?, rule(is_other_netlink)?]);
    } else {
        let _none = rules.insert(libc::SYS_socket, Vec::new());
        rules.extend(NETWORK.iter().map(|number| (*number, Vec::new())));
    }
    Ok(rules)
}

/// The place of the flags among the arguments, of a call that opens a file.
fn flags_of_open(number: i64) -> Option<u8> {
    match number {
        libc::SYS_openat => Some(2),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => Some(1),
        _ => None,
    }
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, SetupError> {
    SeccompRule::new(conditions).map_err(failed)
}

fn condition(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, SetupError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map_err(failed)
}
