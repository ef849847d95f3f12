//! Typed inputs given as texts, read as the types their agent declares.

use attache_kernel::{
    agent::definition::{InputConfig, InputType},
    id::nearest,
};
use serde_json::{Map, Value};

/// An input as somebody wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputText {
    /// Its name.
    pub name: String,
    /// Its value as a text.
    pub text: String,
}

/// Why inputs cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The agent declares no such input.
    #[error("the agent has no input `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// The declared name most like it.
        nearest: Option<String>,
        /// All declared names.
        declared: Vec<String>,
    },
    /// The text is not a value of the declared type.
    #[error("the input `{name}` must be of type {}, not `{text}`", expected.as_str())]
    Mistyped {
        /// The name.
        name: String,
        /// The declared type.
        expected: InputType,
        /// The text.
        text: String,
    },
    /// The input is given twice.
    #[error("the input `{name}` is given twice")]
    Twice {
        /// The name.
        name: String,
    },
}

impl InputError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unknown { nearest: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::Unknown { declared, .. } if declared.is_empty() => {
                "it declares no inputs: leave --input out".to_owned()
            }
            Self::Unknown { declared, .. } => format!("it has: {}", declared.join(", ")),
            Self::Twice { .. } => "give it once".to_owned(),
            Self::Mistyped { name, expected, .. } => match expected {
                InputType::StringArray | InputType::NumberArray => {
                    format!("write it as a JSON array: --input {name}='[…]'")
                }
                InputType::Boolean => format!("write --input {name}=true or {name}=false"),
                InputType::String | InputType::Number | InputType::Integer => {
                    format!("write --input {name}=VALUE")
                }
            },
        }
    }
}

/// The inputs by name, each of the type its agent declares.
pub(super) fn read(
    given: &[InputText],
    declared: Option<&InputConfig>,
) -> Result<Map<String, Value>, InputError> {
    let mut inputs = Map::new();
    for InputText { name, text } in given {
        let Some(definition) = declared.and_then(|declared| declared.inputs.get(name)) else {
            return Err(unknown(name, declared));
        };
        let value = typed(text, definition.input_type).ok_or_else(|| InputError::Mistyped {
            name: name.clone(),
            expected: definition.input_type,
            text: text.clone(),
        })?;
        match inputs.get_mut(name) {
            // A list may be given piece by piece.
            Some(Value::Array(items)) => {
                if let Value::Array(more) = value {
                    items.extend(more);
                }
            }
            Some(_) => return Err(InputError::Twice { name: name.clone() }),
            None => {
                inputs.insert(name.clone(), value);
            }
        }
    }
    Ok(inputs)
}

fn unknown(name: &str, declared: Option<&InputConfig>) -> InputError {
    let names: Vec<String> =
        declared.iter().flat_map(|declared| declared.inputs.keys().cloned()).collect();
    InputError::Unknown {
        name: name.to_owned(),
        nearest: nearest(name, names.iter().map(String::as_str)).map(str::to_owned),
        declared: names,
    }
}

fn typed(text: &str, input_type: InputType) -> Option<Value> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    match input_type {
        InputType::String => Some(text.into()),
        InputType::Integer => text.trim().parse::<i64>().ok().map(Value::from),
        InputType::Number => match text.trim().parse::<i64>() {
            Ok(whole) => Some(whole.into()),
            Err(_) => number(text).map(Value::from),
        },
        InputType::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(true.into()),
            "false" | "no" | "0" => Some(false.into()),
            _ => None,
        },
        InputType::StringArray => Some(list(text, |item| Some(item.into()))?),
        InputType::NumberArray => list(text, |item| typed(item, InputType::Number)),
    }
}

/// A list as JSON, or as words between commas.
fn list(text: &str, item: impl Fn(&str) -> Option<Value>) -> Option<Value> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        let again: Option<Vec<Value>> = items
            .iter()
            .map(|value| match value {
                Value::String(text) => item(text),
                other => item(&other.to_string()),
            })
            .collect();
        return again.map(Value::Array);
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(item).collect::<Option<Vec<Value>>>().map(Value::Array)
}
