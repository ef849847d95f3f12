//! Rules of settings: what is allowed, asked and denied, each with the place it was written at.
//!
//! An entry that is not understood never widens: in a list that allows it is left out, in one that
//! denies or asks it means every call of the tool it names.

use std::fmt;

use crate::rights::{
    rule::{Effect, Prohibition, ToolRule, ToolRuleError, ToolRuleErrorKind},
    tool_name::{BuiltinTool, UnknownTool},
};

/// The rules of all settings together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionRules {
    /// What needs no question.
    pub allow: Vec<PermissionRule>,
    /// What is always asked.
    pub ask: Vec<PermissionRule>,
    /// What is refused.
    pub deny: Vec<PermissionRule>,
}

/// A rule, and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The rule.
    pub rule: ToolRule,
    /// The entry as it was written.
    pub written: String,
    /// The settings or the agent it is from.
    pub origin: String,
    /// What an asking rule does not ask about; a call counts if these cover all of it.
    pub except: Vec<ToolRule>,
}

impl PermissionRule {
    /// What it takes away where it counts as a denial, which an asking rule does for files that nobody was
    /// asked about.
    pub fn as_prohibition(&self) -> Prohibition {
        let mut prohibition = Prohibition::from(self.rule.clone());
        self.except.iter().cloned().for_each(|exception| prohibition.except(exception));
        prohibition
    }
}

impl PermissionRules {
    /// The same for a run that works in another directory than that: rules without a place are about the
    /// one that it was.
    pub(super) fn move_to(&mut self, root: &str, from: Option<&str>) {
        self.change(|rule, effect| {
            let anchors: Vec<&str> = from.into_iter().collect();
            let rule = if anchors.is_empty() { rule } else { rule.anchored(&anchors, effect) };
            rule.seen_from(root)
        });
    }

    /// The same, about the files of a copy of that directory as well.
    pub(super) fn copy(&mut self, original: &str, copy: &str) {
        self.change(|rule, _| rule.copied(original, copy));
    }

    fn change(&mut self, change: impl Fn(ToolRule, Effect) -> ToolRule) {
        let Self { allow, ask, deny } = self;
        let lists = [(allow, Effect::Allows), (ask, Effect::Restricts), (deny, Effect::Restricts)];
        for (list, effect) in lists {
            for rule in list {
                rule.rule = change(rule.rule.clone(), effect);
                for excepted in &mut rule.except {
                    *excepted = change(excepted.clone(), Effect::Allows);
                }
            }
        }
    }
}

impl PermissionRule {
    /// The same rule, about paths in these directories.
    #[must_use]
    pub fn anchored(mut self, directories: &[&str], effect: Effect) -> Self {
        self.rule = self.rule.anchored(directories, effect);
        self
    }

    /// An entry of a list that allows.
    pub fn allowing(entry: &str, origin: &str) -> Result<Self, ToolRuleError> {
        Ok(Self::new(ToolRule::parse(entry)?.about_all_edits(), entry, origin))
    }

    /// An entry of a list that denies or asks. One that is not understood becomes rules for all calls of
    /// the tools it names, with what is wrong; empty if it names no known tool.
    pub fn restricting(entry: &str, origin: &str) -> (Vec<Self>, Option<ToolRuleError>) {
        match ToolRule::parse_denial(entry) {
            Ok(rule) => {
                let is_several = entry
                    .trim()
                    .split_once('/')
                    .is_some_and(|(one, other)| BuiltinTool::are_two(one, other));
                let error = is_several.then(|| ToolRuleError {
                    kind: ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(None)),
                    word: entry.trim().to_owned(),
                    tools: None,
                });
                (vec![Self::new(rule, entry, origin)], error)
            }
            Err(error) => {
                let word = error.word.clone();
                let whole = ToolRule::parse_denial(&word).ok();
                let rules = whole.into_iter().map(|rule| Self::new(rule, entry, origin));
                (rules.collect(), Some(error))
            }
        }
    }

    /// The rules of an agent's `askTools`. An entry that is not understood asks about all calls of the tool it
    /// names, and about every call if it names none.
    pub fn asking(entries: &[String], origin: &str) -> Vec<Self> {
        let mut asking: Vec<Self> = Vec::new();
        for entry in entries {
            if let Some(excepted) = entry.trim().strip_prefix('!') {
                if let Ok(excepted) = ToolRule::parse(excepted) {
                    for rule in &mut asking {
                        rule.except.push(excepted.clone());
                    }
                }
                continue;
            }
            let (rules, _) = Self::restricting(entry, origin);
            if rules.is_empty() {
                let every = ToolRule::parse_denial("*").into_iter();
                asking.extend(every.map(|rule| Self::new(rule, entry, origin)));
            }
            asking.extend(rules);
        }
        asking
    }

    fn new(rule: ToolRule, entry: &str, origin: &str) -> Self {
        Self {
            rule,
            written: entry.trim().to_owned(),
            origin: origin.to_owned(),
            except: Vec::new(),
        }
    }
}

impl fmt::Display for PermissionRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}` ({})", self.written, self.origin)
    }
}
