//! Entries of an agent's lists: what each grants or takes away.

use super::{Constraint, ToolSet, WithheldReason};
use crate::rights::{
    rule::{Prohibition, ToolRule, ToolRuleError, ToolRuleErrorKind},
    tool_name::{BuiltinTool, ToolName, ToolPattern, is_mcp_feature},
};

/// An entry of a list of tools.
pub(super) struct Entry<'a> {
    pub(super) written: &'a str,
    pub(super) rule: Result<ToolRule, ToolRuleError>,
}

/// An entry of a list of what is taken away.
pub(super) struct Denial<'a> {
    pub(super) written: &'a str,
    pub(super) rule: DenialRule,
}

pub(super) enum DenialRule {
    Understood(Prohibition),
    /// The tools it is about are known, but not which calls.
    NotUnderstood(ToolPattern, ToolRuleError),
}

impl<'a> Entry<'a> {
    /// What it takes away, as an entry of such a list; a tool nobody knows cannot be taken away.
    pub(super) fn denial(self) -> Option<Denial<'a>> {
        let rule = match self.rule {
            Ok(rule) => DenialRule::Understood(rule.into()),
            Err(error) => DenialRule::NotUnderstood(error.tools.clone()?, error),
        };
        Some(Denial { written: self.written, rule })
    }
}

impl Denial<'_> {
    pub(super) fn judge(
        &self,
        tool: &ToolName,
        constraints: &mut Vec<Constraint>,
        reason: impl Fn(Option<&ToolRuleError>) -> WithheldReason,
    ) -> Result<(), WithheldReason> {
        match &self.rule {
            DenialRule::Understood(denial) if denial.is_lifted_for(tool) => {}
            DenialRule::Understood(denial)
                if denial.rule().is_unrestricted() && !denial.leaves_some_of(tool) =>
            {
                let rule = denial.rule();
                let is_shell = tool.builtin().is_some_and(BuiltinTool::is_shell);
                match (rule.denial_reaches(tool), rule.restrains(tool)) {
                    (false, true) if is_shell => {
                        constraints.push(Constraint::Never(denial.clone()));
                    }
                    (true, _) | (false, true) => return Err(reason(None)),
                    (false, false) => {}
                }
            }
            DenialRule::Understood(denial) => {
                if denial.rule().restrains(tool) {
                    constraints.push(Constraint::Never(denial.clone()));
                }
            }
            DenialRule::NotUnderstood(tools, error) => {
                let reads = ToolName::Builtin(BuiltinTool::ReadFile);
                let is_reader =
                    tool.builtin().is_some_and(|tool| BuiltinTool::READERS.contains(&tool));
                if tools.covers(tool) || (is_reader && tools.covers(&reads)) {
                    return Err(reason(Some(error)));
                }
            }
        }
        Ok(())
    }
}

/// The entries of `denyTools`. One that means no known tool takes every tool away.
pub(super) fn excepting<'a>(
    entries: &'a [String],
    read: impl Fn(&'a str) -> Entry<'a>,
) -> Vec<Denial<'a>> {
    let mut denials: Vec<Denial<'a>> = Vec::new();
    for entry in entries {
        if let Some(excepted) = entry.trim().strip_prefix('!') {
            let Ok(excepted) = ToolRule::parse_denial(excepted) else { continue };
            for denial in &mut denials {
                if let DenialRule::Understood(denial) = &mut denial.rule {
                    denial.except(excepted.clone());
                }
            }
            continue;
        }
        let Entry { written, rule } = read(entry);
        let rule = match rule {
            Ok(rule) => DenialRule::Understood(rule.into()),
            Err(error) => {
                let tools = error.tools.clone().unwrap_or(ToolPattern::Any);
                DenialRule::NotUnderstood(tools, error)
            }
        };
        denials.push(Denial { written, rule });
    }
    denials
}

/// An entry as it was read; an unknown word may be a tool of the parent's host.
pub(super) fn of_host(
    read: Result<ToolRule, ToolRuleError>,
    written: &str,
    parent: &ToolSet,
) -> Result<ToolRule, ToolRuleError> {
    read.or_else(|error| {
        let host = ToolName::Host(error.word.clone());
        if !matches!(error.kind, ToolRuleErrorKind::UnknownTool(_)) || !parent.contains(&host) {
            return Err(error);
        }
        if written.trim() == error.word {
            return Ok(ToolRule::of_tool(host));
        }
        Err(ToolRuleError {
            kind: ToolRuleErrorKind::PatternNotSupported,
            tools: Some(ToolPattern::Exactly(vec![host])),
            ..error
        })
    })
}

/// The tools a feature stands for, by the names other hosts give their features.
pub(super) fn feature(written: &str) -> Vec<DenialRule> {
    if is_mcp_feature(written) {
        let every = ToolRule::parse_denial("mcp__*").ok();
        return every.map(|rule| DenialRule::Understood(rule.into())).into_iter().collect();
    }
    let tools = BuiltinTool::of_feature(written).unwrap_or_default();
    let rule = |tool: &BuiltinTool| ToolRule::of_tool(ToolName::Builtin(*tool));
    tools.iter().map(|tool| DenialRule::Understood(rule(tool).into())).collect()
}
