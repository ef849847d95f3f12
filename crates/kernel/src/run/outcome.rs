//! Outcomes: how a run ended, told truly, and the result object that is handed out.
//!
//! A run that was cut off never reads as one that finished: `status` names the end, `recovered_from`
//! what it was saved from, `partial` whether the result is unfinished work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{AgentName, RunId, SessionId},
    model::{choice::ChosenBy, usage::Usage},
    run::{file_change::FileChange, message::Artifact},
};

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent handed in its answer.
    Goal,
    /// The time was used up.
    Timeout,
    /// The turns were used up.
    MaxTurns,
    /// The tokens or the money were used up.
    Budget,
    /// It was cancelled.
    Aborted,
    /// Something failed; `error` says what.
    Error,
    /// The agent stopped without calling `complete_task`.
    ErrorNoCompleteTaskCall,
}

impl Status {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Timeout => "timeout",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::ErrorNoCompleteTaskCall => "error_no_complete_task_call",
        }
    }
}

/// What a last chance was given for, and what a run that used it was saved from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecoveredFrom {
    /// The time was used up.
    Timeout,
    /// The turns were used up.
    MaxTurns,
    /// The agent answered twice in a row without calling a tool.
    NoCompleteTask,
    /// The agent made the same call again and again.
    Loop,
    /// The tokens or the money were used up.
    Budget,
}

impl RecoveredFrom {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::MaxTurns => "max_turns",
            Self::NoCompleteTask => "no_complete_task",
            Self::Loop => "loop",
            Self::Budget => "budget",
        }
    }
}

/// How a run ended and what it has to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// How it ended.
    pub status: Status,
    /// What the last chance saved it from.
    pub recovered_from: Option<RecoveredFrom>,
    /// Whether the result is unfinished work.
    pub partial: bool,
    /// The answer; of a run that was cut off, its last text.
    pub result: String,
    /// The structured answer, where the definition asks for one.
    pub output: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
}

/// Everything the run itself knows about its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended and what it has to show.
    pub ending: Ending,
    /// Turns within the limits; those of a last chance are not among them.
    pub turns_used: u32,
    /// From start to end.
    pub duration_ms: u64,
    /// How many calls reached a tool.
    pub tool_uses: u32,
    /// Tokens over all turns, those of a last chance included.
    pub usage: Usage,
    /// Money over all turns; none if a turn had no price.
    pub cost_usd: Option<f64>,
    /// What its calls left behind.
    pub artifacts: Vec<Artifact>,
    /// What its calls did to files, one change for each file.
    pub changes: Vec<FileChange>,
}

/// The model that ran, and which rule chose it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsed {
    /// The model's id.
    pub id: String,
    /// Its provider.
    pub provider: String,
    /// The rule that chose it.
    pub chosen_by: ChosenBy,
    /// The selector as it was written; none if nothing was asked for.
    #[serde(default)]
    pub asked: Option<String>,
}

/// Who a result is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultOf<'a> {
    /// The run.
    pub agent_id: &'a RunId,
    /// The agent.
    pub agent_type: &'a AgentName,
    /// The session.
    pub session_id: &'a SessionId,
    /// The run that asked for it.
    pub parent_id: Option<&'a RunId>,
    /// The run it continued.
    pub resumed_from: Option<&'a RunId>,
    /// The model.
    pub model: &'a ModelUsed,
}

/// What only the outside knows about a run that has ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surroundings {
    /// Where the transcript lies.
    pub transcript: Option<String>,
    /// What its descendants used.
    pub descendants: Descendants,
    /// What its file tools wrote.
    pub changes: Option<Changes>,
}

/// What the descendants of a run used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Descendants {
    /// How many there were.
    pub agents: u32,
    /// Their tokens.
    pub total_tokens: u64,
    /// Their cost; none if any of it is not known.
    pub cost_usd: Option<f64>,
}

impl Default for Descendants {
    fn default() -> Self {
        Self { agents: 0, total_tokens: 0, cost_usd: Some(0.0) }
    }
}

