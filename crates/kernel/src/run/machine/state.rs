//! The state of a run: what its events have made of it so far.
//!
//! `State::apply` is the only place where it changes, it never fails, and it looks at nothing but
//! the event: so the same events always make the same state.

mod replies;
mod standing;

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use self::replies::parts_of;
pub(crate) use self::standing::{Grace, LastReply, Phase, Stop, SummaryTurn, Wholeness};
use super::{
    budget::LastAnswer,
    calls::{Approval, OpenCall, OpenCalls},
    clock::Clock,
    compaction::{fill::Fill, frame::Frame, shed, trim},
    repetition::Repetition,
};
use crate::{
    id::{RunId, ToolCallId},
    model::usage::{Cost, Usage},
    run::{
        conversation::Conversation,
        event::{Attendance, Disposition, Event, StopReason, compaction::Compaction},
        file_change::FileChange,
        limits::TreeAllowance,
        message::{Artifact, Message, text_of},
        outcome::{Ending, RecoveredFrom},
    },
};

/// What is told of a run whose answer was withheld.
const FILTERED: &str = "the provider's content filter stopped the answer";

/// What the events of a run have made of it so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct State {
    pub(crate) phase: Phase,
    pub(crate) now_ms: u64,
    pub(crate) clock: Clock,
    pub(crate) conversation: Conversation,
    pub(crate) call_ids: BTreeSet<ToolCallId>,
    pub(crate) turns: u32,
    /// The turns that were not asked of the model, since the tree did not pay for them: one at most, before the
    /// last chance.
    #[serde(default)]
    unasked_turns: u32,
    pub(crate) tool_uses: u32,
    pub(crate) usage: Usage,
    /// A guess of the tokens that the provider did not count; for limits alone.
    #[serde(default)]
    pub(crate) uncounted_tokens: u64,
    pub(crate) cost: Cost,
    #[serde(default)]
    pub(crate) last_answer: LastAnswer,
    #[serde(default)]
    pub(crate) frame: Frame,
    #[serde(default)]
    pub(crate) fill: Fill,
    #[serde(default)]
    pub(crate) summary: Option<SummaryTurn>,
    #[serde(default)]
    pub(crate) heard_since_summary: bool,
    pub(crate) last_reply: LastReply,
    pub(crate) last_text: String,
    #[serde(default)]
    pub(crate) last_text_is: Wholeness,
    /// The begun answer that was cut off, until another one comes. The conversation does not have it.
    #[serde(default)]
    pub(crate) begun_answer: Option<String>,
    pub(crate) silent_turns: u32,
    pub(crate) reminded: bool,
    pub(crate) calls: OpenCalls,
    /// While calls of an earlier run go on: the number of messages after their results, up to the task.
    #[serde(default)]
    reopened: Option<usize>,
    /// How many questions were asked so far.
    #[serde(default)]
    pub(crate) questions: u32,
    pub(crate) repetition: Repetition,
    pub(crate) failures: u32,
    pub(crate) not_before_ms: u64,
    pub(crate) announcements: Vec<Arc<Message>>,
    /// The background agents whose results the run has not seen.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) background: BTreeSet<RunId>,
    /// The agents that calls of this turn wait for, and whose results no answer has yet.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) attended: BTreeSet<RunId>,
    /// The agents whose clocks stand, since somebody is being asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    asking: BTreeSet<RunId>,
    pub(crate) artifacts: Vec<Artifact>,
    /// What tools did to files, in order.
    #[serde(default)]
    pub(crate) changes: Vec<FileChange>,
    /// The agents whose results were not there when the time was up.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) pending: BTreeSet<RunId>,
    pub(crate) grace: Option<Grace>,
    pub(crate) tree_budget_spent: bool,
    /// What the run may use in all, since the tree had no more for it.
    #[serde(default)]
    pub(crate) tree_cap: TreeAllowance,
    pub(crate) stop: Option<Stop>,
    pub(crate) ending: Option<Ending>,
}

impl State {
    /// Takes in what happened at that time.
    pub(crate) fn apply(&mut self, event: &Event, at_ms: u64) {
        if event.leaves_the_run_alone() || self.phase == Phase::Ended {
            return;
        }
        let at_ms = at_ms.max(self.now_ms);
        self.now_ms = at_ms;
        self.take_in(event, at_ms);
        let waits_below = self.asking.iter().any(|agent| self.waits_for(agent));
        self.clock.set_waits_below(waits_below, at_ms);
    }

