//! Forms: values that an MCP server asks the user for in the middle of a call.
//!
//! Invariant: everything a form shows is text of the server, cleaned and bounded. Nothing is filled in that
//! somebody did not type, but for the values that the server itself proposes.

use attache_kernel::id::{AgentName, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::mcp_client::clean_text::{clean, clean_line};

/// The most fields of a form, and choices of a field.
const MOST_FIELDS: usize = 32;
const MOST_CHOICES: usize = 100;
/// The longest message and the longest label that are shown.
const LONGEST_MESSAGE: usize = 4000;
const LONGEST_LABEL: usize = 200;
/// The longest text that is filled in, in characters.
const LONGEST_TEXT: u64 = 10_000;

/// Values that a server asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The run whose call the server works on.
    pub agent_id: RunId,
    /// The name of its agent.
    pub agent_type: AgentName,
    /// The server.
    pub server: String,
    /// What it says.
    pub message: String,
    /// What it wants to know.
    pub fields: Vec<Field>,
    /// The schema as the server wrote it, for somebody who shows forms.
    pub schema: Value,
}

/// A value that a server asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key of the value.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What it is for; empty if the server does not say.
    pub description: String,
    /// Whether the server needs it.
    pub is_required: bool,
    /// The value if nothing is typed.
    pub default: Option<Value>,
    /// What it may be.
    pub kind: FieldKind,
}

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// A text of this many characters.
    Text {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// A number.
    Number {
        /// At least.
        min: Option<f64>,
        /// At most.
        max: Option<f64>,
        /// Whether it is a whole one.
        is_whole: bool,
    },
    /// Yes or no.
    Flag,
    /// One of these values; each with what it is called.
    Choice(Vec<(String, String)>),
    /// Some of these values.
    Choices(Vec<(String, String)>),
}

/// What somebody makes of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", content = "values", rename_all = "snake_case")]
pub enum FormAnswer {
    /// The values.
    Filled(Map<String, Value>),
    /// A no.
    Declined,
    /// Neither: the form was put away.
    Cancelled,
}

impl Form {
    /// A form as a server describes it.
    pub(crate) fn new(run: (RunId, AgentName), server: &str, message: &str, schema: Value) -> Self {
        let (agent_id, agent_type) = run;
        let mut message = clean(message);
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        let required: Vec<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let properties = schema["properties"].as_object();
        let fields = properties.into_iter().flatten().take(MOST_FIELDS).map(|(name, written)| {
            let label =
                |key: &str| clean_line(written[key].as_str().unwrap_or_default(), LONGEST_LABEL);
            let title = Some(label("title")).filter(|title| !title.is_empty());
            Field {
                title: title.unwrap_or_else(|| clean_line(name, LONGEST_LABEL)),
                description: label("description"),
                is_required: required.contains(&name.as_str()),
                default: written.get("default").cloned(),
                kind: kind(written),
                name: name.clone(),
            }
        });
        let fields = fields.collect();
        let server = clean_line(server, LONGEST_LABEL);
        Self { agent_id, agent_type, server, message, fields, schema }
    }
}

fn kind(written: &Value) -> FieldKind {
    let number = |key: &str| written[key].as_f64();
    match written["type"].as_str() {
        Some("boolean") => FieldKind::Flag,
        Some(kind @ ("number" | "integer")) => FieldKind::Number {
            min: number("minimum"),
            max: number("maximum"),
            is_whole: kind == "integer",
        },
        Some("array") => FieldKind::Choices(choices(&written["items"])),
        _ => match choices(written) {
            choices if choices.is_empty() => FieldKind::Text {
                min: written["minLength"].as_u64().unwrap_or_default(),
                max: written["maxLength"].as_u64().unwrap_or(LONGEST_TEXT).min(LONGEST_TEXT),
            },
            choices => FieldKind::Choice(choices),
        },
    }
}

/// The values of a choice in any of its three spellings.
fn choices(written: &Value) -> Vec<(String, String)> {
    let titled = written["oneOf"].as_array().or_else(|| written["anyOf"].as_array());
    if let Some(titled) = titled {
        let values = titled.iter().filter_map(|choice| {
            let value = choice["const"].as_str()?;
            Some((
                value.to_owned(),
                clean_line(choice["title"].as_str().unwrap_or(value), LONGEST_LABEL),
            ))
        });
        return values.take(MOST_CHOICES).collect();
    }
    let names = written["enumNames"].as_array();
    let values = written["enum"].as_array().into_iter().flatten().enumerate();
    let values = values.filter_map(|(place, value)| {
        let value = value.as_str()?;
        let name = names.and_then(|names| names.get(place)?.as_str()).unwrap_or(value);
        Some((value.to_owned(), clean_line(name, LONGEST_LABEL)))
    });
    values.take(MOST_CHOICES).collect()
}

