//! Delegation: what a tool needs to start agents, below the run it works for or for a client.
//!
//! Invariants: a child has at most its parent's rights, lies one level deeper, ends with its parent and
//! draws on the same budget. A run of a client has no parent, and belongs to the client's session. The front
//! door sees to both, as for every other run.

use std::sync::{Arc, OnceLock};

use attache_kernel::{
    agent::registry::Inventory,
    id::RunId,
    rights::filter::Schedule,
    run::{
        assignment::{Assignment, SessionSource},
        event::Attendance,
        fork::Fork,
        subagent::SubagentNote,
    },
};

use super::{
    Child, Client, ClientReach, DetachedOrder, NewsItem, RunHandle, StartError, runs::WeakRuns,
};
use crate::{
    host::{Agent, Host, MAIN_DEPTH, Notice, Order, OrderError},
    store::Store,
};

/// Starts agents below one run, or for one client. A copy does the same.
#[derive(Debug, Clone)]
pub struct Delegate {
    host: Arc<Host>,
    runs: WeakRuns,
    principal: Principal,
    /// What the parent has said and seen, for agents that are to know it.
    fork: Option<Arc<Fork>>,
    /// The agents there are; the calls of one turn look them up once.
    agents: Arc<OnceLock<Inventory>>,
    /// The agent that was started for the call in hand.
    started: Arc<OnceLock<RunHandle>>,
}

/// Who delegates.
#[derive(Debug, Clone)]
enum Principal {
    /// A run.
    Run(RunHandle),
    /// Somebody who is not a run.
    Client(Arc<Client>),
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
    /// The process of a background run did not begin it.
    #[error("{0}")]
    Launch(String),
    /// The runtime is being shut down.
    #[error("the runtime is being shut down")]
    ShutDown,
}

impl Delegate {
    pub(super) fn new(host: Arc<Host>, runs: WeakRuns, parent: RunHandle) -> Self {
        Self::of_principal(host, runs, Principal::Run(parent))
    }

    /// Starts agents for a client.
    pub(crate) fn for_client(host: Arc<Host>, runs: WeakRuns, client: Client) -> Self {
        Self::of_principal(host, runs, Principal::Client(Arc::new(client)))
    }

    fn of_principal(host: Arc<Host>, runs: WeakRuns, principal: Principal) -> Self {
        let (agents, started) = (Arc::default(), Arc::default());
        Self { host, runs, principal, fork: None, agents, started }
    }

    /// The same for another turn, with what the parent has said and seen.
    pub(crate) fn forking(self, fork: Option<Arc<Fork>>) -> Self {
        Self { fork, agents: Arc::default(), ..self }
    }

    /// The same for one more call.
    pub(crate) fn for_call(&self) -> Self {
        Self { started: Arc::default(), ..self.clone() }
    }

    /// The agent that was started for this call.
    pub(crate) fn started(&self) -> Option<&RunHandle> {
        self.started.get()
    }

