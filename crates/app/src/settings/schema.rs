//! Which settings there are: for each key its shape, its default, and what a project may do with it.
//!
//! The table in `keys` is the only list of keys. Checking, the environment's variables, `attache
//! config`, the nearest-name hints and the test of `docs/settings.md` all read it.

mod keys;
mod kind;
mod project;

pub(crate) use self::{
    keys::{MCP_SERVER, ROOT},
    kind::Kind,
    project::{Judged, ProjectUse},
};

use super::{
    origin::Origin,
    written::{KeyPath, Node, Table, Value},
};

/// One key of a table.
pub(crate) struct Key {
    /// Its name, as it is written.
    pub(crate) name: &'static str,
    /// What it may hold.
    pub(crate) shape: Shape,
    /// The default.
    pub(crate) built_in: BuiltIn,
    /// What an untrusted project may do with it.
    pub(crate) project: ProjectUse,
    /// Whether its value may be shown.
    pub(crate) secrecy: Secrecy,
}

/// What a key may hold.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// One value, or a list of them.
    Value(Kind),
    /// A table with fixed keys.
    Section(Keys),
    /// A table with fixed keys, in which others are kept as they are.
    Open(Keys),
    /// A table whose keys are names the user chooses; the first is what such a name is called.
    #[cfg_attr(not(test), expect(dead_code, reason = "the documents are held against the word"))]
    Named(&'static str, &'static Self),
}

/// The keys of a table.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    groups: &'static [&'static [Key]],
    spelling: Spelling,
}

/// How the keys of a table may be spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// As they are listed.
    Listed,
    /// In camel case as well, as the design this section comes from has them.
    OrCamelCase,
}

/// The default of a key.
#[derive(Clone, Copy)]
pub(crate) enum BuiltIn {
    /// Nothing.
    Unset,
    /// A text.
    Text(&'static str),
    /// A whole number.
    Whole(i64),
    /// An amount.
    Amount(f64),
    /// On or off.
    Switch(bool),
    /// A list without items.
    EmptyList,
}

/// Whether a value may be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// It is not a secret.
    Plain,
    /// It is one.
    Secret,
    /// It is one if its name says so.
    ByName,
    /// It is an address, which may hold a password or a key.
    Address,
    /// It is a list of a command's arguments, which may hold one.
    Arguments,
}

impl Keys {
    /// The key of that name, in any spelling the table accepts.
    pub(crate) fn find(self, name: &str) -> Option<&'static Key> {
        self.exactly(name).or_else(|| match self.spelling {
            Spelling::Listed => None,
            Spelling::OrCamelCase => self.exactly(&snake_case(name)),
        })
    }

    /// All keys, in the order they are listed.
    pub(crate) fn iter(self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    fn exactly(self, name: &str) -> Option<&'static Key> {
        self.iter().find(|key| key.name == name)
    }
}

/// The lowest layer: the default of every key that has one.
pub(crate) fn built_in() -> Table {
    defaults(ROOT)
}

fn defaults(keys: Keys) -> Table {
    let mut table = Table::new();
    for key in keys.iter() {
        let value = match (key.shape, key.built_in) {
            (Shape::Section(inner), _) => Value::Table(defaults(inner)),
            (_, BuiltIn::Unset) => continue,
            (_, BuiltIn::Text(text)) => Value::Text(text.to_owned()),
            (_, BuiltIn::Whole(number)) => Value::Whole(number),
            (_, BuiltIn::Amount(amount)) => Value::Fraction(amount),
            (_, BuiltIn::Switch(on)) => Value::Switch(on),
            (_, BuiltIn::EmptyList) => Value::List(Vec::new()),
        };
        table.insert(key.name.to_owned(), Node::new(value, Origin::BuiltIn));
    }
    table
}

/// Every key that has one fixed path, in order: the leaves, and the tables of named entries.
pub(crate) fn fixed_keys() -> Vec<(KeyPath, &'static Key)> {
    let mut found = Vec::new();
    collect_fixed(&KeyPath::default(), ROOT, &mut found);
    found
}

fn collect_fixed(at: &KeyPath, keys: Keys, found: &mut Vec<(KeyPath, &'static Key)>) {
    for key in keys.iter() {
        let path = at.child(key.name);
        match key.shape {
            Shape::Section(inner) => collect_fixed(&path, inner, found),
            Shape::Value(_) | Shape::Open(_) | Shape::Named(..) => found.push((path, key)),
        }
    }
}

/// `defaultMaxTurns` as `default_max_turns`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
