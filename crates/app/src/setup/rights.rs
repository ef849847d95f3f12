//! Rights: what an agent may call when it is run from here.

use attache_kernel::{
    agent::definition::{Definition, ToolAccess, Trust},
    rights::{
        filter::{Delegation, FilterRequest, Filtered, Schedule, ToolSet, filter},
        tool_name::{BuiltinTool, ToolName, ToolPattern},
    },
};

use super::Setup;
use crate::settings::{McpServerSettings, Settings};

impl Setup {
    /// The tools a definition would get if its file were trusted.
    pub(crate) fn tools_if_trusted(&self, definition: &Definition) -> Vec<String> {
        self.appraise(definition, Trust::Trusted, &self.parent_model()).effective_tools
    }

    /// What an agent may call when it is run from here, at that depth.
    pub(crate) fn rights(&self, definition: &Definition, trust: Trust, depth: u32) -> Filtered {
        filter(&FilterRequest {
            definition,
            trust,
            parent: &host_tools(&self.settings, definition),
            schedule: if definition.background {
                Schedule::Background
            } else {
                Schedule::Foreground
            },
            delegation: Delegation { depth, max_depth: self.settings.subagents.max_depth },
        })
    }
}

/// Every tool the program offers a main agent, as far as it can be told before an MCP server is
/// started: what the settings or the definition name of a server, and `*` for the rest of it.
fn host_tools(settings: &Settings, definition: &Definition) -> ToolSet {
    let offered = BuiltinTool::ALL.iter().copied().filter(|tool| match tool {
        // They belong to hosts that have skills and slash commands.
        BuiltinTool::Skill | BuiltinTool::SlashCommand => false,
        tool if BuiltinTool::DELEGATION.contains(tool) => settings.tools.subagent_tools,
        _ => true,
    });
    let mcp = settings
        .mcp_servers
        .iter()
        .filter(|(_, server)| server.enabled)
        .flat_map(|(name, server)| mcp_tools(name, server, definition));
    ToolSet::of_host(offered.map(ToolName::Builtin).chain(mcp))
}

fn mcp_tools(name: &str, server: &McpServerSettings, definition: &Definition) -> Vec<ToolName> {
    let named = |tool: &str| ToolName::Mcp { server: name.to_owned(), tool: tool.to_owned() };
    if let Some(tools) = &server.enabled_tools {
        let used = tools.iter().filter(|tool| !server.disabled_tools.contains(tool));
        return used.map(|tool| named(tool)).collect();
    }
    let ToolAccess::List(entries) = &definition.tools else { return vec![named("*")] };
    let mut tools = vec![named("*")];
    for entry in entries {
        let Ok(ToolPattern::Exactly(meant)) = ToolPattern::parse(entry) else { continue };
        tools.extend(meant.into_iter().filter(|tool| {
            matches!(tool, ToolName::Mcp { server: of, tool }
                if of == name && !server.disabled_tools.contains(tool))
        }));
    }
    tools
}
