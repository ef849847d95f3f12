//! Reads JSON into what was written, every value with its line and column.
//!
//! `serde_json` keeps no positions, but a borrowed `RawValue` is a slice of the text: where it
//! begins tells the place.

use std::{borrow::Cow, collections::BTreeMap, path::Path};

use serde_json::value::RawValue;

use super::{Node, Table, Value, lines::Lines};
use crate::settings::error::SettingsError;

/// Reads the text of a JSON file; none if it is not an object.
pub(crate) fn read(path: &Path, text: &str) -> Result<Option<Table>, SettingsError> {
    let lines = Lines::new(path, text);
    // The first pass refuses what is nested without end, which raw values would not.
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| syntax(&lines, &error))?;
    if !value.is_object() {
        return Ok(None);
    }
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| syntax(&lines, &error))?;
    let reader = Reader { text, lines };
    match reader.node(raw)? {
        Some(Node { value: Value::Table(table), .. }) => Ok(Some(table)),
        _ => Ok(None),
    }
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines<'a>,
}

impl<'a> Reader<'a> {
    /// The value; none for `null`, which stands for an absent one.
    fn node(&self, raw: &'a RawValue) -> Result<Option<Node>, SettingsError> {
        let text = raw.get();
        let value = match text.as_bytes().first() {
            Some(b'{') => Value::Table(self.table(text)?),
            Some(b'[') => Value::List(self.list(text)?),
            _ => match self.parse(text)? {
                serde_json::Value::String(text) => Value::Text(text),
                serde_json::Value::Bool(on) => Value::Switch(on),
                serde_json::Value::Number(number) => match number.as_i64() {
                    Some(number) => Value::Whole(number),
                    None => Value::Fraction(number.as_f64().unwrap_or(f64::NAN)),
                },
                _ => return Ok(None),
            },
        };
        let offset = text.as_ptr().addr() - self.text.as_ptr().addr();
        Ok(Some(Node::new(value, self.lines.origin(offset))))
    }

    fn table(&self, text: &'a str) -> Result<Table, SettingsError> {
        let mut table = Table::new();
        // Keys with escapes cannot be borrowed.
        for (key, raw) in self.parse::<BTreeMap<Key<'a>, &'a RawValue>>(text)? {
            if let Some(node) = self.node(raw)? {
                table.insert(key.0.into_owned(), node);
            }
        }
        Ok(table)
    }

    fn list(&self, text: &'a str) -> Result<Vec<Node>, SettingsError> {
        let mut items = Vec::new();
        for raw in self.parse::<Vec<&'a RawValue>>(text)? {
            items.extend(self.node(raw)?);
        }
        Ok(items)
    }

    fn parse<T: serde::Deserialize<'a>>(&self, text: &'a str) -> Result<T, SettingsError> {
        serde_json::from_str(text).map_err(|error| syntax(&self.lines, &error))
    }
}

/// A key of an object, borrowed from the text where that is possible.
#[derive(PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn syntax(lines: &Lines<'_>, error: &serde_json::Error) -> SettingsError {
    let text = error.to_string();
    // The place is given in front; serde_json repeats it at the end.
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    SettingsError::Syntax { place: lines.at(error.line(), error.column()), format: "JSON", message }
}
