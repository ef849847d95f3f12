//! `TaskStop`: stops an agent and returns what it has.

use attache_kernel::{
    rights::tool_name::BuiltinTool,
    run::tool_spec::{Concurrency, Repeatability},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{delegate, earlier, report, request::read, task_output::delivering};
use crate::{
    tasks::{Child, Delegate},
    tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec},
};

/// Stops an agent.
#[derive(Debug)]
pub(super) struct TaskStop {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    agent_id: String,
}

impl TaskStop {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"agent_id": {"type": "string"}},
            "required": ["agent_id"],
            "additionalProperties": false,
        });
        Self {
            spec: ToolSpec {
                concurrency: Concurrency::Parallel,
                repetition: Repeatability::Repeatable,
                ..ToolSpec::reading(BuiltinTool::TaskStop, include_str!("task_stop.md"), parameters)
            },
        }
    }

    async fn answer(request: Request, delegate: &Delegate) -> Result<ToolOutput, ToolOutput> {
        let id = request.agent_id.trim();
        let result = match delegate.child(id) {
            Some(Child::Ended(result)) => result,
            Some(Child::UnderWay(handle)) => {
                handle.cancel();
                handle.result().await.map_err(|error| ToolOutput::error(error.to_string()))?
            }
            None => {
                let transcript = earlier::transcript(id, delegate).await?;
                let agent_id = transcript.header.run.agent_id;
                let text =
                    json!({"agent_id": agent_id, "message": "it does not run here any more"});
                return Err(ToolOutput::error(text.to_string()));
            }
        };
        // It was to be stopped: that it was is no failure.
        let answer = ToolOutput { is_error: false, ..report::ended(&result) };
        Ok(delivering(result.agent_id.clone(), answer))
    }
}

impl Tool for TaskStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            let answer = async {
                let delegate = delegate(context)?;
                Self::answer(read(arguments)?, delegate).await
            };
            answer.await.unwrap_or_else(|error| error)
        })
    }
}
