//! `TaskOutput`: the result of a background agent, waited for or not.

use std::time::Duration;

use attache_kernel::{
    id::RunId,
    rights::tool_name::BuiltinTool,
    run::tool_spec::{Concurrency, Repeatability},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Delegation, earlier, report,
    request::{flag, read, seconds},
    task::AS_LONG_AS_IT_TAKES,
};
use crate::{
    store::RunState,
    tasks::{Child, Delegate, RecordedRun},
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// How long a call waits unless it says otherwise, in seconds.
const USUAL_TIMEOUT: f64 = 300.0;

/// Returns the result of an agent.
#[derive(Debug)]
pub(super) struct TaskOutput {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    agent_id: String,
    #[serde(default, deserialize_with = "flag")]
    block: Option<bool>,
    #[serde(default, deserialize_with = "seconds")]
    timeout: Option<f64>,
}

impl TaskOutput {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "agent_id": {"type": "string"},
                "block": {"type": "boolean", "description": "Default true"},
                "timeout": {"type": "integer", "description": "Seconds to wait"},
            },
            "required": ["agent_id"],
            "additionalProperties": false,
        });
        let description = include_str!("task_output.md");
        Self {
            spec: ToolSpec {
                concurrency: Concurrency::Parallel,
                repetition: Repeatability::Repeatable,
                ..ToolSpec::reading(BuiltinTool::TaskOutput, description, parameters)
            },
        }
    }
}

async fn answer(request: Request, delegate: &Delegate) -> Result<ToolOutput, ToolOutput> {
    let id = request.agent_id.trim();
    let longest = Duration::try_from_secs_f64(request.timeout.unwrap_or(USUAL_TIMEOUT));
    let longest = longest.unwrap_or(AS_LONG_AS_IT_TAKES).min(AS_LONG_AS_IT_TAKES);
    let longest = if request.block == Some(false) { Duration::ZERO } else { longest };
    let result = match delegate.child(id) {
        Some(Child::Ended(result)) => result,
        Some(Child::UnderWay(handle)) => {
            match tokio::time::timeout(longest, handle.result()).await {
                Err(_) => return Ok(report::still_runs(handle.id(), delegate)),
                Ok(ended) => ended.map_err(|error| ToolOutput::error(error.to_string()))?,
            }
        }
        None => return written(id, longest, delegate).await,
    };
    Ok(report::ended(&result))
}

/// The result of an agent that ended in an earlier process, or works in another one.
async fn written(
    id: &str,
    longest: Duration,
    delegate: &Delegate,
) -> Result<ToolOutput, ToolOutput> {
    let transcript = earlier::transcript(id, delegate).await?;
    let agent_id = transcript.header.run.agent_id;
    let unreadable = || ToolOutput::error("the transcript of that agent cannot be read");
    let store = delegate.store().ok_or_else(unreadable)?;
    if matches!(transcript.state, RunState::Queued | RunState::Running) {
        let ended = store.wait_for_end(agent_id.as_str(), longest).await;
        if !ended.map_err(|_| unreadable())? {
            return Ok(report::still_runs(&agent_id, delegate));
        }
    }
    let run = RecordedRun::read(agent_id.as_str(), &*store).await.map_err(|_| unreadable())?;
    let answer = if run.has_ended {
        report::ended(&run.result)
    } else {
        ToolOutput::error(report::interrupted(&agent_id, &run.result.agent_type))
    };
    Ok(delivering(agent_id, answer))
}

/// The answer has the result of that agent: it is not announced again.
pub(super) fn delivering(agent_id: RunId, answer: ToolOutput) -> ToolOutput {
    ToolOutput { delivers: vec![agent_id], ..answer }
}

impl Delegation for TaskOutput {
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
