//! The tool filter: which of its parent's tools an agent gets, and why not the others.
//!
//! [`filter`] and [`ToolSet::intersection`] are the only ways from one [`ToolSet`] to another, and both
//! only take away: no agent has a tool, or passes a call, that its parent would be refused. What an agent asked for and does
//! not get is always reported.

mod entry;
mod tool_set;
mod withheld;
mod written;

use self::{
    entry::{Denial, Entry, excepting, feature, of_host},
    tool_set::Constraint,
};
pub use self::{
    tool_set::{COMPLETE_TASK, MCP_CALL, MCP_SEARCH, Refusal, ToolSet},
    withheld::{Withheld, WithheldReason, WithheldTool},
};
use crate::{
    agent::definition::{Definition, Scope, ToolAccess, Trust},
    rights::{
        rule::ToolRule,
        tool_name::{BuiltinTool, ToolName, ToolPattern},
    },
};

/// What the filter looks at.
#[derive(Debug, Clone, Copy)]
pub struct FilterRequest<'a> {
    /// What the agent's file says.
    pub definition: &'a Definition,
    /// Whether the user trusts that file.
    pub trust: Trust,
    /// What the agent's parent has.
    pub parent: &'a ToolSet,
    /// Whether anybody waits for the run.
    pub schedule: Schedule,
    /// How deep the agent lies, and how deep it may.
    pub delegation: Delegation,
}

/// Whether anybody waits for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// Its parent waits.
    Foreground,
    /// Nobody waits, and nobody is there to be asked.
    Background,
}

/// How deep an agent lies, and how deep agents may lie. The main agent is at depth 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegation {
    /// The agent's own depth.
    pub depth: u32,
    /// The depth at which agents may no longer delegate.
    pub max_depth: u32,
}

/// What the filter leaves, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// The agent's tools.
    pub tools: ToolSet,
    /// What the agent asked for and does not get; with no list of tools, all that its parent has and
    /// it has not.
    pub withheld: Vec<Withheld>,
}

/// Decides which of its parent's tools an agent gets.
pub fn filter(request: &FilterRequest<'_>) -> Filtered {
    let plan = Plan::from_request(request);
    let tools = request.parent.narrow(|tool| plan.judge(tool).ok());
    let withheld = plan.report(&tools);
    Filtered { tools, withheld }
}

/// The lists of a definition, read once.
struct Plan<'a> {
    request: &'a FilterRequest<'a>,
    disallowed: Vec<Denial<'a>>,
    /// `denyTools`, each entry with what later ones except from it.
    denied: Vec<Denial<'a>>,
    listed: Option<Vec<Entry<'a>>>,
    disabled: Vec<Denial<'a>>,
    unknown_features: Vec<&'a str>,
}

