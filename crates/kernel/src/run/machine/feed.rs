//! Feeding a run: what was asked for comes back, and the events that follow from it come out.
//!
//! An answer nobody waits for any more, such as that of a tool after a cancellation, makes no event
//! and changes nothing.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::{
    Hands, ModelFailure, Run,
    complete_task::COMPLETE_TASK,
    decide::returned,
    envelope::opened,
    judge::{Circumstances, ignored, tidied},
    milliseconds, prose,
    retry::{self, Stage},
    state::Phase,
};
use crate::{
    id::{RunId, ToolCallId},
    model::usage::Usage,
    run::{
        assignment::{BackgroundWork, Finish},
        event::{Disposition, Event, StopReason},
        file_change::FileChange,
        letter::Letter,
        limits::TreeAllowance,
        message::{Artifact, AssistantPart, Image, Message, ToolCall, ToolResult},
        subagent::SubagentNote,
    },
};

/// The most that is kept of an answer that was cut off: more than any model says in one answer.
const MOST_KEPT_BYTES: usize = 1 << 20;

/// What a model answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// What it said, in order.
    pub content: Vec<AssistantPart>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it used.
    pub usage: Usage,
    /// What that cost; none if the price is not known.
    pub cost_usd: Option<f64>,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolAnswer {
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Images the model sees.
    pub images: Vec<Image>,
    /// What the call left behind.
    pub artifacts: Vec<Artifact>,
    /// The answer as values, for a model that is a program.
    pub data: Option<Arc<Value>>,
    /// What the tool did to files.
    pub changes: Vec<FileChange>,
    /// The background agents whose results are in the answer.
    pub delivers: Vec<RunId>,
}

impl Run {
    /// The run begins, and its clock with it.
    pub fn start(&mut self, now: Duration) -> Vec<Event> {
        if self.state.phase != Phase::New {
            return Vec::new();
        }
        // Nothing is under way that somebody else might have begun.
        self.hands = Hands::Driven;
        self.happened(Event::Started, now)
    }

    /// The model answered.
    pub fn model_replied(&mut self, reply: Reply, now: Duration) -> Vec<Event> {
        self.model_replied_amid(reply, &[], now)
    }