impl Field {
    /// What is typed, as a value; none leaves the field out. Fails with what is wrong.
    pub fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let typed = typed.trim();
        if typed.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err("a value is needed".to_owned()),
                None => Ok(None),
            };
        }
        self.value(typed).map(Some)
    }

    fn value(&self, typed: &str) -> Result<Value, String> {
        match &self.kind {
            FieldKind::Text { min, max } => {
                let length = u64::try_from(typed.chars().count()).unwrap_or(u64::MAX);
                if length < *min || length > *max {
                    return Err(format!("it must have {min} to {max} characters"));
                }
                Ok(Value::String(typed.to_owned()))
            }
            FieldKind::Number { min, max, is_whole } => {
                let number: Option<Number> = if *is_whole {
                    typed.parse::<i64>().ok().map(Number::from)
                } else {
                    typed.parse::<f64>().ok().and_then(Number::from_f64)
                };
                let wanted = if *is_whole { "a whole number" } else { "a number" };
                let number = number.ok_or_else(|| format!("type {wanted}"))?;
                let size = number.as_f64().unwrap_or_default();
                if min.is_some_and(|min| size < min) || max.is_some_and(|max| size > max) {
                    let bound =
                        |bound: &Option<f64>| bound.map_or("any".to_owned(), |it| it.to_string());
                    return Err(format!("it must be from {} to {}", bound(min), bound(max)));
                }
                Ok(Value::Number(number))
            }
            FieldKind::Flag => match typed.to_ascii_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(Value::Bool(true)),
                "n" | "no" | "false" => Ok(Value::Bool(false)),
                _ => Err("type yes or no".to_owned()),
            },
            FieldKind::Choice(choices) => chosen(typed, choices).map(Value::String),
            FieldKind::Choices(choices) => {
                let parts = typed.split(',').map(str::trim).filter(|part| !part.is_empty());
                let values = parts.map(|part| chosen(part, choices).map(Value::String));
                values.collect::<Result<_, _>>().map(Value::Array)
            }
        }
    }

    /// What may be typed, in a few words.
    pub fn hint(&self) -> String {
        let listed = |choices: &[(String, String)]| {
            let named = choices
                .iter()
                .enumerate()
                .map(|(place, (_, name))| format!("{} {name}", place + 1));
            named.collect::<Vec<_>>().join(", ")
        };
        let hint = match &self.kind {
            FieldKind::Text { .. } => String::new(),
            FieldKind::Number { is_whole: true, .. } => "a whole number".to_owned(),
            FieldKind::Number { .. } => "a number".to_owned(),
            FieldKind::Flag => "yes or no".to_owned(),
            FieldKind::Choice(choices) => listed(choices),
            FieldKind::Choices(choices) => {
                format!("some of {}; with commas between", listed(choices))
            }
        };
        let default = self.default.as_ref().map(|default| match default {
            Value::String(text) => format!("Enter for {}", clean_line(text, LONGEST_LABEL)),
            other => format!("Enter for {}", clean_line(&other.to_string(), LONGEST_LABEL)),
        });
        let optional = (!self.is_required).then(|| "Enter to leave it out".to_owned());
        let parts = [Some(hint).filter(|hint| !hint.is_empty()), default.or(optional)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The value of a choice that is named by its number, its value or its title.
fn chosen(typed: &str, choices: &[(String, String)]) -> Result<String, String> {
    let by_name = choices.iter().find(|(value, title)| {
        value == typed || title.eq_ignore_ascii_case(typed) || value.eq_ignore_ascii_case(typed)
    });
    let by_number =
        || typed.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    let found = by_name.or_else(by_number).map(|(value, _)| value.clone());
    found.ok_or_else(|| format!("type a number from 1 to {}", choices.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(schema: Value) -> Form {
        let run = (RunId::new("agent-1"), AgentName::new("helper"));
        Form::new(run, "lab", "Who\u{1b}[31m are you?", schema)
    }

    #[test]
    fn values_are_read_as_their_fields_want_them() {
        let form = form(json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Na\u{1b}[2Jme", "minLength": 2},
                "age": {"type": "integer", "minimum": 0, "maximum": 150},
                "share": {"type": "number"},
                "sure": {"type": "boolean", "default": true},
                "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
                "days": {"type": "array", "items": {"type": "string", "enum": ["mon", "tue"]}},
            },
            "required": ["name"],
        }));
        assert_eq!(form.message, "Who are you?");
        let field = |name: &str| form.fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(field("name").title, "Name");
        for (name, typed, read) in [
            ("name", " Ada \n", Ok(Some(json!("Ada")))),
            ("name", "", Err("a value is needed")),
            ("name", "x", Err("it must have 2 to 10000 characters")),
            ("age", "36", Ok(Some(json!(36)))),
            ("age", "36.5", Err("type a whole number")),
            ("age", "200", Err("it must be from 0 to 150")),
            ("age", "", Ok(None)),
            ("share", "0.5", Ok(Some(json!(0.5)))),
            ("share", "NaN", Err("type a number")),
            ("sure", "", Ok(Some(json!(true)))),
            ("sure", "No", Ok(Some(json!(false)))),
            ("sure", "perhaps", Err("type yes or no")),
            ("colour", "2", Ok(Some(json!("g")))),
            ("colour", "red", Ok(Some(json!("r")))),
            ("colour", "3", Err("type a number from 1 to 2")),
            ("size", "small", Ok(Some(json!("s")))),
            ("days", "tue, 1", Ok(Some(json!(["tue", "mon"])))),
        ] {
            let found = field(name).read(typed);
            assert_eq!(found, read.map_err(str::to_owned), "{name}: {typed}");
        }
        assert_eq!(field("colour").hint(), "1 Red, 2 Green; Enter to leave it out");
        assert_eq!(field("sure").hint(), "yes or no; Enter for true");
    }
}