    /// Whether the run does nothing but wait for that agent, or for others beside it.
    fn waits_for(&self, agent: &RunId) -> bool {
        let is_asked_for = |call: &OpenCall| {
            let asked = call.awaits.as_deref().filter(|_| call.is_under_way());
            asked.is_some_and(|id| agent.as_str().starts_with(id))
        };
        match self.phase {
            Phase::Awaiting => self.background.contains(agent),
            Phase::Tools => {
                self.attended.contains(agent)
                    || self.calls.open().any(|(_, call)| is_asked_for(call))
            }
            _ => false,
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn take_in(&mut self, event: &Event, at_ms: u64) {
        match event {
            Event::Queued { .. }
            | Event::TextChunk { .. }
            | Event::ThoughtChunk { .. }
            | Event::ToolOutputChunk { .. }
            | Event::FilesKept { .. } => {}
            Event::SubAgentClock { agent_id, stands: true } => {
                self.asking.insert(agent_id.clone());
            }
            Event::SubAgentClock { agent_id, stands: false }
            | Event::SubAgentEnd { agent_id, .. } => {
                self.asking.remove(agent_id);
            }
            Event::SubAgentStart { agent_id, attendance: Attendance::Foreground, .. } => {
                self.attended.insert(agent_id.clone());
            }
            Event::SubAgentStart { agent_id, attendance: Attendance::Background, .. }
            | Event::SubAgentDetached { agent_id } => {
                self.attended.remove(agent_id);
                self.background.insert(agent_id.clone());
            }
            Event::Awaiting { .. } => self.phase = Phase::Awaiting,
            Event::Opened { messages, opening, background, reopened } => {
                self.open(messages, *opening);
                self.background = background.iter().cloned().collect();
                if let Some(reopened) = reopened {
                    self.reopen(reopened);
                }
            }
            Event::Started => {
                self.clock = Clock::started(at_ms);
                self.phase = self.first_phase();
            }
            Event::TurnStarted { grace, .. } => self.start_turn(*grace),
            Event::Replied { message, dispositions, stop, usage, cost_usd } => {
                self.take_in_answer(message, usage, *cost_usd);
                if self.summary.is_none() {
                    self.take_in_turn(message, dispositions, *stop);
                }
            }
            Event::ReplyCutOff { text } => {
                self.last_text.clone_from(text);
                self.last_text_is = Wholeness::Cut;
                self.begun_answer = Some(text.clone());
            }
            Event::LostAnswerCounted { usage, cost_usd } => {
                self.usage.add(usage);
                self.cost.add(*cost_usd);
                self.lose_answer(true);
            }
            Event::ModelLent { usage, cost_usd, .. } => {
                self.usage.add(usage);
                self.cost.add(*cost_usd);
            }
            Event::ServerAsks { .. } => self.clock.server_asks(at_ms),
            Event::ServerAnswered => self.clock.server_answered(at_ms),
            Event::Retrying { delay_ms, answer_lost, .. } => {
                self.lose_answer(*answer_lost);
                self.failures = self.failures.saturating_add(1);
                self.not_before_ms = at_ms.saturating_add(*delay_ms);
            }
            Event::Failed { message, answer_lost } => {
                self.lose_answer(*answer_lost);
                self.halt(Stop::Failed { message: message.clone() });
            }
            Event::ToolStarted { call_id, .. } => self.start_call(call_id, at_ms),
            Event::ToolReturned { result, changes, delivers, .. } => {
                self.answer(result, changes, at_ms);
                self.deliver(delivers);
            }
            Event::ApprovalRequested { request_id, call_id, reason, preview, .. } => {
                self.clock.wait_for(call_id.clone(), at_ms);
                let (request_id, reason) = (request_id.clone(), reason.clone());
                self.ask(call_id, Approval::Asked { request_id, reason, preview: preview.clone() });
            }
            Event::ApprovalResolved { call_id, decision, reason, .. } => {
                self.clock.stop_waiting_for(call_id, at_ms);
                self.resolve(call_id, *decision, reason.as_ref());
            }
            Event::SummaryRequested { message, messages, refusal } => {
                let turn =
                    SummaryTurn::new(&self.conversation, message, *messages, refusal.as_ref());
                self.summary = Some(turn);
                self.heard_since_summary = false;
                self.enter(Phase::Summary);
            }
            Event::Compacted(compaction) => self.compact(compaction),
            Event::TurnCompleted { .. } => {
                self.attended.clear();
                self.phase = Phase::Between;
            }
            Event::Reminded { message } => {
                self.reminded = true;
                self.say(message.clone());
            }
            Event::Announced { message, before_task, delivers, .. } => {
                if !(*before_task && self.say_before_task(message)) {
                    self.announce(message);
                }
                self.deliver(delivers);
            }
            Event::TimeUp { answer_lost } => {
                self.pending = self.background.union(&self.attended).cloned().collect();
                self.lose_answer(*answer_lost);
                self.halt(Stop::TimeUp);
            }
            Event::TreeBudgetSpent { left } => {
                self.tree_budget_spent = true;
                if let Some(left) = left {
                    self.draw_on(*left);
                }
            }
            Event::Cancelled { answer_lost, turn_only } => {
                self.lose_answer(*answer_lost);
                self.halt(if *turn_only { Stop::Turn } else { Stop::Cancelled });
            }
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
        self.calls.unanswered(id).filter(|_| self.phase == Phase::Tools)
    }

    /// The tokens that count for limits.
    pub(crate) fn tokens_spent(&self) -> u64 {
        self.usage.total_tokens().saturating_add(self.uncounted_tokens)
    }

    /// The turns that were asked of the model.
    pub(crate) fn turns_asked(&self) -> u32 {
        self.turns.saturating_sub(self.unasked_turns)
    }

    /// Adds a message that the model has not read yet.
    fn say(&mut self, message: Arc<Message>) {
        self.fill.grow(&message);
        self.conversation.push(message);
    }

    /// Adds a message that was sent before the task, if the model has not read the task yet.
    fn say_before_task(&mut self, message: &Arc<Message>) -> bool {
        let is_read = self.turns > 1 || self.last_reply != LastReply::None;
        let Some(task) = self.frame.task().filter(|_| self.phase == Phase::Model && !is_read)
        else {
            return false;
        };
        let (before, after) = self.conversation.messages().split_at(task);
        let messages = before.iter().chain([message]).chain(after).cloned();
        self.conversation = messages.collect();
        self.frame = self.frame.with_task_at(Some(task + 1));
        self.fill.grow(message);
        true
    }

    fn open(&mut self, messages: &[Arc<Message>], opening: Option<u64>) {
        self.call_ids = messages
            .iter()
            .flat_map(|message| message.calls().map(|call| call.id.clone()))
            .collect();
        self.conversation = messages.iter().cloned().collect();
        self.frame = Frame::around_opening(messages.len(), opening);
        self.fill = Fill::guessed(&self.conversation);
        let earlier = messages.iter().skip(self.frame.opening());
        self.heard_since_summary =
            earlier.into_iter().any(|message| matches!(**message, Message::Assistant { .. }));
    }

    /// What a run begins with: calls that the earlier run had not begun, or a decision.
    fn first_phase(&self) -> Phase {
        if self.reopened.is_some() { Phase::Tools } else { Phase::Between }
    }

    fn compact(&mut self, compaction: &Compaction) {
        match compaction {
            Compaction::Trimmed { call_ids, .. } => {
                self.conversation = trim::cut(&self.conversation, call_ids);
                let turn = self.summary.as_ref();
                self.summary = turn.map(|turn| turn.of_trimmed(&self.conversation));
            }
            Compaction::Summarised { summary, .. } => {
                let first = self.summary.as_ref().map_or(0, |turn| turn.first);
                (self.conversation, self.frame) =
                    self.frame.around_summary(&self.conversation, first, summary);
                self.go_on_after_summary();
            }
            Compaction::Dropped { turns_dropped, .. } => {
                (self.conversation, self.frame) =
                    shed::without(&self.conversation, &self.frame, *turns_dropped);
                self.go_on_after_summary();
            }
        }
        self.fill = Fill::guessed(&self.conversation);
    }

    /// Takes up again what the summary had interrupted, if there was one.
    fn go_on_after_summary(&mut self) {
        if let Some(turn) = self.summary.take() {
            self.enter(if turn.refusal.is_some() { Phase::Model } else { Phase::Between });
        }
    }

    /// Nothing that comes now has failed yet.
    fn enter(&mut self, phase: Phase) {
        self.failures = 0;
        self.not_before_ms = 0;
        self.phase = phase;
    }

    fn start_turn(&mut self, grace: bool) {
        match &mut self.grace {
            Some(grace_period) if grace => grace_period.tries += 1,
            Some(_) | None => self.turns += 1,
        }
        self.enter(Phase::Model);
    }

    /// Counts what an answer used, and tells how full the conversation is after it. Where the provider
    /// counts nothing, both are guesses.
    fn count(&mut self, usage: &Usage, answer: &Message) -> Fill {
        self.usage.add(usage);
        match usage.total_tokens() {
            0 => {
                let guess = self.fill.guessed_with(answer);
                self.uncounted_tokens = self.uncounted_tokens.saturating_add(guess.tokens());
                guess
            }
            tokens => Fill::measured(tokens),
        }
    }

    /// Counts an answer. That to a request for a summary is kept aside.
    fn take_in_answer(&mut self, message: &Arc<Message>, usage: &Usage, cost_usd: Option<f64>) {
        self.cost.add(cost_usd);
        let asked = self.summary.is_none().then_some(self.fill);
        self.last_answer = self.last_answer.after(usage, cost_usd, asked);
        let fill = self.count(usage, message);
        match &mut self.summary {
            Some(summary) => {
                summary.text = Some(text_of(parts_of(message)));
                self.phase = Phase::SummaryOver;
            }
            None => self.fill = fill,
        }
    }

    fn take_in_turn(
        &mut self,
        message: &Arc<Message>,
        dispositions: &[Disposition],
        stop: StopReason,
    ) {
        self.begun_answer = None;
        self.take_in_reply(message, dispositions);
        self.last_text_is = match stop {
            StopReason::Length | StopReason::ContentFilter => Wholeness::Cut,
            StopReason::EndTurn | StopReason::ToolUse | StopReason::Other => Wholeness::Whole,
        };
        // The same words would be stopped again.
        if stop == StopReason::ContentFilter && dispositions.is_empty() {
            self.stop = Some(Stop::Failed { message: FILTERED.to_owned() });
        }
    }

    /// Messages must not come between calls and their results. A text that a message follows is not
    /// the last word: the agent has something new to read.
    fn announce(&mut self, message: &Arc<Message>) {
        if self.phase == Phase::Tools {
            self.announcements.push(message.clone());
            return;
        }
        if self.phase == Phase::TurnOver && self.grace.is_none() {
            self.last_reply = LastReply::None;
            self.silent_turns = 0;
        }
        self.say(message.clone());
        if self.phase == Phase::Awaiting {
            // What it answered was not its last word.
            self.phase = Phase::Between;
            self.last_reply = LastReply::None;
            self.silent_turns = 0;
            self.stop = self.stop.take().filter(|stop| *stop != Stop::Turn);
            self.calls = OpenCalls::default();
        }
    }

    fn deliver(&mut self, agents: &[RunId]) {
        for agent in agents {
            self.background.remove(agent);
            self.attended.remove(agent);
        }
    }

    /// An answer that was begun and lost was paid for; how much is not known.
    fn lose_answer(&mut self, lost: bool) {
        if lost {
            self.cost.add(None);
        }
    }

    /// The tree pays for no more than that, and so not for the request that was to be sent.
    fn draw_on(&mut self, left: TreeAllowance) {
        // Nothing but a last chance follows, so there is one such turn at most.
        if self.phase == Phase::Model && self.failures == 0 && self.grace.is_none() {
            self.unasked_turns = 1;
        }
        let spent_usd = self.cost.at_least_usd();
        self.tree_cap = TreeAllowance {
            tokens: left.tokens.map(|tokens| self.tokens_spent().saturating_add(tokens)),
            cost_usd: left.cost_usd.map(|usd| spent_usd + usd),
        };
        self.go_on_after_summary();
        self.phase = Phase::TurnOver;
    }

    /// Stops waiting for the model; tools that are under way are answered for before anything else.
    fn halt(&mut self, stop: Stop) {
        match self.phase {
            Phase::Model => {
                self.phase = Phase::TurnOver;
                self.stop = Some(stop).filter(|stop| *stop != Stop::TimeUp);
            }
            Phase::Summary | Phase::SummaryOver => {
                self.go_on_after_summary();
                if self.phase == Phase::Model {
                    self.phase = Phase::TurnOver;
                }
                self.stop = Some(stop).filter(|stop| *stop != Stop::TimeUp);
            }
            Phase::New => {
                self.phase = self.first_phase();
                self.stop = Some(stop);
            }
            Phase::Awaiting => {
                self.phase = Phase::Between;
                if stop == Stop::TimeUp {
                    // What it answered was not its last word.
                    self.calls = OpenCalls::default();
                }
                self.stop = Some(stop);
            }
            Phase::Tools | Phase::Between | Phase::TurnOver => self.stop = Some(stop),
            Phase::Ended => {}
        }
    }

    fn start_grace(&mut self, reason: RecoveredFrom, until_ms: u64, messages: &[Arc<Message>]) {
        for message in messages {
            self.say(message.clone());
        }
        self.last_reply = LastReply::None;
        self.grace = Some(Grace {
            reason,
            until_ms,
            tries: 0,
            over: false,
            repeated: self.calls.most_repeated().filter(|_| reason == RecoveredFrom::Loop),
        });
    }
}
