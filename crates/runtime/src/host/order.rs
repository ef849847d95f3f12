//! An order: which agent is to do what, as the caller asks.
//!
//! Every way to start a run gives one: the command line, the `Task` tool, an MCP host, a program.

use std::{path::PathBuf, sync::Arc};

use attache_kernel::{
    agent::{
        definition::{Definition, Trust},
        registry::Record,
    },
    id::SessionId,
    model::choice::AskedBy,
    rights::{filter::Schedule, permission::AutoApproval},
    run::{
        Run,
        assignment::{BackgroundWork, Routing, SessionSource},
        files_then::FilesThen,
        fork::Fork,
        limits::ExplicitLimits,
    },
};
use serde_json::{Map, Value};

use super::{inputs::InputText, models::ModelCallWish};
use crate::{approvals::Approver, tasks::RunHandle};

/// Which agent is to do what.
///
/// ```
/// use attache_runtime::prelude::Order;
/// let order = Order { model: Some("offline".into()), ..Order::new("Explore", "where is the parser?") };
/// assert_eq!(order.task, "where is the parser?");
/// ```
#[derive(Debug)]
pub struct Order {
    /// Who is to do it.
    pub subject: Subject,
    /// The task.
    pub task: String,
    /// The task in a few words.
    pub description: Option<String>,
    /// The agent that the prompt's words named, and what was done about it.
    pub routing: Option<Routing>,
    /// The values of the agent's typed inputs.
    pub inputs: Inputs,
    /// The model to run on; none leaves it to the agent and the settings.
    pub model: Option<String>,
    /// The provider of that model.
    pub provider: Option<String>,
    /// Who asks for that model.
    pub asked_by: AskedBy,
    /// Limits for this run alone.
    pub limits: ExplicitLimits,
    /// The run that asks for it.
    pub parent: Option<RunHandle>,
    /// What the main agent does about its background agents when it has answered.
    pub background_work: BackgroundWork,
    /// What the run that asks has said and seen; for agents that are to know it.
    pub fork: Option<Arc<Fork>>,
    /// Whether the agent's file counts as trusted.
    pub trust: TrustFor,
    /// Where the agent works; none is the workspace.
    pub working_directory: Option<PathBuf>,
    /// Where the session was started from; none is a subagent of that name.
    pub source: Option<SessionSource>,
    /// The session it belongs to; none is its parent's, or a new one.
    pub session: Option<SessionId>,
    /// The date as the agent is to read it; none is today's in UTC.
    pub today: Option<String>,
    /// Who is asked whether a call may begin; none refuses what would have to be asked.
    pub approver: Option<Arc<dyn Approver>>,
    /// What is approved without a question; a run with a parent has what its parent has.
    pub auto_approval: AutoApproval,
    /// Whether somebody waits for it; in the background it gets only the tools that need nobody.
    pub schedule: Schedule,
}

/// Who is to do it.
#[derive(Debug)]
pub enum Subject {
    /// The main agent: it works for the user and delegates.
    Main,
    /// The agent of that name, in any spelling.
    Named(String),
    /// An agent that was looked up.
    Found(Box<Agent>),
    /// An earlier run, which goes on in a new one.
    Earlier(EarlierRun),
}

/// An agent that can be run.
#[derive(Debug, Clone)]
pub struct Agent {
    pub(super) record: Record,
    pub(super) definition: Arc<Definition>,
}

/// A run that can go on.
#[derive(Debug)]
pub struct EarlierRun {
    pub(super) run: Box<Run>,
    /// The last turn that is shared, where not all are.
    pub(super) at_turn: Option<u32>,
    /// The files of its worktree when that turn, or else its last one, was over.
    pub(super) files: FilesThen,
}

/// The values of an agent's typed inputs.
#[derive(Debug, Clone, PartialEq)]
pub enum Inputs {
    /// Values of the declared types.
    Typed(Map<String, Value>),
    /// Texts, to be read as the declared types.
    Written(Vec<InputText>),
}

/// Whether an agent's file counts as trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustFor {
    /// As it is recorded.
    #[default]
    Recorded,
    /// For this run, regardless of what is recorded.
    ThisRun,
}

impl Order {
    /// An agent and its task.
    pub fn new(agent: impl Into<Subject>, task: impl Into<String>) -> Self {
        Self {
            subject: agent.into(),
            task: task.into(),
            description: None,
            routing: None,
            inputs: Inputs::Typed(Map::new()),
            model: None,
            provider: None,
            asked_by: AskedBy::Person,
            limits: ExplicitLimits::default(),
            parent: None,
            fork: None,
            background_work: BackgroundWork::Awaited,
            trust: TrustFor::Recorded,
            working_directory: None,
            source: None,
            session: None,
            today: None,
            approver: None,
            auto_approval: AutoApproval::default(),
            schedule: Schedule::Foreground,
        }
    }
}

impl Order {
    /// The model the caller asks for.
    pub(super) fn model_wish(&self) -> ModelCallWish<'_> {
        let (model, provider) = (self.model.as_deref(), self.provider.as_deref());
        ModelCallWish { model, provider, asked_by: self.asked_by }
    }
}

impl TrustFor {
    pub(super) fn or_recorded(self, recorded: Trust) -> Trust {
        match self {
            Self::Recorded => recorded,
            Self::ThisRun => Trust::Trusted,
        }
    }
}

impl From<&str> for Subject {
    fn from(name: &str) -> Self {
        Self::Named(name.to_owned())
    }
}

impl From<String> for Subject {
    fn from(name: String) -> Self {
        Self::Named(name)
    }
}

impl From<Agent> for Subject {
    fn from(agent: Agent) -> Self {
        Self::Found(Box::new(agent))
    }
}

impl From<EarlierRun> for Subject {
    fn from(run: EarlierRun) -> Self {
        Self::Earlier(run)
    }
}

impl Agent {
    /// What its file says.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Its record in the inventory.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Whether it can begin without a task, given whether it gets inputs.
    pub fn can_begin_without_task(&self, has_inputs: bool) -> bool {
        has_inputs || self.definition.prompt_config.query.is_some()
    }
}

impl EarlierRun {
    pub(crate) fn new(run: Run) -> Self {
        Self { run: Box::new(run), at_turn: None, files: FilesThen::Unknown }
    }

    /// The same with what is known of the files of its worktree.
    pub(crate) fn having(self, files: FilesThen) -> Self {
        Self { files, ..self }
    }

    /// The run as far as it came.
    pub fn run(&self) -> &Run {
        &self.run
    }
}
