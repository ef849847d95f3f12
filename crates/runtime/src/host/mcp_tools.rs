//! The tools of MCP servers in the rights of a run.
//!
//! Invariant: only servers of which the agent may use a tool are started, and a server that an agent file
//! describes only if that file is trusted. A run below another one gets its tools from that one's.

use std::collections::BTreeSet;

use attache_kernel::{
    agent::{
        definition::{Definition, Scope, Trust},
        registry::Record,
    },
    rights::{
        filter::{Filtered, Schedule, ToolSet, Withheld, WithheldReason, WithheldTool},
        tool_name::{ToolName, ToolPattern},
    },
};
use serde_json::Value;

use super::{Host, McpOffer, Notice, TrustFor};
use crate::{
    agents::trust::TrustWatch,
    mcp_client::{FailedServer, ServerEntry, Toolbox},
    tasks::RunHandle,
};

/// What a run may call, and the tools of MCP servers among it.
pub(super) struct Equipped {
    pub(super) filtered: Filtered,
    pub(super) toolbox: Toolbox,
    /// The tools of MCP servers that the host offers.
    offered: Vec<ToolName>,
}

impl Equipped {
    /// The servers that did not start, as tools that the run does not have.
    pub(super) fn did_not_start(&self) -> Vec<WithheldTool> {
        self.toolbox.failed().iter().map(|failed| (&withheld(failed)).into()).collect()
    }
}

impl Host {
    /// What an agent may call. The MCP servers of which it may use a tool are started.
    pub(super) async fn equipped(
        &self,
        definition: &Definition,
        trust: Trust,
        place: (u32, Schedule),
        parent: Option<&RunHandle>,
        notices: &mut Vec<Notice>,
    ) -> Equipped {
        if let Some(parent) = parent {
            let rights = Some(&parent.assignment().rights);
            let filtered = self.offer.rights(definition, trust, place, rights);
            let toolbox = parent.live().toolbox.clone();
            return Equipped { filtered, toolbox, offered: Vec::new() };
        }
        let inline = self.inline_servers(definition, trust, notices);
        let mut guessed: Vec<(String, Vec<ToolName>)> = Vec::new();
        for (name, offer) in &self.offer.mcp_servers {
            if !inline.iter().any(|(own, _)| own == name) {
                guessed.push((name.clone(), offer.tools(name, definition)));
            }
        }
        for (name, description) in &inline {
            let offer = McpOffer::from(&ServerEntry::from_json(description));
            guessed.push((name.clone(), offer.tools(name, definition)));
        }
        let all = guessed.iter().flat_map(|(_, tools)| tools.iter().cloned());
        let filtered = self.offer.rights_among(definition, trust, place, all);
        let used = servers(&filtered.tools);
        let (used, unused): (Vec<_>, Vec<_>) =
            guessed.into_iter().partition(|(name, _)| used.contains(name.as_str()));
        if used.is_empty() {
            let offered = unused.into_iter().flat_map(|(_, tools)| tools).collect();
            return Equipped { filtered, toolbox: Toolbox::default(), offered };
        }
        let used: Vec<String> = used.into_iter().map(|(name, _)| name).collect();
        let toolbox = Box::pin(self.mcp.toolbox(&used, &inline)).await;
        let offered: Vec<ToolName> = toolbox
            .tools()
            .keys()
            .cloned()
            .chain(unused.into_iter().flat_map(|(_, tools)| tools))
            .collect();
        let filtered = self.offer.rights_among(definition, trust, place, offered.clone());
        let filtered = without(filtered, toolbox.failed());
        Equipped { filtered, toolbox, offered }
    }

    /// The tools of the MCP servers that a run with those rights uses.
    pub(super) async fn toolbox_of(
        &self,
        definition: &Definition,
        trust: Trust,
        rights: &ToolSet,
    ) -> Toolbox {
        let used: Vec<String> = servers(rights).into_iter().map(str::to_owned).collect();
        if used.is_empty() {
            return Toolbox::default();
        }
        let inline = self.inline_servers(definition, trust, &mut Vec::new());
        Box::pin(self.mcp.toolbox(&used, &inline)).await
    }

