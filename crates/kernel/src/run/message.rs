//! Messages: what a conversation with a model is made of.
//!
//! Who may say what is in the types: only a model calls tools, only tools give results. What a
//! provider wants back unchanged (signatures, encrypted reasoning) is carried along unread.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::ToolCallId;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The instructions; the first message of every conversation.
    System {
        /// The instructions.
        text: String,
    },
    /// What the user, or the run in the user's place, says.
    User {
        /// Its parts.
        content: Vec<UserPart>,
    },
    /// What the model says and asks for.
    Assistant {
        /// Its parts, in the order the model gave them.
        content: Vec<AssistantPart>,
    },
    /// The answers to all calls of the assistant message before, in the order of the calls.
    Tool {
        /// One result for each call.
        results: Vec<ToolResult>,
    },
}

/// A part of a user's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum UserPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// The image.
        image: Image,
    },
}

/// A part of a model's message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Value>,
    },
    /// Reasoning. It is recorded and sent back, and never part of a result.
    Thinking {
        /// The reasoning, as far as the provider shows it.
        text: String,
        /// The provider's signature over it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// What else the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_data: Option<Value>,
    },
    /// A tool call.
    ToolCall {
        /// The call.
        call: ToolCall,
    },
}

/// An image, encoded as providers take it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// A tool call as the model sent it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenCall")]
pub struct ToolCall {
    /// The id its result refers to.
    pub id: ToolCallId,
    /// The tool, as the model spelled it.
    pub name: String,
    /// What the provider wants back with the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Value>,
    #[serde(rename = "arguments")]
    written: String,
    #[serde(skip)]
    parsed: Result<Value, ArgumentsError>,
}

/// A call as it lies on disk: the arguments are parsed anew when it is read.
#[derive(Deserialize)]
struct WrittenCall {
    id: ToolCallId,
    name: String,
    #[serde(default)]
    provider_data: Option<Value>,
    arguments: String,
}

impl From<WrittenCall> for ToolCall {
    fn from(written: WrittenCall) -> Self {
        Self {
            provider_data: written.provider_data,
            ..Self::new(written.id, written.name, written.arguments)
        }
    }
}

/// Why a call's arguments cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentsError {
    /// They are not JSON.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// They are JSON, but no object.
    #[error("a JSON object is needed, not {0}")]
    NotAnObject(&'static str),
}

impl ToolCall {
    /// A call with its arguments as the model wrote them. No text at all means no arguments; an
    /// object that was written as a JSON string is taken for the object.
    pub fn new(id: ToolCallId, name: impl Into<String>, arguments: impl Into<String>) -> Self {
        let written = arguments.into();
        let parsed = parse_arguments(&written);
        Self { id, name: name.into(), provider_data: None, written, parsed }
    }

    /// The arguments as the model wrote them.
    pub fn written_arguments(&self) -> &str {
        &self.written
    }

    /// The arguments, where they are a JSON object.
    pub fn arguments(&self) -> Result<&Value, &ArgumentsError> {
        self.parsed.as_ref()
    }

    /// Whether it asks for the same as another call; ids and the order of arguments are ignored.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        self.name == other.name
            && match (&self.parsed, &other.parsed) {
                (Ok(these), Ok(those)) => these == those,
                _ => self.written == other.written,
            }
    }
}

fn parse_arguments(written: &str) -> Result<Value, ArgumentsError> {
    if written.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let parse = |text: &str| {
        serde_json::from_str(text).map_err(|error| ArgumentsError::Json(error.to_string()))
    };
    let value = match parse(written)? {
        Value::String(text) => match parse(&text) {
            Ok(inner @ Value::Object(_)) => inner,
            Ok(_) | Err(_) => Value::String(text),
        },
        value => value,
    };
    match value {
        object @ Value::Object(_) => Ok(object),
        Value::Null => Err(ArgumentsError::NotAnObject("null")),
        Value::Bool(_) => Err(ArgumentsError::NotAnObject("a boolean")),
        Value::Number(_) => Err(ArgumentsError::NotAnObject("a number")),
        Value::String(_) => Err(ArgumentsError::NotAnObject("a string")),
        Value::Array(_) => Err(ArgumentsError::NotAnObject("an array")),
    }
}

