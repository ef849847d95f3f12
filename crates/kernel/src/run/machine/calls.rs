//! The calls of the current turn: what became of each of them so far.
//!
//! Looking one up, starting it and answering it cost the same however many calls the turn has: a turn
//! of many calls costs no more per call than a turn of few.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::repetition::Repeated;
use crate::{
    id::{QuestionId, ToolCallId},
    rights::tool_name::{BuiltinTool, ToolName},
    run::{
        event::Disposition,
        message::{ToolCall, ToolResult},
    },
};

/// A call of the current turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) id: ToolCallId,
    pub(crate) name: String,
    #[serde(rename = "verdict")]
    pub(crate) disposition: Disposition,
    pub(crate) streak: u32,
    pub(crate) started_ms: Option<u64>,
    #[serde(default)]
    pub(crate) approval: Approval,
    /// How often somebody was asked about it.
    #[serde(default)]
    pub(crate) asked: u32,
    pub(crate) answer: Option<ToolResult>,
    /// The agent, or the beginning of its id, for whose result it waits while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) awaits: Option<String>,
}

/// The agent that a call names as `agent_id`.
fn agent_asked_for(call: &ToolCall) -> Option<&str> {
    let id = call.arguments().ok()?["agent_id"].as_str()?.trim();
    (!id.is_empty()).then_some(id)
}

/// How far a call is with its approval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Approval {
    /// Nobody was asked.
    #[default]
    NotAsked,
    /// Somebody is being asked.
    Asked {
        request_id: QuestionId,
        reason: String,
        #[serde(default)]
        preview: Option<String>,
    },
    /// It was approved, as it was shown.
    Given {
        #[serde(default)]
        preview: Option<String>,
    },
    /// It was not.
    Refused { words: Option<String> },
}

impl OpenCall {
    pub(crate) fn new(id: ToolCallId, name: String, disposition: Disposition, streak: u32) -> Self {
        let approval = Approval::default();
        Self {
            id,
            name,
            disposition,
            streak,
            started_ms: None,
            approval,
            asked: 0,
            answer: None,
            awaits: None,
        }
    }

    /// The same with the agent for whose result the call waits.
    pub(crate) fn awaiting(self, made: &ToolCall) -> Self {
        let is_output = self.tool().and_then(ToolName::builtin) == Some(BuiltinTool::TaskOutput);
        let agent = agent_asked_for(made).filter(|_| is_output);
        Self { awaits: agent.map(str::to_owned), ..self }
    }

    /// The tool's canonical name where it is known, else the name as the model spelled it.
    pub(crate) fn tool_name(&self) -> String {
        self.tool().map_or_else(|| self.name.clone(), ToString::to_string)
    }

    /// The tool it is meant for.
    pub(crate) fn tool(&self) -> Option<&ToolName> {
        match &self.disposition {
            Disposition::Execute { tool } => Some(tool),
            Disposition::Answer { .. } | Disposition::Complete => None,
        }
    }

    /// Whether somebody is being asked about it.
    pub(crate) fn is_asked(&self) -> bool {
        self.answer.is_none() && matches!(self.approval, Approval::Asked { .. })
    }

    /// Whether it went to its tool and has not returned.
    pub(crate) fn is_under_way(&self) -> bool {
        self.answer.is_none() && self.started_ms.is_some()
    }

    /// Whether the run answers it by itself, without anything else happening.
    fn is_settled(&self) -> bool {
        self.tool().is_none() || matches!(self.approval, Approval::Refused { .. })
    }
}

/// The calls of the current turn, in the order the model made them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<OpenCall>", into = "Vec<OpenCall>")]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
    positions: BTreeMap<ToolCallId, usize>,
    /// The positions of the calls without an answer.
    open: BTreeSet<usize>,
    /// Those of them that the run answers by itself.
    settled: BTreeSet<usize>,
}

impl From<Vec<OpenCall>> for OpenCalls {
    fn from(calls: Vec<OpenCall>) -> Self {
        let numbered = || calls.iter().enumerate();
        let open = numbered().filter(|(_, call)| call.answer.is_none());
        Self {
            positions: numbered().map(|(position, call)| (call.id.clone(), position)).collect(),
            open: open.clone().map(|(position, _)| position).collect(),
            settled: open
                .filter(|(_, call)| call.is_settled())
                .map(|(position, _)| position)
                .collect(),
            calls,
        }
    }
}

impl From<OpenCalls> for Vec<OpenCall> {
    fn from(calls: OpenCalls) -> Self {
        calls.calls
    }
}

/// The rest follows from the calls.
impl PartialEq for OpenCalls {
    fn eq(&self, other: &Self) -> bool {
        self.calls == other.calls
    }
}

impl OpenCalls {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether every call has its answer.
    pub(crate) fn are_answered(&self) -> bool {
        self.open.is_empty()
    }

    /// The call of that id, if it has no answer yet.
    pub(crate) fn unanswered(&self, id: &ToolCallId) -> Option<&OpenCall> {
        let position = self.positions.get(id).filter(|position| self.open.contains(position))?;
        self.calls.get(*position)
    }

    /// The calls without an answer, each with its position.
    pub(crate) fn open(&self) -> impl Iterator<Item = (usize, &OpenCall)> {
        self.open.iter().filter_map(|position| Some((*position, self.calls.get(*position)?)))
    }

    /// The first call that the run answers by itself.
    pub(crate) fn first_settled(&self) -> Option<&OpenCall> {
        self.calls.get(*self.settled.first()?)
    }

    /// The first call without an answer.
    pub(crate) fn first_open(&self) -> Option<&OpenCall> {
        self.calls.get(*self.open.first()?)
    }

    /// The call that was made most often in a row.
    pub(crate) fn most_repeated(&self) -> Option<Repeated> {
        let call = self.calls.iter().max_by_key(|call| call.streak)?;
        Some(Repeated { tool_name: call.tool_name(), times: call.streak })
    }

    fn get_mut(&mut self, id: &ToolCallId) -> Option<(usize, &mut OpenCall)> {
        let position = *self.positions.get(id)?;
        Some((position, self.calls.get_mut(position)?))
    }

    /// A call went to its tool; says whether there is one.
    pub(crate) fn start(&mut self, id: &ToolCallId, at_ms: u64) -> bool {
        let Some((_, call)) = self.get_mut(id) else { return false };
        call.started_ms = Some(at_ms);
        true
    }

    /// Where a call stands with its approval changes. A call about which somebody is asked has not
    /// begun.
    pub(crate) fn set_approval(&mut self, id: &ToolCallId, approval: Approval) {
        let Some((position, call)) = self.get_mut(id) else { return };
        if matches!(approval, Approval::Asked { .. }) {
            call.started_ms = None;
            call.asked = call.asked.saturating_add(1);
        }
        call.approval = approval;
        if call.is_settled() {
            self.settled.insert(position);
        }
    }

    /// A call was answered.
    pub(crate) fn answer(&mut self, result: &ToolResult) {
        let Some((position, call)) = self.get_mut(&result.call_id) else { return };
        call.answer = Some(result.clone());
        self.open.remove(&position);
        self.settled.remove(&position);
    }

    /// Takes the answers out, in the order of the calls.
    pub(crate) fn take_answers(&mut self) -> Vec<ToolResult> {
        self.calls.iter_mut().filter_map(|call| call.answer.take()).collect()
    }
}
