//! Activity: what watchers of a run are shown, the contract of `docs/formats/events.md`.
//!
//! Every activity is made from one event; some events concern only the transcript and make none.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Event, Progress, compaction::Compaction, observed::Detail};
use crate::{
    id::{AgentName, RunId, SessionId},
    run::{
        assignment::Assignment,
        outcome::{Ending, Outcome, Status, seconds},
    },
};

/// One activity of one subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubagentActivityEvent {
    /// The run.
    pub agent_id: RunId,
    /// The agent.
    pub agent_type: AgentName,
    /// What happened.
    pub event_type: EventType,
    /// The details.
    pub data: Map<String, Value>,
    /// Its number in the run.
    pub seq: u64,
    /// When, as an RFC 3339 timestamp.
    pub ts: String,
    /// The session.
    pub session_id: SessionId,
    /// The run that asked for it.
    pub parent_id: Option<RunId>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EventType {
    /// The run began.
    Started,
    /// The run waits for a free place.
    Queued,
    /// The model is about to be called.
    TurnStart,
    /// A turn is over.
    TurnComplete,
    /// A piece of text.
    TextChunk,
    /// A piece of reasoning.
    ThoughtChunk,
    /// A call went to its tool.
    ToolCallStart,
    /// A piece of what a call puts out.
    ToolOutputChunk,
    /// A call was answered.
    ToolCallEnd,
    /// A call waits for a decision.
    ApprovalRequested,
    /// The decision came.
    ApprovalResolved,
    /// The model will be called again.
    Retry,
    /// The conversation was made shorter.
    Compacted,
    /// A last chance begins.
    GracePeriodStart,
    /// It is over.
    GracePeriodEnd,
    /// The run reached its goal.
    Completed,
    /// The run ended otherwise.
    Error,
}

/// What watchers are shown of an event; nothing, where it concerns only the transcript.
pub(crate) fn activity(
    event: &Event,
    run: &Assignment,
    detail: &Detail,
) -> Option<(EventType, Map<String, Value>)> {
    let (event_type, data) = match event {
        Event::Opened { .. }
        | Event::Replied { .. }
        | Event::ReplyCutOff { .. }
        | Event::LostAnswerCounted { .. }
        | Event::ModelLent { .. }
        | Event::ServerAsks { .. }
        | Event::ServerAnswered
        | Event::SummaryRequested { .. }
        | Event::Failed { .. }
        | Event::Reminded { .. }
        | Event::Announced { .. }
        | Event::Awaiting { .. }
        | Event::TimeUp { .. }
        | Event::TreeBudgetSpent { .. }
        | Event::Cancelled { .. }
        | Event::SubAgentStart { .. }
        | Event::SubAgentDetached { .. }
        | Event::SubAgentClock { .. }
        | Event::FilesKept { .. }
        | Event::SubAgentEnd { .. } => return None,
        Event::Queued { ahead } => (EventType::Queued, json!({"ahead": ahead})),
        Event::Started => return Some((EventType::Started, introduction(run))),
        Event::TurnStarted { turn, grace, progress } => {
            (EventType::TurnStart, turn_start(*turn, *grace, *progress))
        }
        Event::TurnCompleted { turn, progress, total_tokens } => (
            EventType::TurnComplete,
            json!({"turn": turn, "progress": progress, "total_tokens": total_tokens}),
        ),
        Event::TextChunk { text } => (EventType::TextChunk, json!({"text": text})),
        Event::ThoughtChunk { text } => (EventType::ThoughtChunk, json!({"text": text})),
        Event::ToolOutputChunk { call_id, text } => {
            (EventType::ToolOutputChunk, json!({"call_id": call_id, "text": text}))
        }
        Event::ToolStarted { call_id, tool_name } => (
            EventType::ToolCallStart,
            json!({"call_id": call_id, "tool_name": tool_name, "arguments": detail.arguments()}),
        ),
        Event::ToolReturned { .. } => (EventType::ToolCallEnd, tool_call_end(event)),
        Event::ApprovalRequested { request_id, call_id, tool_name, reason, preview } => (
            EventType::ApprovalRequested,
            json!({
                "request_id": request_id, "agent_id": run.agent_id, "call_id": call_id,
                "tool": tool_name, "arguments": detail.arguments(), "reason": reason,
                "preview": preview,
            }),
        ),
        Event::ApprovalResolved { request_id, call_id, decision, reason } => (
            EventType::ApprovalResolved,
            json!({
                "request_id": request_id, "call_id": call_id, "decision": decision,
                "reason": reason,
            }),
        ),
        Event::Retrying { attempt, max_retries, delay_ms, reason, .. } => (
            EventType::Retry,
            json!({"attempt": attempt, "max_retries": max_retries, "delay_ms": delay_ms, "reason": reason}),
        ),
        Event::Compacted(compaction) => (EventType::Compacted, room_made(compaction)),
        Event::GraceStarted { reason, grace_ms, .. } => (
            EventType::GracePeriodStart,
            json!({"reason": reason, "grace_seconds": grace_ms / 1000}),
        ),
        Event::GraceEnded { reason, recovered } => {
            (EventType::GracePeriodEnd, json!({"reason": reason, "success": recovered}))
        }
        Event::Ended { ending } => (end_type(ending), end(ending, detail.outcome())),
    };
    match data {
        Value::Object(data) => Some((event_type, data)),
        _ => Some((event_type, Map::new())),
    }
}

