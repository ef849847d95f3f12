//! The settings one by one, for `attache config`: key, value, origin.
//!
//! No secret leaves here: what is one by its key, or may be one by its name, is masked.

mod mask;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::{
    meaning::Settings,
    origin::Origin,
    schema::{self, Key, Keys, Secrecy, Shape},
    written::{KeyPath, Node, Table, Value},
};

/// One setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Entry {
    /// The key, with dots.
    pub(crate) key: String,
    /// The value, masked if it is a secret; `null` if it is unset.
    pub(crate) value: Json,
    /// Where it comes from.
    pub(crate) origin: Origin,
}

impl Settings {
    /// Every setting, set or not, in the order of the schema.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (path, key) in schema::fixed_keys() {
            match path.find(&self.written) {
                Some(node) => list(&path, key, node, &mut entries),
                None => entries.push(Entry {
                    key: path.to_string(),
                    value: Json::Null,
                    origin: Origin::BuiltIn,
                }),
            }
        }
        entries
    }
}

fn list(at: &KeyPath, key: &Key, node: &Node, entries: &mut Vec<Entry>) {
    if let (["permissions", _], Value::List(rules)) = (names(at).as_slice(), &node.value)
        && !rules.is_empty()
    {
        // The rules of all layers add up, so each has an origin of its own.
        entries.extend(rules.iter().map(|rule| entry(at, json!([rule.value.to_json()]), rule)));
    } else if key.name == "profiles" {
        // What a profile says is in force only where it is chosen, and then shown there.
        let names: Vec<_> = table(node).into_iter().flat_map(Table::keys).cloned().collect();
        entries.push(entry(at, json!(names), node));
    } else {
        shaped(at, key.shape, key.secrecy, node, entries);
    }
}

fn names(at: &KeyPath) -> Vec<&str> {
    at.names().iter().map(String::as_str).collect()
}

fn shaped(at: &KeyPath, shape: Shape, secrecy: Secrecy, node: &Node, entries: &mut Vec<Entry>) {
    let Some(table) = table(node).filter(|table| !table.is_empty()) else {
        entries.push(entry(at, mask::shown(secrecy, at, &node.value), node));
        return;
    };
    match shape {
        Shape::Value(_) => entries.push(entry(at, mask::shown(secrecy, at, &node.value), node)),
        Shape::Named(_, inner) => {
            for (name, node) in table {
                shaped(&at.child(name), *inner, secrecy, node, entries);
            }
        }
        Shape::Section(keys) | Shape::Open(keys) => inside(at, keys, table, entries),
    }
}

/// The keys of an entry the user named: those that are set, the known ones first.
fn inside(at: &KeyPath, keys: Keys, table: &Table, entries: &mut Vec<Entry>) {
    for key in keys.iter() {
        if let Some(node) = table.get(key.name) {
            shaped(&at.child(key.name), key.shape, key.secrecy, node, entries);
        }
    }
    for (name, node) in table.iter().filter(|(name, _)| keys.find(name).is_none()) {
        let at = at.child(name);
        entries.push(entry(&at, mask::shown(Secrecy::ByName, &at, &node.value), node));
    }
}

fn entry(at: &KeyPath, value: Json, node: &Node) -> Entry {
    Entry { key: at.to_string(), value, origin: node.origin.clone() }
}

fn table(node: &Node) -> Option<&Table> {
    match &node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}
