//! Telling a command that the sandbox refused from one that failed by itself.
//!
//! The sandbox does not report what it refuses, so this reads what the command wrote. A sign counts only if the
//! sandbox can be its cause under the policy in force: no network signs where the network is open, no denied
//! access to files of the workspace, nothing at all without a sandbox.

use std::path::Path;

use super::{Mode, Policy};

/// What the sandbox refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refused {
    Network,
    Write,
    Access,
    Privilege,
    Setup,
}

/// What programs write if they cannot write to a file. Compared in lower case, as all signs.
const WRITE: [&str; 3] = ["read-only file system", "erofs", "os error 30"];

/// What they write without network.
const NETWORK: [&str; 17] = [
    "could not resolve",
    "couldn't resolve",
    "unable to resolve",
    "failed to resolve",
    "temporary failure resolving",
    "name resolution",
    "name or service not known",
    "eai_again",
    "unknownhostexception",
    "failed to connect to",
    "couldn't connect to",
    "could not connect to",
    "unable to connect to",
    "network is unreachable",
    "socket: operation not permitted",
    "could not create socket",
    "cannot open socket",
];

/// What they write if a call is refused.
const PRIVILEGE: [&str; 5] = [
    "operation not permitted",
    "eperm",
    "os error 1)",
    "no new privileges",
    "effective uid is not 0",
];

/// What they write if a file may not be opened.
const ACCESS: [&str; 3] = ["permission denied", "eacces", "os error 13"];

/// The exit code of a shell for a file that is not executable: the sandbox does not forbid to run programs.
const NOT_EXECUTABLE: i32 = 126;

/// What to tell the model about a failed command that looks as if the sandbox had refused something: `exit` is its
/// exit code (`None`: a signal), `output` what it wrote. A guess, made of signs that the policy can cause.
pub fn refusal_hint(policy: &Policy, exit: Option<i32>, output: &str) -> Option<String> {
    if policy.mode == Mode::DangerFullAccess || exit == Some(0) {
        return None;
    }
    let refused = output.lines().rev().find_map(|line| sign(policy, exit, line))?;
    let why = match refused {
        Refused::Network => "commands have no network",
        Refused::Write if policy.mode == Mode::ReadOnly => {
            "it is read-only, and commands can write only to $TMPDIR"
        }
        Refused::Write => {
            "commands can write only to the workspace (not to its protected paths such as .git) and $TMPDIR"
        }
        Refused::Access => {
            "commands cannot read places of keys, and have no rights over files of others"
        }
        Refused::Privilege if policy.network => "commands have no privileges",
        Refused::Privilege => "commands have no privileges and no network",
        Refused::Setup => "it could not be set up",
    };
    Some(format!(
        "The sandbox probably refused this: {why}. If the command needs more, make the call again with \
         \"with_escalated_permissions\": true and a \"justification\"."
    ))
}

fn sign(policy: &Policy, exit: Option<i32>, line: &str) -> Option<Refused> {
    let lower = line.to_lowercase();
    let has = |signs: &[&str]| signs.iter().any(|sign| lower.contains(sign));
    if has(&["the sandbox could not be set up"]) {
        return Some(Refused::Setup);
    }
    if !policy.network && has(&NETWORK) {
        return Some(Refused::Network);
    }
    if has(&WRITE) {
        return Some(Refused::Write);
    }
    if has(&PRIVILEGE) {
        return Some(Refused::Privilege);
    }
    let names_other = || names_outside(policy, line);
    (exit != Some(NOT_EXECUTABLE) && has(&ACCESS) && names_other()).then_some(Refused::Access)
}