/// The result object: the contract of `docs/formats/result.md`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The run.
    pub agent_id: RunId,
    /// The agent.
    pub agent_type: AgentName,
    /// How it ended.
    pub status: Status,
    /// What the last chance saved it from.
    pub recovered_from: Option<RecoveredFrom>,
    /// Whether the result is unfinished work.
    pub partial: bool,
    /// The answer as text.
    pub result: String,
    /// The structured answer.
    pub output: Option<Value>,
    /// What went wrong.
    pub error: Option<String>,
    /// Turns within the limits.
    pub turns_used: u32,
    /// From start to end, to a tenth.
    pub duration_seconds: f64,
    /// From start to end.
    pub total_duration_ms: u64,
    /// How many calls reached a tool.
    pub total_tool_use_count: u32,
    /// Input and output over all turns.
    pub total_tokens: u64,
    /// The same in detail.
    pub usage: Usage,
    /// Money over all turns.
    pub cost_usd: Option<f64>,
    /// The model.
    pub model: ModelUsed,
    /// The session.
    pub session_id: SessionId,
    /// The run that asked for it.
    pub parent_id: Option<RunId>,
    /// Where the transcript lies.
    pub transcript: Option<String>,
    /// What its calls left behind.
    pub artifacts: Vec<Artifact>,
    /// The run and its descendants together.
    pub tree: Tree,
    /// The run it continued.
    pub resumed_from: Option<RunId>,
    /// What its file tools wrote; none if they wrote nothing.
    #[serde(default)]
    pub changes: Option<Changes>,
}

/// What the file tools of a run wrote; in a worktree all of its changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The files, relative to the workspace.
    pub files: Vec<String>,
    /// A patch of all changes that `git apply` takes.
    pub patch: String,
    /// The branch that holds them, where there is one.
    pub branch: Option<String>,
}

/// A run and its descendants together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// How many runs.
    pub agents: u32,
    /// Their tokens.
    pub total_tokens: u64,
    /// Their cost; none if any of it is not known.
    pub cost_usd: Option<f64>,
}

/// What a model that delegated is told: the part of the result it needs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskAnswer<'a> {
    status: Status,
    result: &'a str,
    turns_used: u32,
    duration_seconds: f64,
    agent_id: &'a RunId,
    total_tool_use_count: u32,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered_from: Option<RecoveredFrom>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl Outcome {
    /// The result object.
    pub fn into_result(self, of: &ResultOf<'_>, surroundings: Surroundings) -> RunResult {
        let total_tokens = self.usage.total_tokens();
        let below = surroundings.descendants;
        let tree = Tree {
            agents: below.agents.saturating_add(1),
            total_tokens: below.total_tokens.saturating_add(total_tokens),
            cost_usd: self.cost_usd.zip(below.cost_usd).map(|(own, below)| own + below),
        };
        RunResult {
            agent_id: of.agent_id.clone(),
            agent_type: of.agent_type.clone(),
            status: self.ending.status,
            recovered_from: self.ending.recovered_from,
            partial: self.ending.partial,
            result: self.ending.result,
            output: self.ending.output,
            error: self.ending.error,
            turns_used: self.turns_used,
            duration_seconds: seconds(self.duration_ms),
            total_duration_ms: self.duration_ms,
            total_tool_use_count: self.tool_uses,
            total_tokens,
            usage: self.usage,
            cost_usd: self.cost_usd,
            model: of.model.clone(),
            session_id: of.session_id.clone(),
            parent_id: of.parent_id.cloned(),
            transcript: surroundings.transcript,
            artifacts: self.artifacts,
            tree,
            resumed_from: of.resumed_from.cloned(),
            changes: surroundings.changes,
        }
    }
}

impl RunResult {
    /// What a model that delegated is told.
    pub fn for_delegator(&self) -> TaskAnswer<'_> {
        TaskAnswer {
            status: self.status,
            result: &self.result,
            turns_used: self.turns_used,
            duration_seconds: self.duration_seconds,
            agent_id: &self.agent_id,
            total_tool_use_count: self.total_tool_use_count,
            total_tokens: self.total_tokens,
            recovered_from: self.recovered_from,
            partial: self.partial.then_some(true),
            error: self.error.as_deref(),
        }
    }
}

/// Seconds, to a tenth.
#[expect(clippy::cast_precision_loss, reason = "exact below three hundred thousand years")]
pub(crate) fn seconds(milliseconds: u64) -> f64 {
    (milliseconds as f64 / 100.0).round() / 10.0
}
