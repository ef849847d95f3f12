//! Resuming: a new run that goes on with everything an earlier one had said and seen.
//!
//! Calls the earlier run left open are answered first, so that the conversation is whole; a call that
//! may have taken effect is reported as such and never made again by itself.

use std::sync::Arc;

use super::{
    Run, RunError,
    calls::{Approval, OpenCall},
    opening, prose,
    state::Phase,
};
use crate::{
    rights::permission::SharedGuard,
    run::{
        assignment::Assignment,
        event::{Disposition, Event},
        message::{Message, ToolResult},
        tool_spec::Repeatability,
    },
};

impl Run {
    /// A run that goes on where this one stands, whether it ended or was cut off, and the event that
    /// opens its transcript. The assignment is commonly made with [`Assignment::resumed_as`]; its
    /// limits count anew.
    pub fn resume(
        &self,
        assignment: Assignment,
        guard: SharedGuard,
    ) -> Result<(Self, Vec<Event>), RunError> {
        let mut run = Self::unopened(assignment, guard)?;
        let opened = if self.state.conversation.is_empty() {
            opening::opened(&run.assignment, None)
        } else {
            Event::Opened {
                messages: self.continued_with(&run.assignment.task),
                opening: u64::try_from(self.state.frame.opening()).ok(),
                background: self.background().cloned().collect(),
            }
        };
        let events = run.happened(opened, std::time::Duration::ZERO);
        Ok((run, events))
    }

    fn continued_with(&self, task: &str) -> Vec<Arc<Message>> {
        let mut messages = self.state.conversation.messages().to_vec();
        if self.state.phase == Phase::Tools {
            let results = self.state.calls.iter().map(|call| self.left_open(call));
            let results = results.collect();
            messages.push(Arc::new(Message::Tool { results }));
            messages.extend(self.state.announcements.iter().cloned());
        }
        // The model goes on better if it knows what it had said.
        let begun = self.state.begun_answer.as_deref();
        messages.extend(begun.map(|text| Arc::new(Message::assistant(text))));
        let task = if task.trim().is_empty() { prose::GO_ON } else { task };
        let task = match begun {
            Some(_) => format!("{}\n\n{task}", prose::WAS_CUT_OFF),
            None => task.to_owned(),
        };
        messages.push(Arc::new(Message::user(task)));
        messages
    }

    fn left_open(&self, call: &OpenCall) -> ToolResult {
        if let Some(answer) = &call.answer {
            return answer.clone();
        }
        let text = match (&call.disposition, call.started_ms) {
            (Disposition::Complete, _) => prose::ACCEPTED.to_owned(),
            (Disposition::Answer { text }, _) => text.clone(),
            (Disposition::Execute { .. }, Some(_)) => match self.repeatability(call) {
                Repeatability::Once => prose::OUTCOME_UNKNOWN.to_owned(),
                Repeatability::Repeatable => prose::INTERRUPTED.to_owned(),
            },
            (Disposition::Execute { .. }, None) => match &call.approval {
                Approval::Refused { words } => prose::not_approved(words.as_deref()),
                Approval::Asked { .. } => prose::STILL_ASKED.to_owned(),
                Approval::NotAsked | Approval::Given { .. } => {
                    prose::not_executed("the run was cut off")
                }
            },
        };
        ToolResult {
            call_id: call.id.clone(),
            text,
            is_error: call.disposition != Disposition::Complete,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: None,
        }
    }
}
