//! Deciding: what follows from the state of a run without anything else happening.
//!
//! A decision is an event; a run decides until nothing is left to decide, and then waits for the
//! model, for tools, or for nothing more. Since a decision depends on the state alone, a run that was
//! cut off between two decisions takes up the second where it left off.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Run,
    calls::{Approval, OpenCall},
    complete_task::Answer,
    prose,
    repetition::{LOOP_FROM, REMARK_FROM},
    state::{Grace, LastReply, Phase, Stop, Wholeness},
};
use crate::{
    id::RunId,
    run::{
        assignment::{BackgroundWork, Finish},
        event::{Disposition, Event, Progress},
        message::{Message, ToolResult},
        outcome::{Ending, RecoveredFrom, Status},
        tool_spec::Repeatability,
    },
};

/// Turns of a last chance.
const GRACE_TRIES: u32 = 2;

impl Run {
    /// The next decision, if there is one.
    pub(super) fn decide(&self, now_ms: u64) -> Option<Event> {
        match self.state.phase {
            Phase::New | Phase::Model | Phase::Summary | Phase::Awaiting | Phase::Ended => None,
            Phase::SummaryOver => Some(self.after_summary()),
            Phase::Tools => self.answer_in_place_of_a_tool(now_ms),
            Phase::TurnOver => Some(Event::TurnCompleted {
                turn: self.turns_begun(),
                progress: self.progress(now_ms),
                total_tokens: self.state.usage.total_tokens(),
            }),
            Phase::Between => Some(self.what_comes_next(now_ms)),
        }
    }

    fn what_comes_next(&self, now_ms: u64) -> Event {
        if self.is_to_wait_for_background(now_ms) || self.is_turn_stopped(now_ms) {
            return Event::Awaiting { agents: self.background().cloned().collect() };
        }
        if let Some(ending) = self.conclusion(now_ms) {
            return match &self.state.grace {
                Some(grace) if !grace.over => Event::GraceEnded {
                    reason: grace.reason,
                    recovered: ending.status == Status::Goal,
                },
                Some(_) | None => Event::Ended { ending },
            };
        }
        if self.state.grace.is_none() {
            if let Some(reason) = self.limit_reached(now_ms) {
                return self.grace_start(reason);
            }
            if self.state.silent_turns > 0 && !self.state.reminded {
                let message = match (self.state.last_reply, self.state.last_text_is) {
                    (LastReply::Text, Wholeness::Cut) => prose::CUT_SHORT,
                    _ => prose::reminder(self.assignment.finish),
                };
                let message = Message::user(message);
                return Event::Reminded { message: Arc::new(message) };
            }
        }
        let room = if self.state.grace.is_some() { self.room_within_cap() } else { None };
        room.or_else(|| self.room_before_turn()).unwrap_or_else(|| Event::TurnStarted {
            turn: self.turns_begun() + 1,
            grace: self.state.grace.is_some(),
            progress: self.progress(now_ms),
        })
    }

    /// Whether the agent has answered, or has come to its last chance, while background agents work for
    /// it. What they find may change its answer, so it is told first. Only its time bounds the waiting.
    fn is_to_wait_for_background(&self, now_ms: u64) -> bool {
        let limit = || self.limit_reached(now_ms);
        self.awaits_background()
            && self.state.stop.is_none()
            && self.state.grace.is_none()
            && (self.goal().is_some() || limit().is_some())
            && limit() != Some(RecoveredFrom::Timeout)
    }

    /// Whether background agents work for it whose results it is to see.
    fn awaits_background(&self) -> bool {
        self.assignment.background_work == BackgroundWork::Awaited
            && !self.state.background.is_empty()
    }

    /// Whether somebody stopped the turn, but not the background agents.
    fn is_turn_stopped(&self, now_ms: u64) -> bool {
        self.state.stop == Some(Stop::Turn)
            && !self.state.background.is_empty()
            && self.limit_reached(now_ms).is_none()
    }

    /// How the run ends, if it ends now.
    fn conclusion(&self, now_ms: u64) -> Option<Ending> {
        // An answer that was given before the background agents had ended is not its last word.
        let is_cut_off = match self.state.stop {
            Some(Stop::Cancelled | Stop::Turn) => !self.state.background.is_empty(),
            Some(Stop::TimeUp) | None => self.state.grace.is_none() && self.awaits_background(),
            Some(Stop::Failed { .. }) => false,
        };
        if let Some(ending) = self.goal().filter(|_| !is_cut_off) {
            return Some(ending);
        }
        match &self.state.stop {
            Some(Stop::Cancelled | Stop::Turn) => {
                return Some(self.cut_off(Status::Aborted, "cancelled".to_owned()));
            }
            Some(Stop::Failed { message }) => {
                let Some(grace) = &self.state.grace else {
                    return Some(self.cut_off(Status::Error, message.clone()));
                };
                let why = format!("{}; then the model failed: {message}", self.why(grace.reason));
                return Some(self.cut_off(self.status(grace.reason), why));
            }
            Some(Stop::TimeUp) | None => {}
        }
        let reason = match &self.state.grace {
            Some(grace) if self.is_exhausted(grace, now_ms) => grace.reason,
            None if self.assignment.limits.grace_ms() == 0 => self.limit_reached(now_ms)?,
            Some(_) | None => return None,
        };
        Some(self.cut_off(self.status(reason), self.why(reason)))
    }

