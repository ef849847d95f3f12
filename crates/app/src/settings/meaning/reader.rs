//! Reads typed values out of a table that was checked.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    ApprovalPolicy, DiscoveryMode, Durability, Mode, NameFrom, Secret, WireApi, Words as _,
};
use crate::settings::{
    error::SettingsError,
    schema::Keys,
    written::{KeyPath, Node, Table, Value},
};

/// A table, and the way to it.
pub(super) struct Reader<'a> {
    /// `None` for a section that is not written.
    table: Option<&'a Table>,
    at: KeyPath,
}

/// A type a setting may have.
pub(super) trait Meaning: Sized {
    /// What is expected, with its article.
    const EXPECTED: &'static str;

    /// What the value means, if it can be this.
    fn read(value: &Value) -> Option<Self>;
}

impl<'a> Reader<'a> {
    /// The whole of the settings.
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table: Some(table), at: KeyPath::default() }
    }

    /// A table in this one.
    pub(super) fn section(&self, name: &str) -> Self {
        Self { table: self.table(name), at: self.at.child(name) }
    }

    /// A value that may be unset.
    pub(super) fn optional<T: Meaning>(&self, name: &str) -> Result<Option<T>, SettingsError> {
        self.node(name).map(|node| meaning(node, &self.at.child(name))).transpose()
    }

    /// A value that the built-in layer always has.
    pub(super) fn required<T: Meaning>(&self, name: &str) -> Result<T, SettingsError> {
        self.optional(name)?
            .ok_or_else(|| SettingsError::Unset { key: self.at.child(name).to_string() })
    }

    /// Values by names the user chose.
    pub(super) fn map<T: Meaning>(&self, name: &str) -> Result<BTreeMap<String, T>, SettingsError> {
        let at = self.at.child(name);
        self.table(name)
            .into_iter()
            .flatten()
            .map(|(entry, node)| Ok((entry.clone(), meaning(node, &at.child(entry))?)))
            .collect()
    }

    /// Tables by names the user chose.
    pub(super) fn entries<T>(
        &self,
        name: &str,
        read: impl Fn(&Reader<'_>) -> Result<T, SettingsError>,
    ) -> Result<BTreeMap<String, T>, SettingsError> {
        let entries = self.section(name);
        entries
            .table
            .into_iter()
            .flatten()
            .map(|(entry, _)| Ok((entry.clone(), read(&entries.section(entry))?)))
            .collect()
    }

    /// What else is in the table.
    pub(super) fn others(&self, known: Keys) -> BTreeMap<String, serde_json::Value> {
        self.table
            .into_iter()
            .flatten()
            .filter(|(name, _)| known.find(name).is_none())
            .map(|(name, node)| (name.clone(), node.value.to_json()))
            .collect()
    }

    fn node(&self, name: &str) -> Option<&'a Node> {
        self.table?.get(name)
    }

    fn table(&self, name: &str) -> Option<&'a Table> {
        match &self.node(name)?.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

fn meaning<T: Meaning>(node: &Node, at: &KeyPath) -> Result<T, SettingsError> {
    T::read(&node.value).ok_or_else(|| SettingsError::WrongValue {
        key: at.to_string(),
        expected: T::EXPECTED.to_owned(),
        found: node.value.kind().to_owned(),
        origin: Box::new(node.origin.clone()),
        nearest: None,
    })
}

impl Meaning for String {
    const EXPECTED: &'static str = "a string";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Meaning for Secret {
    const EXPECTED: &'static str = String::EXPECTED;

    fn read(value: &Value) -> Option<Self> {
        String::read(value).map(Self::new)
    }
}

impl Meaning for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Switch(on) => Some(*on),
            _ => None,
        }
    }
}

impl Meaning for u64 {
    const EXPECTED: &'static str = "a whole number";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Whole(number) => Self::try_from(*number).ok(),
            _ => None,
        }
    }
}

impl Meaning for u32 {
    const EXPECTED: &'static str = u64::EXPECTED;

    fn read(value: &Value) -> Option<Self> {
        u64::read(value).and_then(|number| Self::try_from(number).ok())
    }
}

impl Meaning for f64 {
    const EXPECTED: &'static str = "a number";

    #[expect(clippy::cast_precision_loss, reason = "prices and seconds are far below 2^53")]
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Whole(number) => Some(*number as Self),
            Value::Fraction(number) => Some(*number),
            _ => None,
        }
    }
}

impl Meaning for PathBuf {
    const EXPECTED: &'static str = "a path";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Path(path) => Some(path.clone()),
            _ => None,
        }
    }
}

impl<T: Meaning> Meaning for Vec<T> {
    const EXPECTED: &'static str = "a list";

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::List(items) => items.iter().map(|item| T::read(&item.value)).collect(),
            _ => None,
        }
    }
}

macro_rules! meaning_of_words {
    ($($name:ident),+) => {
        $(impl Meaning for $name {
            const EXPECTED: &'static str = "a known word";

            fn read(value: &Value) -> Option<Self> {
                match value {
                    Value::Text(word) => Self::of_word(word),
                    _ => None,
                }
            }
        })+
    };
}

meaning_of_words!(ApprovalPolicy, WireApi, Durability, DiscoveryMode, NameFrom, Mode);
