//! Inputs: the values a caller gives, held against what the definition declares before anything starts.

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value};

use crate::{
    agent::definition::{InputConfig, InputType},
    id::nearest,
};

/// What is wrong with one input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputProblem {
    /// A required input is missing.
    #[error("input `{name}` is required{}", About(description))]
    Missing {
        /// Its name.
        name: String,
        /// What it is for.
        description: String,
    },
    /// An input has the wrong type.
    #[error("input `{name}` must be of type {}, not {given}", expected.as_str())]
    Mistyped {
        /// Its name.
        name: String,
        /// The type it must have.
        expected: InputType,
        /// What was given.
        given: String,
    },
    /// The definition declares no such input.
    #[error("there is no input `{name}`{}", Hint(nearest.as_deref()))]
    Unknown {
        /// The name.
        name: String,
        /// The declared name most like it.
        nearest: Option<String>,
    },
}

struct About<'a>(&'a str);

impl fmt::Display for About<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.trim() {
            "" => Ok(()),
            description => write!(formatter, ": {description}"),
        }
    }
}

struct Hint<'a>(Option<&'a str>);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(formatter, "; did you mean `{name}`?"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with the inputs of a call.
pub(crate) fn problems(
    declared: Option<&InputConfig>,
    given: &Map<String, Value>,
) -> Vec<InputProblem> {
    let none = InputConfig::default();
    let declared = &declared.unwrap_or(&none).inputs;
    let mut problems = Vec::new();
    for (name, input) in declared {
        match given.get(name) {
            None | Some(Value::Null) if input.required => problems.push(InputProblem::Missing {
                name: name.clone(),
                description: input.description.clone(),
            }),
            None | Some(Value::Null) => {}
            Some(value) if fits(input.input_type, value) => {}
            Some(value) => problems.push(InputProblem::Mistyped {
                name: name.clone(),
                expected: input.input_type,
                given: shortened(&value.to_string()),
            }),
        }
    }
    for name in given.keys().filter(|name| !declared.contains_key(*name)) {
        problems.push(InputProblem::Unknown {
            name: name.clone(),
            nearest: nearest(name, declared.keys().map(String::as_str)).map(str::to_owned),
        });
    }
    problems
}

fn fits(input_type: InputType, value: &Value) -> bool {
    let all =
        |test: fn(&Value) -> bool| value.as_array().is_some_and(|items| items.iter().all(test));
    match input_type {
        InputType::String => value.is_string(),
        InputType::Number => value.is_number(),
        InputType::Boolean => value.is_boolean(),
        InputType::Integer => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        InputType::StringArray => all(Value::is_string),
        InputType::NumberArray => all(Value::is_number),
    }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}

/// An input as a template shows it: a list is joined by commas, a missing optional one is empty.
pub(crate) fn shown(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::Borrowed(""),
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Array(items)) => {
            let items: Vec<_> = items.iter().map(|item| shown(Some(item))).collect();
            Cow::Owned(items.join(", "))
        }
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_))) => {
            Cow::Owned(other.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::definition::InputDefinition;

    fn declared() -> InputConfig {
        let inputs = InputType::ALL.iter().map(|&(word, input_type)| {
            let definition = InputDefinition {
                description: format!("a {word}"),
                input_type,
                required: word == "string",
            };
            (word.to_owned(), definition)
        });
        InputConfig { inputs: inputs.collect() }
    }

    fn check(given: &Value, expected: &[&str]) {
        let given = given.as_object().unwrap();
        let found: Vec<_> =
            problems(Some(&declared()), given).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{given:?}");
    }

    #[test]
    fn right_types_pass() {
        check(
            &json!({"string": "", "number": 1.5, "boolean": true, "integer": 3.0,
                "string[]": ["a"], "number[]": [1, 2.5]}),
            &[],
        );
        check(&json!({"string": "x", "integer": null, "string[]": []}), &[]);
    }

    #[test]
    fn every_problem_is_named() {
        check(
            &json!({"integer": 1.5, "boolean": "true", "string[]": ["a", 1], "numbr": 1}),
            &[
                "input `boolean` must be of type boolean, not \"true\"",
                "input `integer` must be of type integer, not 1.5",
                "input `string` is required: a string",
                "input `string[]` must be of type string[], not [\"a\",1]",
                "there is no input `numbr`; did you mean `number`?",
            ],
        );
        let unsaid = InputProblem::Missing { name: "file".to_owned(), description: String::new() };
        assert_eq!(unsaid.to_string(), "input `file` is required");
        let given = json!({"x": 1});
        assert_eq!(problems(None, given.as_object().unwrap()).len(), 1);
    }

    #[test]
    fn values_are_shown_as_a_person_would_write_them() {
        for (value, text) in [
            (json!("a"), "a"),
            (json!(1.5), "1.5"),
            (json!(false), "false"),
            (json!(["a", "b"]), "a, b"),
            (json!(null), ""),
        ] {
            assert_eq!(shown(Some(&value)), text);
        }
        assert_eq!(shown(None), "");
    }
}