    fn goal(&self) -> Option<Ending> {
        let position =
            self.state.calls.iter().position(|call| call.disposition == Disposition::Complete);
        let (result, output) = match (position, self.assignment.finish, self.state.last_reply) {
            (Some(position), _, _) => {
                let call = self.last_calls()?.nth(position)?;
                let answer = self.judge.answer_check.answer(call.arguments().ok()?).ok()?;
                (answer.result, answer.output)
            }
            (None, Finish::TextAnswer, LastReply::Text)
                if self.state.last_text_is == Wholeness::Whole =>
            {
                (self.state.last_text.clone(), None)
            }
            (None, _, _) => return None,
        };
        Some(Ending {
            status: Status::Goal,
            recovered_from: self.state.grace.as_ref().map(|grace| grace.reason),
            partial: false,
            result,
            output,
            error: None,
        })
    }

    fn cut_off(&self, status: Status, error: String) -> Ending {
        // What was handed in is better than what was said later.
        if let Some(Answer { result, output }) = self.handed_in() {
            let error = Some(error);
            return Ending { status, recovered_from: None, partial: true, result, output, error };
        }
        let result = self.state.last_text.clone();
        // An answer that came whole, though not by the call, is not a piece of one.
        let is_answer = status == Status::ErrorNoCompleteTaskCall
            && self.state.last_text_is == Wholeness::Whole
            && !result.is_empty();
        Ending {
            status,
            recovered_from: None,
            partial: !is_answer && (status != Status::Error || !result.is_empty()),
            result,
            output: None,
            error: Some(error),
        }
    }

    /// A last chance is used up by its time, by its tries, by an answer without any call, or by a cap
    /// that does not pay for another request, however short.
    fn is_exhausted(&self, grace: &Grace, now_ms: u64) -> bool {
        let is_unpaid = || self.cap_before_request().is_some() && self.any_room().is_none();
        now_ms >= grace.until_ms
            || is_unpaid()
            || match self.state.last_reply {
                LastReply::None => false,
                LastReply::Calls => grace.tries >= GRACE_TRIES,
                LastReply::Text | LastReply::Empty => true,
            }
    }

    fn limit_reached(&self, now_ms: u64) -> Option<RecoveredFrom> {
        let limits = &self.assignment.limits;
        let state = &self.state;
        if state.clock.used_ms(now_ms) >= self.assignment.limits.max_time_ms() {
            Some(RecoveredFrom::Timeout)
        } else if state.turns >= limits.max_turns {
            Some(RecoveredFrom::MaxTurns)
        } else if state.tree_budget_spent || self.cap_before_turn().is_some() {
            Some(RecoveredFrom::Budget)
        } else if state.calls.most_repeated().is_some_and(|call| call.times >= LOOP_FROM) {
            Some(RecoveredFrom::Loop)
        } else if state.silent_turns >= 2 {
            Some(RecoveredFrom::NoCompleteTask)
        } else {
            None
        }
    }

    fn grace_start(&self, reason: RecoveredFrom) -> Event {
        let warning = prose::grace(self.assignment.finish, reason);
        let messages = vec![Arc::new(Message::user(warning))];
        Event::GraceStarted { reason, grace_ms: self.assignment.limits.grace_ms(), messages }
    }

    fn status(&self, reason: RecoveredFrom) -> Status {
        match (reason, self.assignment.finish) {
            (RecoveredFrom::Timeout, _) => Status::Timeout,
            (RecoveredFrom::MaxTurns, _) => Status::MaxTurns,
            (RecoveredFrom::Budget, _) => Status::Budget,
            (RecoveredFrom::NoCompleteTask, Finish::CompleteTask) => {
                Status::ErrorNoCompleteTaskCall
            }
            (RecoveredFrom::NoCompleteTask, Finish::TextAnswer) | (RecoveredFrom::Loop, _) => {
                Status::Error
            }
        }
    }

