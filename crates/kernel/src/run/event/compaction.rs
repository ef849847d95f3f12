//! Compaction as an event: how room was made in a conversation.
//!
//! The transcript keeps every message that went; only what the model is given gets shorter.

use serde::{Deserialize, Serialize};

use crate::id::ToolCallId;

/// How room was made in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", from = "Written")]
pub enum Compaction {
    /// Tool results were cut down to stubs.
    Trimmed {
        /// The calls whose results went.
        call_ids: Vec<ToolCallId>,
        /// How many bytes of text and images went.
        freed_bytes: u64,
    },
    /// What came after the opening, or the older part of it, was replaced by the model's summary.
    Summarised {
        /// The summary.
        summary: String,
        /// How many messages it stands for.
        messages_replaced: u64,
        /// How many bytes of text and images went.
        freed_bytes: u64,
    },
    /// The oldest turns went, because no summary could be had. None went where none could be spared.
    Dropped {
        /// How many.
        turns_dropped: u64,
        /// How many bytes of text and images went.
        freed_bytes: u64,
    },
}

/// It as it lies on disk: at first there was one kind, and it was not named.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    call_ids: Vec<ToolCallId>,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    messages_replaced: u64,
    #[serde(default)]
    turns_dropped: u64,
    #[serde(default)]
    freed_bytes: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Trimmed,
    Summarised,
    Dropped,
}

impl From<Written> for Compaction {
    fn from(written: Written) -> Self {
        let Written { call_ids, summary, messages_replaced, turns_dropped, freed_bytes, .. } =
            written;
        match written.kind {
            Kind::Trimmed => Self::Trimmed { call_ids, freed_bytes },
            Kind::Summarised => Self::Summarised { summary, messages_replaced, freed_bytes },
            Kind::Dropped => Self::Dropped { turns_dropped, freed_bytes },
        }
    }
}
