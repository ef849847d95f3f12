//! Permission rules: the entries of all layers, each with its origin.
//!
//! An entry that is not understood never widens: one that would allow is left out. One that denies or asks is
//! an error in the user's own settings; elsewhere it means every call of the tool it names, and where it
//! names none, every call is asked about.

use std::path::{Path, PathBuf};

use attache_kernel::rights::{
    permission::{PermissionRule, PermissionRules},
    rule::{Effect, ToolRuleError, ToolRuleErrorKind},
    tool_name::UnknownTool,
};

use crate::settings::{
    error::SettingsError,
    findings::Findings,
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

/// What the paths of rules are relative to.
#[derive(Debug, Default)]
pub(crate) struct Ground {
    /// The working directory.
    pub(crate) working_directory: PathBuf,
    /// The root of the project around it.
    pub(crate) project: PathBuf,
    /// The project's files, each with the directory it speaks for.
    pub(crate) files: Vec<(PathBuf, PathBuf)>,
}

impl Ground {
    /// The directories that an entry is about: what a project's file says is about its directory, what the
    /// user says about the working directory and, where it restricts, about the whole project.
    fn anchors(&self, node: &Node, effect: Effect) -> Vec<String> {
        let file = node.origin.place().map(|place| &*place.path);
        let of_file = |(path, _): &&(PathBuf, PathBuf)| file == Some(path.as_path());
        let anchors = match (self.files.iter().find(of_file), effect) {
            (Some((_, directory)), _) => vec![directory],
            (None, Effect::Allows) => vec![&self.working_directory],
            (None, Effect::Restricts) => vec![&self.project, &self.working_directory],
        };
        let mut real: Vec<String> = Vec::new();
        for anchor in anchors {
            let anchor = anchor.canonicalize().unwrap_or_else(|_| anchor.clone());
            let anchor = anchor.to_string_lossy().into_owned();
            if !real.contains(&anchor) {
                real.push(anchor);
            }
        }
        real
    }

    fn put(&self, rule: PermissionRule, node: &Node, effect: Effect) -> PermissionRule {
        if !rule.rule.is_about_paths() {
            return rule;
        }
        let anchors = self.anchors(node, effect);
        let anchors: Vec<&str> = anchors.iter().map(String::as_str).collect();
        rule.anchored(&anchors, effect)
    }
}

/// The rules that the layers have together.
pub(crate) fn rules<'a>(
    written: &'a Table,
    ground: &Ground,
    mut misread: impl FnMut(Misread<'a>),
) -> PermissionRules {
    let mut rules = PermissionRules::default();
    for (entry, node) in entries(written, "allow") {
        match PermissionRule::allowing(entry, &node.origin.to_string()) {
            Ok(rule) => rules.allow.push(ground.put(rule, node, Effect::Allows)),
            Err(error) => misread(Misread { list: "allow", entry, node, error }),
        }
    }
    for (list, into) in [("ask", &mut rules.ask), ("deny", &mut rules.deny)] {
        for (entry, node) in entries(written, list) {
            let (found, error) = PermissionRule::restricting(entry, &node.origin.to_string());
            let put = |rule| ground.put(rule, node, Effect::Restricts);
            into.extend(found.into_iter().map(put));
            if let Some(error) = error {
                misread(Misread { list, entry, node, error });
            }
        }
    }
    rules
}

/// Tells about entries that are not understood. Returns the files of others that deny or ask for something
/// that cannot be told.
pub(crate) fn told(
    written: &Table,
    is_own: impl Fn(&Path) -> bool,
    findings: &mut Findings,
) -> Vec<PathBuf> {
    let mut unclear = Vec::new();
    rules(written, &Ground::default(), |misread| {
        let Misread { list, entry, node, error } = misread;
        let file = node.origin.place().map(|place| place.path.to_path_buf());
        if is_of_other_host(&error, file.as_ref()) {
            return;
        }
        let is_foreign = matches!(error.kind, ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign));
        let is_unknown_to_claude = is_of_claude(file.as_ref())
            && matches!(error.kind, ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(None)));
        let effect = match (list, &file, &error.tools) {
            ("allow", ..) => "is ignored".to_owned(),
            (_, file, _) if !is_foreign && file.as_deref().is_none_or(&is_own) => {
                findings.slips.push(SettingsError::BadRule {
                    list,
                    entry: entry.to_owned(),
                    problem: error.to_string(),
                    origin: node.origin.clone(),
                });
                return;
            }
            (_, _, Some(_)) => format!("counts for every call of `{}`", error.word),
            (_, Some(file), None) if !is_foreign && !is_unknown_to_claude => {
                unclear.push(file.clone());
                "is not understood, so every call is asked about".to_owned()
            }
            _ => "has no effect".to_owned(),
        };
        findings.notices.push(Notice {
            file,
            keys: vec![format!("permissions.{list}")],
            message: format!("`{entry}` in `permissions.{list}` {effect}: {error}"),
            hint: None,
        });
    });
    unclear.dedup();
    unclear
}

/// Whether an entry of Claude's settings names a tool that only Claude Code has.
fn is_of_other_host(error: &ToolRuleError, file: Option<&PathBuf>) -> bool {
    is_of_claude(file) && matches!(error.kind, ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign))
}

fn is_of_claude(file: Option<&PathBuf>) -> bool {
    file.is_some_and(|file| {
        file.ends_with(".claude/settings.json") || file.ends_with(".claude/settings.local.json")
    })
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
