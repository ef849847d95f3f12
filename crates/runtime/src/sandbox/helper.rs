//! The helper: what this program does when it is started to run a command in the sandbox.

use std::{ffi::OsString, os::unix::process::CommandExt as _, process::Command};

use serde::{Deserialize, Serialize};

use super::{Level, Policy};

/// The first argument of a helper.
pub(super) const MARK: &str = "--run-as-sandbox-helper";

/// What a helper is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Message {
    policy: Policy,
    level: Level,
}

impl Message {
    pub(super) fn new(policy: Policy, level: Level) -> Self {
        Self { policy, level }
    }
}

/// Runs the command and does not return, if this process was started as the helper.
///
/// Call it first in `main`, with the arguments of the process, before any thread is started.
pub fn run_if_helper(arguments: &[OsString]) {
    let [_, mark, _message, program, arguments @ ..] = arguments else { return };
    if mark != MARK {
        return;
    }
    let _error = Command::new(program).args(arguments).exec();
}