/// Whether a line names a path that is not one of the command's own files. Where they may be written, a refusal
/// is not the sandbox's.
fn names_outside(policy: &Policy, line: &str) -> bool {
    let ends_path = |letter: char| letter.is_whitespace() || "'\"`‘’“”:,;()<>[]".contains(letter);
    let mut paths = line.split(ends_path).filter(|word| word.starts_with(['/', '~']));
    paths.any(|path| {
        let path = Path::new(path);
        let is_hidden = || policy.deny_read.iter().any(|hidden| path.starts_with(hidden));
        !policy.writable().any(|own| path.starts_with(own)) || is_hidden()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::ResourceLimits;

    fn policy(mode: Mode, network: bool) -> Policy {
        Policy {
            mode,
            workspace: "/work/project".into(),
            temp_dir: "/tmp/attache-1".into(),
            writable_roots: Vec::new(),
            network,
            writable_git: false,
            deny_read: vec!["/home/me/.ssh".into(), "/work/project/secret".into()],
            read_only: Vec::new(),
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        }
    }

    /// What the hint of a command in the default mode says, up to the end of its first sentence.
    fn told(exit: i32, output: &str) -> Option<String> {
        let hint = refusal_hint(&policy(Mode::WorkspaceWrite, false), Some(exit), output)?;
        let (_, why) = hint.split_once(": ").unwrap();
        Some(why.split_once(". If").unwrap().0.to_owned())
    }

    #[test]
    fn refusals_are_told_by_what_was_refused() {
        let write = "commands can write only to the workspace (not to its protected paths such as .git) and $TMPDIR";
        let network = "commands have no network";
        let privilege = "commands have no privileges and no network";
        let access = "commands cannot read places of keys, and have no rights over files of others";
        for (output, expected) in [
            ("touch: cannot touch '/etc/x': Read-only file system", write),
            ("OSError: [Errno 30] Read-only file system: '/etc/x'", write),
            ("open /etc/x: read-only file system", write),
            ("Error: EROFS: read-only file system, open '/etc/x'\n    at x\nNode.js v20", write),
            ("error: Read-only file system (os error 30)", write),
            ("curl: (6) Could not resolve host: example.com", network),
            ("curl: (7) Failed to connect to 1.1.1.1 port 80: Couldn't connect to server", network),
            ("ssh: Could not resolve hostname x: Temporary failure in name resolution", network),
            ("W: Temporary failure resolving 'deb.debian.org'", network),
            ("npm error request failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org", network),
            ("dial unix /var/run/docker.sock: socket: operation not permitted", network),
            ("unshare: unshare failed: Operation not permitted", privilege),
            ("sudo: The \"no new privileges\" flag is set, which prevents sudo", privilege),
            ("cat: /home/me/.ssh/id_ed25519: Permission denied", access),
            ("cat: /work/project/secret/x: Permission denied", access),
            ("open('/etc/shadow'): EACCES", access),
        ] {
            assert_eq!(told(1, output).as_deref(), Some(expected), "{output}");
        }
        let long = format!("curl: (6) Could not resolve host: x\n{}", "and so on\n".repeat(5_000));
        assert_eq!(told(1, &long).as_deref(), Some(network));
    }

    #[test]
    fn what_the_sandbox_did_not_cause_is_not_claimed() {
        assert_eq!(told(1, "error: no such file"), None);
        assert_eq!(told(0, "touch: cannot touch '/etc/x': Read-only file system"), None);
        assert_eq!(told(126, "bash: /work/project/x.sh: Permission denied"), None);
        assert_eq!(told(126, "bash: /opt/x.sh: Permission denied"), None);
        assert_eq!(told(1, "cat: locked.txt: Permission denied"), None);
        assert_eq!(told(1, "cat: /work/project/locked.txt: Permission denied"), None);
        assert_eq!(
            told(1, "mkdir: cannot create directory ‘/tmp/attache-1/a/b’: Permission denied"),
            None
        );

        let resolve = "curl: (6) Could not resolve host: example.com";
        let hint = |mode, network, output| refusal_hint(&policy(mode, network), Some(1), output);
        assert_eq!(hint(Mode::WorkspaceWrite, true, resolve), None, "the network is open");
        assert_eq!(hint(Mode::DangerFullAccess, false, resolve), None, "there is no sandbox");
        let read_only =
            hint(Mode::ReadOnly, false, "touch: cannot touch 'x': Read-only file system");
        assert!(read_only.unwrap().contains("it is read-only"));
    }
}
