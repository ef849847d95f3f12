//! A draft: an answer while it arrives, its parts in the order in which they began.

use std::{borrow::Cow, collections::BTreeMap};

use attache_kernel::{
    id::ToolCallId,
    run::message::{AssistantPart, ToolCall},
};
use serde_json::{Map, Value};

use super::{StreamFault, escapes};

/// No answer is larger.
const MOST_BYTES: usize = 16 << 20;

/// An answer while it arrives.
#[derive(Debug, Default)]
pub(super) struct Draft {
    parts: Vec<DraftPart>,
    at: BTreeMap<u64, usize>,
    bytes: usize,
}

/// A part while it arrives.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum DraftPart {
    Text { text: String, data: Option<Value> },
    Thinking { text: String, signature: Option<String>, data: Option<Value> },
    Call { id: String, name: String, arguments: String, data: Option<Value> },
}

impl DraftPart {
    pub(super) fn text() -> Self {
        Self::Text { text: String::new(), data: None }
    }

    pub(super) fn thinking() -> Self {
        Self::Thinking { text: String::new(), signature: None, data: None }
    }

    pub(super) fn call(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::Call { id: id.into(), name: name.into(), arguments: String::new(), data: None }
    }

    /// Where its words go.
    pub(super) fn words(&mut self) -> &mut String {
        match self {
            Self::Text { text, .. } | Self::Thinking { text, .. } => text,
            Self::Call { arguments, .. } => arguments,
        }
    }

    /// What the provider wants back with it, under the name of its API.
    pub(super) fn keep(&mut self, api: &str, more: impl IntoIterator<Item = (String, Value)>) {
        let (Self::Text { data, .. } | Self::Thinking { data, .. } | Self::Call { data, .. }) =
            self;
        let kept = data.get_or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(kept) = kept {
            kept.insert("api".to_owned(), api.into());
            kept.extend(more);
        }
    }
}

impl Draft {
    /// Begins a part that is called by that number.
    pub(super) fn begin(&mut self, number: u64, part: DraftPart) -> &mut DraftPart {
        self.at.insert(number, self.parts.len());
        self.parts.push_mut(part)
    }

    /// The part that is called by that number; it is created if it does not exist.
    pub(super) fn part_or_begin(
        &mut self,
        number: u64,
        new: impl FnOnce() -> DraftPart,
    ) -> &mut DraftPart {
        match self.at.get(&number) {
            Some(place) if *place < self.parts.len() => &mut self.parts[*place],
            Some(_) | None => self.begin(number, new()),
        }
    }

    /// The part that is called by that number.
    pub(super) fn part(&mut self, number: u64) -> Option<&mut DraftPart> {
        self.at.get(&number).and_then(|place| self.parts.get_mut(*place))
    }

    /// The part that began last.
    pub(super) fn last(&mut self) -> Option<&mut DraftPart> {
        self.parts.last_mut()
    }

    /// Counts what was added.
    pub(super) fn grew(&mut self, bytes: usize) -> Result<(), StreamFault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MOST_BYTES { Err(StreamFault::TooLarge) } else { Ok(()) }
    }

    /// The parts, as they are kept.
    pub(super) fn finish(self) -> Vec<AssistantPart> {
        self.parts.into_iter().map(finished).collect()
    }
}

fn finished(part: DraftPart) -> AssistantPart {
    match part {
        DraftPart::Text { text, data } => AssistantPart::Text { text, provider_data: data },
        DraftPart::Thinking { text, signature, data } => {
            AssistantPart::Thinking { text, signature, provider_data: data }
        }
        DraftPart::Call { id, name, arguments, data } => {
            let mut call = ToolCall::new(ToolCallId::new(id), name, arguments);
            if call.arguments().is_err()
                && let Cow::Owned(repaired) = escapes::repaired(call.written_arguments())
            {
                call = ToolCall::new(call.id, call.name, repaired);
            }
            call.provider_data = data;
            AssistantPart::ToolCall { call }
        }
    }
}

/// What a provider of that API wanted back with a part; nothing, if another one said it.
pub(super) fn kept<'v>(data: Option<&'v Value>, api: &str) -> Option<&'v Value> {
    data.filter(|data| data.get("api").and_then(Value::as_str) == Some(api))
}
