//! Runs in an instance of their own: a complete child process that drives one run, bridged over its standard
//! streams. The contract is `docs/formats/bridge.md`.
//!
//! Invariant: the run belongs to the process that started it. That one has its slot, journal, mailbox, questions
//! and worktree; the instance drives the loop, and does nothing before what led to it is in the journal. Runs
//! that the instance starts itself belong to the instance, and end with it.

mod instance;
mod lines;
mod link;
mod parent;
mod protocol;
mod store;

use std::{fmt, path::PathBuf, sync::Arc};

use attache_kernel::{rights::permission::AutoApproval, run::assignment::Assignment};
use serde_json::Value;

pub use self::instance::{BridgeError, Greeted};
pub(crate) use self::{
    instance::TakeOverError,
    parent::{Seat, drive},
    protocol::{Assigned, LeftBehind},
};

/// How an instance of the program is started.
pub struct Instances {
    /// The program.
    pub program: PathBuf,
    /// Its arguments. Anybody on the machine can read them.
    pub arguments: Vec<String>,
    /// What it needs to know before it is given that run: the program's own, and not looked at here. It may
    /// hold keys, and goes through a pipe.
    pub setup: InstanceSetup,
}

/// What an instance needs to know before it is given a run.
pub(crate) type InstanceSetup = Arc<dyn Fn(&Assignment) -> Value + Send + Sync>;

/// Shows no keys.
impl fmt::Debug for Instances {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Instances").field("program", &self.program).finish_non_exhaustive()
    }
}

/// That a run is driven by an instance, and what that is told beside the journal.
#[derive(Debug, Clone)]
pub(crate) struct InInstance {
    pub(crate) instances: Arc<Instances>,
    /// Whether the agent's file is trusted.
    pub(crate) is_trusted: bool,
    /// What the caller approves without a question.
    pub(crate) auto_approval: AutoApproval,
}
