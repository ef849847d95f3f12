//! Permission rules: the entries of all layers, each with its origin.
//!
//! An entry that is not understood never widens: one that would allow is left out, one that denies or
//! asks means every call of the tool it names.

use std::path::PathBuf;

use attache_kernel::rights::{
    permission::{PermissionRule, PermissionRules},
    rule::{ToolRuleError, ToolRuleErrorKind},
    tool_name::UnknownTool,
};

use crate::settings::{
    notice::Notice,
    written::{Node, Table, Value, find},
};

/// An entry that is not understood.
pub(crate) struct Misread<'a> {
    list: &'static str,
    entry: &'a str,
    node: &'a Node,
    error: ToolRuleError,
}

/// The rules that the layers have together.
pub(crate) fn rules<'a>(
    written: &'a Table,
    mut misread: impl FnMut(Misread<'a>),
) -> PermissionRules {
    let mut rules = PermissionRules::default();
    for (entry, node) in entries(written, "allow") {
        match PermissionRule::allowing(entry, &node.origin.to_string()) {
            Ok(rule) => rules.allow.push(rule),
            Err(error) => misread(Misread { list: "allow", entry, node, error }),
        }
    }
    for (list, into) in [("ask", &mut rules.ask), ("deny", &mut rules.deny)] {
        for (entry, node) in entries(written, list) {
            let (found, error) = PermissionRule::restricting(entry, &node.origin.to_string());
            into.extend(found);
            if let Some(error) = error {
                misread(Misread { list, entry, node, error });
            }
        }
    }
    rules
}

/// What is to be told about entries that are not understood, a notice for each file and list.
pub(crate) fn notices(written: &Table) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    rules(written, |misread| {
        let Misread { list, entry, node, error } = misread;
        let file = node.origin.place().map(|place| place.path.to_path_buf());
        if is_of_other_host(&error, file.as_ref()) {
            return;
        }
        let effect = match (list, &error.tools) {
            ("allow", _) => "is ignored".to_owned(),
            (_, Some(_)) => format!("counts for every call of `{}`", error.word),
            (_, None) => "has no effect".to_owned(),
        };
        notices.push(Notice {
            file,
            keys: vec![format!("permissions.{list}")],
            message: format!("`{entry}` in `permissions.{list}` {effect}: {error}"),
            hint: None,
        });
    });
    notices
}

/// Whether an entry of Claude's settings names a tool that only Claude Code has.
fn is_of_other_host(error: &ToolRuleError, file: Option<&PathBuf>) -> bool {
    let in_claude = file.is_some_and(|file| {
        file.ends_with(".claude/settings.json") || file.ends_with(".claude/settings.local.json")
    });
    in_claude && matches!(error.kind, ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign))
}

fn entries<'a>(written: &'a Table, list: &str) -> impl Iterator<Item = (&'a str, &'a Node)> {
    let items = match find(written, &["permissions", list]).map(|node| &node.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    items.iter().filter_map(|node| match &node.value {
        Value::Text(entry) => Some((entry.as_str(), node)),
        _ => None,
    })
}
