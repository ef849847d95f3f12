//! Delegation: what a tool needs to start agents below the run it works for.
//!
//! Invariant: a child has at most its parent's rights, lies one level deeper, ends with its parent and
//! draws on the same budget. The front door sees to that, as for every other run.

use std::sync::Arc;

use super::{RunHandle, StartError, runs::WeakRuns};
use crate::host::{Agent, Host, Notice, Order, OrderError};

/// Starts agents below one run. A copy does the same.
#[derive(Debug, Clone)]
pub struct Delegate {
    pub(super) host: Arc<Host>,
    pub(super) runs: WeakRuns,
    pub(super) parent: RunHandle,
}

/// Why an agent was not started.
#[derive(Debug, thiserror::Error)]
pub enum DelegateError {
    /// The order cannot be carried out.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// The run was not started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The runtime is being shut down.
    #[error("the runtime is being shut down")]
    ShutDown,
}

impl Delegate {
    /// The run that delegates.
    pub fn parent(&self) -> &RunHandle {
        &self.parent
    }

    /// The agent of that name, in any spelling, if it can be run.
    pub fn agent(&self, name: &str) -> Result<Agent, OrderError> {
        self.host.agent(name)
    }

    /// Starts an agent below the run. The parent that the order names is replaced.
    pub async fn start(&self, order: Order) -> Result<(RunHandle, Vec<Notice>), DelegateError> {
        let runs = self.runs.upgrade().ok_or(DelegateError::ShutDown)?;
        let order = Order { parent: Some(self.parent.clone()), ..order };
        let prepared = self.host.prepare(order, &**runs.store()).await?;
        let (handle, _) = runs.start_watched(prepared.start, Some(Arc::clone(&self.host))).await?;
        Ok((handle, prepared.notices))
    }
}
