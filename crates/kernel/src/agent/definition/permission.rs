//! `permission` of opencode: what is allowed, asked and denied, in order; the last entry that matches decides.
//!
//! Denials become `disallowedTools`. Where a later entry allows or asks about something that was denied before, the
//! whole list becomes `denyTools`, with the exceptions in their places. Nothing is granted that the agent would not
//! have without the key.

use super::{
    Code, Diagnostic, Position,
    fields::Fields,
    node::{Kind, Member},
    opencode_pattern::{Reach, translated},
};
use crate::rights::{
    rule::ToolRule,
    tool_name::{BuiltinTool, ToolName, ToolPattern},
};

/// What is done with the calls that an entry means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Allow,
    Ask,
    Deny,
}

/// The entries of a `permission`, as the lists of a definition.
#[derive(Debug, Default)]
struct Ordered {
    denied: Vec<String>,
    asked: Vec<String>,
}

impl Action {
    fn read(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

impl Ordered {
    fn add(&mut self, action: Action, entries: &[String]) {
        match action {
            Action::Deny => self.denied.extend_from_slice(entries),
            Action::Ask => {
                lift(&mut self.denied, entries);
                self.asked.extend_from_slice(entries);
            }
            Action::Allow => {
                lift(&mut self.denied, entries);
                lift(&mut self.asked, entries);
            }
        }
    }

    /// Whether an entry allows something that an entry before it denies or asks about.
    fn is_lifted(&self) -> bool {
        self.denied.iter().chain(&self.asked).any(|entry| entry.starts_with('!'))
    }
}

/// Excepts entries from those before them that may mean the same calls.
fn lift(list: &mut Vec<String>, entries: &[String]) {
    let word = |entry: &str| entry.split('(').next().unwrap_or_default().to_owned();
    for entry in entries {
        let lifting = word(entry);
        let is_meant = |before: &String| {
            let before = word(before);
            before == lifting || before == "*" || lifting == "*"
        };
        if list.iter().any(is_meant) {
            list.push(format!("!{entry}"));
        }
    }
}

impl Fields {
    /// `permission`.
    pub(super) fn take_permission(&mut self, member: &Member) {
        let Kind::Map(members) = &member.value.kind else {
            let word = member.value.scalar().map(|scalar| scalar.text.trim().to_ascii_lowercase());
            match word.as_deref() {
                Some("allow" | "") => {}
                Some("ask") => self.definition.ask_tools.push("*".to_owned()),
                Some("deny") => {
                    self.taken.push("*".to_owned());
                    let message = format!("`{}: deny` takes every tool away", member.key);
                    self.push(Diagnostic::note(Code::RestrictionApplied, member.key_at, message));
                }
                Some(word) if word.contains("read") => {
                    self.unclear_restriction(member, "readonly");
                }
                Some(_) => self.unclear_restriction(member, "disallowedTools"),
                None => self.unclear_restriction(member, "tools"),
            }
            return;
        };
        // The lists of another host's settings.
        if members.iter().any(|inner| matches!(inner.key.as_str(), "allow" | "ask" | "deny")) {
            self.unclear_restriction(member, "disallowedTools");
            return;
        }
        let mut ordered = Ordered::default();
        for permission in members {
            match &permission.value.kind {
                Kind::Scalar(scalar) => match scalar.text.to_ascii_lowercase().as_str() {
                    "" => {}
                    "true" => self.permit(&mut ordered, permission, Action::Allow),
                    "false" => self.permit(&mut ordered, permission, Action::Deny),
                    word => match Action::read(word) {
                        Some(action) => self.permit(&mut ordered, permission, action),
                        None => self.not_understood(permission),
                    },
                },
                Kind::Map(rules) => {
                    for rule in rules {
                        self.permit_pattern(&mut ordered, permission, rule);
                    }
                }
                Kind::List(_) => self.not_understood(permission),
            }
        }
        let is_excepting = ordered.denied.iter().any(|entry| entry.starts_with('!'));
        let denied = if is_excepting { &mut self.definition.deny_tools } else { &mut self.taken };
        denied.append(&mut ordered.denied);
        self.definition.ask_tools.append(&mut ordered.asked);
    }

    /// `bash: deny`: every call of the tools that a permission is about.
    fn permit(&mut self, ordered: &mut Ordered, permission: &Member, action: Action) {
        let word = permission.key.as_str();
        let tools = guarded_tools(word);
        if !guards_nothing(word) && tools.is_empty() && action != Action::Allow {
            return self.not_understood(permission);
        }
        let before = ordered.is_lifted();
        ordered.add(action, &tools);
        if word == "*" && action == Action::Allow && !before && ordered.is_lifted() {
            self.lifts_all(permission.key_at);
        }
    }

    /// One entry of `bash: {"*": deny, "git diff*": allow, "rm *": ask}`.
    fn permit_pattern(&mut self, ordered: &mut Ordered, permission: &Member, rule: &Member) {
        let action = rule.value.scalar().and_then(|scalar| Action::read(&scalar.text));
        let Some(action) = action else { return self.not_understood(rule) };
        let (word, pattern) = (permission.key.as_str(), rule.key.trim());
        if matches!(pattern, "*" | "**") {
            let before = ordered.is_lifted();
            self.permit(ordered, permission, action);
            if action == Action::Allow && word != "*" && !before && ordered.is_lifted() {
                self.lifts_all(rule.key_at);
            }
            return;
        }
        let tools = guarded_tools(word);
        if guards_nothing(word) || (tools.is_empty() && action == Action::Allow) {
            return;
        }
        if tools.is_empty() || word == "*" {
            return self.not_understood(permission);
        }
        let reach = if action == Action::Allow { Reach::AtMost } else { Reach::AtLeast };
        let mut entries = Vec::new();
        for tool in &tools {
            let understood = translated(tool, pattern, reach).filter(|patterns| {
                let is_rule =
                    |it: &String| ToolRule::parse_denial(&format!("{tool}({it})")).is_ok();
                patterns.iter().all(is_rule)
            });
            match (understood, action) {
                (Some(patterns), _) => {
                    entries.extend(patterns.iter().map(|it| format!("{tool}({it})")));
                }
                // There are no skills here that could be told apart.
                (None, Action::Allow) if word == "skill" => {}
                (None, Action::Allow) => {
                    let message = format!(
                        "`{pattern}` of `{word}` cannot be said as a rule here, so it allows nothing"
                    );
                    let at = rule.key_at;
                    return self.push(Diagnostic::warning(
                        Code::RestrictionNotUnderstood,
                        at,
                        message,
                    ));
                }
                (None, Action::Ask | Action::Deny) => return self.not_understood(permission),
            }
        }
        // An `ask` lifts what is denied, and that needs the narrow reading.
        if action == Action::Ask {
            let narrow = tools.iter().flat_map(|tool| {
                let patterns = translated(tool, pattern, Reach::AtMost).unwrap_or_default();
                patterns.into_iter().map(move |it| format!("{tool}({it})"))
            });
            lift(&mut ordered.denied, &narrow.collect::<Vec<_>>());
            ordered.asked.append(&mut entries);
            return;
        }
        ordered.add(action, &entries);
    }

    /// Tells that `"*": allow` at the end makes what stands before it void.
    fn lifts_all(&mut self, at: Position) {
        let message = "`\"*\": allow` comes after entries that deny or ask, and lifts them: the last entry that \
                       matches decides";
        self.push(
            Diagnostic::warning(Code::RestrictionApplied, at, message)
                .with_hint("write \"*\" first, and what differs from it after it"),
        );
    }
}

/// The tools that a permission is about; none if it is not known.
fn guarded_tools(word: &str) -> Vec<String> {
    match word {
        "*" => vec!["*".to_owned()],
        "edit" => BuiltinTool::WRITERS.iter().map(|tool| tool.as_str().to_owned()).collect(),
        word if word.eq_ignore_ascii_case("all") => Vec::new(),
        word if guards_nothing(word) => Vec::new(),
        word if names_tools(permitted_tool(word)) => vec![permitted_tool(word).to_owned()],
        _ => Vec::new(),
    }
}

/// Whether the key of a permission means tools. One with wildcards that fits none of ours may be a
/// command that slipped out of its place, unless it is written as tools of an MCP server are.
pub(super) fn names_tools(word: &str) -> bool {
    ToolPattern::parse_denial(word).is_ok_and(|pattern| match &pattern {
        ToolPattern::Like(shape) => {
            let covers = |tool: &BuiltinTool| pattern.covers(&ToolName::Builtin(*tool));
            shape.contains('_') || BuiltinTool::ALL.iter().any(covers)
        }
        ToolPattern::Any
        | ToolPattern::Exactly(_)
        | ToolPattern::McpServer(_)
        | ToolPattern::AnyMcp => true,
    })
}

/// Whether a permission is about something that no tool here can do.
fn guards_nothing(word: &str) -> bool {
    matches!(
        word,
        "external_directory" | "doom_loop" | "question" | "lsp" | "todoread" | "codesearch"
    )
}

/// The tool that a permission is about.
pub(super) fn permitted_tool(word: &str) -> &str {
    match word {
        "bash" => "shell",
        other => other,
    }
}
