//! Repetition: how often in a row a model asks for the same.
//!
//! Both count: one call again and again, and a whole turn of calls again and again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::run::message::{Message, ToolCall};

/// From this many repetitions on a call gets a remark.
pub(crate) const REMARK_FROM: u32 = 3;
/// From this many repetitions on the run gets a last chance.
pub(crate) const LOOP_FROM: u32 = 6;

/// A call that was made again and again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Repeated {
    pub(crate) tool_name: String,
    pub(crate) times: u32,
}

/// What was asked for last, and how often in a row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Repetition {
    previous: Option<Arc<Message>>,
    call_streak: u32,
    turn_streak: u32,
}

impl Repetition {
    /// The same where equal calls of one message are no repetition: only the whole message counts.
    pub(crate) fn take_in_turn(&mut self, message: &Arc<Message>) -> Vec<u32> {
        let calls = self.take_in(message).len();
        self.call_streak = self.turn_streak;
        vec![self.turn_streak; calls]
    }

    /// Takes in a message with calls; gives, for each call, how often it has now been made in a row.
    pub(crate) fn take_in(&mut self, message: &Arc<Message>) -> Vec<u32> {
        let previous = self.previous.take();
        let same = |one: &ToolCall, other: Option<&ToolCall>| {
            other.is_some_and(|other| one.asks_the_same_as(other))
        };
        let mut before = previous.iter().flat_map(|message| message.calls()).last();
        let mut streaks = Vec::new();
        for call in message.calls() {
            self.call_streak =
                if same(call, before) { self.call_streak.saturating_add(1) } else { 1 };
            streaks.push(self.call_streak);
            before = Some(call);
        }
        let turn_repeats = previous.is_some_and(|previous| {
            previous.calls().count() == streaks.len()
                && previous
                    .calls()
                    .zip(message.calls())
                    .all(|(one, other)| one.asks_the_same_as(other))
        });
        self.turn_streak = if turn_repeats { self.turn_streak.saturating_add(1) } else { 1 };
        if let Some(last) = streaks.last_mut() {
            *last = (*last).max(self.turn_streak);
        }
        self.previous = Some(message.clone());
        streaks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{id::ToolCallId, run::message::AssistantPart};

    #[test]
    fn of_equal_calls_in_one_turn_only_the_turn_counts() {
        let call =
            || AssistantPart::ToolCall { call: ToolCall::new(ToolCallId::new("c"), "Task", "{}") };
        let votes = Arc::new(Message::Assistant { content: vec![call(), call(), call()] });
        let mut repetition = Repetition::default();
        assert_eq!(repetition.take_in_turn(&votes), [1, 1, 1]);
        assert_eq!(repetition.take_in_turn(&votes), [2, 2, 2]);
    }

    fn streaks(turns: &[&str]) -> Vec<Vec<u32>> {
        let mut repetition = Repetition::default();
        let message = |names: &str| {
            let call = |name: char| AssistantPart::ToolCall {
                call: ToolCall::new(ToolCallId::new("c"), name, "{}"),
            };
            Arc::new(Message::Assistant { content: names.chars().map(call).collect() })
        };
        turns.iter().map(|names| repetition.take_in(&message(names))).collect()
    }

    #[test]
    fn calls_and_turns_are_counted_in_a_row() {
        assert_eq!(streaks(&["a", "a", "b", "a"]), [[1], [2], [1], [1]]);
        assert_eq!(streaks(&["aa", "a"]), [vec![1, 2], vec![3]]);
        assert_eq!(streaks(&["ab", "ab", "ab"]), [[1, 1], [1, 2], [1, 3]]);
        assert_eq!(streaks(&["ab", "ba", "ab"]), [[1, 1], [2, 1], [2, 1]]);
    }
}
