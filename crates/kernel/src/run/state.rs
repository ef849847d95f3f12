//! The state of a run: what its events have made of it so far.
//!
//! `State::apply` is the only place where it changes, it never fails, and it looks at nothing but
//! the event: so the same events always make the same state.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{clock::Clock, compaction, repetition::Repetition};
use crate::{
    conversation::Conversation,
    event::{Event, Verdict},
    id::ToolCallId,
    message::{Artifact, AssistantPart, Message, ToolResult, text_of},
    outcome::{Ending, RecoveredFrom},
    usage::{Cost, Usage},
};

/// What the events of a run have made of it so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    pub(crate) phase: Phase,
    pub(crate) now_ms: u64,
    pub(crate) clock: Clock,
    pub(crate) conversation: Conversation,
    pub(crate) call_ids: BTreeSet<ToolCallId>,
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
    pub(crate) usage: Usage,
    pub(crate) cost: Cost,
    pub(crate) context_tokens: Option<u64>,
    pub(crate) last_reply: LastReply,
    pub(crate) last_text: String,
    pub(crate) cut_off: Option<String>,
    pub(crate) silent_turns: u32,
    pub(crate) reminded: bool,
    pub(crate) calls: Vec<OpenCall>,
    pub(crate) repetition: Repetition,
    pub(crate) failures: u32,
    pub(crate) not_before_ms: u64,
    pub(crate) announcements: Vec<Arc<Message>>,
    pub(crate) artifacts: Vec<Artifact>,
    pub(crate) grace: Option<Grace>,
    pub(crate) tree_budget_spent: bool,
    pub(crate) stop: Option<Stop>,
    pub(crate) ending: Option<Ending>,
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// It has not begun.
    #[default]
    New,
    /// A turn's calls are answered, or it had none; the turn is to be closed.
    TurnOver,
    /// It is about to decide what comes next.
    Between,
    /// The model is being called.
    Model,
    /// Tools are being called.
    Tools,
    /// It is over.
    Ended,
}

/// What the last answer of the model was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LastReply {
    /// There was none since the run, or its last chance, began.
    #[default]
    None,
    /// Neither text nor calls.
    Empty,
    /// Text without calls.
    Text,
    /// Calls.
    Calls,
}

/// A call of the turn at hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCall {
    pub(crate) id: ToolCallId,
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    pub(crate) streak: u32,
    pub(crate) started_ms: Option<u64>,
    pub(crate) answer: Option<ToolResult>,
}

impl OpenCall {
    /// The tool's canonical name where it is known, else the name as the model spelled it.
    pub(crate) fn tool_name(&self) -> String {
        match &self.verdict {
            Verdict::Execute { tool } => tool.to_string(),
            Verdict::Answer { .. } | Verdict::Complete => self.name.clone(),
        }
    }
}

/// A last chance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grace {
    pub(crate) reason: RecoveredFrom,
    pub(crate) until_ms: u64,
    pub(crate) tries: u32,
    pub(crate) over: bool,
    pub(crate) repeated: Option<Repeated>,
}

/// A call that was made again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Repeated {
    pub(crate) tool_name: String,
    pub(crate) times: u32,
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Stop {
    /// It was cancelled.
    Cancelled,
    /// The time ran out while tools were being called: they are answered for.
    TimeUp,
    /// The model failed.
    Failed { message: String },
}

impl State {
    /// Takes in what happened at that time.
    pub(crate) fn apply(&mut self, event: &Event, at_ms: u64) {
        if event.leaves_the_run_alone() {
            return;
        }
        let at_ms = at_ms.max(self.now_ms);
        self.now_ms = at_ms;
        match event {
            Event::Queued { .. }
            | Event::TextChunk { .. }
            | Event::ThoughtChunk { .. }
            | Event::SubAgentStart { .. }
            | Event::SubAgentEnd { .. } => {}
            Event::Opened { messages } => self.open(messages),
            Event::Started => {
                self.clock = Clock::started(at_ms);
                self.phase = Phase::Between;
            }
            Event::TurnStarted { grace, .. } => self.start_turn(*grace),
            Event::Replied { message, verdicts, usage, cost_usd, .. } => {
                self.usage.add(usage);
                self.cost.add(*cost_usd);
                self.context_tokens = Some(usage.total_tokens());
                self.take_in_reply(message, verdicts);
            }
            Event::ReplyCutOff { text } => {
                self.last_text.clone_from(text);
                self.cut_off = Some(text.clone());
            }
            Event::Retrying { delay_ms, .. } => {
                self.failures = self.failures.saturating_add(1);
                self.not_before_ms = at_ms.saturating_add(*delay_ms);
            }
            Event::Failed { message } => {
                let message = message.clone();
                self.halt(Stop::Failed { message });
            }
            Event::ToolStarted { call_id, .. } => self.start_call(call_id, at_ms),
            Event::ToolReturned { result, .. } => self.answer_call(result, at_ms),
            Event::ApprovalRequested { call_id, .. } => {
                self.clock.wait_for(call_id.clone(), at_ms);
            }
            Event::ApprovalResolved { call_id, .. } => {
                self.clock.stop_waiting_for(call_id, at_ms);
            }
            Event::Compacted { call_ids, .. } => {
                self.conversation = compaction::cut(&self.conversation, call_ids);
                self.context_tokens = None;
            }
            Event::TurnCompleted { .. } => self.phase = Phase::Between,
            Event::Reminded { message } => {
                self.reminded = true;
                self.conversation.push(message.clone());
            }
            Event::Announced { message } => self.announce(message),
            Event::TimeUp => self.halt(Stop::TimeUp),
            Event::TreeBudgetSpent => self.tree_budget_spent = true,
            Event::Cancelled => self.halt(Stop::Cancelled),
            Event::GraceStarted { reason, grace_ms, messages } => {
                self.start_grace(*reason, at_ms.saturating_add(*grace_ms), messages);
            }
            Event::GraceEnded { .. } => {
                if let Some(grace) = &mut self.grace {
                    grace.over = true;
                }
            }
            Event::Ended { ending } => {
                self.phase = Phase::Ended;
                self.ending = Some(ending.clone());
            }
        }
    }

