//! Resuming: a new run that goes on with everything an earlier one had said and seen.
//!
//! Calls the earlier run left open are answered first, so that the conversation is whole; a call that
//! may have taken effect is reported as such and never made again by itself. If somebody was being asked about
//! a call, it and the others that had not begun go on in the new run: they are judged anew, and asked about
//! again where that is needed.

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
        event::{Disposition, Event, Reopened, ReopenedCall},
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
            self.continued_by(&run.assignment)
        };
        let events = run.happened(opened, std::time::Duration::ZERO);
        Ok((run, events))
    }

    /// Whether its conversation has begun. A run that was cut off before has a header and nothing more.
    pub fn is_opened(&self) -> bool {
        !self.state.conversation.is_empty()
    }

    /// A run that was cut off before it was opened, as it stands once it is: with its own task, and the
    /// past of the run it continues.
    pub fn opened_after(&self, earlier: Option<&Self>) -> Result<Self, RunError> {
        let assignment = Assignment::clone(&self.assignment);
        let mut run = Self::unguarded(assignment)?;
        let opened = match earlier {
            Some(earlier) => earlier.continued_by(&run.assignment),
            None => opening::opened(&run.assignment, None),
        };
        drop(run.happened(opened, std::time::Duration::ZERO));
        Ok(run)
    }

    fn continued_by(&self, assignment: &Assignment) -> Event {
        let mut messages = self.state.conversation.messages().to_vec();
        let opening = u64::try_from(self.state.frame.opening()).ok();
        let background = self.left_behind().cloned().collect();
        let mut afterwards = Vec::new();
        if self.state.phase == Phase::Tools {
            afterwards.clone_from(&self.state.announcements);
        }
        // The model goes on better if it knows what it had said.
        let begun = self.state.begun_answer.as_deref();
        afterwards.extend(begun.map(|text| Arc::new(Message::assistant(text))));
        let task = assignment.task.as_str();
        let task = if task.trim().is_empty() { prose::GO_ON } else { task };
        let task = match begun {
            Some(_) => format!("{}\n\n{task}", prose::WAS_CUT_OFF),
            None => task.to_owned(),
        };
        afterwards.push(Arc::new(Message::user(task)));
        if self.has_open_question(assignment) {
            let calls = self.state.calls.iter().map(|call| self.reopened(call, assignment));
            let reopened = Some(Box::new(Reopened { calls: calls.collect(), afterwards }));
            return Event::Opened { messages, opening, background, reopened };
        }
        if self.state.phase == Phase::Tools {
            let results = self.state.calls.iter().map(|call| self.left_open(call)).collect();
            messages.push(Arc::new(Message::Tool { results }));
        }
        messages.extend(afterwards);
        Event::Opened { messages, opening, background, reopened: None }
    }

    /// Whether somebody was being asked about a call that the new run can make.
    fn has_open_question(&self, assignment: &Assignment) -> bool {
        self.state.phase == Phase::Tools
            && self.state.stop.is_none()
            && self.state.calls.iter().any(|call| call.is_asked() && has_tool(assignment, call))
    }

    fn reopened(&self, call: &OpenCall, assignment: &Assignment) -> ReopenedCall {
        let waits = call.answer.is_none()
            && call.started_ms.is_none()
            && !matches!(call.approval, Approval::Refused { .. })
            && has_tool(assignment, call);
        match call.tool() {
            Some(tool) if waits => ReopenedCall::Open { tool: tool.clone() },
            Some(_) | None => ReopenedCall::Answered { result: self.left_open(call) },
        }
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
                Approval::NotAsked | Approval::Asked { .. } | Approval::Given { .. } => {
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

/// Whether a run can make a call.
fn has_tool(assignment: &Assignment, call: &OpenCall) -> bool {
    call.tool().is_some_and(|tool| assignment.spec(tool).is_some())
}