    /// What another definition may call of the same tools.
    pub(super) fn rights_like(
        &self,
        equipped: &Equipped,
        definition: &Definition,
        trust: Trust,
        place: (u32, Schedule),
        parent: Option<&RunHandle>,
    ) -> Filtered {
        if let Some(parent) = parent {
            let rights = Some(&parent.assignment().rights);
            return self.offer.rights(definition, trust, place, rights);
        }
        // What an agent file describes is for trusted agents alone.
        let is_untrusted = trust == Trust::Untrusted && definition.source != Scope::Builtin;
        let is_own = |tool: &ToolName| match tool {
            ToolName::Mcp { server, .. } => {
                definition.mcp_servers.iter().any(|own| own.config.is_some() && own.name == *server)
            }
            ToolName::Builtin(_) | ToolName::Host(_) => false,
        };
        let offered = equipped.offered.iter().filter(|tool| !(is_untrusted && is_own(tool)));
        self.offer.rights_among(definition, trust, place, offered.cloned())
    }

    /// What the agent may call where somebody waits for it, if nobody does.
    pub(super) fn attended_rights(
        &self,
        equipped: &Equipped,
        definition: &Definition,
        trust: Trust,
        (depth, schedule): (u32, Schedule),
        parent: Option<&RunHandle>,
    ) -> Option<ToolSet> {
        let place = (depth, Schedule::Foreground);
        let rights = || self.rights_like(equipped, definition, trust, place, parent).tools;
        (schedule == Schedule::Background).then(rights)
    }

    /// What watches over the recorded trust in an agent's file while a run has its rights from it. Without
    /// the trust, the run has the tools that `rights` gives for it.
    pub(super) fn trust_watch(
        &self,
        record: Option<&Record>,
        trust: TrustFor,
        rights: impl Fn(Trust) -> Filtered,
    ) -> Option<TrustWatch> {
        let record = record.filter(|record| record.trusted == Trust::Trusted)?;
        let file = record.source_path.as_deref().filter(|_| trust == TrustFor::Recorded)?;
        let without_trust = rights(Trust::Untrusted).tools;
        Some(TrustWatch::new(&self.trust, record.name.clone(), file, without_trust))
    }

    /// The servers that a definition describes, if it is trusted.
    fn inline_servers(
        &self,
        definition: &Definition,
        trust: Trust,
        notices: &mut Vec<Notice>,
    ) -> Vec<(String, Value)> {
        let is_trusted = trust == Trust::Trusted || definition.source == Scope::Builtin;
        let mut inline = Vec::new();
        for server in &definition.mcp_servers {
            let agent = || definition.agent_type.to_string();
            let name = server.name.clone();
            match &server.config {
                Some(description) if is_trusted => inline.push((name, description.clone())),
                Some(_) => notices.push(Notice::ServerNotStarted { agent: agent(), server: name }),
                None if self.mcp.is_configured(&name) => {}
                None => notices.push(Notice::NoSuchServer { agent: agent(), server: name }),
            }
        }
        inline
    }
}

/// The servers of which there are tools in a set.
fn servers(tools: &ToolSet) -> BTreeSet<&str> {
    let names = tools.names().filter_map(|tool| match tool {
        ToolName::Mcp { server, .. } => Some(server.as_str()),
        ToolName::Builtin(_) | ToolName::Host(_) => None,
    });
    names.collect()
}

fn withheld(failed: &FailedServer) -> Withheld {
    let FailedServer { name, reason } = failed.clone();
    Withheld {
        tool: format!("mcp__{name}__*"),
        reason: WithheldReason::McpServerFailed { server: name, reason },
    }
}

/// The same with the true reason for what is missing of servers that did not start.
fn without(mut filtered: Filtered, failed: &[FailedServer]) -> Filtered {
    for server in failed {
        let pattern = ToolPattern::McpServer(server.name.clone());
        filtered.withheld.retain(|missing| {
            let is_servers = match &missing.reason {
                WithheldReason::McpServerNotConfigured { server: named } => {
                    pattern.covers(&ToolName::Mcp { server: named.clone(), tool: String::new() })
                }
                _ => false,
            };
            !is_servers && !matches!(missing.reason, WithheldReason::NoMcpServer)
        });
        filtered.withheld.push(withheld(server));
    }
    filtered
}
