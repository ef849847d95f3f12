//! Reads TOML into what was written, every value with its line and column.

use std::{borrow::Borrow as _, path::Path};

use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

use super::{Node, Table, Value, lines::Lines};
use crate::settings::{error::SettingsError, origin::Origin};

/// Reads the text of a TOML file.
pub(crate) fn read(path: &Path, text: &str) -> Result<Table, SettingsError> {
    let lines = Lines::new(path, text);
    let syntax = |offset, message: &str| SettingsError::Syntax {
        place: lines.place(offset),
        format: "TOML",
        message: message.to_owned(),
    };
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        syntax(offset, error.message())
    })?;
    table(document.get_ref(), &|offset| lines.origin(offset))
        .map_err(|TooBig { offset }| syntax(offset, "the number is too large"))
}

/// Reads one TOML value of the command line or the environment; `None` if it is not TOML.
pub(crate) fn read_value(text: &str, origin: &Origin) -> Option<Node> {
    let value = DeValue::parse(text).ok()?;
    node(&value, &|_| origin.clone()).ok()
}

/// A value that is in memory already.
pub(crate) fn of_value(value: toml::Value, origin: &Origin) -> Node {
    let value = match value {
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => Value::Whole(number),
        toml::Value::Float(number) => Value::Fraction(number),
        toml::Value::Boolean(on) => Value::Switch(on),
        toml::Value::Datetime(date) => Value::Date(date.to_string()),
        toml::Value::Array(items) => {
            Value::List(items.into_iter().map(|item| of_value(item, origin)).collect())
        }
        toml::Value::Table(table) => Value::Table(
            table.into_iter().map(|(key, value)| (key, of_value(value, origin))).collect(),
        ),
    };
    Node::new(value, origin.clone())
}

/// A number beyond 64 bits.
struct TooBig {
    offset: usize,
}

fn table(table: &DeTable<'_>, origin: &impl Fn(usize) -> Origin) -> Result<Table, TooBig> {
    table
        .iter()
        .map(|(key, value)| {
            let name: &str = key.get_ref().borrow();
            Ok((name.to_owned(), node(value, origin)?))
        })
        .collect()
}

fn node(value: &Spanned<DeValue<'_>>, origin: &impl Fn(usize) -> Origin) -> Result<Node, TooBig> {
    let offset = value.span().start;
    let read = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(number) => Value::Whole(whole(number).ok_or(TooBig { offset })?),
        DeValue::Float(number) => {
            Value::Fraction(number.as_str().parse().map_err(|_| TooBig { offset })?)
        }
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items.iter().map(|item| node(item, origin)).collect::<Result<Vec<_>, TooBig>>()?,
        ),
        DeValue::Table(inner) => Value::Table(table(inner, origin)?),
    };
    Ok(Node::new(read, origin(offset)))
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}
