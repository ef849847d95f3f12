//! A tool of a server as a model calls it.

use std::{sync::Arc, time::Duration};

use attache_kernel::rights::tool_name::ToolName;
use serde_json::{Map, Value};

use super::{
    connection::CallError, entry::EntryOrigin, result, server::Server, server_tool::ServerTool,
};
use crate::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};

/// A tool of a server.
#[derive(Debug)]
pub(super) struct McpTool {
    spec: ToolSpec,
    server: Arc<Server>,
    /// Its name as the server spells it.
    name: String,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, name: ToolName, tool: &ServerTool) -> Self {
        let ServerTool { description, parameters, .. } = tool;
        let spec = if is_harmless(&server, tool) {
            ToolSpec::reading(name, description, parameters.clone())
        } else {
            ToolSpec::acting(name, description, parameters.clone())
        };
        Self { spec, server, name: tool.name.clone() }
    }

    async fn answer(&self, arguments: Value, context: &ToolContext) -> ToolOutput {
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => Map::new(),
            _ => return ToolOutput::error("the arguments must be an object"),
        };
        let server = &self.server.name;
        let connection = match self.server.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                return ToolOutput::error(format!(
                    "the MCP server `{server}` is not there: {error}"
                ));
            }
        };
        match connection.call(&self.name, arguments, &context.output).await {
            Ok(result) => result::shown(result, context).await,
            Err(CallError::Lost(why)) => ToolOutput::error(format!(
                "the outcome of this call is unknown: {why}. It may or may not have taken effect, \
                 and it was not repeated. Find out before you call it again."
            )),
            Err(error @ (CallError::Refused(_) | CallError::NotAnAnswer(_))) => {
                ToolOutput::error(error.to_string())
            }
        }
    }
}

/// Whether a tool changes nothing: only a server of the user's own settings is believed.
pub(super) fn is_harmless(server: &Server, tool: &ServerTool) -> bool {
    tool.says_it_only_reads && server.entry.origin == EntryOrigin::User
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, _: &Value, usual: Duration) -> Duration {
        self.server.entry.tool_timeout.unwrap_or(usual)
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(self.answer(arguments, context))
    }
}
