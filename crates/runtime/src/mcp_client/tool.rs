//! A tool of a server as a model calls it.

use std::{sync::Arc, time::Duration};

use attache_kernel::rights::tool_name::ToolName;
use serde_json::{Map, Value};

use super::{
    asking::{AskClock, CallUnderWay},
    connection::CallError,
    entry::EntryOrigin,
    result,
    server::Server,
    server_tool::ServerTool,
};
use crate::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};

/// The time limit of a call that keeps its own.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_hours(24 * 365);

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
        let clock = AskClock::default();
        let call = CallUnderWay {
            token: None,
            output: context.output.clone(),
            caller: context.caller.clone(),
            clock: clock.clone(),
        };
        let limit = self.server.entry.tool_timeout.unwrap_or(context.usual_time_limit);
        let answer = tokio::select! {
            biased;
            answer = connection.call(&self.name, arguments, call) => answer,
            () = clock.time_up(limit) => return timed_out(&self.spec.name, limit),
        };
        match answer {
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

fn timed_out(name: &ToolName, limit: Duration) -> ToolOutput {
    let seconds = limit.as_secs_f64();
    ToolOutput::error(format!("{name} did not finish within {seconds} s and was stopped"))
}

/// Whether a tool changes nothing: only a server of the user's own settings is believed.
pub(super) fn is_harmless(server: &Server, tool: &ServerTool) -> bool {
    tool.says_it_only_reads && server.entry.origin == EntryOrigin::User
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// The call keeps its own time: waiting for an answer of the user does not count.
    fn time_limit(&self, _: &Value, _: Duration) -> Duration {
        AS_LONG_AS_IT_TAKES
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(self.answer(arguments, context))
    }
}
