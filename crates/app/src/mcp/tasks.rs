//! Calls as tasks (the extension `io.modelcontextprotocol/tasks`): the answer comes at once, and the client
//! asks for the result when it likes.
//!
//! Invariant: the id of a task is that of its run, so a later server knows it too.

use std::{sync::Arc, time::Duration};

use attache_kernel::{id::SessionId, rights::tool_name::BuiltinTool};
use attache_runtime::internal::{delegation::Desk, store::Store, tasks::RecordedRun};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, JsonObject, Task,
        TaskPayload, TaskStatus,
    },
};
use serde_json::{Value, json};

use super::{
    answer,
    calls::{Calls, LongCall, State},
};

/// How often a client should ask.
const POLL: Duration = Duration::from_secs(1);

/// What a call that began becomes for the client.
pub(super) enum Begun {
    /// It has ended already, or there is no run to ask for.
    Ended(Box<CallToolResult>),
    Task(Box<CreateTaskResult>),
}

/// Waits until a call has a run, which is its task.
pub(super) async fn begun(call: Arc<LongCall>, calls: &Calls) -> Begun {
    let state = call.until(|state| state.ended.is_some() || state.run.is_some()).await;
    match (state.ended.clone(), &state.run) {
        (Some(ended), _) => Begun::Ended(Box::new(ended)),
        (None, None) => Begun::Ended(Box::new(answer::failure("the call broke off"))),
        (None, Some(run)) => {
            let id = run.to_string();
            let task = task(&id, &call.began, &state).with_status_message(format!(
                "TaskOutput returns the result of {id} too, also later"
            ));
            calls.keep(id, call);
            Begun::Task(Box::new(CreateTaskResult::new(task)))
        }
    }
}

fn task(id: &str, began: &str, state: &State) -> Task {
    let task = Task::new(id, TaskStatus::Working, began, state.changed.to_string());
    task.with_poll_interval_ms(u64::try_from(POLL.as_millis()).unwrap_or(u64::MAX))
}

/// A task as it is now.
pub(super) async fn get(
    id: &str,
    session: &SessionId,
    calls: &Calls,
    desk: &Desk,
    store: &dyn Store,
) -> Result<GetTaskResult, ErrorData> {
    let Some(call) = calls.find(id, session) else { return recorded(id, desk, store).await };
    let state = call.state();
    let mut task = task(id, &call.began, &state);
    task.status_message.clone_from(&state.message);
    let payload = match state.ended {
        Some(ended) => payload(&ended),
        None => match call.questions() {
            open if open.is_empty() => TaskPayload::Working,
            input_requests => TaskPayload::InputRequired { input_requests },
        },
    };
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// A task that an earlier server began, or that was forgotten.
async fn recorded(id: &str, desk: &Desk, store: &dyn Store) -> Result<GetTaskResult, ErrorData> {
    let unknown = || ErrorData::invalid_params(format!("there is no task {id}"), None);
    let transcript = desk.transcript(id).await.ok_or_else(unknown)?;
    let changed = transcript.entries.last().map_or(&transcript.header.ts, |entry| &entry.ts);
    let task = Task::new(id, TaskStatus::Working, transcript.header.ts.clone(), changed.clone());
    let run = RecordedRun::read(id, store).await.map_err(|_| unknown())?;
    let arguments = json!({"agent_id": id, "block": false});
    let asked = desk.call(BuiltinTool::TaskOutput.as_str(), arguments).await;
    let result = answer::result(asked.ok_or_else(unknown)?);
    let still_runs = !run.has_ended && result.is_error != Some(true);
    let payload = if still_runs { TaskPayload::Working } else { payload(&result) };
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// A run that was stopped is a task that was cancelled; all others have a result.
fn payload(result: &CallToolResult) -> TaskPayload {
    let status = result.structured_content.as_ref().and_then(|values| values.get("status"));
    if status.and_then(Value::as_str) == Some("aborted") {
        return TaskPayload::Cancelled;
    }
    let result = match serde_json::to_value(result) {
        Ok(Value::Object(result)) => result,
        _ => JsonObject::new(),
    };
    TaskPayload::Completed { result }
}

/// Stops the agent of a task.
pub(super) async fn cancel(id: &str, desk: &Desk) -> Result<(), ErrorData> {
    let unknown = || ErrorData::invalid_params(format!("there is no task {id}"), None);
    let stopped = desk.call(BuiltinTool::TaskStop.as_str(), json!({"agent_id": id})).await;
    match stopped {
        Some(output) if !output.is_error => Ok(()),
        // One that has ended stays as it is.
        Some(_) if desk.transcript(id).await.is_some() => Ok(()),
        Some(_) | None => Err(unknown()),
    }
}