/// The answer to a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: ToolCallId,
    /// What the model reads.
    pub text: String,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
    /// Images the model sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// What the call left behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// The answer as values, for a model that is a program. It is never sent to a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Arc<Value>>,
}

/// A file a run leaves behind, such as the full text of an output that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Where it lies.
    pub path: String,
    /// What it is.
    pub description: String,
}

impl Message {
    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// A user's text.
    pub fn user(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::User { content: vec![UserPart::Text { text }] }
    }

    /// A model's text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { content: vec![AssistantPart::text(text)] }
    }

    /// The calls of a model's message, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let parts = match self {
            Self::Assistant { content } => content.as_slice(),
            Self::System { .. } | Self::User { .. } | Self::Tool { .. } => &[],
        };
        parts.iter().filter_map(AssistantPart::call)
    }
}

impl AssistantPart {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), provider_data: None }
    }

    /// The call, if it is one.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::ToolCall { call } => Some(call),
            Self::Text { .. } | Self::Thinking { .. } => None,
        }
    }
}

/// The text of a model's message: its text parts, without reasoning and calls.
pub fn text_of(parts: &[AssistantPart]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        AssistantPart::Text { text, .. } => Some(text.as_str()),
        AssistantPart::Thinking { .. } | AssistantPart::ToolCall { .. } => None,
    });
    texts.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall::new(ToolCallId::new("c"), "read_file", arguments)
    }

    #[test]
    fn arguments_are_an_object_or_a_named_problem() {
        for (written, expected) in [
            ("{\"a\":1}", Ok(json!({"a": 1}))),
            ("", Ok(json!({}))),
            ("  \n", Ok(json!({}))),
            ("\"{\\\"a\\\":1}\"", Ok(json!({"a": 1}))),
            ("[1]", Err("a JSON object is needed, not an array")),
            ("null", Err("a JSON object is needed, not null")),
            ("3", Err("a JSON object is needed, not a number")),
            ("true", Err("a JSON object is needed, not a boolean")),
            ("\"a\"", Err("a JSON object is needed, not a string")),
            (
                "{\"path\": \"src/ma",
                Err("not valid JSON: EOF while parsing a string at line 1 column 16"),
            ),
            ("{a:1}", Err("not valid JSON: key must be a string at line 1 column 2")),
        ] {
            let call = call(written);
            let got = call.arguments().cloned().map_err(ToString::to_string);
            assert_eq!(got, expected.map_err(str::to_owned), "{written}");
        }
    }

    #[test]
    fn a_call_is_written_raw_and_read_back_whole() {
        let message = Message::Assistant {
            content: vec![
                AssistantPart::Thinking {
                    text: "hm".to_owned(),
                    signature: Some("s".to_owned()),
                    provider_data: Some(json!({"id": "rs_1"})),
                },
                AssistantPart::text("I look."),
                AssistantPart::ToolCall { call: call("{\"path\": 1.10}") },
            ],
        };
        let written = serde_json::to_value(&message).unwrap();
        assert_eq!(
            written,
            json!({"role": "assistant", "content": [
                {"type": "thinking", "text": "hm", "signature": "s", "provider_data": {"id": "rs_1"}},
                {"type": "text", "text": "I look."},
                {"type": "tool_call", "call": {"id": "c", "name": "read_file", "arguments": "{\"path\": 1.10}"}},
            ]})
        );
        assert_eq!(serde_json::from_value::<Message>(written).unwrap(), message);
    }

    #[test]
    fn the_same_is_asked_whatever_the_order() {
        assert!(call("{\"a\":1,\"b\":2}").asks_the_same_as(&call("{\"b\":2, \"a\":1}")));
        assert!(!call("{\"a\":1}").asks_the_same_as(&call("{\"a\":2}")));
        assert!(call("{a").asks_the_same_as(&call("{a")));
        assert!(!call("{a").asks_the_same_as(&call("{b")));
    }
}
