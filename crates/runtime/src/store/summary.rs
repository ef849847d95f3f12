//! Summaries: what a list of runs shows of each.

use std::path::PathBuf;

use attache_kernel::{
    id::{AgentName, RunId, SessionId},
    run::{
        assignment::SessionSource,
        outcome::{ModelUsed, Status},
    },
};
use serde::{Deserialize, Serialize};

/// What has become of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It waits for a free slot.
    Queued,
    /// It works.
    Running,
    /// It reached its goal.
    Completed,
    /// It ended otherwise.
    Failed,
    /// It was cancelled, or its process is gone; it can be taken up again.
    Interrupted,
}

impl RunState {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The run.
    pub agent_id: RunId,
    /// The agent.
    pub agent_type: AgentName,
    /// The session.
    pub session_id: SessionId,
    /// The run that asked for it.
    pub parent_id: Option<RunId>,
    /// The run it continued.
    pub resumed_from: Option<RunId>,
    /// Whether it shares only the beginning of that run, and leaves it alone.
    #[serde(skip)]
    pub is_branch: bool,
    /// The task in a few words.
    pub description: String,
    /// The model.
    pub model: ModelUsed,
    /// Where it was started from.
    #[serde(skip)]
    pub source: SessionSource,
    /// When it was made, as an RFC 3339 timestamp.
    pub started_at: String,
    /// When it ended, if it did.
    pub ended_at: Option<String>,
    /// What has become of it.
    pub state: RunState,
    /// How it ended, if it did.
    pub status: Option<Status>,
    /// Where it works.
    pub cwd: String,
    /// Where its transcript lies.
    pub path: PathBuf,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Advance {
    /// The turns in which the model has answered.
    pub turns: u32,
    /// The tokens used so far.
    pub total_tokens: u64,
    /// Messages that it was sent and has not read.
    pub unread_messages: usize,
}
