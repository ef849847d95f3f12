//! Compaction: keeping a conversation within the model's context window.
//!
//! Old tool results go first, then what came after the opening becomes a summary, and where none can
//! be had the oldest turns go. The pairing of calls and results always stays; what the run began with
//! stays word for word, so that the provider's cache of it holds.

pub(crate) mod fill;
pub(crate) mod frame;
mod room;
pub(crate) mod shed;
pub(crate) mod trim;

use crate::run::message::{AssistantPart, Image, Message, UserPart};

/// A guess, on the low side for prose and code.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// A guess on the high side, for caps: a request must not turn out longer than what it was paid for.
pub(crate) const FEWEST_BYTES_PER_TOKEN: u64 = 3;

/// Whether the newest turn may be touched, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newest {
    /// It stays: the model has not seen its results yet.
    Keep,
    /// It goes if nothing else is left: otherwise the run could not go on.
    CutIfNeeded,
}

/// The bytes of all that a message says, with images counted as the caller does.
fn bytes_of(message: &Message, image_bytes: impl Fn(&Image) -> usize) -> u64 {
    let bytes: usize = match message {
        Message::System { text } => text.len(),
        Message::User { content } => content
            .iter()
            .map(|part| match part {
                UserPart::Text { text } => text.len(),
                UserPart::Image { image } => image_bytes(image),
            })
            .sum(),
        Message::Assistant { content } => content
            .iter()
            .map(|part| match part {
                AssistantPart::Text { text, .. } | AssistantPart::Thinking { text, .. } => {
                    text.len()
                }
                AssistantPart::ToolCall { call } => {
                    call.name.len() + call.written_arguments().len()
                }
            })
            .sum(),
        Message::Tool { results } => results
            .iter()
            .map(|result| result.text.len() + result.images.iter().map(&image_bytes).sum::<usize>())
            .sum(),
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The bytes of text and images of these messages.
fn size_of<'messages>(messages: impl IntoIterator<Item = &'messages Message>) -> u64 {
    let sizes = messages.into_iter().map(|message| bytes_of(message, |image| image.data.len()));
    sizes.fold(0, u64::saturating_add)
}
