//! What would become of a call of an agent, without making it.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use attache_kernel::{
    agent::definition::{Definition, Scope, Trust},
    rights::{
        filter::{Filtered, Schedule, ToolSet},
        permission::{
            AutoApproval, Foresight, Judgement, Permission, Policy, Proposed, Stance, judge,
        },
        rule::{Call, RealPath},
        tool_name::{BuiltinTool, ToolName},
    },
};
use serde_json::Value;

use super::{FIRST_DEPTH, Offer, OrderError, Workplace};
use crate::{
    tasks::Permissions,
    tool::{
        HiddenPlaces,
        named_paths::{followed, linked_paths, named_paths, real_path},
    },
};

/// What an agent may do when it is run by itself: its rights, and what its calls are judged by.
#[derive(Debug)]
pub struct Leave {
    definition: Definition,
    trust: Trust,
    offer: Offer,
    filtered: Filtered,
    permissions: Permissions,
    root: PathBuf,
    /// Further directories that file tools may use.
    further_roots: Vec<PathBuf>,
    hidden: HiddenPlaces,
}

impl Leave {
    /// What an agent of that definition may do here.
    pub fn new(
        definition: &Definition,
        trust: Trust,
        offer: &Offer,
        workplace: &Workplace,
        policy: Arc<Policy>,
    ) -> Result<Self, OrderError> {
        let root = workplace.folder(definition, trust, None)?;
        let root = root.canonicalize().unwrap_or(root);
        let place = (FIRST_DEPTH, Schedule::Foreground);
        let mut filtered = offer.rights(definition, trust, place, None);
        filtered.tools = filtered.tools.placed(&root.to_string_lossy());
        let stance = Stance::of_agent(definition);
        let permissions = Permissions { policy, stance, ..Permissions::default() };
        let permissions = permissions.of_run(&root, AutoApproval::AsConfigured).asking(definition);
        let further_roots = workplace.further_roots.iter();
        let further_roots = further_roots.filter_map(|root| root.canonicalize().ok()).collect();
        let (definition, offer) = (definition.clone(), offer.clone());
        let hidden = HiddenPlaces::around(&root, &workplace.hidden);
        Ok(Self { definition, trust, offer, filtered, permissions, root, further_roots, hidden })
    }
}

impl Leave {
    /// The tools the agent has.
    pub fn tools(&self) -> impl Iterator<Item = &ToolName> {
        self.filtered.tools.names().filter(|tool| !self.offer.absent.contains_key(*tool))
    }

    /// What its calls are judged by.
    pub fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// What would become of a call.
    pub fn judge(&self, tool: &ToolName, arguments: &Value) -> Judgement {
        let foresight = Foresight { paths: self.written(tool, arguments), ..Foresight::default() };
        let proposed = Proposed { tool, arguments, foresight: &foresight, asks: None };
        let Permissions { policy, stance, .. } = &self.permissions;
        let tools = self.tools_with(tool);
        let mut judgement = judge(&proposed, &tools, *stance, policy);
        if let (Some(parameter), false) = (missing(tool, arguments), is_denied(&judgement)) {
            judgement = denied(format!("the call would fail: parameter `{parameter}` is required"));
        }
        if let (Some(reason), false) = (self.unusable(tool, arguments), is_denied(&judgement)) {
            judgement = denied(reason);
        }
        if let (Some(path), false) = (self.outside(tool, arguments), is_denied(&judgement)) {
            judgement = denied(format!(
                "`{path}` is outside of the workspace, which file tools do not leave"
            ));
        }
        if let (Some(path), false) = (self.hidden_path(tool, arguments), is_denied(&judgement)) {
            judgement = denied(format!(
                "{path}: keys and the program's own files are kept there; no tool may use it"
            ));
        }
        if let (Some(reason), false) = (self.offer.absent.get(tool), is_denied(&judgement)) {
            judgement = denied(format!("the tool `{tool}` is not available here: {reason}"));
        }
        if !tools.contains(tool) {
            let name = tool.to_string();
            let mut withheld = self.filtered.withheld.iter();
            if let Some(withheld) = withheld.find(|withheld| withheld.tool == name) {
                judgement.reason = format!("{}: {}", judgement.reason, withheld.reason);
            }
        }
        judgement
    }

