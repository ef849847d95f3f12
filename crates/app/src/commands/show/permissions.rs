//! What an agent may do unasked, what it must ask for, and what it never may.

use std::fmt;

use attache_kernel::rights::{
    permission::{Permission, PermissionRule},
    tool_name::{BuiltinTool, ToolName},
};
use attache_runtime::internal::host::Leave;
use serde::Serialize;
use serde_json::{Value, json};

/// What an agent may do unasked, what it must ask for, and what it never may.
#[derive(Debug, Default, Serialize)]
pub(super) struct Permissions {
    pub(super) unasked: Vec<String>,
    pub(super) asked: Vec<String>,
    pub(super) never: Vec<String>,
}

impl Permissions {
    /// What the judging says about a usual call of each tool, and the rules that say otherwise.
    pub(super) fn granted_by(leave: &Leave) -> Self {
        let mut permissions = Self::default();
        let tools: Vec<&ToolName> = leave.tools().collect();
        let has = |tool: BuiltinTool| tools.contains(&&ToolName::Builtin(tool));
        for tool in &tools {
            let is_shell = tool.builtin().is_some_and(BuiltinTool::is_shell);
            if !is_shell {
                permissions.add(leave, tool, &usual(tool), tool);
            }
        }
        if let Some(shell) =
            [BuiltinTool::Shell, BuiltinTool::ExecCommand].into_iter().find(|tool| has(*tool))
        {
            let shell = ToolName::Builtin(shell);
            let calls = [
                ("commands that only read", json!({ "command": "pwd" })),
                ("other commands", json!({ "command": "attache-sample-command" })),
                (
                    "commands outside of the sandbox",
                    json!({ "command": "pwd", "with_escalated_permissions": true }),
                ),
            ];
            for (what, arguments) in calls {
                permissions.add(leave, &shell, &arguments, &what);
            }
        }
        if let Some(writer) = BuiltinTool::WRITERS.iter().copied().find(|tool| has(*tool)) {
            let writer = ToolName::Builtin(writer);
            let arguments = json!({ "path": ".git/config", "content": "" });
            permissions.add(leave, &writer, &arguments, &"writes to protected paths");
        }
        permissions.add_rules(leave, &tools);
        permissions
    }

    fn add(&mut self, leave: &Leave, tool: &ToolName, arguments: &Value, what: &dyn fmt::Display) {
        let into = match leave.judge(tool, arguments).permission {
            Permission::Allow => &mut self.unasked,
            Permission::Ask { .. } => &mut self.asked,
            Permission::Deny { .. } => &mut self.never,
        };
        into.push(what.to_string());
    }

    /// Adds the rules that have a say about the agent's tools.
    fn add_rules(&mut self, leave: &Leave, tools: &[&ToolName]) {
        let rules = &leave.permissions().policy.rules;
        let concerns = |rule: &&PermissionRule| {
            tools
                .iter()
                .any(|tool| rule.rule.tools().covers(tool) || rule.rule.denial_reaches(tool))
        };
        let written = |rules: &[PermissionRule]| -> Vec<String> {
            rules.iter().filter(concerns).map(|rule| rule.written.clone()).collect()
        };
        self.unasked.extend(written(&rules.allow));
        self.asked.extend(written(&rules.ask));
        self.never.extend(written(&rules.deny));
    }
}

/// The arguments of a call that no pattern is likely to mean.
fn usual(tool: &ToolName) -> Value {
    let path = "attache-sample-file";
    match tool.builtin() {
        Some(BuiltinTool::ApplyPatch) => {
            json!({ "patch": format!("*** Begin Patch\n*** Add File: {path}\n+\n*** End Patch") })
        }
        Some(BuiltinTool::WebFetch) => json!({ "url": "https://attache-sample.invalid/" }),
        Some(BuiltinTool::Task) => json!({ "subagent_type": "attache-sample-agent" }),
        Some(BuiltinTool::SubagentRun) => json!({ "name": "attache-sample-agent" }),
        _ => json!({ "path": path, "content": "", "pattern": path }),
    }
}
