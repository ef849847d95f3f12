//! Typed inputs from `--input KEY=VALUE`, checked before anything starts.

use attache_kernel::{
    agent::definition::{InputConfig, InputType},
    id::nearest,
};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The inputs by name, each of the type its agent declares.
pub(super) fn parse(
    given: &[String],
    declared: Option<&InputConfig>,
) -> Result<Map<String, Value>, Failure> {
    let mut inputs = Map::new();
    for pair in given {
        let (name, text) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--input {pair} has no `=`")).hint("write --input KEY=VALUE")
        })?;
        let Some(definition) = declared.and_then(|declared| declared.inputs.get(name)) else {
            return Err(unknown(name, declared));
        };
        let value = typed(text, definition.input_type).ok_or_else(|| {
            let wanted = definition.input_type.as_str();
            Failure::usage(format!("the input `{name}` must be of type {wanted}, not `{text}`"))
        })?;
        match inputs.get_mut(name) {
            // A list may be given piece by piece.
            Some(Value::Array(items)) => {
                if let Value::Array(more) = value {
                    items.extend(more);
                }
            }
            Some(_) => return Err(Failure::usage(format!("the input `{name}` is given twice"))),
            None => {
                inputs.insert(name.to_owned(), value);
            }
        }
    }
    Ok(inputs)
}

fn unknown(name: &str, declared: Option<&InputConfig>) -> Failure {
    let names: Vec<&str> =
        declared.iter().flat_map(|declared| declared.inputs.keys().map(String::as_str)).collect();
    let failure = Failure::usage(format!("the agent has no input `{name}`"));
    match nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None if names.is_empty() => failure.hint("it declares no inputs at all"),
        None => failure.hint(format!("it has: {}", names.join(", "))),
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
