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

/// Whether two messages are the same to a model. Where results were kept on disk, how long a call took
/// and the ids of runs differ from run to run.
fn is_same(recorded: &Message, given: &Message) -> bool {
    match (recorded, given) {
        (Message::System { .. }, Message::System { .. }) => true,
        (Message::Tool { results: recorded }, Message::Tool { results: given }) => {
            let same = |(one, other): (&ToolResult, &ToolResult)| {
                (&one.call_id, one.is_error, &one.images)
                    == (&other.call_id, other.is_error, &other.images)
                    && is_same_text(&one.text, &other.text)
            };
            recorded.len() == given.len() && recorded.iter().zip(given).all(same)
        }
        (Message::User { .. }, Message::User { .. }) => {
            recorded == given || is_same_text(&written(recorded), &written(given))
        }
        (recorded, given) => recorded == given,
    }
}

fn is_same_text(one: &str, other: &str) -> bool {
    one == other || timeless(one) == timeless(other)
}

/// The text without the times and the ids of runs in it: `0.8 s`, `"duration_seconds":1.9`,
/// `agent-7f9c2d1e`.
fn timeless(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = if first.is_ascii_digit() { number(rest) } else { first.len_utf8() };
        let (token, after) = rest.split_at(word);
        rest = after;
        let is_time = first.is_ascii_digit()
            && (is_seconds(after)
                || kept.trim_end_matches(['"', '\\', ':', ' ']).ends_with(DURATION));
        kept.push_str(if is_time { "0" } else { token });
        if kept.ends_with(RUN) {
            rest = after.trim_start_matches(|each: char| each.is_ascii_hexdigit() || each == '-');
        }
    }
    kept
}

/// What stands before the id of a run.
const RUN: &str = "agent-";
/// The key of a time in the result of an agent.
const DURATION: &str = "duration_seconds";

/// The length of the number that a text begins with.
fn number(text: &str) -> usize {
    text.find(|each: char| !each.is_ascii_digit() && each != '.').unwrap_or(text.len())
}

/// Whether what stands before this is a number of seconds.
fn is_seconds(after: &str) -> bool {
    after
        .strip_prefix(" s")
        .is_some_and(|after| !after.starts_with(|each: char| each.is_alphanumeric()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_ids_of_runs_do_not_count() {
        for (one, other, is_same) in [
            ("ok\n[exit code 0, 0.8 s]", "ok\n[exit code 0, 12.0 s]", true),
            ("[exit code 0, 0.8 s]", "[exit code 1, 0.8 s]", false),
            (
                "{\"duration_seconds\":1.9,\"turns_used\":2}",
                "{\"duration_seconds\":0.1,\"turns_used\":2}",
                true,
            ),
            (
                "{\"duration_seconds\":1.9,\"turns_used\":2}",
                "{\"duration_seconds\":1.9,\"turns_used\":3}",
                false,
            ),
            ("agent-7f9c2d1e-1 did it", "agent-0a9c2d1e-2 did it", true),
            ("agent-7f9c2d1e did it", "agent-7f9c2d1e did not", false),
            ("3 ships", "4 ships", false),
            ("é 3 s", "é 4 s", true),
        ] {
            assert_eq!(is_same_text(one, other), is_same, "{one} {other}");
        }
    }
}
