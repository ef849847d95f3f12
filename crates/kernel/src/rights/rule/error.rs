//! Why an entry of a list is not a rule.

use crate::rights::tool_name::{ToolPattern, UnknownTool};

/// Why an entry is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.message())]
pub struct ToolRuleError {
    /// What is wrong.
    pub kind: ToolRuleErrorKind,
    /// The word before the bracket.
    pub word: String,
    /// The tools that word means, where it is known.
    pub tools: Option<ToolPattern>,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolRuleErrorKind {
    /// No tool has that name.
    UnknownTool(UnknownTool),
    /// A bracket has no partner, or text follows it.
    UnbalancedBracket,
    /// There is nothing in the brackets.
    EmptyPattern,
    /// The tool takes no pattern.
    PatternNotSupported,
    /// The pattern of a shell rule holds more than one command.
    SeveralCommands,
    /// The pattern of a file rule holds `..`, `!`, or too many alternatives.
    BadPath,
    /// The pattern of a rule about delegation names no agent.
    BadAgent,
    /// The pattern of a fetch rule is not `domain:` and a host name.
    BadDomain,
}

impl ToolRuleError {
    fn message(&self) -> String {
        let word = &self.word;
        match &self.kind {
            ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign) => {
                format!("`{word}` is a tool of another host, with no counterpart here")
            }
            ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(Some(nearest))) => {
                format!("there is no tool `{word}`; did you mean `{nearest}`?")
            }
            ToolRuleErrorKind::UnknownTool(UnknownTool::Unknown(None)) => {
                format!("there is no tool `{word}`")
            }
            ToolRuleErrorKind::UnbalancedBracket => {
                format!("the brackets after `{word}` do not match; write `{word}(pattern)`")
            }
            ToolRuleErrorKind::EmptyPattern => {
                format!(
                    "the brackets after `{word}` are empty; write `{word}` or `{word}(pattern)`"
                )
            }
            ToolRuleErrorKind::PatternNotSupported => {
                format!("`{word}` takes no pattern; write `{word}`")
            }
            ToolRuleErrorKind::SeveralCommands => format!(
                "a rule of `{word}` is about one command, without `;`, `|`, `&`, brackets or \
                 redirections; write one rule for each command"
            ),
            ToolRuleErrorKind::BadPath => format!(
                "a rule of `{word}` is a path below the workspace, without `..`, a leading `!` or \
                 very many alternatives"
            ),
            ToolRuleErrorKind::BadAgent => {
                format!("a rule of `{word}` names agents: `{word}(reviewer)`, `{word}(review-*)`")
            }
            ToolRuleErrorKind::BadDomain => {
                format!(
                    "a rule of `{word}` is written `{word}(domain:example.com)` or `{word}(host:example.com)`"
                )
            }
        }
    }
}
