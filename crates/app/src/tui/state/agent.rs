//! A subagent as the conversation shows it: one block, folded from the events of its run.

use attache_kernel::{
    id::RunId,
    model::usage::Cost,
    run::{
        assignment::Assignment,
        event::{
            Event,
            observed::{Detail, RunEvent},
        },
        message::{Message, text_of},
        outcome::{RecoveredFrom, Status},
    },
};

use super::{call::Calls, clock::Clock, item::FinishedCall};
use crate::run_tree::clock;

/// How many messages of an agent are kept: as many as its unfolded block shows.
pub(crate) const MOST_MESSAGES: usize = 10;
/// How much of a message is kept.
const LONGEST_MESSAGE: usize = 600;

/// A subagent and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Agent {
    /// Its run.
    pub(crate) id: RunId,
    /// The run that started it.
    pub(crate) parent: Option<RunId>,
    /// Its name.
    pub(crate) name: String,
    /// Its task in a few words.
    pub(crate) description: String,
    /// How deep below the main agent it is.
    pub(crate) depth: u32,
    /// What it is doing.
    pub(crate) phase: Phase,
    /// Whether its parent goes on without it.
    pub(crate) is_background: bool,
    /// Its place among those that were started with it.
    pub(crate) place: (u32, usize),
    /// Whether it was one of many: then it has a line, not a block.
    pub(crate) is_crowded: bool,
    /// The turn it is in; those of its last chance are not counted.
    pub(crate) turn: u32,
    /// Turns there may be.
    pub(crate) max_turns: u32,
    /// Whether it has its last chance.
    pub(crate) is_in_grace: bool,
    /// Whether its process ended before it: nobody knows how long it worked.
    pub(crate) is_cut_off: bool,
    /// What its last chance saved it from.
    pub(crate) recovered_from: Option<RecoveredFrom>,
    /// Its clock; once it has ended, the time from its start to its end.
    pub(crate) clock: Clock,
    /// When it began, in milliseconds.
    began_ms: Option<u64>,
    /// How many of its questions are open.
    asking: u32,
    /// Tokens it has used.
    pub(crate) tokens: u64,
    /// What it has cost.
    pub(crate) cost: Cost,
    /// Its calls.
    pub(crate) calls: Calls,
    /// What it said and did last, the oldest first.
    pub(crate) messages: Vec<Said>,
}

/// What an agent is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It is being set up.
    Starting,
    /// It waits for a free place, behind that many.
    Queued(u32),
    /// It works.
    Working,
    /// It waits for an answer to its question; its clock is paused.
    Asking,
    /// Its model is called again.
    Retrying(String),
    /// It has a last chance to hand in its answer.
    Grace(String),
    /// It has ended.
    Ended(Status),
}

/// Something that an agent said or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A text.
    Text(String),
    /// A call that has its answer.
    Call(FinishedCall),
    /// Something that happened to it.
    Note(String),
    /// What went wrong in the end.
    Error(String),
}

impl Agent {
    /// An agent of which nothing but its beginning is known.
    pub(crate) fn new(run: &Assignment) -> Self {
        let task = run.task.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self {
            id: run.agent_id.clone(),
            parent: run.parent_id.clone(),
            name: run.definition.agent_type.to_string(),
            description: run.description.as_deref().unwrap_or(task).trim().to_owned(),
            depth: run.depth,
            phase: Phase::Starting,
            is_background: false,
            place: (0, 0),
            is_crowded: false,
            turn: 0,
            max_turns: run.limits.max_turns,
            is_in_grace: false,
            is_cut_off: false,
            recovered_from: None,
            clock: Clock::stopped(u64::from(run.limits.max_time_seconds)),
            began_ms: None,
            asking: 0,
            tokens: 0,
            cost: Cost::default(),
            calls: Calls::default(),
            messages: Vec::new(),
        }
    }

