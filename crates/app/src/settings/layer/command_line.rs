//! The command line as layers: `-c KEY=VALUE`, and the flags that stand for settings.
//!
//! A key that does not exist is an error at once: nothing is shown of settings that were not meant.

use super::{check::Reading, merge::lay_over};
use crate::settings::{
    error::SettingsError,
    origin::Origin,
    written::{KeyPath, Node, Table, Value, toml as written_toml},
};

/// A flag that stands for a setting.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    /// The flag as it is typed, e.g. `--model`.
    pub(crate) name: &'static str,
    /// The setting, e.g. `model`.
    pub(crate) key: String,
    /// Its value.
    pub(crate) value: toml::Value,
}

/// What the `-c` arguments set.
pub(crate) fn overrides(
    arguments: &[String],
    reading: &Reading<'_>,
) -> Result<Table, SettingsError> {
    let mut table = Table::new();
    for argument in arguments {
        // What follows the `=` may be a secret and is not repeated.
        let malformed = |problem| SettingsError::MalformedOverride {
            text: argument.split('=').next().unwrap_or_default().to_owned(),
            problem,
        };
        let (key, text) = split(argument).map_err(malformed)?;
        let value = written_toml::read_value(text, &Origin::Override)
            .unwrap_or_else(|| Node::new(Value::Text(text.to_owned()), Origin::Override));
        lay_over(&mut table, strictly(key.table_of(value), reading)?);
    }
    Ok(table)
}

/// What the flags set.
pub(crate) fn flags(flags: &[Flag], reading: &Reading<'_>) -> Result<Table, SettingsError> {
    let mut table = Table::new();
    for flag in flags {
        let key = KeyPath::new(flag.key.split('.').map(str::to_owned).collect());
        let value = written_toml::of_value(flag.value.clone(), &Origin::Flag { name: flag.name });
        lay_over(&mut table, strictly(key.table_of(value), reading)?);
    }
    Ok(table)
}

/// A layer somebody typed: a key that does not exist is an error.
pub(crate) fn strictly(written: Table, reading: &Reading<'_>) -> Result<Table, SettingsError> {
    let checked = reading.check(written)?;
    match checked.unknown.into_iter().next() {
        None => Ok(checked.table),
        Some(unknown) => Err(unknown.into()),
    }
}

/// A key as it is typed, without a value.
pub(crate) fn key_path(key: &str) -> Result<KeyPath, SettingsError> {
    let malformed = |problem| SettingsError::MalformedKey { key: key.to_owned(), problem };
    split(&format!("{key}=")).map(|(path, _)| path).map_err(malformed)
}

/// No key is longer; more would only be a way to exhaust the stack.
const MOST_NAMES: usize = 16;

/// Splits `KEY=VALUE`. Names in the key are split at dots; one that has a dot or `=` in it is put in
/// double quotes.
fn split(argument: &str) -> Result<(KeyPath, &str), &'static str> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut quoted = false;
    let mut letters = argument.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => quoted = !quoted,
            '\\' if quoted => name.extend(letters.next().map(|(_, escaped)| escaped)),
            '.' if !quoted => names.push(std::mem::take(&mut name).trim().to_owned()),
            '=' if !quoted => {
                names.push(name.trim().to_owned());
                let value = argument.get(at + 1..).unwrap_or_default().trim();
                return path(names).map(|path| (path, value));
            }
            _ => name.push(letter),
        }
    }
    Err(if quoted { "a quote is not closed" } else { "it has no `=`" })
}

fn path(names: Vec<String>) -> Result<KeyPath, &'static str> {
    if names.len() > MOST_NAMES {
        Err("the key has too many parts")
    } else if names.iter().any(String::is_empty) {
        Err("a part of the key is empty")
    } else {
        Ok(KeyPath::new(names))
    }
}
