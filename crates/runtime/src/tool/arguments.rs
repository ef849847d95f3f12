//! The arguments of a call, read with patience.
//!
//! Models write numbers as strings, `null` for nothing and the names of other hosts' parameters; all
//! that is understood. What is not understood is an error that names the parameter and its type.

use attache_kernel::id::nearest;
use serde_json::{Map, Value};

use super::ToolOutput;

/// Other names that models know a parameter by.
const ALIASES: &[(&str, &[&str])] = &[
    (
        "path",
        &[
            "file_path",
            "filePath",
            "absolute_path",
            "file",
            "filename",
            "dir_path",
            "directory",
            "dir",
            "target_file",
        ],
    ),
    ("pattern", &["query", "regex", "glob_pattern"]),
    ("offset", &["start_line", "line"]),
    ("limit", &["max_lines", "num_lines"]),
    ("glob", &["include", "include_pattern"]),
    ("type", &["file_type"]),
    ("mode", &["output_mode"]),
    ("context", &["-C"]),
    ("before", &["-B"]),
    ("after", &["-A"]),
    ("ignore_case", &["-i", "case_insensitive"]),
    ("content", &["contents", "file_text", "text"]),
    ("old_string", &["old_str", "oldString", "old_text", "search"]),
    ("new_string", &["new_str", "newString", "new_text", "replace"]),
    ("replace_all", &["replaceAll"]),
    ("patch", &["input"]),
    ("fixed_strings", &["-F", "literal"]),
    ("head_limit", &["max_results"]),
    // The rules of the rights look at every one of these: `kernel/rights/rule/call.rs`.
    ("command", &["cmd"]),
    ("chars", &["input", "text", "data"]),
    ("workdir", &["working_directory", "cwd", "directory", "dir_path"]),
    ("timeout_ms", &["timeout"]),
];

/// Why arguments were refused; the text is for the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("the arguments must be a JSON object, not {0}")]
    NotAnObject(&'static str),
    #[error("parameter `{name}` ({expected}) is required")]
    Missing { name: &'static str, expected: &'static str },
    #[error("parameter `{name}` must be {expected}, not {found}")]
    Mistyped { name: &'static str, expected: String, found: String },
    #[error("parameter `{name}` is not taken; {instead}")]
    NotTaken { name: &'static str, instead: &'static str },
    #[error("unknown parameter `{name}`{}; the parameters are {known}", hint(*near))]
    Unknown { name: String, near: Option<&'static str>, known: String },
}

/// Arguments not yet read.
#[derive(Debug)]
pub(super) struct Arguments {
    given: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Arguments {
    pub(super) fn new(given: Value) -> Result<Self, ArgumentError> {
        let given = match given {
            Value::Object(given) => given,
            Value::Null => Map::new(),
            // Some models encode the object twice.
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Object(given)) => given,
                _ => return Err(ArgumentError::NotAnObject("a string")),
            },
            other => return Err(ArgumentError::NotAnObject(type_of(&other))),
        };
        Ok(Self { given, known: Vec::new() })
    }

    /// Refuses a parameter of other hosts, unless it says nothing.
    pub(super) fn refuse(
        &mut self,
        name: &'static str,
        instead: &'static str,
    ) -> Result<(), ArgumentError> {
        match self.given.remove(name) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::Object(given)) if given.is_empty() => Ok(()),
            Some(_) => Err(ArgumentError::NotTaken { name, instead }),
        }
    }

    /// A text that must be there.
    pub(super) fn required_text(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        self.text(name)?.ok_or(ArgumentError::Missing { name, expected: "a string" })
    }

    /// A text that must be there and may be empty.
    pub(super) fn required_content(&mut self, name: &'static str) -> Result<String, ArgumentError> {
        match self.take(name) {
            None => Err(ArgumentError::Missing { name, expected: "a string" }),
            Some(Value::String(text)) => Ok(text),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(other) => Err(mistyped(name, "a string", &other)),
        }
    }

    /// A text, if given and not empty.
    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>, ArgumentError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(mistyped(name, "a string", &other)),
        }
    }

    /// A whole number from zero up, if given.
    pub(super) fn number(&mut self, name: &'static str) -> Result<Option<usize>, ArgumentError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        let number = match &value {
            Value::Number(number) => number.to_string().parse::<f64>().ok(),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse::<f64>().ok(),
            _ => None,
        };
        number
            .filter(|number| number.fract() == 0.0 && *number >= 0.0)
            // A number that is larger than anything here means as much as there is.
            .and_then(|number| format!("{:.0}", number.min(MAX_NUMBER)).parse().ok())
            .map(Some)
            .ok_or_else(|| mistyped(name, "a whole number, 0 or more", &value))
    }

    /// A yes or no; absent is no.
    pub(super) fn flag(&mut self, name: &'static str) -> Result<bool, ArgumentError> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(Value::String(text)) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(Value::Number(number)) if number.as_u64() == Some(1) => Ok(true),
            Some(Value::Number(number)) if number.as_u64() == Some(0) => Ok(false),
            Some(other) => Err(mistyped(name, "true or false", &other)),
        }
    }

    /// One of several words; absent is the first.
    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&[&str], T)],
        default: T,
    ) -> Result<T, ArgumentError> {
        let Some(word) = self.text(name)? else {
            return Ok(default);
        };
        let chosen = choices
            .iter()
            .find(|(words, _)| words.iter().any(|choice| choice.eq_ignore_ascii_case(&word)));
        chosen.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<_> =
                choices.iter().filter_map(|(words, _)| words.first()).copied().collect();
            mistyped(name, &format!("one of {}", words.join(", ")), &Value::String(word))
        })
    }

    /// A value of any type, if given.
    pub(super) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.take(name)
    }

    /// A parameter that other hosts have and that changes nothing here.
    pub(super) fn disregard(&mut self, name: &str) {
        self.given.shift_remove(name);
    }

    /// Ends the reading: arguments that are left are unknown.
    pub(super) fn finish(self) -> Result<(), ArgumentError> {
        let Some((name, _)) = self.given.into_iter().find(|(_, value)| !value.is_null()) else {
            return Ok(());
        };
        Err(ArgumentError::Unknown {
            near: nearest(&name, self.known.iter().copied()),
            known: self.known.join(", "),
            name,
        })
    }

    /// The value under the name or one of its aliases; the name itself comes first.
    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let aliases = ALIASES
            .iter()
            .find(|(canonical, _)| *canonical == name)
            .map_or(&[][..], |(_, aliases)| aliases);
        std::iter::once(&name)
            .chain(aliases)
            .filter_map(|name| self.given.shift_remove(*name))
            .filter(|value| !value.is_null())
            .collect::<Vec<_>>()
            .into_iter()
            .next()
    }
}

/// The greatest number taken; far beyond any line or depth, and exact as a float.
const MAX_NUMBER: f64 = 4_294_967_295.0;

pub(super) fn mistyped(name: &'static str, expected: &str, found: &Value) -> ArgumentError {
    let found = match found {
        Value::Array(_) | Value::Object(_) => type_of(found).to_owned(),
        scalar => scalar.to_string().chars().take(80).collect(),
    };
    ArgumentError::Mistyped { name, expected: expected.to_owned(), found }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

impl From<ArgumentError> for ToolOutput {
    fn from(error: ArgumentError) -> Self {
        Self::error(error.to_string())
    }
}