    /// The run that delegates; none if a client does.
    pub fn parent(&self) -> Option<&RunHandle> {
        match &self.principal {
            Principal::Run(parent) => Some(parent),
            Principal::Client(_) => None,
        }
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

    /// Whether a call may look at that run, stop it and go on with it.
    pub(crate) fn reaches(&self, run: &Assignment) -> bool {
        match &self.principal {
            Principal::Run(parent) => is_reached(run, parent.assignment()),
            Principal::Client(client) => match client.reach {
                ClientReach::Session => run.session_id == client.session,
                ClientReach::AllClients => {
                    run.session_id == client.session || run.source == SessionSource::Mcp
                }
            },
        }
    }

    /// The run under way, or ended and remembered, of that id, or of the only id that begins so.
    pub fn child(&self, id: &str) -> Option<Child> {
        match &self.principal {
            Principal::Run(parent) => parent.live().children.find(id),
            Principal::Client(_) => {
                let runs = self.runs.upgrade()?;
                let mut found = runs.find(|run| {
                    self.reaches(run) && !id.is_empty() && run.agent_id.as_str().starts_with(id)
                });
                let only = found.pop().filter(|_| found.is_empty())?;
                Some(Child::UnderWay(only))
            }
        }
    }

    /// Nobody will ask for that run again.
    pub(crate) fn forget(&self, id: &RunId) {
        if let Some(parent) = self.parent() {
            parent.live().children.forget(id);
        }
    }

    /// Starts an agent, below the run or for the client. The parent that the order names is replaced.
    pub async fn start(&self, order: Order) -> Result<(RunHandle, Vec<Notice>), DelegateError> {
        let runs = self.runs.upgrade().ok_or(DelegateError::ShutDown)?;
        match &self.principal {
            Principal::Run(parent) => {
                let fork = self.fork.clone();
                let order = Order { parent: Some(parent.clone()), fork, ..order };
                self.start_below(parent, order, &runs).await
            }
            Principal::Client(client) => {
                let prepared = self.host.prepare(client.order(order), &**runs.store()).await?;
                let host = Some(Arc::clone(&self.host));
                let handle = runs.start_below(prepared.start, host).await?;
                client.tell_started(&handle);
                Ok((handle, prepared.notices))
            }
        }
    }

    async fn start_below(
        &self,
        parent: &RunHandle,
        order: Order,
        runs: &super::Runs,
    ) -> Result<(RunHandle, Vec<Notice>), DelegateError> {
        let attendance = match order.schedule {
            Schedule::Background => Attendance::Background,
            Schedule::Foreground => Attendance::Foreground,
        };
        let prepared = self.host.prepare(order, &**runs.store()).await?;
        let assignment = &prepared.start.assignment;
        let (agent_id, name) =
            (assignment.agent_id.clone(), assignment.definition.agent_type.clone());
        let task = || assignment.task.lines().next().unwrap_or_default().to_owned();
        let description = assignment.description.clone().unwrap_or_else(task);
        let note = SubagentNote::Started { agent_id, name, description, attendance };
        let news = &parent.live().news;
        news.tell(NewsItem::Note(note.clone()));
        let started = runs.start_below(prepared.start, Some(Arc::clone(&self.host))).await;
        if let (Err(_), SubagentNote::Started { agent_id, name, .. }) = (&started, note) {
            news.tell(NewsItem::Note(SubagentNote::Ended { agent_id, name, success: false }));
        }
        let started = started?;
        // A call starts one agent.
        drop(self.started.set(started.clone()));
        Ok((started, prepared.notices))
    }

    /// Starts an agent that nobody waits for. A client's agent works in a process of its own where the
    /// client has a launcher, so that it outlives the server.
    pub(crate) async fn start_background(
        &self,
        order: Order,
    ) -> Result<(RunId, Vec<Notice>), DelegateError> {
        let launcher = match &self.principal {
            Principal::Run(_) => None,
            Principal::Client(client) => client.launcher.as_ref().zip(Some(client)),
        };
        match launcher {
            None => {
                let (started, notices) = Box::pin(self.start(order)).await?;
                Ok((started.id().clone(), notices))
            }
            Some((launcher, client)) => {
                // The process is given a command line, on which a model is used or is an error.
                let (order, notice) = self.host.without_passed_over_model(order);
                let order = DetachedOrder::new(client.order(order), client.session.clone());
                let launched = launcher.launch(order).await.map_err(DelegateError::Launch)?;
                Ok((launched, notice.into_iter().collect()))
            }
        }
    }

    /// The parent goes on without waiting for that run.
    pub(crate) fn detached(&self, child: &RunHandle) {
        if let Some(parent) = self.parent() {
            let agent_id = child.id().clone();
            parent.live().news.tell(NewsItem::Note(SubagentNote::Detached { agent_id }));
        }
    }
}

/// Whether a run may look at another one, stop it and go on with it. The main agent reaches its whole session,
/// a subagent what was started below it: neither the agents above nor those beside it.
fn is_reached(run: &Assignment, by: &Assignment) -> bool {
    // What an earlier run of the same thread started counts as its own.
    let is_below = run.depth > by.depth
        && (run.parent_id.as_ref() == Some(&by.agent_id) || by.resumed_from.is_some());
    run.session_id == by.session_id
        && run.agent_id != by.agent_id
        && (by.depth == MAIN_DEPTH || is_below)
}

#[cfg(test)]
mod tests {
    use attache_kernel::{
        agent::definition::Definition,
        id::{AgentName, SessionId},
        model::choice::ChosenBy,
        run::outcome::ModelUsed,
    };

    use super::*;

    fn run(id: &str, depth: u32, parent: Option<&str>) -> Assignment {
        let definition = Arc::new(Definition::named(AgentName::new("a")));
        let model = ModelUsed {
            id: "m".to_owned(),
            provider: "p".to_owned(),
            chosen_by: ChosenBy::Parent,
            asked: None,
        };
        let ids = (RunId::new(id), SessionId::new("s"));
        Assignment {
            depth,
            parent_id: parent.map(RunId::new),
            ..Assignment::new(ids, definition, "t", model)
        }
    }

    #[test]
    fn a_subagent_reaches_what_it_started_and_nobody_above_or_beside_it() {
        let main = run("main", 0, None);
        let child = run("child", 1, Some("main"));
        let sibling = run("sibling", 1, Some("main"));
        let grandchild = run("grandchild", 2, Some("child"));
        let nephew = run("nephew", 2, Some("sibling"));
        for (seen, by, expected) in [
            (&child, &main, true),
            (&grandchild, &main, true),
            (&main, &main, false),
            (&grandchild, &child, true),
            (&main, &child, false),
            (&sibling, &child, false),
            (&nephew, &child, false),
            (&child, &child, false),
        ] {
            assert_eq!(is_reached(seen, by), expected, "{} by {}", seen.agent_id, by.agent_id);
        }
        let resumed =
            Assignment { resumed_from: Some(RunId::new("child")), ..run("again", 1, Some("main")) };
        assert!(is_reached(&grandchild, &resumed) && !is_reached(&main, &resumed));
        let elsewhere = Assignment { session_id: SessionId::new("other"), ..child };
        assert!(!is_reached(&elsewhere, &main));
    }
}
