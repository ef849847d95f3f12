//! What goes over a bridge: one JSON object a line, the contract of `docs/formats/bridge.md`.

use std::path::PathBuf;

use attache_kernel::{
    id::{AgentName, RunId},
    rights::{
        permission::{AutoApproval, Stance},
        rule::SessionGrant,
    },
    run::{
        Expected, Question, Spent,
        assignment::Assignment,
        event::{ApprovalDecision, Event, observed::Detail},
        letter::Letter,
        limits::TreeAllowance,
        outcome::{Descendants, Status},
        transcript::{Entry, Line},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{approvals::FormAnswer, tasks::AgentAsks};

/// The version of the protocol. Both sides are usually one program; a file that was replaced makes them two.
pub(crate) const PROTOCOL: u32 = 2;

/// What an instance is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Down {
    /// The first line.
    Hello {
        protocol: u32,
        /// What the program needs to know to set itself up.
        setup: Value,
    },
    /// The second: the run.
    Start(Box<Assigned>),
    /// The entries of that request are in the journal.
    Written {
        request: u64,
        /// What is left for the tree.
        left: TreeAllowance,
    },
    /// The decision about that question.
    Decided { request: u64, decision: ApprovalDecision, words: Option<String> },
    /// A request is paid for, or there is no more than `short` for its run.
    Funded { request: u64, short: Option<TreeAllowance> },
    /// What somebody made of that form.
    Filled { request: u64, answer: FormAnswer },
    /// Letters for the agent.
    Letters { letters: Vec<Letter> },
    /// What was left for the agent up to its end; nothing more is, until the next entries.
    LastLook { request: u64, letters: Vec<Letter> },
    /// The run is to stop.
    Cancel,
}

/// A run for an instance.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Assigned {
    /// Its journal so far.
    pub(crate) transcript: Vec<Line>,
    /// Where it works.
    pub(crate) root: PathBuf,
    pub(crate) is_trusted: bool,
    pub(crate) auto_approval: AutoApproval,
    pub(crate) stance: Stance,
    /// What the agent and those above it always ask about.
    pub(crate) asked: Vec<AgentAsks>,
    /// What is left for its tree.
    pub(crate) left: TreeAllowance,
    /// What became of the background agents of the run that it continues.
    pub(crate) left_behind: Option<LeftBehind>,
}

/// What an agent is told about background agents of the run that it continues.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LeftBehind {
    pub(crate) text: String,
    pub(crate) delivers: Vec<RunId>,
}

/// A form as the server describes it; the owner reads it again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FormWish {
    pub(crate) agent_id: RunId,
    pub(crate) agent_type: AgentName,
    pub(crate) server: String,
    pub(crate) message: String,
    pub(crate) schema: Value,
}

/// What an instance says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Up {
    /// The first line.
    Hello { protocol: u32, version: String, pid: u32 },
    /// It cannot drive the run.
    Refused { message: String },
    /// What happened to the run; it waits until that is written.
    Entries { request: u64, entries: Vec<Entry> },
    /// A run that the instance started; its events follow.
    Run { run: Box<Assignment> },
    /// A piece of a message of the run, or an event of one below it, which is in the journal already.
    Event { agent_id: RunId, seq: u64, ts: String, event: Box<Event>, detail: Detail },
    /// Whether a call may begin, and what a yes for the session covers.
    Ask { request: u64, question: Box<Question>, grants: Vec<SessionGrant> },
    /// Values that an MCP server of the instance asks the user for.
    Form { request: u64, form: Box<FormWish> },
    /// Nobody waits for that answer any more.
    Withdrawn { request: u64 },
    /// A run is about to send a request: does the tree pay for it?
    Fund { request: u64, agent_id: RunId, expected: Expected },
    /// A run has used that much of the budget of the tree.
    Spent { agent_id: RunId, used: Spent },
    /// The request of a run is over; it keeps what one more of that size needs.
    Settled { agent_id: RunId, size: Spent },
    /// A run has ended, and holds nothing of the budget any more.
    Closed { agent_id: RunId },
    /// The run is about to end: what was left for the agent?
    LastLook { request: u64 },
    /// The run and everything below it is over.
    Result { status: Status, below: Descendants },
}
