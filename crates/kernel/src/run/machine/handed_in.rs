//! An answer that was handed in and put off, because a message or background agents were on their way. It
//! is not the last word, and it is kept in case none follows.

use std::collections::BTreeSet;

use super::{Run, complete_task::Answer, prose};
use crate::run::message::{Message, ToolCall};

/// What a valid answer gets that is put off.
const PUT_OFF: [&str; 2] = [prose::LETTERS_WAIT, prose::BACKGROUND_WORKS];

impl Run {
    /// The newest answer that was put off since the run was given its task.
    pub(super) fn handed_in(&self) -> Option<Answer> {
        let own = self.state.frame.task().unwrap_or_default();
        let messages = self.state.conversation.messages().get(own..)?;
        let mut put_off = BTreeSet::new();
        for message in messages.iter().rev() {
            if let Message::Tool { results } = message.as_ref() {
                let later = |text: &str| PUT_OFF.iter().any(|told| text.starts_with(told));
                let results = results.iter().filter(|result| later(&result.text));
                put_off = results.map(|result| result.call_id.clone()).collect();
            }
            let mut calls = message.calls().filter(|call| put_off.contains(&call.id));
            let answer =
                |call: &ToolCall| self.judge.answer_check.answer(call.arguments().ok()?).ok();
            if let Some(answer) = calls.find_map(answer) {
                return Some(answer);
            }
        }
        None
    }
}
