//! The permission rules of Claude Code's settings files.
//!
//! Only `permissions.allow`, `ask` and `deny` count. A file that cannot be read may deny something, so it
//! fails closed: every call is asked about until it is corrected. It is never an error: the file belongs
//! to another program.

use std::path::Path;

use super::files;
use crate::settings::{
    error::SettingsError,
    findings::Findings,
    notice::Notice,
    origin::{Origin, Place},
    written::{Node, Table, Value, json},
};

/// What a file sets; nothing if it is not there.
pub(crate) fn read(path: &Path, findings: &mut Findings) -> Table {
    let read = files::text(path).and_then(|text| match text {
        None => Ok(None),
        Some(text) => json::read(path, &text).map(Some),
    });
    let what = match read {
        Ok(None) => return Table::new(),
        Ok(Some(Some(table))) => match rules(table) {
            Ok(rules) => return rules,
            Err(what) => what.to_owned(),
        },
        Ok(Some(None)) => "it is not a JSON object".to_owned(),
        Err(error) => reason(&error),
    };
    findings.notices.push(unreadable(path, &what));
    ask_always(path)
}

/// The rule that asks about every call, in the name of a file whose rules cannot be read.
pub(crate) fn ask_always(path: &Path) -> Table {
    let origin = Origin::File(Place { path: path.into(), line: 1, column: 1 });
    let node = |value| Node::new(value, origin.clone());
    let every = Value::List(vec![node(Value::Text("*".to_owned()))]);
    let lists = Table::from([("ask".to_owned(), node(every))]);
    Table::from([("permissions".to_owned(), node(Value::Table(lists)))])
}

/// The lists of rules among all that a file says; an error if what it denies or asks cannot be told.
fn rules(mut table: Table) -> Result<Table, &'static str> {
    let Some(Node { value, origin }) = table.remove("permissions") else {
        return Ok(Table::new());
    };
    let Value::Table(mut lists) = value else {
        return Err("its `permissions` is not an object");
    };
    lists.retain(|key, _| matches!(key.as_str(), "allow" | "ask" | "deny"));
    let is_list = |node: &Node| match &node.value {
        Value::List(items) => items.iter().all(|item| matches!(item.value, Value::Text(_))),
        _ => false,
    };
    if lists.iter().any(|(key, node)| key != "allow" && !is_list(node)) {
        return Err("what it denies or asks is not a list of strings");
    }
    // What it may have allowed is merely not allowed.
    lists.retain(|_, node| is_list(node));
    Ok(Table::from([("permissions".to_owned(), Node::new(Value::Table(lists), origin))]))
}

fn unreadable(path: &Path, what: &str) -> Notice {
    Notice {
        file: Some(path.to_owned()),
        keys: Vec::new(),
        message: format!("its permission rules cannot be read: {what}; every call is asked about"),
        hint: Some("correct or remove the file".to_owned()),
    }
}

fn reason(error: &SettingsError) -> String {
    match error {
        SettingsError::Syntax { place, message, .. } => {
            format!("{message} (line {}, column {})", place.line, place.column)
        }
        SettingsError::NotAFile { .. } => "it is not a regular file".to_owned(),
        other => other.to_string(),
    }
}
