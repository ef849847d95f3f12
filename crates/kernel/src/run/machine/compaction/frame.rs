//! The frame: the part of a conversation that neither a summary replaces nor a lack of room takes away.
//!
//! It is what the conversation was opened with. In a run that goes on from an earlier one it is that
//! run's frame and the new task, with everything the earlier run did between them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::size_of;
use crate::run::{conversation::Conversation, machine::prose, message::Message};

/// Which messages of a conversation stay.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Frame {
    opening: usize,
    task: Option<usize>,
}

/// What a summary replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

impl Frame {
    /// The frame of a conversation with that many opening messages: the first ones and the last.
    pub(crate) fn around_opening(messages: usize, opening: Option<u64>) -> Self {
        let opening = opening.and_then(|opening| usize::try_from(opening).ok());
        let opening = opening.unwrap_or(messages).min(messages);
        Self { opening, task: messages.checked_sub(1).filter(|last| *last >= opening) }
    }

    /// How many messages stay at the beginning.
    pub(crate) fn opening(&self) -> usize {
        self.opening
    }

    /// The same, with the task elsewhere.
    pub(crate) fn with_task_at(&self, task: Option<usize>) -> Self {
        Self { opening: self.opening, task }
    }

    /// Where the task is, if it is not part of the opening.
    pub(crate) fn task(&self) -> Option<usize> {
        self.task
    }

    /// What a summary of the first messages replaces.
    pub(crate) fn inside(&self, conversation: &Conversation, first: usize) -> Inside {
        let messages = conversation.messages().iter().enumerate().take(first);
        let inside: Vec<&Message> = messages
            .filter(|(index, _)| *index >= self.opening && Some(*index) != self.task)
            .map(|(_, message)| message.as_ref())
            .collect();
        Inside { messages: u64::try_from(inside.len()).unwrap_or(u64::MAX), bytes: size_of(inside) }
    }

    /// The conversation with a summary in the place of what it replaces.
    pub(crate) fn around_summary(
        &self,
        conversation: &Conversation,
        first: usize,
        summary: &str,
    ) -> (Conversation, Self) {
        let messages = conversation.messages();
        let mut shorter: Vec<_> = messages.iter().take(self.opening).cloned().collect();
        let (before, after) = match self.task {
            Some(task) if task < first => (messages.get(task), None),
            Some(task) => (None, task.checked_sub(first)),
            None => (None, None),
        };
        shorter.extend(before.cloned());
        let opening = shorter.len();
        shorter.push(Arc::new(Message::user(prose::summary(summary))));
        let task = after.map(|after| shorter.len() + after);
        shorter.extend(messages.iter().skip(first.max(self.opening)).cloned());
        (shorter.into_iter().collect(), Self { opening, task })
    }
}
