//! Whose words they are: what a provider wants back is marked with its name, and goes to nobody else.
//!
//! A signature or encrypted reasoning of another provider would be refused, and is not theirs to read.

use std::sync::Arc;

use attache_kernel::run::{
    conversation::Conversation,
    message::{AssistantPart, Message},
};
use serde_json::Value;

/// Under which key the provider's name stands.
const PROVIDER: &str = "provider";

/// Marks what a provider wants back.
pub(super) fn mark(content: &mut [AssistantPart], provider: &str) {
    for part in content {
        if let Some(Value::Object(data)) = data_of(part) {
            data.insert(PROVIDER.to_owned(), provider.into());
        }
    }
}

/// The conversation without what other providers want back; none if there is nothing of the kind.
pub(super) fn without_foreign(conversation: &Conversation, provider: &str) -> Option<Conversation> {
    let messages = conversation.messages();
    let holds_foreign = |message: &Arc<Message>| match message.as_ref() {
        Message::Assistant { content } => content.iter().any(|part| is_foreign(part, provider)),
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => false,
    };
    if !messages.iter().any(holds_foreign) {
        return None;
    }
    let cleaned = messages.iter().map(|message| match message.as_ref() {
        Message::Assistant { content } if holds_foreign(message) => {
            let content = content.iter().filter_map(|part| own(part, provider)).collect();
            Arc::new(Message::Assistant { content })
        }
        _ => Arc::clone(message),
    });
    Some(cleaned.collect())
}

fn own(part: &AssistantPart, provider: &str) -> Option<AssistantPart> {
    if !is_foreign(part, provider) {
        return Some(part.clone());
    }
    if matches!(part, AssistantPart::Thinking { .. }) {
        return None;
    }
    let mut part = part.clone();
    match &mut part {
        AssistantPart::Text { provider_data, .. } => *provider_data = None,
        AssistantPart::ToolCall { call } => call.provider_data = None,
        AssistantPart::Thinking { .. } => {}
    }
    Some(part)
}

/// Whether another provider said it. What bears no name is as old as the conversation, or nobody's.
fn is_foreign(part: &AssistantPart, provider: &str) -> bool {
    let data = match part {
        AssistantPart::Text { provider_data, .. }
        | AssistantPart::Thinking { provider_data, .. } => provider_data.as_ref(),
        AssistantPart::ToolCall { call } => call.provider_data.as_ref(),
    };
    let name = data.and_then(|data| data.get(PROVIDER)).and_then(Value::as_str);
    name.is_some_and(|name| name != provider)
}

fn data_of(part: &mut AssistantPart) -> Option<&mut Value> {
    match part {
        AssistantPart::Text { provider_data, .. }
        | AssistantPart::Thinking { provider_data, .. } => provider_data.as_mut(),
        AssistantPart::ToolCall { call } => call.provider_data.as_mut(),
    }
}

#[cfg(test)]
mod tests {
    use attache_kernel::{id::ToolCallId, run::message::ToolCall};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_another_provider_wants_back_stays_here() {
        let mut call = ToolCall::new(ToolCallId::new("c"), "t", "{}");
        call.provider_data = Some(json!({"api": "gemini", "thoughtSignature": "s"}));
        let mut content = vec![
            AssistantPart::Thinking {
                text: "hm".to_owned(),
                signature: Some("s".to_owned()),
                provider_data: Some(json!({"api": "anthropic"})),
            },
            AssistantPart::text("plain"),
            AssistantPart::ToolCall { call },
        ];
        mark(&mut content, "lab");
        let conversation: Conversation =
            [Message::user("x"), Message::Assistant { content: content.clone() }]
                .into_iter()
                .map(Arc::new)
                .collect();
        assert_eq!(without_foreign(&conversation, "lab"), None);
        let cleaned = without_foreign(&conversation, "other").unwrap();
        let Message::Assistant { content: left } = cleaned.messages()[1].as_ref() else {
            panic!("{cleaned:?}")
        };
        assert_eq!(left[0], AssistantPart::text("plain"));
        assert_eq!(left[1].call().unwrap().provider_data, None);
        assert_eq!(left.len(), 2);
    }
}
