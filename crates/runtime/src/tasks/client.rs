//! A client that delegates without being a run: a host that speaks MCP.
//!
//! Invariants: every run of a client names `mcp` in its header and belongs to the client's session; a client
//! reaches no run beyond its [`ClientReach`].

use std::{fmt, path::PathBuf, pin::Pin, sync::Arc};

use attache_kernel::{
    id::{RunId, SessionId},
    run::assignment::SessionSource,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::RunHandle;
use crate::{
    approvals::Approver,
    host::{Inputs, Order, Subject},
};

/// Somebody who delegates without being a run.
#[derive(Debug, Clone)]
pub struct Client {
    /// The session its runs belong to.
    pub session: SessionId,
    /// The runs it may look at, stop and go on with.
    pub reach: ClientReach,
    /// Where its agents work; none is the workspace.
    pub working_directory: Option<PathBuf>,
    /// The model its agents run on where a call names none.
    pub model: Option<String>,
    /// Who is asked whether a call may begin; none refuses what would have to be asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// The date as its agents are to read it; none is today's in UTC.
    pub today: Option<String>,
    /// Starts runs in the background; none leaves them to this process.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// Is told of every run that begins in this process.
    pub started: Option<mpsc::UnboundedSender<RunHandle>>,
}

/// The runs a client may look at, stop and go on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientReach {
    /// Those of its session.
    Session,
    /// Those of every client of this user.
    AllClients,
}

/// Starts runs in processes of their own.
pub trait Launcher: fmt::Debug + Send + Sync {
    /// Starts a run, and returns its id once it has begun; else the reason why it has not.
    fn launch(&self, order: DetachedOrder) -> LaunchFuture<'_>;
}

/// A start under way.
pub type LaunchFuture<'a> = Pin<Box<dyn Future<Output = Result<RunId, String>> + Send + 'a>>;

/// An order for another process.
#[derive(Debug, Clone, PartialEq)]
pub struct DetachedOrder {
    /// Who is to do it.
    pub who: DetachedSubject,
    /// The task.
    pub task: String,
    /// The task in a few words.
    pub description: Option<String>,
    /// The values of the agent's typed inputs.
    pub inputs: Map<String, Value>,
    /// The model to run on; none leaves it to the agent and the settings.
    pub model: Option<String>,
    /// Where the agent works; none is the workspace.
    pub working_directory: Option<PathBuf>,
    /// The session the run belongs to.
    pub session: SessionId,
}

/// Who is to carry out an order in another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetachedSubject {
    /// The agent of that name.
    Agent(String),
    /// An earlier run, which goes on.
    Earlier(RunId),
}

impl Client {
    /// A client of that session, with nothing but the workspace.
    pub fn new(session: SessionId, reach: ClientReach) -> Self {
        Self {
            session,
            reach,
            working_directory: None,
            model: None,
            approver: None,
            today: None,
            launcher: None,
            started: None,
        }
    }

    /// An order of this client.
    pub(crate) fn order(&self, order: Order) -> Order {
        let is_fresh = !matches!(order.subject, Subject::Earlier(_));
        Order {
            parent: None,
            fork: None,
            session: Some(self.session.clone()),
            source: Some(SessionSource::Mcp),
            model: order.model.or_else(|| self.model.clone().filter(|_| is_fresh)),
            approver: order.approver.or_else(|| self.approver.clone()),
            today: order.today.or_else(|| self.today.clone()),
            working_directory: order.working_directory.or_else(|| self.working_directory.clone()),
            ..order
        }
    }

    pub(crate) fn tell_started(&self, run: &RunHandle) {
        if let Some(started) = &self.started {
            // The receiver may be gone.
            started.send(run.clone()).unwrap_or_default();
        }
    }
}

impl DetachedOrder {
    pub(crate) fn new(order: Order, session: SessionId) -> Self {
        let who = match order.subject {
            Subject::Main => DetachedSubject::Agent(String::new()),
            Subject::Named(name) => DetachedSubject::Agent(name),
            Subject::Found(agent) => DetachedSubject::Agent(agent.record().name.clone()),
            Subject::Earlier(earlier) => {
                DetachedSubject::Earlier(earlier.run().assignment().agent_id.clone())
            }
        };
        let inputs = match order.inputs {
            Inputs::Typed(inputs) => inputs,
            Inputs::Written(texts) => {
                texts.into_iter().map(|input| (input.name, Value::String(input.text))).collect()
            }
        };
        Self {
            who,
            task: order.task,
            description: order.description,
            inputs,
            model: order.model,
            working_directory: order.working_directory,
            session,
        }
    }
}