    /// Whether it still works.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Ended(_))
    }

    /// Folds an event of its run.
    pub(crate) fn apply(&mut self, seen: &RunEvent) {
        let now = clock(&seen.ts);
        if let Some(spent) = seen.event.spent() {
            self.tokens = self.tokens.saturating_add(spent.usage.total_tokens());
            self.cost.add(spent.cost_usd.filter(|_| !spent.answer_lost));
        }
        match &seen.event {
            Event::Queued { ahead } => self.phase = Phase::Queued(*ahead),
            Event::Started => {
                self.phase = Phase::Working;
                self.began_ms = Some(now);
                self.clock.go_on(now);
            }
            Event::ApprovalResolved { .. } | Event::ServerAnswered => {
                self.asking = self.asking.saturating_sub(1);
                if self.asking == 0 {
                    self.phase = Phase::Working;
                    self.clock.go_on(now);
                }
            }
            Event::TurnStarted { turn, grace, progress, .. } => {
                self.max_turns = progress.max_turns;
                self.clock.max_seconds = progress.max_seconds;
                self.clock.shows(progress.elapsed_seconds, now);
                self.asking = 0;
                self.calls.clear();
                if !grace {
                    self.turn = *turn;
                    self.phase = Phase::Working;
                }
            }
            Event::Replied { message, .. } => self.replied(message),
            Event::ToolStarted { call_id, tool_name } => {
                self.calls.started(call_id, tool_name, now);
            }
            Event::ToolOutputChunk { call_id, text } => self.calls.output(call_id, text),
            Event::ToolReturned { tool_name, result, duration_ms, .. } => {
                if let Some(call) = self.calls.returned(tool_name, result, *duration_ms) {
                    self.say(Said::Call(call));
                }
            }
            Event::ApprovalRequested { .. } | Event::ServerAsks { .. } => {
                self.asking += 1;
                self.phase = Phase::Asking;
                self.clock.pause(now);
            }
            Event::Retrying { attempt, max_retries, reason, .. } => {
                let attempt = format!("attempt {attempt} of {}: {reason}", max_retries + 1);
                self.say(Said::Note(format!("retrying, {attempt}")));
                self.phase = Phase::Retrying(attempt);
            }
            Event::Compacted(_) => self.say(Said::Note("its context was freed".to_owned())),
            Event::GraceStarted { reason, grace_ms, .. } => {
                let seconds = grace_ms / 1000;
                self.is_in_grace = true;
                self.say(Said::Note(format!("{}: last chance to answer", reason.as_str())));
                self.phase = Phase::Grace(format!("{}, {seconds}s left", reason.as_str()));
            }
            Event::Ended { ending } => {
                self.phase = Phase::Ended(ending.status);
                self.recovered_from = ending.recovered_from;
                self.count_up(&seen.detail, now);
                self.calls.clear();
                if let Some(error) = &ending.error {
                    self.say(Said::Error(error.clone()));
                } else if !ending.result.trim().is_empty() {
                    self.say(Said::Text(ending.result.clone()));
                }
            }
            _ => {}
        }
    }

    /// Its turns and its time as its result has them. A journal has no totals; its times give the same.
    fn count_up(&mut self, detail: &Detail, now_ms: u64) {
        let took_ms = match detail {
            Detail::Outcome(outcome) => {
                self.turn = outcome.turns_used;
                outcome.duration_ms
            }
            Detail::None | Detail::Arguments(_) => match self.began_ms {
                Some(began) => now_ms.saturating_sub(began),
                None => self.clock.milliseconds(now_ms),
            },
        };
        self.clock.ended(took_ms);
    }

    /// Its process is gone, and it with it.
    pub(crate) fn cut_off(&mut self) {
        self.phase = Phase::Ended(Status::Aborted);
        self.is_cut_off = true;
        self.calls.clear();
        self.say(Said::Note("cut off".to_owned()));
    }

    fn replied(&mut self, message: &Message) {
        self.calls.replied(message);
        if matches!(self.phase, Phase::Retrying(_)) {
            self.phase = Phase::Working;
        }
        if let Message::Assistant { content } = message {
            let text = text_of(content);
            if !text.trim().is_empty() {
                self.say(Said::Text(text));
            }
        }
    }

    fn say(&mut self, said: Said) {
        let cut = |text: String| text.trim().chars().take(LONGEST_MESSAGE).collect::<String>();
        let said = match said {
            Said::Text(text) => Said::Text(cut(text)),
            Said::Error(text) => Said::Error(cut(text)),
            other => other,
        };
        // The result is often the last thing that was said.
        if self.messages.last() != Some(&said) {
            self.messages.push(said);
        }
        if self.messages.len() > MOST_MESSAGES {
            self.messages.remove(0);
        }
    }

    /// Its clock stands still while an agent that it waits for asks.
    pub(crate) fn hold(&mut self, is_held: bool, now_ms: u64) {
        let has_clock = matches!(self.phase, Phase::Working | Phase::Retrying(_) | Phase::Grace(_));
        if has_clock {
            self.clock.hold(is_held, now_ms);
        }
    }

    /// Whether its last call went wrong.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.phase, Phase::Ended(status) if status != Status::Goal)
    }
}
