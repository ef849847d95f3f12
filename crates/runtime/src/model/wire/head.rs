//! The head of a request: everything before the messages, with an agent's own parameters merged in.
//!
//! An agent's parameters change a request; they never take the place of the conversation, the tools or
//! the model.

use attache_kernel::agent::definition::ModelConfig;
use serde::Serialize;
use serde_json::{Map, Value};

use super::WireApi;

/// What an agent's parameters may not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`parameters.{0}` cannot be set: it is part of every request")]
pub struct ReservedParameter(pub String);

/// Refuses parameters that would take the place of something else.
pub(in crate::model) fn check_parameters(
    api: WireApi,
    config: &ModelConfig,
) -> Result<(), ReservedParameter> {
    let reserved: &[&str] = match api {
        WireApi::Responses => &["model", "input", "instructions", "tools", "stream", "store"],
        WireApi::Chat => &["model", "messages", "tools", "stream"],
        WireApi::Anthropic => &["model", "messages", "system", "tools", "stream"],
        WireApi::Gemini => {
            &["model", "contents", "systemInstruction", "system_instruction", "tools"]
        }
    };
    let taken = config.parameters.keys().find(|key| reserved.contains(&key.as_str()));
    taken.map_or(Ok(()), |key| Err(ReservedParameter(key.clone())))
}

/// The head of a request.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    fields: Map<String, Value>,
    tools: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// The head of a request with these tools.
    pub(super) fn new(tools: Option<&'a str>) -> Self {
        Self { fields: Map::new(), tools }
    }

    /// The same with a field.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(key.to_owned(), value.into());
        self
    }

    /// A field that was set.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// The same with a field that may be missing.
    pub(super) fn with_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The same with an agent's own parameters: objects are merged, null takes away, all else replaces.
    pub(super) fn merged(mut self, parameters: &Map<String, Value>) -> Self {
        merge(&mut self.fields, parameters);
        self
    }

    /// Its fields.
    pub(super) fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    /// The whole request: the head, then the messages under that key.
    pub(super) fn body<Item: Serialize>(
        self,
        key: &str,
        messages: &[Item],
    ) -> Result<Vec<u8>, serde_json::Error> {
        let mut body = Vec::with_capacity(16 << 10);
        self.write(key, &mut body)?;
        serde_json::to_writer(&mut body, messages)?;
        body.push(b'}');
        Ok(body)
    }

    /// The same with messages that are written already, with commas in between.
    pub(super) fn body_of(self, key: &str, items: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
        let tools = self.tools.map_or(0, str::len);
        let mut body = Vec::with_capacity(items.len() + tools + 512);
        self.write(key, &mut body)?;
        body.push(b'[');
        body.extend_from_slice(items);
        body.extend_from_slice(b"]}");
        Ok(body)
    }

    /// Everything up to the messages.
    fn write(&self, key: &str, body: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        body.push(b'{');
        for (key, value) in &self.fields {
            serde_json::to_writer(&mut *body, key)?;
            body.push(b':');
            serde_json::to_writer(&mut *body, value)?;
            body.push(b',');
        }
        if let Some(tools) = self.tools {
            body.extend_from_slice(b"\"tools\":");
            body.extend_from_slice(tools.as_bytes());
            body.push(b',');
        }
        body.push(b'"');
        body.extend_from_slice(key.as_bytes());
        body.extend_from_slice(b"\":");
        Ok(())
    }
}

fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (_, Value::Null) => {
                into.shift_remove(key);
            }
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (_, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_are_merged_and_null_takes_away() {
        let parameters = json!({
            "reasoning": {"summary": "auto"}, "temperature": 0.5, "gone": null, "new": {"a": [1]}, "missing": null,
        });
        let head = || {
            Head::new(Some("[{}]"))
                .with("model", "m")
                .with("reasoning", json!({"effort": "low"}))
                .with("temperature", 1)
                .with("gone", true)
                .merged(parameters.as_object().unwrap())
        };
        let expected = r#"{"model":"m","reasoning":{"effort":"low","summary":"auto"},"temperature":0.5,"new":{"a":[1]},"tools":[{}],"messages":["a"]}"#;
        assert_eq!(String::from_utf8(head().body("messages", &["a"]).unwrap()).unwrap(), expected);
        let written = head().body_of("messages", b"\"a\"").unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn the_conversation_is_not_a_parameter() {
        let config = |key: &str| ModelConfig {
            parameters: Map::from_iter([(key.to_owned(), json!(1))]),
            ..ModelConfig::default()
        };
        for (api, key) in [
            (WireApi::Chat, "messages"),
            (WireApi::Responses, "input"),
            (WireApi::Anthropic, "system"),
            (WireApi::Gemini, "contents"),
        ] {
            assert!(check_parameters(api, &config(key)).is_err());
            assert!(check_parameters(api, &config("top_k")).is_ok());
        }
    }
}
