//! `TaskStop`: stops an agent and returns what it has.

use std::{sync::Arc, time::Duration};

use attache_kernel::{
    rights::tool_name::BuiltinTool,
    run::{
        outcome::RunResult,
        tool_spec::{Concurrency, Repeatability},
    },
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Delegation, earlier, report, request::read, task_output::delivering};
use crate::{
    store::{MailKind, RunState, StoreError},
    tasks::{Child, Delegate, RecordedRun},
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// How long an agent in another process gets to end.
const PATIENCE: Duration = Duration::from_secs(10);

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
                // What waits for the agent in the same turn has its answer first.
                concurrency: Concurrency::Exclusive,
                repetition: Repeatability::Repeatable,
                ..ToolSpec::reading(BuiltinTool::TaskStop, include_str!("task_stop.md"), parameters)
            },
        }
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
        None => Arc::new(stopped_elsewhere(id, delegate).await?),
    };
    // It was to be stopped: that it was is no failure.
    let answer = ToolOutput { is_error: false, ..report::ended(&result) };
    Ok(delivering(result.agent_id.clone(), answer))
}

/// Stops an agent that works in another process.
async fn stopped_elsewhere(id: &str, delegate: &Delegate) -> Result<RunResult, ToolOutput> {
    let transcript = earlier::transcript(id, delegate).await?;
    let agent_id = transcript.header.run.agent_id;
    let failed = |error: StoreError| ToolOutput::error(error.report());
    let told = |message: &str| {
        ToolOutput::error(json!({"agent_id": agent_id, "message": message}).to_string())
    };
    let is_running = matches!(transcript.state, RunState::Queued | RunState::Running);
    let store = delegate.store().filter(|_| is_running);
    let store = store.ok_or_else(|| told("it does not run here any more"))?;
    store.post(agent_id.as_str(), MailKind::Stop).await.map_err(failed)?;
    if !store.wait_for_end(agent_id.as_str(), PATIENCE).await.map_err(failed)? {
        return Err(told("it was told to stop and has not ended yet; ask TaskOutput later"));
    }
    let run = RecordedRun::read(agent_id.as_str(), &*store).await;
    Ok(run.map_err(|error| told(&error.to_string()))?.result)
}

impl Delegation for TaskStop {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a> {
        Box::pin(async move {
            let answer = async { answer(read(arguments)?, delegate).await };
            answer.await.unwrap_or_else(|error| error)
        })
    }
}
