//! Admission: whether an event can follow on what came before it.
//!
//! A run that is under way makes only events that can; a transcript may have been damaged or made up.

use std::sync::Arc;

use super::{
    Run,
    calls::OpenCall,
    state::{Phase, State},
};
use crate::{
    id::ToolCallId,
    run::{
        event::{Event, Reopened, ReopenedCall, compaction::Compaction},
        message::Message,
    },
};

impl Run {
    /// Takes in an event of a transcript, or says why it cannot follow on what came before.
    pub fn replay(&mut self, event: &Event, at_ms: u64) -> Result<(), &'static str> {
        self.state.admits(event)?;
        self.state.apply(event, at_ms);
        Ok(())
    }
}

/// Whether the calls are those of the last message, and one of them is open.
fn fits(messages: &[Arc<Message>], reopened: &Reopened) -> bool {
    let made: Vec<&ToolCallId> =
        messages.last().iter().flat_map(|message| message.calls()).map(|call| &call.id).collect();
    made.len() == reopened.calls.len()
        && reopened.calls.iter().any(|call| matches!(call, ReopenedCall::Open { .. }))
        && made.iter().zip(&reopened.calls).all(|(id, call)| match call {
            ReopenedCall::Answered { result } => result.call_id == **id,
            ReopenedCall::Open { .. } => true,
        })
}

impl State {
    #[expect(clippy::too_many_lines, reason = "one arm for each event")]
    fn admits(&self, event: &Event) -> Result<(), &'static str> {
        if event.leaves_the_run_alone() {
            return Ok(());
        }
        let (fits, problem) = match event {
            Event::Queued { .. }
            | Event::TextChunk { .. }
            | Event::ThoughtChunk { .. }
            | Event::ToolOutputChunk { .. }
            | Event::FilesKept { .. }
            | Event::SubAgentClock { .. }
            | Event::SubAgentEnd { .. } => (true, ""),
            Event::SubAgentStart { .. } | Event::SubAgentDetached { .. } => {
                (!matches!(self.phase, Phase::New | Phase::Ended), "no subagent can begin here")
            }
            Event::Opened { messages, reopened, .. } => (
                self.phase == Phase::New
                    && self.conversation.is_empty()
                    && reopened.as_ref().is_none_or(|reopened| fits(messages, reopened)),
                "the conversation is open already, or its open calls are not those of its last message",
            ),
            Event::Started => (
                self.phase == Phase::New && !self.conversation.is_empty(),
                "the run had begun, or its conversation is not open",
            ),
            Event::TurnStarted { grace, .. } => (
                self.phase == Phase::Between && *grace == self.grace.is_some(),
                "no turn can begin here",
            ),
            Event::Replied { message, dispositions, .. } => (
                matches!(self.phase, Phase::Model | Phase::Summary)
                    && message.calls().count() == dispositions.len(),
                "no answer of the model was due, or its calls are not judged",
            ),
            Event::ReplyCutOff { .. } => {
                (self.phase == Phase::Model, "the model was not being called")
            }
            Event::LostAnswerCounted { .. } | Event::Retrying { .. } => (
                matches!(self.phase, Phase::Model | Phase::Summary),
                "the model was not being called",
            ),
            Event::ModelLent { .. } => (self.phase == Phase::Tools, "no tool was being called"),
            Event::ServerAsks { .. } => (
                self.phase == Phase::Tools && !self.clock.is_asked_by_server(),
                "no tool was being called, or a server asks already",
            ),
            Event::ServerAnswered => (self.clock.is_asked_by_server(), "no server asks"),
            Event::ToolStarted { call_id, .. } => (
                self.open_call(call_id).is_some_and(|call| {
                    call.started_ms.is_none() && call.tool().is_some() && !call.is_asked()
                }),
                "no such call is waiting to begin",
            ),
            Event::ToolReturned { result, duration_ms, .. } => (
                self.open_call(&result.call_id)
                    .is_some_and(|call| duration_ms.is_some() == call.started_ms.is_some()),
                "no such call is waiting for its answer",
            ),
            Event::ApprovalRequested { call_id, .. } => (
                self.open_call(call_id)
                    .is_some_and(|call| call.tool().is_some() && !call.is_asked()),
                "no such call can be asked about",
            ),
            Event::ApprovalResolved { call_id, .. } => (
                self.open_call(call_id).is_some_and(OpenCall::is_asked),
                "no such call is being asked about",
            ),
            Event::SummaryRequested { refusal, .. } => {
                let expected = if refusal.is_some() { Phase::Model } else { Phase::Between };
                (self.phase == expected, "no summary can be asked for here")
            }
            Event::Compacted(compaction) => {
                (self.can_make_room(compaction), "nothing can be cut here")
            }
            Event::TurnCompleted { .. } => {
                (self.phase == Phase::TurnOver, "no turn is to be closed")
            }
            Event::Reminded { .. } => (self.phase == Phase::Between, "nothing to remind of"),
            Event::GraceStarted { .. } => (
                self.phase == Phase::Between && self.grace.is_none(),
                "no last chance can begin here",
            ),
            Event::GraceEnded { .. } => (
                self.phase == Phase::Between
                    && self.grace.as_ref().is_some_and(|grace| !grace.over),
                "there is no last chance to end",
            ),
            Event::TimeUp { .. } => (
                matches!(
                    self.phase,
                    Phase::Model | Phase::Summary | Phase::Tools | Phase::Awaiting
                ),
                "nothing was being waited for",
            ),
            Event::Awaiting { agents } => (
                self.phase == Phase::Between && agents.iter().eq(&self.background),
                "there is nothing to wait for",
            ),
            Event::Ended { .. } => (self.phase == Phase::Between, "the run cannot end here"),
            Event::TreeBudgetSpent { left: Some(_) } => (
                matches!(self.phase, Phase::Model | Phase::Summary),
                "the model was not being called",
            ),
            // Not only the model fails: so does what drives the run, at any time.
            Event::Announced { .. }
            | Event::TreeBudgetSpent { left: None }
            | Event::Failed { .. }
            | Event::Cancelled { .. } => (self.phase != Phase::Ended, "the run had ended"),
        };
        if fits { Ok(()) } else { Err(problem) }
    }

    fn can_make_room(&self, compaction: &Compaction) -> bool {
        let under_way = matches!(self.phase, Phase::Model | Phase::Between | Phase::Summary);
        let answered = self.phase == Phase::SummaryOver;
        match compaction {
            Compaction::Trimmed { .. } => under_way,
            Compaction::Summarised { .. } => answered,
            Compaction::Dropped { .. } => under_way || answered,
        }
    }
}