    /// The model answered, and these letters came while it did. It reads them with its next turn, so an
    /// answer it hands in is not accepted yet.
    pub fn model_replied_amid(
        &mut self,
        reply: Reply,
        letters: &[Letter],
        now: Duration,
    ) -> Vec<Event> {
        if !self.is_calling_model() {
            return Vec::new();
        }
        let content = opened(reply.content, &self.assignment);
        let content = tidied(content, &self.state.call_ids);
        let mut dispositions = self.dispositions(&content, reply.stop);
        if !letters.is_empty() {
            for disposition in &mut dispositions {
                if *disposition == Disposition::Complete {
                    *disposition = Disposition::Answer { text: prose::LETTERS_WAIT.to_owned() };
                }
            }
        }
        let replied = Event::Replied {
            message: Arc::new(Message::Assistant { content }),
            dispositions,
            stop: reply.stop,
            usage: reply.usage,
            cost_usd: reply.cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0),
        };
        let mut events = vec![replied];
        events.extend(letters.iter().map(announced));
        for event in &events {
            self.state.apply(event, milliseconds(now));
        }
        events.extend(self.settle(now));
        events
    }

    /// Whether the run is over with that answer, unless a letter comes before it is fed in. A last
    /// chance is not spent on letters: what comes during it waits until the run is resumed.
    pub fn would_end_with(&self, reply: &Reply) -> bool {
        if self.state.phase != Phase::Model || self.state.grace.is_some() {
            return false;
        }
        match self.assignment.finish {
            Finish::CompleteTask => {
                let hands_in = |part: &AssistantPart| {
                    part.call().is_some_and(|call| call.name.trim() == COMPLETE_TASK)
                };
                reply.content.iter().any(hands_in)
                    && self
                        .dispositions(&reply.content, reply.stop)
                        .contains(&Disposition::Complete)
            }
            Finish::TextAnswer => {
                reply.stop != StopReason::Length
                    && reply.content.iter().all(|part| part.call().is_none())
            }
        }
    }

    fn dispositions(&self, content: &[AssistantPart], stop: StopReason) -> Vec<Disposition> {
        let calls: Vec<&ToolCall> = content.iter().filter_map(AssistantPart::call).collect();
        let circumstances = Circumstances { stop, grace: self.state.grace.is_some() };
        match self.state.phase {
            Phase::Summary => ignored(&calls),
            _ => self.judge.dispositions(&calls, circumstances),
        }
    }

    fn is_calling_model(&self) -> bool {
        matches!(self.state.phase, Phase::Model | Phase::Summary)
    }

    /// The model was stopped while it answered. What had arrived is kept as the run's last text, unless
    /// it is a piece of a summary; call it before [`Run::cancelled`] or [`Run::clock`].
    pub fn reply_cut_off(&mut self, text: &str, now: Duration) -> Vec<Event> {
        if self.state.phase != Phase::Model || text.trim().is_empty() {
            return Vec::new();
        }
        let end = text.floor_char_boundary(MOST_KEPT_BYTES);
        let text = text.get(..end).unwrap_or(text).to_owned();
        self.happened(Event::ReplyCutOff { text }, now)
    }

    /// An answer was lost after the provider had counted this usage. Call it before the failure,
    /// [`Run::cancelled`] or [`Run::clock`] is told.
    pub fn lost_answer_counted(
        &mut self,
        usage: Usage,
        cost_usd: Option<f64>,
        now: Duration,
    ) -> Vec<Event> {
        if !self.is_calling_model() || usage.total_tokens() == 0 {
            return Vec::new();
        }
        let cost_usd = cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        self.happened(Event::LostAnswerCounted { usage, cost_usd }, now)
    }

    /// The run's model answered an MCP server while tools are being called.
    pub fn model_lent(
        &mut self,
        server: String,
        usage: Usage,
        cost_usd: Option<f64>,
        now: Duration,
    ) -> Vec<Event> {
        if self.state.phase != Phase::Tools {
            return Vec::new();
        }
        let cost_usd = cost_usd.filter(|usd| usd.is_finite() && *usd >= 0.0);
        self.happened(Event::ModelLent { server, usage, cost_usd }, now)
    }

    /// An MCP server asks the user something, or has its answer, while tools are being called. Meanwhile the
    /// clock stands.
    pub fn server_asks(&mut self, server: Option<String>, now: Duration) -> Vec<Event> {
        let is_asked = self.state.clock.is_asked_by_server();
        match server {
            Some(server) if self.state.phase == Phase::Tools && !is_asked => {
                self.happened(Event::ServerAsks { server }, now)
            }
            None if is_asked => self.happened(Event::ServerAnswered, now),
            Some(_) | None => Vec::new(),
        }
    }

    /// The model could not be called, or its answer broke off after that text. If there is no further
    /// attempt, the text is kept as the run's last one. The random number is that of
    /// [`Run::model_failed`].
    pub fn model_broke_off(
        &mut self,
        text: &str,
        failure: ModelFailure,
        random: f64,
        now: Duration,
    ) -> Vec<Event> {
        if !self.is_calling_model() {
            return Vec::new();
        }
        let event = self.after_failure(failure, random, now);
        let mut events = match &event {
            Event::Failed { .. } => self.reply_cut_off(text, now),
            _ => Vec::new(),
        };
        events.extend(self.happened(event, now));
        events
    }

    /// The model could not be called. The random number, from 0 to 1, spreads the retries of many runs.
    pub fn model_failed(
        &mut self,
        failure: ModelFailure,
        random: f64,
        now: Duration,
    ) -> Vec<Event> {
        self.model_broke_off("", failure, random, now)
    }

    fn after_failure(&self, failure: ModelFailure, random: f64, now: Duration) -> Event {
        match failure {
            ModelFailure::Fatal { message } if self.state.phase == Phase::Summary => {
                self.room_without_summary(message)
            }
            ModelFailure::Fatal { message } => Event::Failed { message, answer_lost: false },
            ModelFailure::ContextLength { message } => self.room_after_refusal(message),
            ModelFailure::Transient { message, stage, retry_after } => {
                let delay = |failures| retry::delay_ms(failures, retry_after, random);
                self.retry(message, stage, delay, milliseconds(now))
            }
        }
    }

    fn retry(
        &self,
        reason: String,
        stage: Stage,
        delay_ms: impl Fn(u32) -> u64,
        now_ms: u64,
    ) -> Event {
        let answer_lost = stage == Stage::Stream;
        let max_retries = self.assignment.model_limits.retries_at(stage);
        let failures = self.state.failures.saturating_add(1);
        if failures > max_retries {
            let attempts = if failures == 1 { "attempt" } else { "attempts" };
            let message = format!("{reason} (given up after {failures} {attempts})");
            return Event::Failed { message, answer_lost };
        }
        if self.cap_before_request().is_some() {
            let message = format!("{reason} (no budget left for another attempt)");
            return Event::Failed { message, answer_lost };
        }
        let delay_ms = delay_ms(failures);
        let in_time = self
            .deadline()
            .is_none_or(|deadline| now_ms.saturating_add(delay_ms) < milliseconds(deadline));
        if !in_time {
            let message = format!("{reason} (no time left for another attempt)");
            return Event::Failed { message, answer_lost };
        }
        let attempt = failures.saturating_add(1);
        Event::Retrying { attempt, max_retries, delay_ms, reason, answer_lost }
    }

    /// A tool returned. An answer to a call that has not begun makes no event.
    pub fn tool_returned(
        &mut self,
        id: &ToolCallId,
        output: ToolAnswer,
        now: Duration,
    ) -> Vec<Event> {
        match self.return_of(id, output, now) {
            Some(event) => self.happened(event, now),
            None => Vec::new(),
        }
    }

    /// Calls were stopped, and this is known of them. Call it before [`Run::cancelled`] or [`Run::clock`],
    /// which says what follows.
    pub fn calls_cut_off(
        &mut self,
        answers: Vec<(ToolCallId, ToolAnswer)>,
        now: Duration,
    ) -> Vec<Event> {
        let mut events = Vec::new();
        for (id, answer) in answers {
            if let Some(event) = self.return_of(&id, answer, now) {
                self.state.apply(&event, milliseconds(now));
                events.push(event);
            }
        }
        events
    }

    fn return_of(&self, id: &ToolCallId, output: ToolAnswer, now: Duration) -> Option<Event> {
        let call = self.executable(id).filter(|call| call.is_under_way())?;
        let result = ToolResult {
            call_id: id.clone(),
            text: output.text,
            is_error: output.is_error,
            images: output.images,
            artifacts: output.artifacts,
            data: output.data,
        };
        let mut event = returned(call, result, milliseconds(now));
        if let Event::ToolReturned { changes, delivers, .. } = &mut event {
            *changes = output.changes;
            *delivers = output.delivers;
        }
        Some(event)
    }

    /// Time has passed. Before [`Run::deadline`] nothing follows; after it the run stops waiting for
    /// the model or for its tools.
    pub fn clock(&mut self, now: Duration) -> Vec<Event> {
        let waiting =
            self.is_calling_model() || matches!(self.state.phase, Phase::Tools | Phase::Awaiting);
        let up = self.deadline().is_some_and(|deadline| now >= deadline);
        if up && self.state.phase == Phase::TurnOver {
            return self.settle(now);
        }
        if !(waiting && up) {
            return Vec::new();
        }
        let answer_lost = self.is_being_answered(now);
        self.happened(Event::TimeUp { answer_lost }, now)
    }

    /// The budget over the whole tree does not pay for the request that was to be sent: the run gets its
    /// last chance within what is left for it.
    pub fn tree_budget_spent(&mut self, left: TreeAllowance, now: Duration) -> Vec<Event> {
        if !self.is_calling_model() {
            return Vec::new();
        }
        self.happened(Event::TreeBudgetSpent { left: Some(left) }, now)
    }

    /// The model is to know of something that happened outside, such as the end of a task it had
    /// started. It reads it at its next turn; call it between two model calls.
    pub fn announce(&mut self, letter: impl Into<Letter>, now: Duration) -> Vec<Event> {
        if self.has_ended() || self.state.phase == Phase::New {
            return Vec::new();
        }
        self.happened(announced(&letter.into()), now)
    }

    /// The results of background agents, as the text tells them. They count as seen from then on.
    pub fn announce_results(
        &mut self,
        text: &str,
        delivers: Vec<RunId>,
        now: Duration,
    ) -> Vec<Event> {
        if self.has_ended() || self.state.phase == Phase::New {
            return Vec::new();
        }
        let message = Arc::new(Message::user(text));
        self.happened(Event::Announced { message, letter: None, before_task: false, delivers }, now)
    }

    /// A subagent of this run began, went to the background, waits for somebody's answer, or ended.
    pub fn subagent(&mut self, note: SubagentNote, now: Duration) -> Vec<Event> {
        if self.has_ended() || self.state.phase == Phase::New {
            return Vec::new();
        }
        let event = note.into_event(&self.assignment);
        self.happened(event, now)
    }

    /// The background agents whose results the run has not seen.
    pub fn background(&self) -> impl Iterator<Item = &RunId> {
        self.state.background.iter()
    }

    /// The agents whose results a run that goes on from here has not seen: those in the background, and those
    /// that calls were waiting for.
    pub fn left_behind(&self) -> impl Iterator<Item = &RunId> {
        self.state.background.union(&self.state.attended)
    }

    /// Somebody cancelled the run. Calls that are under way are answered for.
    pub fn cancelled(&mut self, now: Duration) -> Vec<Event> {
        if self.has_ended() {
            return Vec::new();
        }
        let answer_lost = self.is_being_answered(now);
        self.happened(Event::Cancelled { answer_lost, turn_only: false }, now)
    }

    /// Somebody stopped the turn: calls that are under way are answered for, and the run waits for its
    /// background agents. Without any, or in its last chance, it is cancelled.
    pub fn turn_stopped(&mut self, now: Duration) -> Vec<Event> {
        if self.state.phase == Phase::Awaiting {
            return Vec::new();
        }
        let has_more = !self.state.background.is_empty()
            && self.assignment.background_work == BackgroundWork::Awaited
            && self.state.grace.is_none()
            && self.state.stop.is_none();
        if !has_more || matches!(self.state.phase, Phase::New | Phase::Ended) {
            return self.cancelled(now);
        }
        let answer_lost = self.is_being_answered(now);
        self.happened(Event::Cancelled { answer_lost, turn_only: true }, now)
    }

    /// What drove the run is gone, and it cannot go on. Calls that are under way are answered for.
    pub fn lost(&mut self, message: impl Into<String>, now: Duration) -> Vec<Event> {
        if self.has_ended() {
            return Vec::new();
        }
        let answer_lost = self.is_being_answered(now);
        self.happened(Event::Failed { message: message.into(), answer_lost }, now)
    }

    /// Whether the model was called and has not answered.
    fn is_being_answered(&self, now: Duration) -> bool {
        self.is_calling_model() && self.state.not_before_ms <= milliseconds(now)
    }

    /// Takes in what happened, and all that follows from it.
    pub(super) fn happened(&mut self, event: Event, now: Duration) -> Vec<Event> {
        self.state.apply(&event, milliseconds(now));
        let mut events = vec![event];
        events.extend(self.settle(now));
        events
    }

    pub(super) fn settle(&mut self, now: Duration) -> Vec<Event> {
        let now_ms = milliseconds(now).max(self.state.now_ms);
        let mut events = Vec::new();
        while let Some(event) = self.decide(now_ms) {
            self.state.apply(&event, now_ms);
            events.push(event);
        }
        events
    }
}

fn announced(letter: &Letter) -> Event {
    let message = Arc::new(Message::user(&letter.text));
    let (letter, before_task) = (letter.id.clone(), letter.before_task);
    Event::Announced { message, letter, before_task, delivers: Vec::new() }
}
