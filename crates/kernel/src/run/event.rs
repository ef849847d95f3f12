//! Events: the closed list of everything that can happen to a run.
//!
//! A run changes by events and by nothing else; written down with a number and a time they are its
//! transcript. What watchers of a run are shown is made from them in [`activity`].

pub mod activity;
pub mod compaction;
pub mod life;
pub mod observed;
pub mod spent;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::compaction::Compaction;
use crate::{
    id::{LetterId, QuestionId, RunId, ToolCallId},
    model::usage::{Usage, serialize_short},
    rights::tool_name::ToolName,
    run::{
        file_change::FileChange,
        limits::TreeAllowance,
        message::{Message, ToolResult},
        outcome::{Ending, RecoveredFrom},
    },
};

/// Calls that an earlier run left without having begun them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reopened {
    /// What became of each call of the last message, in its order.
    pub calls: Vec<ReopenedCall>,
    /// What is said after the results. The last is the task.
    pub afterwards: Vec<Arc<Message>>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ReopenedCall {
    /// It has its answer.
    Answered {
        /// The answer.
        result: ToolResult,
    },
    /// It is judged anew.
    Open {
        /// The tool it is meant for.
        tool: ToolName,
    },
}

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The conversation was opened with these messages.
    Opened {
        /// The messages. The last is the task, unless calls are reopened.
        messages: Vec<Arc<Message>>,
        /// How many of the first messages always stay, besides the task; `None` means all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opening: Option<u64>,
        /// Background agents of the run that this one continues, whose results it has not seen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        background: Vec<RunId>,
        /// The calls of the last message that go on, because a question about one of them was open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reopened: Option<Box<Reopened>>,
    },
    /// The run waits for a free place.
    Queued {
        /// How many wait before it.
        ahead: u32,
    },
    /// The run began; its clock starts.
    Started,
    /// The model is about to be called.
    TurnStarted {
        /// Which turn, from 1; a turn of a last chance counts on.
        turn: u32,
        /// Whether it is part of a last chance.
        grace: bool,
        /// How far the run is.
        progress: Progress,
    },
    /// A piece of text arrived. Shown, not recorded.
    TextChunk {
        /// The piece.
        text: String,
    },
    /// A piece of reasoning arrived. Shown, not recorded.
    ThoughtChunk {
        /// The piece.
        text: String,
    },
    /// The model answered.
    Replied {
        /// What it said.
        message: Arc<Message>,
        /// What is to become of each of its calls, as far as the reply alone settles it.
        #[serde(rename = "verdicts")]
        dispositions: Vec<Disposition>,
        /// Why it stopped.
        stop: StopReason,
        /// What it used.
        #[serde(serialize_with = "serialize_short")]
        usage: Usage,
        /// What it cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// The model was stopped while it answered; this is what had arrived.
    ReplyCutOff {
        /// The text.
        text: String,
    },
    /// An answer was lost after its provider had begun to count it; these tokens were used.
    LostAnswerCounted {
        /// What was counted.
        #[serde(serialize_with = "serialize_short")]
        usage: Usage,
        /// What that alone cost; none without a price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// The run's model answered an MCP server during a call; these tokens were used.
    ModelLent {
        /// The server.
        server: String,
        /// What it used.
        #[serde(serialize_with = "serialize_short")]
        usage: Usage,
        /// What that cost; none without a price.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// An MCP server asks the user something during a call; the clock stands until it is answered.
    ServerAsks {
        /// The server.
        server: String,
    },
    /// No MCP server asks anything any more.
    ServerAnswered,
    /// The model could not be called and will be called again.
    Retrying {
        /// Which attempt comes next; the first call was 1.
        attempt: u32,
        /// How many retries there are at most.
        max_retries: u32,
        /// How long to wait before it.
        delay_ms: u64,
        /// What went wrong.
        reason: String,
        /// Whether an answer had begun: nobody knows what it cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_lost: bool,
    },
    /// The model could not be called, and will not be again.
    Failed {
        /// What the provider said.
        message: String,
        /// Whether an answer had begun: nobody knows what it cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_lost: bool,
    },
    /// A call went to its tool.
    ToolStarted {
        /// The call.
        call_id: ToolCallId,
        /// The tool.
        tool_name: String,
    },
    /// A piece of what a call puts out arrived. Shown, not recorded.
    ToolOutputChunk {
        /// The call.
        call_id: ToolCallId,
        /// The piece.
        text: String,
    },
    /// A call was answered, by its tool or in its place.
    ToolReturned {
        /// The tool.
        tool_name: String,
        /// The answer.
        result: ToolResult,
        /// How long the tool took; none if it never ran.
        duration_ms: Option<u64>,
        /// What the tool did to files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<FileChange>,
        /// The background agents whose results are in the answer.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delivers: Vec<RunId>,
    },
    /// A call waits for somebody's decision; it has not begun, and the wall clock is paused.
    ApprovalRequested {
        /// The id of the question.
        request_id: QuestionId,
        /// The call.
        call_id: ToolCallId,
        /// The tool.
        tool_name: String,
        /// Why the call needs approval.
        reason: String,
        /// The command or the diff, where there is one to show.
        preview: Option<String>,
    },
    /// The decision came.
    ApprovalResolved {
        /// The id of the question.
        request_id: QuestionId,
        /// The call.
        call_id: ToolCallId,
        /// The decision.
        decision: ApprovalDecision,
        /// Why, where somebody said.
        reason: Option<String>,
    },
    /// The model is about to be asked for a summary of the conversation, which it is then to replace.
    /// This is not a turn; its answer comes as [`Event::Replied`].
    SummaryRequested {
        /// What it is asked, after the messages that are to be summed up.
        message: Arc<Message>,
        /// How many messages of the conversation it is given; the others stay as they are.
        messages: u64,
        /// What the provider said, where it had refused the conversation as too long in the middle of
        /// a turn. The turn goes on afterwards.
        #[serde(default)]
        refusal: Option<String>,
    },
    /// The conversation was made shorter.
    Compacted(Compaction),
    /// The turn is over: its calls, if any, are all answered.
    TurnCompleted {
        /// Which turn.
        turn: u32,
        /// How far the run is.
        progress: Progress,
        /// What the run has used so far.
        total_tokens: u64,
    },
    /// The files of the run's worktree were written down as they were when that turn was over.
    FilesKept {
        /// The turn; 0 is the beginning of a run that continues another.
        turn: u32,
        /// The name of the tree in the repository.
        tree: String,
    },
    /// The model was reminded to go on or to hand in its answer.
    Reminded {
        /// What it was told.
        message: Arc<Message>,
    },
    /// The model was told of something that happened outside the run.
    Announced {
        /// What it was told.
        message: Arc<Message>,
        /// The letter that told it, where it might be delivered twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        letter: Option<LetterId>,
        /// Whether it stands before the task, since it was sent earlier.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        before_task: bool,
        /// The background agents whose results it was told.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        delivers: Vec<RunId>,
    },
    /// The agent has answered, and waits for its background agents before that is its result.
    Awaiting {
        /// Those whose results it has not seen.
        agents: Vec<RunId>,
    },
    /// The time ran out while the run was waiting.
    TimeUp {
        /// Whether the model was answering: nobody knows what that cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_lost: bool,
    },
    /// The budget over the whole tree was spent.
    TreeBudgetSpent {
        /// What the run still gets of it, if that does not pay for the request that was to be sent: it
        /// was not sent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<TreeAllowance>,
    },
    /// Somebody cancelled the run, or its turn.
    Cancelled {
        /// Whether the model was answering: nobody knows what that cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        answer_lost: bool,
        /// Whether only the turn was stopped: the run goes on to wait for its background agents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        turn_only: bool,
    },
    /// The model gets a last chance to hand in its answer.
    GraceStarted {
        /// What for.
        reason: RecoveredFrom,
        /// How long it has.
        grace_ms: u64,
        /// What it was told, after what had arrived of a reply that was cut off.
        messages: Vec<Arc<Message>>,
    },
    /// The last chance is over.
    GraceEnded {
        /// What it was for.
        reason: RecoveredFrom,
        /// Whether it was used.
        recovered: bool,
    },
    /// A subagent of this run began.
    SubAgentStart {
        /// Its run.
        agent_id: RunId,
        /// Its name.
        name: String,
        /// What it is to do.
        description: String,
        /// Who started it.
        origin: StartedBy,
        /// Whether the run waits for it.
        #[serde(default, skip_serializing_if = "Attendance::is_foreground")]
        attendance: Attendance,
    },
    /// A subagent of this run goes on in the background; nobody waits for it any more.
    SubAgentDetached {
        /// Its run.
        agent_id: RunId,
    },
    /// The clock of a subagent of this run stands, since somebody is being asked, or goes on again. While
    /// the run waits for that subagent, its own clock stands, too.
    SubAgentClock {
        /// Its run.
        agent_id: RunId,
        /// Whether it stands.
        stands: bool,
    },
    /// A subagent of this run ended.
    SubAgentEnd {
        /// Its run.
        agent_id: RunId,
        /// Its name.
        name: String,
        /// Whether it reached its goal.
        success: bool,
        /// Who started it.
        origin: StartedBy,
    },
    /// The run is over.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// How far a run is, beside its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Turns that are over.
    pub turns_completed: u32,
    /// Turns there may be.
    pub max_turns: u32,
    /// Time used, waiting for approvals not counted.
    pub elapsed_seconds: u64,
    /// Time there is.
    pub max_seconds: u64,
}

/// What is to become of a call, as far as the reply that made it settles that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Disposition {
    /// It is meant for its tool. Whether it may go there is judged in the moment it begins.
    Execute {
        /// The tool.
        tool: ToolName,
    },
    /// It never reaches a tool and is answered at once: not understood, withheld, or not executed.
    Answer {
        /// The answer.
        text: String,
    },
    /// It ends the run with its answer.
    Complete,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// It wants tools to be called.
    ToolUse,
    /// The output limit cut it off.
    Length,
    /// The provider stopped it.
    ContentFilter,
    /// Anything else.
    Other,
}

/// How an approval was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Yes, this once.
    ApprovedOnce,
    /// Yes, for the session.
    ApprovedForSession,
    /// No; the agent is told and goes on.
    Denied,
    /// No, and the run ends.
    Aborted,
}

/// Whether the run that started a subagent waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    /// The call that started it answers with its result.
    #[default]
    Foreground,
    /// The run goes on, and is told of the result when there is one.
    Background,
}

impl Attendance {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_foreground(&self) -> bool {
        *self == Self::Foreground
    }
}

/// Who started a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// The main agent.
    Main,
    /// A subagent of that name.
    SubAgent(String),
}

impl Event {
    /// Whether it belongs into the transcript. Pieces of a message do not: the whole message does.
    pub fn is_recorded(&self) -> bool {
        !self.is_piece()
    }

    /// Whether it is a piece of a message or of an output that is still arriving.
    pub fn is_piece(&self) -> bool {
        matches!(
            self,
            Self::TextChunk { .. } | Self::ThoughtChunk { .. } | Self::ToolOutputChunk { .. }
        )
    }

    /// Whether it is only told, and leaves the run as it was.
    pub fn leaves_the_run_alone(&self) -> bool {
        matches!(
            self,
            Self::Queued { .. }
                | Self::TextChunk { .. }
                | Self::ThoughtChunk { .. }
                | Self::ToolOutputChunk { .. }
                | Self::FilesKept { .. }
        )
    }
}
