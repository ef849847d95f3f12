//! The state of a run: what its events have made of it so far.
//!
//! `State::apply` is the only place where it changes, it never fails, and it looks at nothing but
//! the event: so the same events always make the same state.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    budget::LastAnswer,
    calls::{Approval, OpenCall, OpenCalls},
    clock::Clock,
    compaction::{fill::Fill, frame::Frame, shed, trim},
    repetition::{Repeated, Repetition},
};
use crate::{
    id::{RunId, ToolCallId},
    model::usage::{Cost, Usage},
    rights::tool_name::BuiltinTool,
    run::{
        conversation::Conversation,
        event::{
            ApprovalDecision, Attendance, Disposition, Event, Reopened, ReopenedCall, StopReason,
            compaction::Compaction,
        },
        file_change::FileChange,
        limits::TreeAllowance,
        message::{Artifact, AssistantPart, Message, ToolCall, ToolResult, text_of},
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
    pub(crate) artifacts: Vec<Artifact>,
    /// What tools did to files, in order.
    #[serde(default)]
    pub(crate) changes: Vec<FileChange>,
    pub(crate) grace: Option<Grace>,
    pub(crate) tree_budget_spent: bool,
    /// What the run may use in all, since the tree had no more for it.
    #[serde(default)]
    pub(crate) tree_cap: TreeAllowance,
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
    /// The model is being asked for a summary.
    Summary,
    /// It answered; what becomes of the answer is to be decided.
    SummaryOver,
    /// Tools are being called.
    Tools,
    /// Background agents are being waited for.
    Awaiting,
    /// It is over.
    Ended,
}

/// Whether a text is all that its model had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wholeness {
    /// It is.
    #[default]
    Whole,
    /// The output limit, a clock or a cancellation cut it.
    Cut,
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

/// A summary that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummaryTurn {
    /// What the model is asked.
    request: Arc<Message>,
    /// How many messages of the conversation it is given.
    pub(crate) first: usize,
    /// Both together.
    pub(crate) asked: Conversation,
    /// What the provider said when it refused the conversation in the middle of a turn.
    pub(crate) refusal: Option<String>,
    /// What the model answered.
    pub(crate) text: Option<String>,
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

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Stop {
    /// It was cancelled.
    Cancelled,
    /// Its turn was: it waits for its background agents, and goes on with what comes next.
    Turn,
    /// The time ran out while tools were being called: they are answered for.
    TimeUp,
    /// The model failed.
    Failed { message: String },
}

impl SummaryTurn {
    fn new(
        conversation: &Conversation,
        request: &Arc<Message>,
        messages: u64,
        refusal: Option<&String>,
    ) -> Self {
        let first = usize::try_from(messages).unwrap_or(usize::MAX).min(conversation.len());
        let given = conversation.messages().iter().take(first);
        Self {
            request: request.clone(),
            first,
            asked: given.chain([request]).cloned().collect(),
            refusal: refusal.cloned(),
            text: None,
        }
    }

    /// The same after results were cut.
    fn of_trimmed(&self, conversation: &Conversation) -> Self {
        let given = conversation.messages().iter().take(self.first);
        Self { asked: given.chain([&self.request]).cloned().collect(), ..self.clone() }
    }
}

impl State {
    /// Takes in what happened at that time.
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
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
            | Event::ToolOutputChunk { .. }
            | Event::SubAgentEnd { .. } => {}
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
            Event::Announced { message, delivers, .. } => {
                self.announce(message);
                self.deliver(delivers);
            }
            Event::TimeUp { answer_lost } => {
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

    /// Adds a message that the model has not read yet.
    fn say(&mut self, message: Arc<Message>) {
        self.fill.grow(&message);
        self.conversation.push(message);
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

    /// Takes up the calls that the earlier run had not begun.
    fn reopen(&mut self, reopened: &Reopened) {
        let made = self.conversation.messages().last().cloned();
        let made = made.iter().flat_map(|message| message.calls());
        let calls = made.zip(&reopened.calls).map(|(made, call)| {
            let (disposition, answer) = match call {
                ReopenedCall::Open { tool } => (Disposition::Execute { tool: tool.clone() }, None),
                ReopenedCall::Answered { result } => {
                    (Disposition::Answer { text: String::new() }, Some(result.clone()))
                }
            };
            let call = OpenCall::new(made.id.clone(), made.name.clone(), disposition, 1);
            OpenCall { answer, ..call }
        });
        self.calls = calls.collect::<Vec<_>>().into();
        self.announcements.clone_from(&reopened.afterwards);
        self.reopened = Some(reopened.afterwards.len());
        self.frame = self.frame.with_task_at(None);
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

    fn ask(&mut self, id: &ToolCallId, asked: Approval) {
        self.questions = self.questions.saturating_add(1);
        self.calls.set_approval(id, asked);
    }

    fn take_in_reply(&mut self, message: &Arc<Message>, dispositions: &[Disposition]) {
        let text = text_of(parts_of(message));
        let has_text = !text.trim().is_empty();
        if has_text {
            self.last_text = text;
        }
        let streaks = self.streaks(message, dispositions);
        let calls = message.calls().zip(dispositions).zip(streaks);
        let calls = calls.map(|((call, disposition), streak)| {
            OpenCall::new(call.id.clone(), call.name.clone(), disposition.clone(), streak)
        });
        self.calls = calls.collect::<Vec<_>>().into();
        self.call_ids.extend(self.calls.iter().map(|call| call.id.clone()));
        // Reasoning alone is recorded, but providers do not take it back.
        if has_text || !self.calls.is_empty() {
            self.heard_since_summary = true;
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

    /// For each call how often it has now been made in a row. To ask again for an agent or a command that
    /// still works is no repetition: the answer may be another one each time. Neither are several agents
    /// that get the same task in one turn.
    fn streaks(&mut self, message: &Arc<Message>, dispositions: &[Disposition]) -> Vec<u32> {
        let tool = |disposition: &Disposition| match disposition {
            Disposition::Execute { tool } => tool.builtin(),
            Disposition::Answer { .. } | Disposition::Complete => None,
        };
        let is_poll = |(call, disposition): (&ToolCall, &Disposition)| {
            let argument = |name| call.arguments().ok().and_then(|given| given[name].as_str());
            let known = |id: &str| self.background.iter().any(|own| own.as_str().starts_with(id));
            match tool(disposition) {
                Some(BuiltinTool::TaskOutput) => {
                    argument("agent_id").is_some_and(|id| known(id.trim()))
                }
                Some(BuiltinTool::WriteStdin) => argument("chars").is_none_or(str::is_empty),
                _ => false,
            }
        };
        let delegates = |disposition: &Disposition| {
            matches!(tool(disposition), Some(BuiltinTool::Task | BuiltinTool::SubagentRun))
        };
        if dispositions.is_empty() {
            Vec::new()
        } else if message.calls().zip(dispositions).all(is_poll) {
            self.repetition = Repetition::default();
            vec![1; dispositions.len()]
        } else if dispositions.iter().all(delegates) {
            self.repetition.take_in_turn(message)
        } else {
            self.repetition.take_in(message)
        }
    }

    fn start_call(&mut self, id: &ToolCallId, at_ms: u64) {
        if self.calls.start(id, at_ms) {
            self.tool_uses = self.tool_uses.saturating_add(1);
        }
    }

    fn resolve(&mut self, id: &ToolCallId, decision: ApprovalDecision, words: Option<&String>) {
        let approval = match decision {
            ApprovalDecision::ApprovedOnce | ApprovalDecision::ApprovedForSession => {
                let asked = self.open_call(id).map(|call| &call.approval);
                let preview = match asked {
                    Some(Approval::Asked { preview, .. }) => preview.clone(),
                    _ => None,
                };
                Approval::Given { preview }
            }
            ApprovalDecision::Denied => Approval::Refused { words: words.cloned() },
            ApprovalDecision::Aborted => {
                self.calls.set_approval(id, Approval::NotAsked);
                return self.halt(Stop::Cancelled);
            }
        };
        self.calls.set_approval(id, approval);
    }

    fn answer(&mut self, result: &ToolResult, changes: &[FileChange], at_ms: u64) {
        self.changes.extend(changes.iter().cloned());
        self.clock.stop_waiting_for(&result.call_id, at_ms);
        self.artifacts.extend(result.artifacts.iter().cloned());
        self.calls.answer(result);
        if !self.calls.are_answered() {
            return;
        }
        let results = self.calls.take_answers();
        self.say(Arc::new(Message::Tool { results }));
        let results_end = self.conversation.len();
        for message in std::mem::take(&mut self.announcements) {
            self.say(message);
        }
        // The turn of calls that were reopened was the earlier run's.
        self.phase = match self.reopened.take() {
            None => Phase::TurnOver,
            Some(up_to_task) => {
                let task = (results_end + up_to_task).checked_sub(1);
                self.frame = self.frame.with_task_at(task);
                Phase::Between
            }
        };
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

    /// Stops waiting for the model; tools that are under way are answered for before anything else.
    /// The tree pays for no more than that, and so not for the request that was to be sent.
    fn draw_on(&mut self, left: TreeAllowance) {
        let spent_usd = self.cost.at_least_usd();
        self.tree_cap = TreeAllowance {
            tokens: left.tokens.map(|tokens| self.tokens_spent().saturating_add(tokens)),
            cost_usd: left.cost_usd.map(|usd| spent_usd + usd),
        };
        self.go_on_after_summary();
        self.phase = Phase::TurnOver;
    }

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

fn parts_of(message: &Message) -> &[AssistantPart] {
    match message {
        Message::Assistant { content } => content,
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
    }
}
