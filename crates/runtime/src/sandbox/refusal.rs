//! Telling a command that the sandbox refused from one that failed by itself.

/// What to tell the model about a command that the sandbox refused.
pub const HINT: &str = "The sandbox probably refused this: commands can write only to the workspace (not to \
its protected paths such as .git) and $TMPDIR, and have no network. If the command needs more, call shell again \
with \"with_escalated_permissions\": true and a \"justification\".";

/// What programs write when the sandbox refuses a call.
const SIGNS: [&str; 9] = [
    "Read-only file system",
    "EROFS",
    "Permission denied",
    "EACCES",
    "Operation not permitted",
    "EPERM",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "the sandbox could not be set up",
];

/// Whether a failed command looks as if the sandbox had refused it: `exit` is its exit code (`None`: a signal),
/// `stderr_tail` the end of what it wrote. A guess, good enough for a hint.
pub fn looks_refused(exit: Option<i32>, stderr_tail: &str) -> bool {
    // Killed by a signal: the seccomp filter kills calls of a foreign architecture.
    let failed = exit.is_none_or(|code| code != 0);
    failed && SIGNS.iter().any(|sign| stderr_tail.contains(sign))
}
