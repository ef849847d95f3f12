//! Rights: what an agent may call when it is run here.

use std::collections::BTreeMap;

use attache_kernel::{
    agent::definition::{Definition, ToolAccess, Trust},
    rights::{
        filter::{Delegation, FilterRequest, Filtered, Schedule, ToolSet, filter},
        tool_name::{BuiltinTool, ToolName, ToolPattern},
    },
};

use crate::mcp_client::ServerEntry;

/// What the host offers.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// Whether agents may have the delegation tools.
    pub subagent_tools: bool,
    /// The tools of MCP servers, by server.
    pub mcp_servers: BTreeMap<String, McpOffer>,
    /// The registered tools.
    pub custom: Vec<ToolName>,
    /// How deep agents may start agents.
    pub max_depth: u32,
    /// Tools that no run gets here, each with the reason.
    pub absent: BTreeMap<ToolName, String>,
}

/// What the settings say of an MCP server's tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpOffer {
    /// The only tools that are used; none is all.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not used.
    pub disabled_tools: Vec<String>,
}

impl Offer {
    /// What an agent may call at that depth, below those rights, when it is run in that way.
    pub fn rights(
        &self,
        definition: &Definition,
        trust: Trust,
        (depth, schedule): (u32, Schedule),
        parent: Option<&ToolSet>,
    ) -> Filtered {
        if let Some(parent) = parent {
            return self.filtered(definition, trust, (depth, schedule), parent);
        }
        let mcp = self.mcp_servers.iter();
        let mcp = mcp.flat_map(|(name, server)| server.tools(name, definition));
        self.rights_among(definition, trust, (depth, schedule), mcp)
    }

    /// The same for an agent that the user started directly, with those tools of MCP servers.
    pub(super) fn rights_among(
        &self,
        definition: &Definition,
        trust: Trust,
        place: (u32, Schedule),
        mcp: impl IntoIterator<Item = ToolName>,
    ) -> Filtered {
        self.filtered(definition, trust, place, &self.host_tools(mcp))
    }

    fn filtered(
        &self,
        definition: &Definition,
        trust: Trust,
        (depth, schedule): (u32, Schedule),
        parent: &ToolSet,
    ) -> Filtered {
        filter(&FilterRequest {
            definition,
            trust,
            parent,
            schedule,
            delegation: Delegation { depth, max_depth: self.max_depth },
        })
    }

    /// Every tool the host offers a main agent.
    fn host_tools(&self, mcp: impl IntoIterator<Item = ToolName>) -> ToolSet {
        let offered = BuiltinTool::ALL.iter().copied().filter(|tool| match tool {
            // They belong to hosts that have skills and slash commands.
            BuiltinTool::Skill | BuiltinTool::SlashCommand => false,
            tool if BuiltinTool::DELEGATION.contains(tool) => self.subagent_tools,
            _ => true,
        });
        let custom = self.custom.iter().cloned();
        ToolSet::of_host(offered.map(ToolName::Builtin).chain(mcp).chain(custom))
    }
}

impl McpOffer {
    /// Whether a tool of the server may be used, if the server has it.
    pub(super) fn offers(&self, tool: &str) -> bool {
        let is_named = |names: &Vec<String>| names.iter().any(|name| name == tool);
        self.enabled_tools.as_ref().is_none_or(is_named) && !is_named(&self.disabled_tools)
    }

    /// The tools of a server as far as they can be told before it is started: what the settings or the
    /// definition name of it, and `*` for the rest.
    pub(super) fn tools(&self, name: &str, definition: &Definition) -> Vec<ToolName> {
        let named = |tool: &str| ToolName::Mcp { server: name.to_owned(), tool: tool.to_owned() };
        if let Some(tools) = &self.enabled_tools {
            let used = tools.iter().filter(|tool| !self.disabled_tools.contains(tool));
            return used.map(|tool| named(tool)).collect();
        }
        let ToolAccess::List(entries) = &definition.tools else { return vec![named("*")] };
        let mut tools = vec![named("*")];
        for entry in entries {
            let Ok(ToolPattern::Exactly(meant)) = ToolPattern::parse(entry) else { continue };
            tools.extend(meant.into_iter().filter(|tool| {
                matches!(tool, ToolName::Mcp { server: of, tool }
                    if of == name && !self.disabled_tools.contains(tool))
            }));
        }
        tools
    }
}

impl From<&ServerEntry> for McpOffer {
    fn from(entry: &ServerEntry) -> Self {
        Self {
            enabled_tools: entry.enabled_tools.clone(),
            disabled_tools: entry.disabled_tools.clone(),
        }
    }
}
