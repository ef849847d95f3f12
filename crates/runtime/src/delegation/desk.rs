//! The delegation tools for a client that is not a run.
//!
//! Invariant: they are the tools that agents have, with the same arguments and answers. Only what their
//! descriptions say about the end of background agents differs: a client is not told of it.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde_json::Value;

use super::{Delegation, delegations, earlier};
use crate::{
    runtime::Runtime,
    store::Transcript,
    tasks::{Client, Delegate},
    tool::{ToolOutput, ToolSpec},
};

/// What a client must know and an agent need not: nothing tells it of an end, and it may lose patience.
const FOR_CLIENTS: &str = "Work that may take minutes is best started with run_in_background: the answer \
has the agent_id at once, and TaskOutput returns the result later.";

/// Answers the calls of one client. The agents are looked up once: each call has a desk of its own.
#[derive(Debug)]
pub struct Desk {
    delegate: Delegate,
    tools: [Box<dyn Delegation>; 6],
}

impl Desk {
    pub(crate) fn new(delegate: Delegate) -> Self {
        Self { delegate, tools: delegations() }
    }

    /// The tools, as they are described to the client.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let described = |tool: &dyn Delegation| {
            let spec = tool.spec_for(self.delegate.host());
            let mut spec = spec.unwrap_or_else(|| tool.spec().clone());
            if spec.name == BuiltinTool::Task.into() {
                let told = ", and you are told when the agent ends";
                let description = spec.description.replace(told, "");
                let description = match description.split_once("\n\n") {
                    Some((text, agents)) => format!("{text} {FOR_CLIENTS}\n\n{agents}"),
                    None => format!("{description} {FOR_CLIENTS}"),
                };
                spec.description = description.into();
            }
            spec
        };
        self.tools.iter().map(|tool| described(&**tool)).collect()
    }

    /// Calls the tool of that name; none if there is no such tool. Dropping the future stops the agent that
    /// the call waits for.
    pub async fn call(&self, name: &str, arguments: Value) -> Option<ToolOutput> {
        let tool = self.tools.iter().find(|tool| tool.spec().name.to_string() == name)?;
        Some(tool.answer(arguments, &self.delegate).await)
    }
}

impl Desk {
    /// A run that the client may reach, as it was written down.
    pub async fn transcript(&self, id: &str) -> Option<Transcript> {
        earlier::transcript(id, &self.delegate).await.ok()
    }
}

impl Runtime {
    /// The delegation tools for a client that is not a run.
    pub fn desk(&self, client: Client) -> Desk {
        Desk::new(self.delegate_for(client))
    }
}