impl<'a> Plan<'a> {
    fn from_request(request: &'a FilterRequest<'a>) -> Self {
        let definition = request.definition;
        let read = |written: &'a str| Entry {
            written,
            rule: of_host(ToolRule::parse(written), written, request.parent),
        };
        let denied = |written: &'a str| Entry {
            written,
            rule: of_host(ToolRule::parse_denial(written), written, request.parent),
        };
        let disallowed = definition.disallowed_tools.iter();
        let listed = match &definition.tools {
            ToolAccess::All => None,
            ToolAccess::List(entries) => Some(entries.iter().map(|entry| read(entry)).collect()),
        };
        let mut disabled = Vec::new();
        let mut unknown_features = Vec::new();
        for written in &definition.disabled_features {
            let feature = denied(written)
                .denial()
                .map_or_else(|| feature(written), |denial| vec![denial.rule]);
            if feature.is_empty() {
                unknown_features.push(written.as_str());
            }
            disabled.extend(feature.into_iter().map(|rule| Denial { written, rule }));
        }
        Self {
            request,
            disallowed: disallowed.filter_map(|entry| denied(entry).denial()).collect(),
            denied: excepting(&definition.deny_tools, denied),
            listed,
            disabled,
            unknown_features,
        }
    }

    /// What restricts a tool, or why the agent does not get it; the steps in their order.
    fn judge(&self, tool: &ToolName) -> Result<Vec<Constraint>, WithheldReason> {
        let mut constraints = Vec::new();
        self.judge_schedule(tool)?;
        self.judge_depth(tool)?;
        for denial in &self.disallowed {
            let entry = || denial.written.to_owned();
            denial.judge(tool, &mut constraints, |error| match error {
                None => WithheldReason::Disallowed { entry: entry() },
                Some(error) => {
                    WithheldReason::DisallowedNotUnderstood { entry: entry(), error: error.clone() }
                }
            })?;
        }
        for denial in &self.denied {
            denial.judge(tool, &mut constraints, |_| WithheldReason::Denied {
                entry: denial.written.to_owned(),
            })?;
        }
        self.judge_unclear(tool)?;
        self.judge_trust(tool)?;
        self.judge_list(tool, &mut constraints)?;
        self.judge_parent(tool)?;
        for denial in &self.disabled {
            denial.judge(tool, &mut constraints, |_| WithheldReason::Disabled {
                feature: denial.written.to_owned(),
            })?;
        }
        Ok(constraints)
    }

    fn judge_schedule(&self, tool: &ToolName) -> Result<(), WithheldReason> {
        match self.request.schedule {
            Schedule::Background if !is_async_safe(tool) => Err(WithheldReason::Background),
            Schedule::Background | Schedule::Foreground => Ok(()),
        }
    }

    fn judge_depth(&self, tool: &ToolName) -> Result<(), WithheldReason> {
        let Delegation { depth, max_depth } = self.request.delegation;
        match tool.builtin() {
            Some(BuiltinTool::TodoWrite) if depth > 0 => Err(WithheldReason::MainAgentOnly),
            Some(tool) if BuiltinTool::DELEGATION.contains(&tool) && depth >= max_depth => {
                Err(WithheldReason::Depth { depth, max_depth })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A restriction that is not understood keeps the dangerous tools away; trust does not lift that.
    fn judge_unclear(&self, tool: &ToolName) -> Result<(), WithheldReason> {
        let Some(key) = self.request.definition.unclear_restrictions.first() else {
            return Ok(());
        };
        let is_dangerous = match tool {
            ToolName::Builtin(tool) => tool.is_shell() || BuiltinTool::WRITERS.contains(tool),
            ToolName::Mcp { .. } => true,
            ToolName::Host(_) => false,
        };
        if is_dangerous {
            return Err(WithheldReason::UnclearRestriction { key: key.clone() });
        }
        Ok(())
    }

    fn judge_trust(&self, tool: &ToolName) -> Result<(), WithheldReason> {
        let definition = self.request.definition;
        let needs_trust = tool
            .builtin()
            .is_some_and(|tool| tool.is_shell() || BuiltinTool::WRITERS.contains(&tool));
        if needs_trust
            && definition.source != Scope::Builtin
            && self.request.trust == Trust::Untrusted
        {
            let agent = definition.agent_type.clone();
            return Err(WithheldReason::Untrusted { agent });
        }
        Ok(())
    }

    fn judge_list(
        &self,
        tool: &ToolName,
        constraints: &mut Vec<Constraint>,
    ) -> Result<(), WithheldReason> {
        let Some(entries) = &self.listed else {
            return Ok(());
        };
        let rules: Vec<&ToolRule> = entries
            .iter()
            .filter_map(|entry| entry.rule.as_ref().ok())
            .filter(|rule| rule.tools().covers(tool))
            .collect();
        if rules.is_empty() {
            return Err(WithheldReason::NotListed);
        }
        if !rules.iter().any(|rule| rule.is_unrestricted()) {
            constraints.push(Constraint::Only(rules.into_iter().cloned().collect()));
        }
        Ok(())
    }

    fn judge_parent(&self, tool: &ToolName) -> Result<(), WithheldReason> {
        let parent = self.request.parent;
        if parent.contains(tool) {
            return Ok(());
        }
        Err(match tool {
            ToolName::Mcp { server, .. } if !has_server(parent, server) => {
                WithheldReason::McpServerNotConfigured { server: server.clone() }
            }
            ToolName::Mcp { server, .. } => {
                WithheldReason::NotOfMcpServer { server: server.clone() }
            }
            ToolName::Builtin(_) | ToolName::Host(_) => WithheldReason::NotOfParent,
        })
    }

    fn report(&self, granted: &ToolSet) -> Vec<Withheld> {
        let mut report = Report { plan: self, granted, withheld: Vec::new() };
        match &self.listed {
            None => report.add_each(self.request.parent.names()),
            Some(entries) => entries.iter().for_each(|entry| report.add_entry(entry)),
        }
        for feature in &self.unknown_features {
            report.add((*feature).to_owned(), WithheldReason::UnknownFeature);
        }
        report.withheld
    }
}

/// What was asked for and is not there.
struct Report<'a> {
    plan: &'a Plan<'a>,
    granted: &'a ToolSet,
    withheld: Vec<Withheld>,
}

impl Report<'_> {
    fn add(&mut self, tool: String, reason: WithheldReason) {
        let withheld = Withheld { tool, reason };
        if !self.withheld.contains(&withheld) {
            self.withheld.push(withheld);
        }
    }

    fn add_entry(&mut self, entry: &Entry<'_>) {
        let parent = self.plan.request.parent;
        let written = || entry.written.to_owned();
        let rule = match &entry.rule {
            Ok(rule) => rule,
            Err(_) if entry.written.trim() == COMPLETE_TASK => return,
            Err(error) => {
                return self.add(written(), WithheldReason::NotUnderstood(error.clone()));
            }
        };
        let meant = || parent.names().filter(|tool| rule.tools().covers(tool));
        match rule.tools() {
            ToolPattern::Exactly(tools) => self.add_named(entry, tools),
            ToolPattern::McpServer(server) if meant().next().is_none() => {
                let server = server.clone();
                self.add(written(), WithheldReason::McpServerNotConfigured { server });
            }
            ToolPattern::AnyMcp if meant().next().is_none() => {
                self.add(written(), WithheldReason::NoMcpServer);
            }
            ToolPattern::Any
            | ToolPattern::McpServer(_)
            | ToolPattern::AnyMcp
            | ToolPattern::Like(_) => {
                self.add_each(meant());
            }
        }
    }

    /// Adds those of the tools that were not granted.
    fn add_each<'t>(&mut self, tools: impl Iterator<Item = &'t ToolName>) {
        for tool in tools {
            if let Err(reason) = self.plan.judge(tool) {
                self.add(tool.to_string(), reason);
            }
        }
    }

    /// Adds those of the tools of an entry that were not granted; the shell family under the one name
    /// that was written, if none of it was.
    fn add_named(&mut self, entry: &Entry<'_>, tools: &[ToolName]) {
        let is_shell = |tool: &ToolName| tool.builtin().is_some_and(BuiltinTool::is_shell);
        let family = tools.iter().filter(|tool| is_shell(tool));
        let has_shell = family.clone().any(|tool| self.granted.contains(tool));
        let word = entry.written.split('(').next().unwrap_or_default().trim();
        let written = BuiltinTool::from_word(word).unwrap_or(BuiltinTool::Shell);
        // The reason is that of a member there is; the others would say that the parent lacks them.
        let parent = self.plan.request.parent;
        let spokesman = family.clone().find(|tool| parent.contains(tool));
        let spokesman = spokesman.or_else(|| family.clone().next());
        for tool in tools {
            let speaks_for_itself =
                if has_shell { parent.contains(tool) } else { spokesman == Some(tool) };
            if is_shell(tool) && !speaks_for_itself {
                continue;
            }
            if let Err(reason) = self.plan.judge(tool) {
                let name = if is_shell(tool) && !has_shell {
                    written.as_str().to_owned()
                } else {
                    tool.to_string()
                };
                self.add(name, reason);
            }
        }
    }
}

/// Whether a tool may be used where nobody is there to be asked.
fn is_async_safe(tool: &ToolName) -> bool {
    use BuiltinTool as Tool;
    match tool.builtin() {
        Some(
            Tool::ReadFile
            | Tool::ListDir
            | Tool::ViewImage
            | Tool::EditFile
            | Tool::GrepFiles
            | Tool::GlobFiles
            | Tool::Shell
            | Tool::ExecCommand
            | Tool::WriteStdin
            | Tool::WebSearch
            | Tool::WebFetch
            | Tool::Skill
            | Tool::SlashCommand,
        ) => true,
        Some(
            Tool::WriteFile
            | Tool::ApplyPatch
            | Tool::TodoWrite
            | Tool::Task
            | Tool::TaskOutput
            | Tool::TaskStop
            | Tool::SubagentList
            | Tool::SubagentDescribe
            | Tool::SubagentRun,
        )
        | None => false,
    }
}

fn has_server(parent: &ToolSet, wanted: &str) -> bool {
    parent.names().any(|tool| matches!(tool, ToolName::Mcp { server, .. } if server == wanted))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
