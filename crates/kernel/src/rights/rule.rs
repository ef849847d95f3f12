//! A tool rule: an entry of an allow or deny list, such as `Read`, `Bash(git *)` or `Edit(docs/**)`.
//!
//! A rule that allows covers a call only where that is certain for every part of it; a rule that
//! denies matches wherever it may match. So arguments that cannot be read, commands that cannot be
//! parsed and paths that leave the workspace are never covered and always denied.

mod agent_pattern;
mod call;
mod command_pattern;
mod commanded;
mod covering;
mod denying;
mod domain_pattern;
mod error;
mod parts;
mod path_pattern;
mod pattern;
mod prohibition;
mod session_grant;

use std::fmt;

pub use self::{
    call::{Call, Uncovered},
    commanded::protected_by_command,
    covering::uncovered,
    denying::Match,
    error::{ToolRuleError, ToolRuleErrorKind},
    parts::uncovered_part,
    path_pattern::{Effect, RealPath},
    prohibition::Prohibition,
    session_grant::SessionGrant,
};
use self::{
    path_pattern::PathPattern,
    pattern::{Pattern, bracket_content},
};
use crate::rights::tool_name::{BuiltinTool, ToolName, ToolPattern, UnknownTool};

/// An entry of an allow or deny list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule {
    written: String,
    tools: ToolPattern,
    pattern: Option<Pattern>,
}

impl ToolRule {
    /// Reads an entry of a list.
    pub fn parse(entry: &str) -> Result<Self, ToolRuleError> {
        Self::read(entry, ToolPattern::parse)
    }

    /// Reads an entry of a list of what is taken away, in which names may have wildcards.
    pub fn parse_denial(entry: &str) -> Result<Self, ToolRuleError> {
        Self::read(entry, ToolPattern::parse_denial)
    }

    fn read(
        entry: &str,
        parse: impl Fn(&str) -> Result<ToolPattern, UnknownTool>,
    ) -> Result<Self, ToolRuleError> {
        let entry = entry.trim();
        let (word, bracket) = match entry.split_once(['(', ')']) {
            Some((word, _)) => (word.trim_end(), entry.strip_prefix(word)),
            None => (entry, None),
        };
        let fail = |kind, tools| ToolRuleError { kind, word: word.to_owned(), tools };
        let tools = match parse(word) {
            Ok(tools) => tools,
            Err(unknown) => return Err(fail(ToolRuleErrorKind::UnknownTool(unknown), None)),
        };
        let pattern = match bracket {
            None => Ok(None),
            Some(bracket) => bracket_content(bracket)
                .ok_or(ToolRuleErrorKind::UnbalancedBracket)
                .and_then(|text| Pattern::parse(text, &tools)),
        };
        match pattern {
            Ok(pattern) => Ok(Self { written: entry.to_owned(), tools, pattern }),
            Err(kind) => Err(fail(kind, Some(tools))),
        }
    }

    /// The rule that means all calls of one tool.
    pub fn of_tool(tool: ToolName) -> Self {
        Self { written: tool.to_string(), tools: ToolPattern::Exactly(vec![tool]), pattern: None }
    }

    /// The same rule, about paths in these directories. A rule without a place is about the workspace of
    /// the run; one that has a place keeps it.
    #[must_use]
    pub fn anchored(self, directories: &[&str], effect: Effect) -> Self {
        self.with_path(|path| path.anchored(directories, effect))
    }

    /// The same rule for a run that works in that directory.
    #[must_use]
    pub fn seen_from(self, workspace: &str) -> Self {
        self.with_path(|path| path.seen_from(workspace))
    }

    /// The same rule, which means the files of a copy of that directory as well.
    #[must_use]
    pub fn copied(self, original: &str, copy: &str) -> Self {
        self.with_path(|path| path.copied(original, copy))
    }

    /// The directories that its paths lie in, where that is not the workspace.
    pub(super) fn foreign_anchors(&self) -> Vec<String> {
        match &self.pattern {
            Some(Pattern::Path(pattern)) => pattern.foreign_anchors(),
            _ => Vec::new(),
        }
    }

    fn with_path(mut self, change: impl FnOnce(PathPattern) -> PathPattern) -> Self {
        self.pattern = match self.pattern {
            Some(Pattern::Path(pattern)) => Some(Pattern::Path(change(pattern))),
            other => other,
        };
        self
    }

    /// The tools it names.
    pub fn tools(&self) -> &ToolPattern {
        &self.tools
    }

    /// Whether it means every call of its tools.
    pub fn is_unrestricted(&self) -> bool {
        self.pattern.is_none()
    }

    fn names(&self, tool: BuiltinTool) -> bool {
        self.tools.covers(&ToolName::Builtin(tool))
    }
}

impl fmt::Display for ToolRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.written)
    }
}

#[cfg(test)]
mod tests;