    /// The tools, with one of an MCP server that is there only once the server runs. No server is started
    /// to find out.
    fn tools_with(&self, tool: &ToolName) -> Cow<'_, ToolSet> {
        let ToolName::Mcp { server, tool: name } = tool else {
            return Cow::Borrowed(&self.filtered.tools);
        };
        let is_trusted = self.trust == Trust::Trusted || self.definition.source == Scope::Builtin;
        let is_described = self
            .definition
            .mcp_servers
            .iter()
            .any(|own| is_trusted && own.config.is_some() && own.name == *server);
        let is_offered = match self.offer.mcp_servers.get(server) {
            Some(offered) => offered.offers(name),
            None => is_described,
        };
        if !is_offered || self.filtered.tools.contains(tool) {
            return Cow::Borrowed(&self.filtered.tools);
        }
        let place = (FIRST_DEPTH, Schedule::Foreground);
        let with = self.offer.rights_among(&self.definition, self.trust, place, [tool.clone()]);
        Cow::Owned(with.tools)
    }

    /// The path of a file tool's call that lies in none of the directories it may use.
    fn outside(&self, tool: &ToolName, arguments: &Value) -> Option<String> {
        let is_file_tool = tool.builtin().is_some_and(|tool| {
            BuiltinTool::READERS.contains(&tool) || BuiltinTool::WRITERS.contains(&tool)
        });
        let paths =
            if is_file_tool { Call::new(tool, arguments).named_paths() } else { Vec::new() };
        paths.into_iter().find(|path| {
            let real = followed(&self.root.join(path));
            let mut roots = std::iter::once(&self.root).chain(&self.further_roots);
            !roots.any(|root| real.starts_with(root))
        })
    }

    /// Why a command cannot start in the directory that its call names.
    fn unusable(&self, tool: &ToolName, arguments: &Value) -> Option<String> {
        if !tool.builtin().is_some_and(BuiltinTool::is_shell) {
            return None;
        }
        let call = Call::new(tool, arguments);
        let workdir = call.workdir()?;
        let real = followed(&self.root.join(workdir));
        let mut roots = std::iter::once(&self.root).chain(&self.further_roots);
        if !roots.any(|root| real.starts_with(root)) {
            return Some(format!("the call would fail: `{workdir}` is outside of the workspace"));
        }
        (!real.is_dir()).then(|| format!("the call would fail: there is no directory `{workdir}`"))
    }

    /// The path of a file tool's call that lies where no tool may look; for a command, the directory that it
    /// would run in.
    fn hidden_path(&self, tool: &ToolName, arguments: &Value) -> Option<String> {
        let builtin = tool.builtin()?;
        if builtin.is_shell() {
            let escalated = arguments.get("with_escalated_permissions").is_some();
            let is_hidden = !escalated && self.hidden.hides(&self.root);
            return is_hidden.then(|| self.root.display().to_string());
        }
        if !BuiltinTool::READERS.contains(&builtin) && !BuiltinTool::WRITERS.contains(&builtin) {
            return None;
        }
        let paths = Call::new(tool, arguments).named_paths();
        paths.into_iter().find(|path| self.hidden.hides(&followed(&self.root.join(path))))
    }

    /// Where the files lie that a call names, links followed as far as there is something.
    fn written(&self, tool: &ToolName, arguments: &Value) -> Vec<RealPath> {
        if tool.builtin().is_some_and(BuiltinTool::is_shell) {
            return named_paths(&self.root, arguments);
        }
        if !tool.builtin().is_some_and(|tool| BuiltinTool::WRITERS.contains(&tool)) {
            return linked_paths(&self.root, tool, arguments);
        }
        let call = Call::new(tool, arguments);
        call.written_paths()
            .iter()
            .map(|path| real_path(&self.root, &self.root.join(path)))
            .collect()
    }
}

/// The parameter without which a call of a tool fails, if it is not there.
fn missing(tool: &ToolName, arguments: &Value) -> Option<&'static str> {
    use BuiltinTool as Tool;
    let parameter = match tool.builtin()? {
        Tool::ReadFile | Tool::ViewImage | Tool::WriteFile | Tool::EditFile => "path",
        Tool::GlobFiles | Tool::GrepFiles => "pattern",
        Tool::ApplyPatch => "patch",
        Tool::Shell | Tool::ExecCommand => "command",
        Tool::WebFetch => "url",
        Tool::WebSearch => "query",
        Tool::Task => "subagent_type",
        Tool::SubagentRun | Tool::SubagentDescribe => "name",
        Tool::WriteStdin
        | Tool::ListDir
        | Tool::TodoWrite
        | Tool::TaskOutput
        | Tool::TaskStop
        | Tool::SubagentList
        | Tool::Skill
        | Tool::SlashCommand => return None,
    };
    let says_something = |value: &Value| match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    let is_there = match arguments {
        Value::Object(members) => members.values().any(says_something),
        other => says_something(other),
    };
    (!is_there || !Call::new(tool, arguments).is_readable()).then_some(parameter)
}

fn denied(reason: String) -> Judgement {
    Judgement { permission: Permission::Deny { reason: reason.clone() }, reason, rule: None }
}

fn is_denied(judgement: &Judgement) -> bool {
    matches!(judgement.permission, Permission::Deny { .. })
}
