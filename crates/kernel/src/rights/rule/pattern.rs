//! What stands in the brackets of a rule, and which tools take what.

use super::{
    ToolRuleErrorKind, agent_pattern::AgentPattern, command_pattern::CommandPattern,
    domain_pattern::DomainPattern, path_pattern::PathPattern,
};
use crate::rights::tool_name::{BuiltinTool, ToolPattern};

/// What stands in the brackets of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
    Agents(Vec<AgentPattern>),
}

/// What kind of pattern a tool takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Command,
    Path,
    Domain,
    Agent,
    /// None but `*`, which is all calls.
    Nothing,
}

impl Kind {
    pub(super) fn of_tool(tool: BuiltinTool) -> Self {
        use BuiltinTool as Tool;
        match tool {
            Tool::Shell | Tool::ExecCommand | Tool::WriteStdin => Self::Command,
            Tool::ReadFile
            | Tool::ListDir
            | Tool::GlobFiles
            | Tool::GrepFiles
            | Tool::WriteFile
            | Tool::EditFile
            | Tool::ApplyPatch
            | Tool::ViewImage => Self::Path,
            Tool::WebFetch => Self::Domain,
            Tool::Task | Tool::SubagentRun => Self::Agent,
            Tool::WebSearch
            | Tool::TodoWrite
            | Tool::TaskOutput
            | Tool::TaskStop
            | Tool::SubagentList
            | Tool::SubagentDescribe
            | Tool::Skill
            | Tool::SlashCommand => Self::Nothing,
        }
    }

    /// Whether rules look at the arguments of such tools.
    pub(super) fn has_subject(self) -> bool {
        self != Self::Nothing
    }

    /// The kind that all tools of a rule share.
    fn shared(tools: &ToolPattern) -> Option<Self> {
        let ToolPattern::Exactly(tools) = tools else {
            return None;
        };
        let mut kinds = tools.iter().map(|tool| tool.builtin().map(Self::of_tool));
        let first = kinds.next()??;
        kinds.all(|kind| kind == Some(first)).then_some(first)
    }
}

impl Pattern {
    /// Reads what stands in the brackets; `*` is every call.
    pub(super) fn parse(
        text: &str,
        tools: &ToolPattern,
    ) -> Result<Option<Self>, ToolRuleErrorKind> {
        let text = text.trim();
        let kind = Kind::shared(tools).ok_or(ToolRuleErrorKind::PatternNotSupported)?;
        if text == "*" {
            return Ok(None);
        }
        if text.is_empty() {
            return Err(ToolRuleErrorKind::EmptyPattern);
        }
        let pattern = match kind {
            Kind::Command => {
                Self::Command(CommandPattern::parse(without(text, &["command", "cmd"]))?)
            }
            Kind::Path => Self::Path(PathPattern::parse(without(text, &["path", "file_path"]))?),
            Kind::Domain => Self::Domain(DomainPattern::parse(text)?),
            Kind::Agent => {
                let agents = text.split(',').map(AgentPattern::parse);
                Self::Agents(agents.collect::<Result<_, _>>()?)
            }
            Kind::Nothing => return Err(ToolRuleErrorKind::PatternNotSupported),
        };
        Ok(Some(pattern))
    }
}

/// What stands between a bracket and its partner at the end.
pub(super) fn bracket_content(bracket: &str) -> Option<&str> {
    let text = bracket.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_usize;
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    (depth == 0 && !escaped).then_some(text)
}

/// A pattern without the name of the argument that it is about: `file_path:src/**`. `command:*` is about a program
/// of that name.
fn without<'t>(text: &'t str, arguments: &[&str]) -> &'t str {
    match text.split_once(':') {
        Some((argument, pattern)) if arguments.contains(&argument) && pattern.trim() != "*" => {
            pattern.trim()
        }
        _ => text,
    }
}
