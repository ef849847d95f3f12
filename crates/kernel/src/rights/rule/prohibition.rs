//! A rule that takes away, with exceptions: calls that it would refuse and does not.
//!
//! An exception counts only for what it covers for certain, and only where the rule it belongs to speaks; what other
//! rules refuse it leaves refused.

use super::{
    Call, Match, ToolRule, Uncovered,
    call::{Line, Subject},
    path_pattern::RealPath,
    pattern::Pattern,
    uncovered,
};
use crate::rights::{
    command::{Parsed, Redirection, SimpleCommand, parse, survey_command},
    tool_name::{BuiltinTool, ToolName, ToolPattern},
};

/// A rule of a list that denies, and what later entries of the list except from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prohibition {
    rule: ToolRule,
    except: Vec<ToolRule>,
}

impl From<ToolRule> for Prohibition {
    fn from(rule: ToolRule) -> Self {
        Self { rule, except: Vec::new() }
    }
}

impl Prohibition {
    /// The rule.
    pub fn rule(&self) -> &ToolRule {
        &self.rule
    }

    /// What is excepted from it.
    pub fn exceptions(&self) -> &[ToolRule] {
        &self.except
    }

    /// Excepts what a rule covers.
    pub fn except(&mut self, exception: ToolRule) {
        self.except.push(exception);
    }

    /// The same with other rules in the place of these.
    #[must_use]
    pub fn map(
        self,
        rule: impl FnOnce(ToolRule) -> ToolRule,
        exception: impl Fn(ToolRule) -> ToolRule,
    ) -> Self {
        Self { rule: rule(self.rule), except: self.except.into_iter().map(exception).collect() }
    }

    /// Whether it leaves every call of a tool.
    pub fn is_lifted_for(&self, tool: &ToolName) -> bool {
        self.exceptions_for(tool).iter().any(ToolRule::is_unrestricted)
    }

    /// Whether it leaves some calls of a tool that the rule alone would refuse.
    pub fn leaves_some_of(&self, tool: &ToolName) -> bool {
        !self.exceptions_for(tool).is_empty()
    }

    /// Whether it tells files apart by their paths.
    pub fn is_about_paths(&self) -> bool {
        self.rule.is_about_paths() || self.except.iter().any(ToolRule::is_about_paths)
    }

    /// The exceptions as they count for a tool. Where the rule names the tool, those that name it; where it only
    /// reaches the tool, as one about `Read` reaches `grep_files`, those about the tools that the rule names. What an
    /// exception about files leaves to commands cannot be told, so to them it leaves nothing.
    fn exceptions_for(&self, tool: &ToolName) -> Vec<ToolRule> {
        let is_named = self.rule.tools.covers(tool);
        let shares = |exception: &ToolRule| {
            BuiltinTool::ALL.iter().any(|tool| self.rule.names(*tool) && exception.names(*tool))
        };
        let is_shell = tool.builtin().is_some_and(BuiltinTool::is_shell);
        self.except
            .iter()
            .filter(|it| if is_named { it.tools.covers(tool) } else { shares(it) })
            .filter(|it| it.is_unrestricted() || !is_shell || !it.is_about_paths())
            .map(|it| ToolRule { tools: ToolPattern::Exactly(vec![tool.clone()]), ..it.clone() })
            .collect()
    }

    /// What of a call it refuses, or may refuse. [`Uncovered`] names what no exception covers, if the rule would
    /// refuse every call.
    pub fn refuses(&self, call: &Call<'_>) -> Option<Option<Uncovered>> {
        if !self.rule.denies(call) && self.rule.matches(call) != Match::Yes {
            return None;
        }
        let except = self.exceptions_for(call.tool());
        if except.is_empty() {
            return Some(None);
        }
        match (&self.rule.pattern, call.subject()) {
            (Some(Pattern::Command(_)), Subject::Shell(lines)) => {
                lines.iter().any(|line| self.refuses_line(line, &except)).then_some(None)
            }
            (Some(Pattern::Path(pattern)), Subject::Paths(paths)) => {
                let is_left = |path| except.iter().any(|it| it.allows_path(path));
                paths.iter().any(|path| pattern.may_match(path) && !is_left(path)).then_some(None)
            }
            _ => uncovered(&except, call).map(Some),
        }
    }

    /// Whether a line has a part that the rule may mean and no exception covers.
    fn refuses_line(&self, line: &Line, except: &[ToolRule]) -> bool {
        let Some(Pattern::Command(pattern)) = &self.rule.pattern else { return true };
        let commands = match line {
            Line::Text(text) => match parse(text) {
                Parsed::Plain(commands) => commands,
                Parsed::Complex(_) => return true,
            },
            Line::Words(words) => {
                vec![SimpleCommand::of_words(words.iter().map(String::as_str))]
            }
        };
        commands.into_iter().any(|command| {
            let is_left = command.redirections.iter().all(Redirection::is_harmless)
                && except.iter().any(|it| it.covers_command(&command));
            !is_left && pattern.may_match(&survey_command(command))
        })
    }

    /// Whether it refuses a tool a file, or may do so.
    pub fn refuses_file(&self, tool: &ToolName, path: &RealPath) -> bool {
        self.rule.denies_file(tool, path)
            && !self.exceptions_for(tool).iter().any(|it| it.allows_file(tool, path))
    }
}