    /// What is told of a run that this ended.
    fn why(&self, reason: RecoveredFrom) -> String {
        let limits = &self.assignment.limits;
        match (reason, self.assignment.finish) {
            (RecoveredFrom::Timeout, _) => {
                let reached =
                    format!("the time limit of {} s was reached", limits.max_time_seconds);
                with_pending(reached, &self.state.pending)
            }
            (RecoveredFrom::MaxTurns, _) => {
                let turns = if limits.max_turns == 1 { "turn" } else { "turns" };
                format!("the limit of {} {turns} was reached", limits.max_turns)
            }
            (RecoveredFrom::Budget, _) => self.budget_spent(),
            (RecoveredFrom::Loop, _) => {
                let grace = self.state.grace.as_ref();
                let repeated = grace.and_then(|grace| grace.repeated.clone());
                let repeated = repeated.or_else(|| self.state.calls.most_repeated());
                let call = repeated.unwrap_or_default();
                format!(
                    "stuck in a loop: `{}` was called {} times in a row with the same arguments",
                    call.tool_name, call.times
                )
            }
            (RecoveredFrom::NoCompleteTask, Finish::CompleteTask) => match (
                self.state.last_text.is_empty(),
                self.state.last_text_is,
            ) {
                (true, _) => "the agent ended without an answer and without calling complete_task",
                (false, Wholeness::Whole) => {
                    "the agent answered without calling complete_task: the result is its last text"
                }
                (false, Wholeness::Cut) => {
                    "the agent did not call complete_task, and its last text was cut short"
                }
            }
            .to_owned(),
            (RecoveredFrom::NoCompleteTask, Finish::TextAnswer) => match self.state.last_reply {
                LastReply::Text => "the answer was cut off at the model's output limit".to_owned(),
                LastReply::None | LastReply::Calls | LastReply::Empty => {
                    "the model gave no answer".to_owned()
                }
            },
        }
    }

    /// Calls that never reach a tool are answered at once; once the run stops, so are the others.
    fn answer_in_place_of_a_tool(&self, now_ms: u64) -> Option<Event> {
        let call = match self.state.stop {
            None => self.state.calls.first_settled()?,
            Some(_) => self.state.calls.first_open()?,
        };
        let (text, is_error) = match (&call.disposition, &call.approval, &self.state.stop) {
            (Disposition::Complete, _, None) if self.is_to_wait_for_background(now_ms) => {
                (prose::BACKGROUND_WORKS.to_owned(), false)
            }
            (Disposition::Complete, _, _) => (prose::ACCEPTED.to_owned(), false),
            (Disposition::Answer { text }, _, _) => (text.clone(), true),
            (_, Approval::Refused { words }, _) => (prose::not_approved(words.as_deref()), true),
            (Disposition::Execute { .. }, _, Some(stop)) => (self.stopped(call, stop), true),
            (Disposition::Execute { .. }, _, None) => return None,
        };
        Some(answered(call, text, is_error, now_ms))
    }

    fn stopped(&self, call: &OpenCall, stop: &Stop) -> String {
        let why = match stop {
            Stop::TimeUp => "the time is up",
            Stop::Cancelled => "the run was cancelled",
            Stop::Turn => "the turn was stopped",
            Stop::Failed { .. } => "the run failed",
        };
        match (call.started_ms, self.repeatability(call)) {
            (None, _) => prose::not_executed(why),
            (Some(_), Repeatability::Repeatable) => format!("Stopped: {why}."),
            (Some(_), Repeatability::Once) => {
                format!("Stopped: {why}. Whether it took effect is not known.")
            }
        }
    }

    pub(super) fn repeatability(&self, call: &OpenCall) -> Repeatability {
        let tool = call.tool();
        tool.map_or(Repeatability::Repeatable, |tool| self.assignment.repeatability(tool))
    }

    fn turns_begun(&self) -> u32 {
        let tries = self.state.grace.as_ref().map_or(0, |grace| grace.tries);
        self.state.turns + tries
    }

    fn progress(&self, now_ms: u64) -> Progress {
        let limits = &self.assignment.limits;
        Progress {
            turns_completed: self.state.turns_asked(),
            max_turns: limits.max_turns,
            elapsed_seconds: self.state.clock.used_ms(now_ms) / 1000,
            max_seconds: u64::from(limits.max_time_seconds),
        }
    }
}

/// The same sentence with the agents whose results were pending.
fn with_pending(reached: String, pending: &BTreeSet<RunId>) -> String {
    if pending.is_empty() {
        return reached;
    }
    let agents: Vec<&str> = pending.iter().map(RunId::as_str).collect();
    format!(
        "{reached} while agents were pending: {} (`attache output ID` shows what one has, `attache run --resume ID` continues it)",
        agents.join(", ")
    )
}

/// An answer to a call in the place of its tool.
pub(super) fn answered(call: &OpenCall, text: String, is_error: bool, now_ms: u64) -> Event {
    let result = ToolResult {
        call_id: call.id.clone(),
        text,
        is_error,
        images: Vec::new(),
        artifacts: Vec::new(),
        data: None,
    };
    returned(call, result, now_ms)
}

/// The answer to a call, with a remark if the model makes it again and again.
pub(super) fn returned(call: &OpenCall, mut result: ToolResult, now_ms: u64) -> Event {
    if call.streak >= REMARK_FROM && call.disposition != Disposition::Complete {
        result.text.push_str("\n\n");
        result.text.push_str(&prose::loop_remark(call.streak));
    }
    Event::ToolReturned {
        tool_name: call.tool_name(),
        result,
        duration_ms: call.started_ms.map(|started| now_ms.saturating_sub(started)),
        changes: Vec::new(),
        delivers: Vec::new(),
    }
}