fn turn_start(turn: u32, grace: bool, progress: Progress) -> Value {
    json!({"turn": turn, "grace": grace, "progress": progress})
}

impl Detail {
    fn arguments(&self) -> Option<&Value> {
        match self {
            Self::Arguments(arguments) => Some(arguments),
            Self::None | Self::Outcome(_) => None,
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Outcome(outcome) => Some(outcome),
            Self::None | Self::Arguments(_) => None,
        }
    }
}

/// What is told when a run begins.
fn introduction(run: &Assignment) -> Map<String, Value> {
    let limits = &run.limits;
    let task = run.task.lines().find(|line| !line.trim().is_empty());
    let description = run.description.as_deref().or(task);
    let tools: Vec<_> = run.tools.iter().map(|spec| &spec.name).collect();
    let introduction = [
        ("description", json!(description.unwrap_or_default().trim())),
        ("model", json!(run.model)),
        ("tools", json!(tools)),
        ("withheld_tools", json!(run.withheld_tools)),
        ("max_turns", json!(limits.max_turns)),
        ("max_seconds", json!(limits.max_time_seconds)),
        ("resumed_from", json!(run.resumed_from)),
    ];
    // An agent without commands needs no sandbox.
    let sandbox = run.sandbox.as_ref().map(|sandbox| ("sandbox", json!(sandbox)));
    let notices = Some(&run.notices).filter(|notices| !notices.is_empty());
    let notices = notices.map(|notices| ("notices", json!(notices)));
    let routing = run.routing.as_ref().map(|routing| ("routing", json!(routing)));
    let told = introduction.into_iter().chain(sandbox).chain(notices).chain(routing);
    told.map(|(key, value)| (key.to_owned(), value)).collect()
}

fn room_made(compaction: &Compaction) -> Value {
    match compaction {
        Compaction::Trimmed { call_ids, freed_bytes } => {
            json!({"kind": "trimmed", "results_removed": call_ids.len(), "freed_bytes": freed_bytes})
        }
        Compaction::Summarised { .. } | Compaction::Dropped { .. } => json!(compaction),
    }
}

fn tool_call_end(event: &Event) -> Value {
    let Event::ToolReturned { tool_name, result, duration_ms, .. } = event else {
        return Value::Null;
    };
    let mut data = json!({
        "call_id": result.call_id,
        "tool_name": tool_name,
        "success": !result.is_error,
        "executed": duration_ms.is_some(),
        "duration_ms": duration_ms.unwrap_or(0),
    });
    if let (true, Value::Object(data)) = (result.is_error, &mut data) {
        data.insert("error".to_owned(), Value::String(result.text.clone()));
    }
    data
}

fn end_type(ending: &Ending) -> EventType {
    match ending.status {
        Status::Goal => EventType::Completed,
        Status::Timeout
        | Status::MaxTurns
        | Status::Budget
        | Status::Aborted
        | Status::Error
        | Status::ErrorNoCompleteTaskCall => EventType::Error,
    }
}

fn end(ending: &Ending, outcome: Option<&Outcome>) -> Value {
    let mut data = json!({
        "status": ending.status,
        "recovered_from": ending.recovered_from,
        "partial": ending.partial,
        "result": ending.result,
        "error": ending.error,
    });
    if let (Some(outcome), Value::Object(data)) = (outcome, &mut data) {
        let totals = [
            ("turns_used", json!(outcome.turns_used)),
            ("duration_seconds", json!(seconds(outcome.duration_ms))),
            ("total_tool_use_count", json!(outcome.tool_uses)),
            ("total_tokens", json!(outcome.usage.total_tokens())),
            ("cost_usd", json!(outcome.cost_usd)),
        ];
        data.extend(totals.map(|(key, value)| (key.to_owned(), value)));
    }
    data
}
