//! The subagents that failed, and whose work nobody took up again.
//!
//! A failure is made up for by an agent of the same type that was started after it and reached its goal, or
//! by one that resumed it. A stopped agent did not fail.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    id::{AgentName, RunId},
    run::outcome::{RunResult, Status},
};

/// A subagent that did not reach its goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedChild {
    /// Its run.
    pub agent_id: RunId,
    /// Its type.
    pub agent_type: AgentName,
    /// How it ended.
    pub status: Status,
}

/// Those of one run.
#[derive(Debug, Default)]
pub(crate) struct FailedChildren {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failed: Vec<FailedChild>,
    /// Runs that were started when some had failed already: those may be what they make up for.
    started_after: BTreeMap<RunId, Vec<RunId>>,
}

impl FailedChildren {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A subagent was started.
    pub(super) fn started(&self, run: &RunId, agent_type: &AgentName) {
        let mut state = self.lock();
        let (key, failed) = (agent_type.key(), &state.failed);
        let same = failed.iter().filter(|failed| failed.agent_type.key() == key);
        let before: Vec<_> = same.map(|failed| failed.agent_id.clone()).collect();
        if !before.is_empty() {
            state.started_after.insert(run.clone(), before);
        }
    }

    /// A subagent has ended.
    pub(super) fn ended(&self, result: &RunResult) {
        let mut state = self.lock();
        let before = state.started_after.remove(&result.agent_id).unwrap_or_default();
        match result.status {
            Status::Goal => state.failed.retain(|failed| {
                !before.contains(&failed.agent_id)
                    && Some(&failed.agent_id) != result.resumed_from.as_ref()
            }),
            Status::Aborted => {}
            Status::Timeout
            | Status::MaxTurns
            | Status::Budget
            | Status::Error
            | Status::ErrorNoCompleteTaskCall => state.failed.push(FailedChild {
                agent_id: result.agent_id.clone(),
                agent_type: result.agent_type.clone(),
                status: result.status,
            }),
        }
    }

    /// Those there are, in the order in which they ended.
    pub(super) fn all(&self) -> Vec<FailedChild> {
        self.lock().failed.clone()
    }
}
