//! What was written: the values of one layer, or of several merged, each with its origin.
//!
//! Nothing here knows which keys exist or what they mean; `schema` and `meaning` do.

pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod toml;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use super::origin::Origin;

/// Keys and what was written for each.
pub(crate) type Table = BTreeMap<String, Node>;

/// A value and where it was written.
#[derive(Clone, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub(crate) value: Value,
    /// Where it was written.
    pub(crate) origin: Origin,
}

/// A value, as written.
#[derive(Clone, PartialEq)]
pub(crate) enum Value {
    /// A string.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// `true` or `false`.
    Switch(bool),
    /// A date or time; no setting takes one.
    Date(String),
    /// A string that stands for a path, made absolute.
    Path(PathBuf),
    /// A list.
    List(Vec<Node>),
    /// A table.
    Table(Table),
}

impl Node {
    /// A value and where it was written.
    pub(crate) fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The files in which the value, or a part of it, was written.
    pub(crate) fn collect_files<'a>(&'a self, files: &mut Vec<&'a Path>) {
        match &self.value {
            Value::Table(table) if !table.is_empty() => {
                for node in table.values() {
                    node.collect_files(files);
                }
            }
            _ => files.extend(self.origin.place().map(|place| &*place.path)),
        }
    }

    /// The same value, said to come from a profile.
    pub(crate) fn in_profile(self, name: &str) -> Self {
        let value = match self.value {
            Value::Table(table) => Value::Table(
                table.into_iter().map(|(key, node)| (key, node.in_profile(name))).collect(),
            ),
            other => other,
        };
        let origin = Origin::Profile { name: name.to_owned(), within: Box::new(self.origin) };
        Self { value, origin }
    }
}

impl Value {
    /// The value in JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) | Self::Date(text) => text.as_str().into(),
            Self::Whole(number) => (*number).into(),
            Self::Fraction(number) => (*number).into(),
            Self::Switch(on) => (*on).into(),
            Self::Path(path) => path.to_string_lossy().into(),
            Self::List(items) => items.iter().map(|item| item.value.to_json()).collect(),
            Self::Table(table) => table
                .iter()
                .map(|(key, node)| (key.clone(), node.value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// What kind of value it is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Whole(_) => "a whole number",
            Self::Fraction(_) => "a number with a fraction",
            Self::Switch(_) => "true or false",
            Self::Date(_) => "a date",
            Self::Path(_) => "a path",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Shows the kind only: a value may be a secret.
impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(table) => table.fmt(formatter),
            other => formatter.write_str(other.kind()),
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} from {}", self.value, self.origin)
    }
}

/// The way to a value through tables, written with dots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<String>);

impl KeyPath {
    /// A name as it is shown.
    pub(crate) fn shown(name: &str) -> String {
        Self::default().child(name).to_string()
    }

    /// A path of these names.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// The path to `name` below this one.
    pub(crate) fn child(&self, name: &str) -> Self {
        let mut names = self.0.clone();
        names.push(name.to_owned());
        Self(names)
    }

    /// The names on the way.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// What stands there in `table`.
    pub(crate) fn find<'a>(&self, table: &'a Table) -> Option<&'a Node> {
        find(table, &self.0)
    }

    /// A table that holds only `value`, at this path.
    pub(crate) fn table_of(self, value: Node) -> Table {
        let mut names = self.0.into_iter().rev();
        let Some(last) = names.next() else {
            return Table::new();
        };
        let origin = value.origin.clone();
        let mut table = Table::from([(last, value)]);
        for name in names {
            table = Table::from([(name, Node::new(Value::Table(table), origin.clone()))]);
        }
        table
    }
}

/// What stands in `table` at the end of `names`.
pub(crate) fn find<'a, Name: AsRef<str>>(table: &'a Table, names: &[Name]) -> Option<&'a Node> {
    let (first, rest) = names.split_first()?;
    let node = table.get(first.as_ref())?;
    match &node.value {
        _ if rest.is_empty() => Some(node),
        Value::Table(inner) => find(inner, rest),
        _ => None,
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str(".")?;
            }
            let bare = !name.is_empty()
                && name
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
            if bare {
                formatter.write_str(name)?;
            } else {
                // Escapes control characters as well, which a terminal would obey.
                write!(formatter, "{name:?}")?;
            }
        }
        Ok(())
    }
}
