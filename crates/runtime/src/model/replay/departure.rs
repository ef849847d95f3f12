//! Departures: where a conversation stops being the recorded one.

use std::sync::Arc;

use attache_kernel::run::message::{Message, ToolResult};
use serde_json::Value;

/// The number of characters of a message shown on each side of a difference.
const SHOWN: usize = 100;

/// The first message that differs, and what to say about it.
pub(super) fn departure(
    recorded: &[Arc<Message>],
    given: &[Arc<Message>],
) -> Option<(usize, String)> {
    let longest = recorded.len().max(given.len());
    (0..longest).find_map(|index| {
        let number = index + 1;
        let problem = match (recorded.get(index), given.get(index)) {
            (Some(recorded), Some(given)) if is_same(recorded, given) => return None,
            (Some(recorded), Some(given)) => {
                let (recorded, given) = apart(&written(recorded), &written(given));
                format!("message {number} is another: recorded {recorded}, given {given}")
            }
            (Some(recorded), None) => {
                let recorded = cut(&written(recorded), 0);
                format!("message {number} is missing: recorded {recorded}")
            }
            (None, Some(given)) => {
                format!(
                    "message {number} is not in the recording: given {}",
                    cut(&written(given), 0)
                )
            }
            (None, None) => return None,
        };
        Some((index, problem))
    })
}

/// Whether two messages are the same to a model. Where results were kept on disk differs from run to
/// run and is nothing to it.
fn is_same(recorded: &Message, given: &Message) -> bool {
    match (recorded, given) {
        (Message::System { .. }, Message::System { .. }) => true,
        (Message::Tool { results: recorded }, Message::Tool { results: given }) => {
            let same = |(one, other): (&ToolResult, &ToolResult)| {
                (&one.call_id, &one.text, one.is_error, &one.images)
                    == (&other.call_id, &other.text, other.is_error, &other.images)
            };
            recorded.len() == given.len() && recorded.iter().zip(given).all(same)
        }
        (recorded, given) => recorded == given,
    }
}

/// A message on one line.
fn written(message: &Message) -> String {
    let value = serde_json::to_value(message).unwrap_or(Value::Null);
    value.to_string()
}

/// The two, from a little before where they part.
fn apart(one: &str, other: &str) -> (String, String) {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(SHOWN / 4);
    (cut(one, from), cut(other, from))
}

fn cut(text: &str, from: usize) -> String {
    let before = if from > 0 { "…" } else { "" };
    let shown: String = text.chars().skip(from).take(SHOWN).collect();
    let after = if text.chars().nth(from + SHOWN).is_some() { "…" } else { "" };
    format!("`{before}{shown}{after}`")
}
