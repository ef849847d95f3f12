//! Typed inputs: what a definition asks for before it can run, and the JSON Schema that says so.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The typed inputs of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct InputConfig {
    /// Each input by name.
    pub inputs: BTreeMap<String, InputDefinition>,
}

/// One typed input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputDefinition {
    /// What it is for.
    pub description: String,
    /// Its type.
    #[serde(rename = "type")]
    pub input_type: InputType,
    /// Whether a run cannot start without it.
    #[serde(default)]
    pub required: bool,
}

/// The type of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputType {
    /// Text.
    String,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number.
    Integer,
    /// A list of texts.
    #[serde(rename = "string[]")]
    StringArray,
    /// A list of numbers.
    #[serde(rename = "number[]")]
    NumberArray,
}

impl InputType {
    /// All types with the words that name them.
    pub const ALL: [(&'static str, Self); 6] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("integer", Self::Integer),
        ("string[]", Self::StringArray),
        ("number[]", Self::NumberArray),
    ];

    /// The word that names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::StringArray => "string[]",
            Self::NumberArray => "number[]",
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::String | Self::Number | Self::Boolean | Self::Integer => {
                json!({"type": self.as_str()})
            }
            Self::StringArray => json!({"type": "array", "items": {"type": "string"}}),
            Self::NumberArray => json!({"type": "array", "items": {"type": "number"}}),
        }
    }
}

impl InputConfig {
    /// The JSON Schema of an object that holds these inputs.
    pub fn to_json_schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, input) in &self.inputs {
            let mut schema = input.input_type.schema();
            if let Value::Object(members) = &mut schema {
                members.insert("description".to_owned(), Value::String(input.description.clone()));
            }
            properties.insert(name.clone(), schema);
            if input.required {
                required.push(name.clone());
            }
        }
        json!({"type": "object", "properties": properties, "required": required})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_lists_every_type_and_only_required_names() {
        let inputs = InputType::ALL
            .iter()
            .map(|&(word, input_type)| {
                let required = word.starts_with('s');
                let description = format!("a {word}");
                (word.to_owned(), InputDefinition { description, input_type, required })
            })
            .collect();
        assert_eq!(
            InputConfig { inputs }.to_json_schema(),
            json!({
                "type": "object",
                "properties": {
                    "boolean": {"type": "boolean", "description": "a boolean"},
                    "integer": {"type": "integer", "description": "a integer"},
                    "number": {"type": "number", "description": "a number"},
                    "number[]": {"type": "array", "items": {"type": "number"}, "description": "a number[]"},
                    "string": {"type": "string", "description": "a string"},
                    "string[]": {"type": "array", "items": {"type": "string"}, "description": "a string[]"},
                },
                "required": ["string", "string[]"],
            })
        );
    }
}
