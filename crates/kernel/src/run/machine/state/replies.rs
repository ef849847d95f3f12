//! What a reply and its calls make of the state: opened, asked about, begun, answered.
//!
//! Invariant: a turn's calls are answered together, in one message, before anything else is said.

use std::sync::Arc;

use super::{LastReply, Phase, State, Stop};
use crate::{
    id::ToolCallId,
    rights::tool_name::BuiltinTool,
    run::{
        event::{ApprovalDecision, Disposition, Reopened, ReopenedCall},
        file_change::FileChange,
        machine::{
            calls::{Approval, OpenCall},
            repetition::Repetition,
        },
        message::{AssistantPart, Message, ToolCall, ToolResult, text_of},
    },
};

impl State {
    /// Takes up the calls that the earlier run had not begun.
    pub(super) fn reopen(&mut self, reopened: &Reopened) {
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
            OpenCall { answer, ..call.awaiting(made) }
        });
        self.calls = calls.collect::<Vec<_>>().into();
        self.announcements.clone_from(&reopened.afterwards);
        self.reopened = Some(reopened.afterwards.len());
        self.frame = self.frame.with_task_at(None);
    }

    pub(super) fn ask(&mut self, id: &ToolCallId, asked: Approval) {
        self.questions = self.questions.saturating_add(1);
        self.calls.set_approval(id, asked);
    }

    pub(super) fn take_in_reply(&mut self, message: &Arc<Message>, dispositions: &[Disposition]) {
        let text = text_of(parts_of(message));
        let has_text = !text.trim().is_empty();
        if has_text {
            self.last_text = text;
        }
        let streaks = self.streaks(message, dispositions);
        let calls = message.calls().zip(dispositions).zip(streaks);
        let calls = calls.map(|((call, disposition), streak)| {
            let open =
                OpenCall::new(call.id.clone(), call.name.clone(), disposition.clone(), streak);
            open.awaiting(call)
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

    pub(super) fn start_call(&mut self, id: &ToolCallId, at_ms: u64) {
        if self.calls.start(id, at_ms) {
            self.tool_uses = self.tool_uses.saturating_add(1);
        }
    }

    pub(super) fn resolve(
        &mut self,
        id: &ToolCallId,
        decision: ApprovalDecision,
        words: Option<&String>,
    ) {
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

    pub(super) fn answer(&mut self, result: &ToolResult, changes: &[FileChange], at_ms: u64) {
        self.changes.extend(changes.iter().cloned());
        self.clock.stop_waiting_for(&result.call_id, at_ms);
        self.artifacts.extend(result.artifacts.iter().cloned());
        self.calls.answer(result);
        if !self.calls.are_answered() {
            return;
        }
        self.clock.server_answered(at_ms);
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
}

pub(super) fn parts_of(message: &Message) -> &[AssistantPart] {
    match message {
        Message::Assistant { content } => content,
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
    }
}
