//! An assignment: which agent does what, as whom, with which model and which tools.
//!
//! It is fixed before the run begins, it is what a transcript's header holds, and with the events
//! after it the run can be rebuilt from it alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    agent::definition::Definition,
    id::{AgentName, RunId, SessionId},
    rights::{
        filter::{ToolSet, Verdict, WithheldTool},
        tool_name::ToolName,
    },
    run::{
        fork::Fork,
        outcome::{ModelUsed, ResultOf},
        retry::Stage,
    },
};

/// Which agent does what, as whom, with which model and which tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assignment {
    /// The run.
    pub agent_id: RunId,
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The run that asked for it.
    pub parent_id: Option<RunId>,
    /// The run it continues.
    pub resumed_from: Option<RunId>,
    /// Where it was started from.
    pub source: SessionSource,
    /// How deep in the tree it is: the main agent is 0.
    pub depth: u32,
    /// The definition as it was then, limits that were overridden included.
    pub definition: Arc<Definition>,
    /// How the agent hands in its answer.
    pub finish: Finish,
    /// The task.
    pub task: String,
    /// The task in a few words, where the caller gave them.
    #[serde(default)]
    pub description: Option<String>,
    /// The values of the typed inputs.
    #[serde(default)]
    pub inputs: Map<String, Value>,
    /// What templates can refer to.
    pub environment: Environment,
    /// The model.
    pub model: ModelUsed,
    /// What is known about calling it.
    pub model_limits: ModelLimits,
    /// The tools the agent may call, `complete_task` not among them.
    pub tools: Vec<ToolSpec>,
    /// The tools it asked for and did not get.
    #[serde(default)]
    pub withheld_tools: Vec<WithheldTool>,
    /// The tools the model is shown, where these are not the agent's own: a fork shows its parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_tools: Option<Vec<ToolSpec>>,
}

/// Where a session was started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionSource {
    /// A terminal.
    Interactive,
    /// A command without one.
    Exec,
    /// An MCP host.
    Mcp,
    /// Another agent.
    SubAgent(SubAgentSource),
}

/// Which subagent it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubAgentSource {
    /// The built-in explorer.
    Explore,
    /// The built-in planner.
    Plan,
    /// Any other.
    Custom(String),
}

impl SubAgentSource {
    /// The source an agent of that name is.
    pub fn of(name: &AgentName) -> Self {
        match name.key().as_str() {
            "explore" => Self::Explore,
            "plan" => Self::Plan,
            _ => Self::Custom(name.as_str().to_owned()),
        }
    }
}

/// How an agent hands in its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// By calling `complete_task`: every subagent.
    CompleteTask,
    /// With a text and no call: the main agent, and its forks.
    TextAnswer,
}

/// What templates can refer to beside the task and the inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// The working directory.
    pub cwd: String,
    /// The date, as the agent is to read it.
    pub today: String,
}

/// What is known about calling a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelLimits {
    /// How often a failed call is tried again.
    pub max_retries: u32,
    /// How often one is whose answer broke off; none is as often as any other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stream_retries: Option<u32>,
    /// How many tokens a conversation may have; none is not known.
    pub context_window: Option<u64>,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { max_retries: 5, max_stream_retries: None, context_window: None }
    }
}

impl ModelLimits {
    /// How often a call that failed at that stage is tried again.
    pub(crate) fn retries_at(&self, stage: Stage) -> u32 {
        match stage {
            Stage::Request => self.max_retries,
            Stage::Stream => self.max_stream_retries.unwrap_or(self.max_retries),
        }
    }
}

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What calling it does to the world. Not for the model.
    pub effect: Effect,
}

/// What calling a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: calling it again does no harm.
    ReadOnly,
    /// Something: calling it again is not the same.
    Mutating,
}

/// Decides, at the moment of the call, whether a tool may be called with these arguments.
pub trait CallGuard {
    /// Passes the call, or gives the reason why not.
    fn check(&self, tool: &ToolName, arguments: &Value) -> Result<(), String>;
}

impl CallGuard for ToolSet {
    fn check(&self, tool: &ToolName, arguments: &Value) -> Result<(), String> {
        match Self::check(self, tool, arguments) {
            Verdict::Allowed => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.to_string()),
        }
    }
}

/// A [`CallGuard`] that can be shared.
pub type SharedGuard = Arc<dyn CallGuard + Send + Sync>;

/// What it takes to begin a run.
#[derive(Clone)]
pub struct RunRequest {
    /// Which agent does what.
    pub assignment: Assignment,
    /// What it takes over from its parent, for an agent that is to know it.
    pub fork: Option<Fork>,
    /// The guard of every call.
    pub guard: SharedGuard,
}

impl std::fmt::Debug for RunRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RunRequest")
            .field("assignment", &self.assignment)
            .field("fork", &self.fork)
            .finish_non_exhaustive()
    }
}

impl Assignment {
    /// The same agent, going on in a new run with a new task.
    #[must_use]
    pub fn resumed_as(&self, agent_id: RunId, task: impl Into<String>) -> Self {
        Self {
            resumed_from: Some(self.agent_id.clone()),
            agent_id,
            task: task.into(),
            description: None,
            ..self.clone()
        }
    }

    /// Who a result of it is about.
    pub fn result_of(&self) -> ResultOf<'_> {
        ResultOf {
            agent_id: &self.agent_id,
            agent_type: &self.definition.agent_type,
            session_id: &self.session_id,
            parent_id: self.parent_id.as_ref(),
            resumed_from: self.resumed_from.as_ref(),
            model: &self.model,
        }
    }

    pub(crate) fn max_time_ms(&self) -> u64 {
        u64::from(self.definition.run_config.max_time_seconds) * 1000
    }

    pub(crate) fn grace_ms(&self) -> u64 {
        u64::from(self.definition.run_config.grace_period_seconds) * 1000
    }

    pub(crate) fn effect_of(&self, tool: &ToolName) -> Effect {
        self.tools
            .iter()
            .find(|spec| spec.name == *tool)
            .map_or(Effect::Mutating, |spec| spec.effect)
    }
}