    /// Whether a tool may still answer that call.
    pub(crate) fn open_call(&self, id: &ToolCallId) -> Option<&OpenCall> {
        self.calls
            .iter()
            .find(|call| call.id == *id && call.answer.is_none())
            .filter(|_| self.phase == Phase::Tools)
    }

    /// The call of the turn at hand that was made most often in a row.
    pub(crate) fn most_repeated(&self) -> Option<Repeated> {
        let call = self.calls.iter().max_by_key(|call| call.streak)?;
        Some(Repeated { tool_name: call.tool_name(), times: call.streak })
    }

    fn open(&mut self, messages: &[Arc<Message>]) {
        self.call_ids = messages
            .iter()
            .flat_map(|message| message.calls().map(|call| call.id.clone()))
            .collect();
        self.conversation = messages.iter().cloned().collect();
    }

    fn start_turn(&mut self, grace: bool) {
        match &mut self.grace {
            Some(grace_period) if grace => grace_period.tries += 1,
            Some(_) | None => self.turns += 1,
        }
        self.failures = 0;
        self.not_before_ms = 0;
        self.phase = Phase::Model;
    }

    fn take_in_reply(&mut self, message: &Arc<Message>, verdicts: &[Verdict]) {
        let content: &[AssistantPart] = match message.as_ref() {
            Message::Assistant { content } => content,
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
        };
        let text = text_of(content);
        let has_text = !text.trim().is_empty();
        if has_text {
            self.last_text = text;
        }
        self.cut_off = None;
        let streaks =
            if verdicts.is_empty() { Vec::new() } else { self.repetition.take_in(message) };
        self.calls = message
            .calls()
            .zip(verdicts)
            .zip(streaks)
            .map(|((call, verdict), streak)| OpenCall {
                id: call.id.clone(),
                name: call.name.clone(),
                verdict: verdict.clone(),
                streak,
                started_ms: None,
                answer: None,
            })
            .collect();
        self.call_ids.extend(self.calls.iter().map(|call| call.id.clone()));
        // Reasoning alone is recorded, but providers do not take it back.
        if has_text || !self.calls.is_empty() {
            self.conversation.push(message.clone());
        }
        if self.calls.is_empty() {
            self.silent_turns = self.silent_turns.saturating_add(1);
            self.last_reply = if has_text { LastReply::Text } else { LastReply::Empty };
            self.phase = Phase::TurnOver;
        } else {
            self.silent_turns = 0;
            self.reminded = false;
            self.last_reply = LastReply::Calls;
            self.phase = Phase::Tools;
        }
    }

    fn start_call(&mut self, id: &ToolCallId, at_ms: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == *id) {
            call.started_ms = Some(at_ms);
            self.tool_uses = self.tool_uses.saturating_add(1);
        }
    }

    fn answer_call(&mut self, result: &ToolResult, at_ms: u64) {
        self.clock.stop_waiting_for(&result.call_id, at_ms);
        self.artifacts.extend(result.artifacts.iter().cloned());
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == result.call_id) {
            call.answer = Some(result.clone());
        }
        if self.calls.iter().any(|call| call.answer.is_none()) {
            return;
        }
        let results = self.calls.iter_mut().filter_map(|call| call.answer.take());
        let results = results.collect();
        self.conversation.push(Arc::new(Message::Tool { results }));
        for message in self.announcements.drain(..) {
            self.conversation.push(message);
        }
        self.phase = Phase::TurnOver;
    }

    /// Messages must not come between calls and their results.
    fn announce(&mut self, message: &Arc<Message>) {
        if self.phase == Phase::Tools {
            self.announcements.push(message.clone());
        } else {
            self.conversation.push(message.clone());
        }
    }

    /// Stops waiting for the model; tools that are under way are answered for before anything else.
    fn halt(&mut self, stop: Stop) {
        match self.phase {
            Phase::Model => {
                self.phase = Phase::TurnOver;
                self.stop = Some(stop).filter(|stop| *stop != Stop::TimeUp);
            }
            Phase::New => {
                self.phase = Phase::Between;
                self.stop = Some(stop);
            }
            Phase::Tools | Phase::Between | Phase::TurnOver => self.stop = Some(stop),
            Phase::Ended => {}
        }
    }

    fn start_grace(&mut self, reason: RecoveredFrom, until_ms: u64, messages: &[Arc<Message>]) {
        for message in messages {
            self.conversation.push(message.clone());
        }
        self.cut_off = None;
        self.last_reply = LastReply::None;
        self.grace = Some(Grace {
            reason,
            until_ms,
            tries: 0,
            over: false,
            repeated: self.most_repeated().filter(|_| reason == RecoveredFrom::Loop),
        });
    }
}
