//! Fill: how much of the context window a conversation takes.
//!
//! The provider's count of the last answer is exact, and where it counts nothing its place is taken by
//! a guess from the size; what came after it is guessed as well.
//! Once something was cut all is a guess, a low one, and only a plain overflow is acted upon.

use serde::{Deserialize, Serialize};

use super::{BYTES_PER_TOKEN, FEWEST_BYTES_PER_TOKEN, bytes_of};
use crate::run::{conversation::Conversation, message::Message};

/// The percentage of the context window from which a conversation is nearly full.
const FULL_PERCENT: u64 = 80;
/// What an image is counted as; its bytes in base64 say nothing about its tokens.
const IMAGE_BYTES: usize = 6000;

/// How much of the context window a conversation takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Fill {
    read: Count,
    unread_bytes: u64,
}

/// How long the part is that the model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Count {
    /// As the provider counted it, or would have.
    Tokens(u64),
    /// As it is guessed.
    Bytes(u64),
}

impl Default for Count {
    fn default() -> Self {
        Self::Bytes(0)
    }
}

/// What that means for the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// There is room, as far as is known.
    Fits,
    /// Little room is left, or none although the provider still accepts the conversation.
    NearlyFull,
    /// What the model has not read yet is too long for the room there is.
    UnreadTooLong,
    /// What it has read is too long already, by a guess that the provider has not confirmed.
    TooLong,
}

impl Fill {
    /// A conversation of which the provider has counted nothing yet.
    pub(crate) fn guessed(conversation: &Conversation) -> Self {
        let mut fill = Self::default();
        for message in conversation.messages() {
            fill.grow(message);
            if matches!(message.as_ref(), Message::Assistant { .. }) {
                fill = Self { read: Count::Bytes(fill.bytes()), unread_bytes: 0 };
            }
        }
        fill
    }

    /// A conversation of which the provider has counted all.
    pub(crate) fn measured(tokens: u64) -> Self {
        Self { read: Count::Tokens(tokens), unread_bytes: 0 }
    }

    /// The same after an answer of a provider that counts nothing: all of it was read.
    pub(crate) fn guessed_with(mut self, answer: &Message) -> Self {
        self.grow(answer);
        Self::measured(self.tokens())
    }

    /// How many tokens it has, as far as is known.
    pub(crate) fn tokens(self) -> u64 {
        match self.read {
            Count::Tokens(read) => read.saturating_add(self.unread_bytes / BYTES_PER_TOKEN),
            Count::Bytes(_) => self.bytes() / BYTES_PER_TOKEN,
        }
    }

    /// How many tokens it has if those that nobody counted are short ones.
    pub(crate) fn tokens_at_most(self) -> u64 {
        match self.read {
            Count::Tokens(read) => {
                read.saturating_add(self.unread_bytes.div_ceil(FEWEST_BYTES_PER_TOKEN))
            }
            Count::Bytes(_) => self.bytes().div_ceil(FEWEST_BYTES_PER_TOKEN),
        }
    }

    /// A message was added that the model has not read.
    pub(crate) fn grow(&mut self, message: &Message) {
        let bytes = bytes_of(message, |_| IMAGE_BYTES);
        self.unread_bytes = self.unread_bytes.saturating_add(bytes);
    }

    /// Whether the provider has counted it since it was last cut.
    pub(crate) fn is_measured(self) -> bool {
        matches!(self.read, Count::Tokens(_))
    }

    /// What that means in a window of that many tokens.
    pub(crate) fn level(self, window: u64) -> Level {
        let all = self.tokens();
        let read = match self.read {
            Count::Tokens(read) => read,
            Count::Bytes(read) => read / BYTES_PER_TOKEN,
        };
        if all > window && read <= window {
            Level::UnreadTooLong
        } else if !self.is_measured() {
            if read > window { Level::TooLong } else { Level::Fits }
        } else if all.saturating_mul(100) / FULL_PERCENT >= window {
            Level::NearlyFull
        } else {
            Level::Fits
        }
    }

    fn bytes(self) -> u64 {
        match self.read {
            Count::Tokens(_) => self.unread_bytes,
            Count::Bytes(read) => read.saturating_add(self.unread_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_came_after_the_last_count_is_guessed() {
        for (measured, bytes, expected) in [
            (Some(799), 0, Level::Fits),
            (Some(800), 0, Level::NearlyFull),
            (Some(700), 396, Level::Fits),
            (Some(700), 400, Level::NearlyFull),
            (Some(700), 1203, Level::NearlyFull),
            (Some(700), 1204, Level::UnreadTooLong),
            (Some(1001), 1204, Level::NearlyFull),
            (None, 4003, Level::Fits),
            (None, 4004, Level::UnreadTooLong),
            (Some(u64::MAX), 4004, Level::NearlyFull),
        ] {
            let mut fill = measured.map(Fill::measured).unwrap_or_default();
            fill.grow(&Message::user("x".repeat(bytes)));
            assert_eq!(fill.level(1000), expected, "{measured:?} and {bytes} bytes");
        }
    }

    #[test]
    fn what_was_read_is_told_from_what_was_not() {
        let long = || Message::user("x".repeat(3000));
        let answer = || Message::assistant("y".repeat(1100));
        for (messages, expected) in [
            (vec![long()], Level::Fits),
            (vec![long(), long()], Level::UnreadTooLong),
            (vec![answer(), long(), long()], Level::UnreadTooLong),
            (vec![long(), answer()], Level::TooLong),
            (vec![long(), answer(), long()], Level::TooLong),
        ] {
            let conversation: Conversation = messages.into_iter().map(Arc::new).collect();
            assert_eq!(Fill::guessed(&conversation).level(1000), expected, "{conversation:?}");
        }
    }
}
