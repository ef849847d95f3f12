//! What was said, as the conventions write it. It is made only if somebody asks for it, and has no keys in it.

use attache_kernel::run::{Reply, message::AssistantPart};
use serde_json::{Value, json};
use tracing::Level;

use super::CONTENT;

/// Whether somebody asks for content.
pub(crate) fn is_wanted() -> bool {
    tracing::enabled!(target: CONTENT, Level::TRACE)
}

/// A message of text.
pub(crate) fn message(role: &str, text: &str) -> Value {
    json!([{ "role": role, "parts": [{ "type": "text", "content": text }] }])
}

/// A model's reply, its reasoning left out.
pub(crate) fn reply(reply: &Reply) -> Value {
    let parts = reply.content.iter().filter_map(|part| match part {
        AssistantPart::Text { text, .. } => Some(json!({ "type": "text", "content": text })),
        AssistantPart::Thinking { .. } => None,
        AssistantPart::ToolCall { call } => {
            let (id, name, arguments) = (call.id.as_str(), &call.name, call.arguments().ok());
            Some(json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments }))
        }
    });
    json!([{ "role": "assistant", "parts": parts.collect::<Vec<_>>() }])
}
