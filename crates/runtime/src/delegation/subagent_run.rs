//! `subagent_run`: runs an agent and returns `SubAgentResult`.

use std::time::Duration;

use attache_kernel::{
    model::choice::AskedBy,
    rights::tool_name::BuiltinTool,
    run::{
        outcome::Status,
        tool_spec::{Concurrency, Repeatability},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    Delegation, report,
    request::{read, words},
    task::{AS_LONG_AS_IT_TAKES, lookup_reason, reason},
    waiting::{Attended, Waited},
};
use crate::{
    host::Order,
    tasks::Delegate,
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// Runs an agent.
#[derive(Debug)]
pub(super) struct SubagentRun {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    name: String,
    task: String,
    #[serde(default, deserialize_with = "words")]
    model: Option<String>,
}

/// What the call answers.
#[derive(Debug, Serialize)]
struct SubAgentResult<'a> {
    agent_name: &'a str,
    task: &'a str,
    success: bool,
    output: &'a str,
    error: Option<&'a str>,
}

impl SubagentRun {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "task": {"type": "string"},
                "model": {"type": "string"},
            },
            "required": ["name", "task"],
            "additionalProperties": false,
        });
        let description = include_str!("subagent_run.md");
        Self {
            spec: ToolSpec {
                concurrency: Concurrency::Parallel,
                repetition: Repeatability::Once,
                ..ToolSpec::acting(BuiltinTool::SubagentRun, description, parameters)
            },
        }
    }
}

async fn answer(request: Request, delegate: &Delegate) -> Result<ToolOutput, ToolOutput> {
    let failed = |why: String| ToolOutput::error(format!("Sub-agent execution failed: {why}"));
    if request.task.trim().is_empty() {
        return Err(failed("there is no task: `task` is empty".to_owned()));
    }
    let agent = delegate.agent(&request.name);
    let agent = agent.map_err(|error| failed(lookup_reason(&error, delegate)))?;
    let order = Order {
        model: request.model.clone(),
        asked_by: AskedBy::Agent,
        ..Order::new(agent, request.task.clone())
    };
    let started = Box::pin(delegate.start(order)).await;
    let (started, notices) = started.map_err(|error| failed(reason(&error)))?;
    let waited = Attended::new(started).wait().await;
    let answer = match waited.map_err(|error| failed(error.to_string()))? {
        Waited::Ended(result) => {
            delegate.forget(&result.agent_id);
            let success = result.status == Status::Goal;
            let told = SubAgentResult {
                agent_name: result.agent_type.as_str(),
                task: &request.task,
                success,
                output: &result.result,
                error: result.error.as_deref(),
            };
            let text = json!(told).to_string();
            let delivers = vec![result.agent_id.clone()];
            ToolOutput { is_error: !success, delivers, ..ToolOutput::text(text) }
        }
        Waited::Detached(handle) => {
            delegate.detached(&handle);
            report::launched(handle.id(), &request.task)
        }
    };
    Ok(report::noting(answer, request.model.as_deref(), &notices))
}

impl Delegation for SubagentRun {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn time_limit(&self, _: Duration) -> Duration {
        AS_LONG_AS_IT_TAKES
    }

    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a> {
        Box::pin(async move {
            let answer = async { answer(read(arguments)?, delegate).await };
            answer.await.unwrap_or_else(|error| error)
        })
    }
}
