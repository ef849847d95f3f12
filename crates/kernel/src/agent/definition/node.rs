//! A node: one value of a header, with its place in the file.
//!
//! YAML and TOML both become this tree. A scalar stays text until a field asks for a type, so that a
//! name such as `123` or a model such as `4.1` keeps its spelling.

use serde_json::{Map, Number, Value};

use super::diagnostic::Position;

/// One value of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) kind: Kind,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A single value, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// Whether a scalar's text may stand for something other than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Unquoted: `true`, `3` and `~` mean what they look like.
    Plain,
    /// Quoted or a block: text and nothing else.
    Text,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_at: Position,
    pub(crate) value: Node,
}

impl Scalar {
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: printable(text.into()), style: Style::Plain }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: printable(text.into()), style: Style::Text }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.style == Style::Plain
            && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The truth value, in all the spellings YAML has ever had; quoted words count, people quote them.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        let is = |words: [&str; 3]| words.iter().any(|word| self.text.eq_ignore_ascii_case(word));
        if is(["true", "yes", "on"]) {
            Some(true)
        } else if is(["false", "no", "off"]) {
            Some(false)
        } else {
            None
        }
    }

    pub(crate) fn as_integer(&self) -> Option<i64> {
        self.text.trim().replace('_', "").parse().ok()
    }

    pub(crate) fn as_float(&self) -> Option<f64> {
        let value: f64 = self.text.trim().parse().ok()?;
        value.is_finite().then_some(value)
    }

    fn to_json(&self) -> Value {
        if self.style == Style::Text {
            return Value::String(self.text.clone());
        }
        if self.is_null() {
            return Value::Null;
        }
        match self.text.as_str() {
            "true" | "True" | "TRUE" => return Value::Bool(true),
            "false" | "False" | "FALSE" => return Value::Bool(false),
            _ => {}
        }
        let numeric =
            self.text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
        if numeric && let Ok(integer) = self.text.parse::<i64>() {
            return Value::Number(integer.into());
        }
        if numeric && let Some(number) = self.as_float().and_then(Number::from_f64) {
            return Value::Number(number);
        }
        Value::String(self.text.clone())
    }
}

impl Member {
    /// A member without a place in a file.
    pub(crate) fn named(key: &str, value: Node) -> Self {
        Self { key: printable(key.to_owned()), key_at: Position::START, value }
    }
}

impl Node {
    /// A value without a place in a file.
    pub(crate) fn from_json(value: &Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Scalar(Scalar::plain("")),
            Value::Bool(value) => Kind::Scalar(Scalar::plain(value.to_string())),
            Value::Number(number) => Kind::Scalar(Scalar::plain(number.to_string())),
            Value::String(text) => Kind::Scalar(Scalar::text(text)),
            Value::Array(items) => Kind::List(items.iter().map(Self::from_json).collect()),
            Value::Object(members) => Kind::Map(
                members
                    .iter()
                    .map(|(key, value)| Member::named(key, Self::from_json(value)))
                    .collect(),
            ),
        };
        Self::new(Position::START, kind)
    }

    pub(crate) fn new(at: Position, kind: Kind) -> Self {
        Self { at, kind }
    }

    /// The place of the value that a JSON pointer leads to, or of the nearest value above it.
    pub(crate) fn place_of(&self, pointer: &str) -> Position {
        let mut node = self;
        for part in pointer.split('/').skip(1) {
            let name = part.replace("~1", "/").replace("~0", "~");
            let inner = match &node.kind {
                Kind::Map(members) => {
                    members.iter().find(|member| member.key == name).map(|member| &member.value)
                }
                Kind::List(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
                Kind::Scalar(_) => None,
            };
            match inner {
                Some(inner) => node = inner,
                None => break,
            }
        }
        node.at
    }

    pub(crate) fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_null)
    }

    /// What it is, for a message.
    pub(crate) fn describe(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar(scalar) if scalar.is_null() => "nothing",
            Kind::Scalar(scalar) => match scalar.to_json() {
                Value::Bool(_) => "a truth value",
                Value::Number(_) => "a number",
                Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => "a text",
            },
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(scalar) => scalar.to_json(),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(members) => Value::Object(to_object(members)),
        }
    }

    /// How many nodes it is made of, itself included.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.kind {
            Kind::Scalar(_) => 0,
            Kind::List(items) => items.iter().map(Self::size).sum(),
            Kind::Map(members) => members.iter().map(|member| member.value.size()).sum(),
        }
    }
}

/// A text without control characters other than line breaks and tabs: they do not belong in a name or a
/// description, and a terminal would obey them.
pub(crate) fn printable(text: String) -> String {
    let hidden = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    if text.contains(hidden) { text.replace(hidden, "") } else { text }
}

/// The members as a JSON object; of a repeated key, the first value.
pub(crate) fn to_object(members: &[Member]) -> Map<String, Value> {
    let mut object = Map::new();
    for member in members {
        if !object.contains_key(&member.key) {
            object.insert(member.key.clone(), member.value.to_json());
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_mean_what_they_look_like_and_quoted_ones_are_text() {
        for (text, value) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("true", json!(true)),
            ("yes", json!("yes")),
            ("3", json!(3)),
            ("-1", json!(-1)),
            ("0.5", json!(0.5)),
            ("1e400", json!("1e400")),
            ("nan", json!("nan")),
            ("infinity", json!("infinity")),
            ("4.1.2", json!("4.1.2")),
            ("gpt-5", json!("gpt-5")),
        ] {
            assert_eq!(Scalar::plain(text).to_json(), value, "{text:?}");
            assert_eq!(Scalar::text(text).to_json(), json!(text));
        }
    }
}
