//! Delegation: what a tool needs to start agents below the run it works for.
//!
//! Invariant: a child has at most its parent's rights, lies one level deeper, ends with its parent and
//! draws on the same budget. The front door sees to that, as for every other run.

use std::sync::{Arc, OnceLock};

use attache_kernel::{
    agent::registry::Inventory,
    rights::filter::Schedule,
    run::{event::Attendance, fork::Fork, subagent::SubagentNote},
};

use super::{Child, NewsItem, RunHandle, StartError, runs::WeakRuns};
use crate::{
    host::{Agent, Host, Notice, Order, OrderError},
    store::Store,
};

/// Starts agents below one run. A copy does the same.
#[derive(Debug, Clone)]
pub struct Delegate {
    host: Arc<Host>,
    runs: WeakRuns,
    parent: RunHandle,
    /// What the parent has said and seen, for agents that are to know it.
    fork: Option<Arc<Fork>>,
    /// The agents there are; the calls of one turn look them up once.
    agents: Arc<OnceLock<Inventory>>,
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
    pub(super) fn new(host: Arc<Host>, runs: WeakRuns, parent: RunHandle) -> Self {
        Self { host, runs, parent, fork: None, agents: Arc::default() }
    }

    /// The same for another turn, with what the parent has said and seen.
    pub(crate) fn forking(self, fork: Option<Arc<Fork>>) -> Self {
        Self { fork, agents: Arc::default(), ..self }
    }

    /// The run that delegates.
    pub fn parent(&self) -> &RunHandle {
        &self.parent
    }

    /// The front door.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Where runs are written down.
    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        Some(Arc::clone(self.runs.upgrade()?.store()))
    }

    /// The agent of that name, in any spelling, if it can be run.
    pub fn agent(&self, name: &str) -> Result<Agent, OrderError> {
        Host::agent_in(self.agents(), name)
    }

    /// The agents there are.
    pub(crate) fn agents(&self) -> &Inventory {
        self.agents.get_or_init(|| self.host.agents())
    }

    /// The run that the parent started under that id, or under the only id that begins so.
    pub fn child(&self, id: &str) -> Option<Child> {
        self.parent.live().children.find(id)
    }

    /// Starts an agent below the run. The parent that the order names is replaced.
    pub async fn start(&self, order: Order) -> Result<(RunHandle, Vec<Notice>), DelegateError> {
        let runs = self.runs.upgrade().ok_or(DelegateError::ShutDown)?;
        let attendance = match order.schedule {
            Schedule::Background => Attendance::Background,
            Schedule::Foreground => Attendance::Foreground,
        };
        let fork = self.fork.clone();
        let order = Order { parent: Some(self.parent.clone()), fork, ..order };
        let prepared = self.host.prepare(order, &**runs.store()).await?;
        let assignment = &prepared.start.assignment;
        let (agent_id, name) =
            (assignment.agent_id.clone(), assignment.definition.agent_type.clone());
        let task = || assignment.task.lines().next().unwrap_or_default().to_owned();
        let description = assignment.description.clone().unwrap_or_else(task);
        let note = SubagentNote::Started { agent_id, name, description, attendance };
        let news = &self.parent.live().news;
        news.tell(NewsItem::Note(note.clone()));
        let started = runs.start_below(prepared.start, Some(Arc::clone(&self.host))).await;
        if let (Err(_), SubagentNote::Started { agent_id, name, .. }) = (&started, note) {
            news.tell(NewsItem::Note(SubagentNote::Ended { agent_id, name, success: false }));
        }
        Ok((started?, prepared.notices))
    }

    /// The parent goes on without waiting for that run.
    pub(crate) fn detached(&self, child: &RunHandle) {
        let agent_id = child.id().clone();
        self.parent.live().news.tell(NewsItem::Note(SubagentNote::Detached { agent_id }));
    }
}
