//! Rules that allow: what they cover of a call, for certain.
//!
//! Each part of a call needs one rule: each command of a line, each file of a patch.

use super::{
    ToolRule, Uncovered,
    call::{Call, Subject},
    path_pattern::{Location, RealPath},
    pattern::Pattern,
};
use crate::rights::{
    command::SimpleCommand,
    tool_name::{BuiltinTool, ToolName, ToolPattern},
};

impl ToolRule {
    /// The same rule in a list that allows: one about `Edit` is about all tools that edit files.
    #[must_use]
    pub fn about_all_edits(mut self) -> Self {
        if self.names(BuiltinTool::EditFile)
            && let ToolPattern::Exactly(tools) = &mut self.tools
        {
            for writer in BuiltinTool::WRITERS {
                let writer = ToolName::Builtin(*writer);
                if !tools.contains(&writer) {
                    tools.push(writer);
                }
            }
        }
        self
    }

    /// Whether it allows a path, of any tool.
    pub(super) fn allows_path(&self, path: &Location) -> bool {
        self.is_unrestricted() || self.covers_path(path)
    }

    /// Whether it allows a command of a line.
    pub(super) fn covers_command(&self, command: &SimpleCommand) -> bool {
        match &self.pattern {
            None => true,
            Some(Pattern::Command(pattern)) => pattern.covers(command),
            Some(Pattern::Path(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
        }
    }

    fn covers_path(&self, path: &Location) -> bool {
        matches!(&self.pattern, Some(Pattern::Path(pattern)) if pattern.covers(path))
    }

    /// Whether it allows a tool a file.
    pub fn allows_file(&self, tool: &ToolName, path: &RealPath) -> bool {
        self.tools.covers(tool)
            && match &self.pattern {
                None => true,
                Some(Pattern::Path(pattern)) => pattern.covers_real(path),
                Some(Pattern::Command(_) | Pattern::Domain(_) | Pattern::Agents(_)) => false,
            }
    }
}

/// What of a call none of these rules covers; nothing if together they allow it.
///
/// Each part of a call needs one rule: each command of a line, each file of a patch.
pub fn uncovered<'r>(
    rules: impl IntoIterator<Item = &'r ToolRule, IntoIter: Clone>,
    call: &Call<'_>,
) -> Option<Uncovered> {
    let rules = rules.into_iter();
    let mut rules = rules.filter(|rule| rule.tools.covers(call.tool()));
    if rules.clone().any(ToolRule::is_unrestricted) {
        return None;
    }
    match call.subject() {
        Subject::Unreadable => Some(Uncovered::Unreadable),
        Subject::Shell(lines) => lines.iter().find_map(|line| {
            line.uncovered(|command| {
                rules.clone().any(|rule| {
                    matches!(&rule.pattern, Some(Pattern::Command(pattern)) if pattern.covers(command))
                })
            })
        }),
        // Text typed into a running program is not a command; asking for its output types nothing.
        Subject::Input(text) => (!text.is_empty()).then_some(Uncovered::Input),
        Subject::Paths(paths) => paths
            .iter()
            .find(|path| !rules.clone().any(|rule| rule.covers_path(path)))
            .map(|path| Uncovered::Path(path.to_string())),
        Subject::Tree(path) => (!rules.any(|rule| rule.covers_path(path)))
            .then(|| Uncovered::Path(path.to_string())),
        Subject::Host(host) => (!rules.any(
            |rule| matches!(&rule.pattern, Some(Pattern::Domain(pattern)) if pattern.covers(host)),
        ))
        .then(|| Uncovered::Host(host.clone())),
        Subject::Agent(agent) => (!rules.any(
            |rule| matches!(&rule.pattern, Some(Pattern::Agents(agents)) if agents.iter().any(|it| it.matches(agent))),
        ))
        .then(|| Uncovered::Agent(agent.clone())),
    }
}
