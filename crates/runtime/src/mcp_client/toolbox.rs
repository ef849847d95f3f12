//! The tools of servers that a run may use, as they were when it began.

use std::{collections::BTreeMap, sync::Arc};

use attache_kernel::rights::tool_name::ToolName;
use futures_util::future::join_all;

use super::{
    server::Server,
    server_tool::ServerTool,
    tool::{McpTool, is_harmless},
    tool_names::named,
};
use crate::tool::Tool;

/// Tools of servers. A copy has the same ones.
#[derive(Debug, Clone, Default)]
pub struct Toolbox {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    tools: BTreeMap<ToolName, Arc<dyn Tool>>,
    by_server: BTreeMap<String, Vec<ToolName>>,
    harmless: Vec<ToolName>,
    failed: Vec<FailedServer>,
}

/// A server that did not start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedServer {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl Toolbox {
    /// The tools of those servers, which are started side by side.
    pub(super) async fn of_servers(servers: Vec<Arc<Server>>) -> Self {
        let asked = servers.into_iter().map(|server| async move {
            let tools = match server.connection().await {
                Ok(connection) => Ok(connection.tools().await),
                Err(error) => Err(error.to_string()),
            };
            (server, tools)
        });
        let mut inner = Inner::default();
        for (server, tools) in join_all(asked).await {
            match tools {
                Ok(tools) => inner.add(&server, &tools),
                Err(reason) => {
                    inner.failed.push(FailedServer { name: server.name.clone(), reason });
                }
            }
        }
        Self { inner: Arc::new(inner) }
    }

    /// The tools by name.
    pub(crate) fn tools(&self) -> &BTreeMap<ToolName, Arc<dyn Tool>> {
        &self.inner.tools
    }

    /// The tools that are known to change nothing.
    pub(crate) fn harmless(&self) -> &[ToolName] {
        &self.inner.harmless
    }

    /// The servers that did not start.
    pub(crate) fn failed(&self) -> &[FailedServer] {
        &self.inner.failed
    }

    /// The names of a server's tools.
    pub(super) fn names_of(&self, server: &str) -> impl Iterator<Item = &ToolName> {
        self.inner.by_server.get(server).into_iter().flatten()
    }
}

impl Inner {
    fn add(&mut self, server: &Arc<Server>, tools: &[ServerTool]) {
        let used: BTreeMap<&str, &ServerTool> = tools
            .iter()
            .filter(|tool| server.entry.uses(&tool.name))
            .map(|tool| (tool.name.as_str(), tool))
            .collect();
        for (name, written) in named(&server.name, used.keys().copied()) {
            let Some(tool) = used.get(written) else { continue };
            if self.tools.contains_key(&name) {
                // Two servers whose names are one in plain letters.
                continue;
            }
            if is_harmless(server, tool) {
                self.harmless.push(name.clone());
            }
            let own = McpTool::new(Arc::clone(server), name.clone(), tool);
            self.tools.insert(name.clone(), Arc::new(own));
            self.by_server.entry(server.name.clone()).or_default().push(name);
        }
    }
}
