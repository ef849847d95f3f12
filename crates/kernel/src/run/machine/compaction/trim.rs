//! Trimming: cutting the oldest tool results down to stubs.
//!
//! Half of what can go goes at once, so that it is needed seldom and the provider's cache is lost
//! seldom. What the model and the user said stays, and so does the pairing of calls and results.

use std::{collections::BTreeSet, sync::Arc};

use super::Newest;
use crate::{
    id::ToolCallId,
    run::{
        conversation::Conversation,
        machine::prose,
        message::{Message, ToolResult},
    },
};

/// Results smaller than this stay: a stub would save nothing.
const WORTH_CUTTING_BYTES: usize = 200;

/// Which results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) call_ids: Vec<ToolCallId>,
    pub(crate) freed_bytes: u64,
}

/// The oldest half of what can go; none if nothing can.
pub(crate) fn plan(conversation: &Conversation, newest: Newest) -> Option<Cut> {
    let sizes: Vec<Vec<(&ToolCallId, usize)>> = conversation
        .messages()
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::Tool { results } => Some(results.iter().map(sized).collect()),
            Message::System { .. } | Message::User { .. } | Message::Assistant { .. } => None,
        })
        .collect();
    let (last, older) = sizes.split_last()?;
    let worth = |turn: &[(&ToolCallId, usize)]| -> Vec<(ToolCallId, usize)> {
        turn.iter()
            .filter(|(_, size)| *size >= WORTH_CUTTING_BYTES)
            .map(|(id, size)| ((*id).clone(), *size))
            .collect()
    };
    let mut candidates: Vec<_> = older.iter().flat_map(|turn| worth(turn)).collect();
    if candidates.is_empty() && newest == Newest::CutIfNeeded {
        candidates = worth(last);
    }
    let total: usize = candidates.iter().map(|(_, size)| size).sum();
    let mut freed = 0;
    let mut call_ids = Vec::new();
    for (id, size) in candidates {
        if freed * 2 >= total {
            break;
        }
        freed += size;
        call_ids.push(id);
    }
    (!call_ids.is_empty())
        .then(|| Cut { call_ids, freed_bytes: u64::try_from(freed).unwrap_or(u64::MAX) })
}

fn sized(result: &ToolResult) -> (&ToolCallId, usize) {
    let images: usize = result.images.iter().map(|image| image.data.len()).sum();
    (&result.call_id, result.text.len() + images)
}

/// The conversation with these results cut down to stubs.
pub(crate) fn cut(conversation: &Conversation, call_ids: &[ToolCallId]) -> Conversation {
    let gone: BTreeSet<_> = call_ids.iter().collect();
    let heard = |message: &Arc<Message>| matches!(**message, Message::Assistant { .. });
    let read_until = conversation.messages().iter().rposition(heard).unwrap_or_default();
    let shorten = |(index, message): (usize, &Arc<Message>)| match message.as_ref() {
        Message::Tool { results }
            if results.iter().any(|result| gone.contains(&result.call_id)) =>
        {
            let text = if index < read_until { prose::STUB } else { prose::STUB_UNREAD };
            let results = results
                .iter()
                .map(|result| {
                    if gone.contains(&result.call_id) { stub(result, text) } else { result.clone() }
                })
                .collect();
            Arc::new(Message::Tool { results })
        }
        Message::Tool { .. }
        | Message::System { .. }
        | Message::User { .. }
        | Message::Assistant { .. } => message.clone(),
    };
    conversation.messages().iter().enumerate().map(shorten).collect()
}

fn stub(result: &ToolResult, text: &str) -> ToolResult {
    ToolResult {
        call_id: result.call_id.clone(),
        text: text.to_owned(),
        is_error: result.is_error,
        images: Vec::new(),
        artifacts: result.artifacts.clone(),
        data: None,
    }
}
