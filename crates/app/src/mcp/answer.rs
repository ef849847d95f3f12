//! What a tool answers, as the protocol writes it: text, and beside it the same as values.

use attache_kernel::id::RunId;
use attache_runtime::internal::tool::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use super::resources;

/// The result of a call.
pub(super) fn result(output: ToolOutput) -> CallToolResult {
    let mut values = serde_json::from_str::<Value>(&output.text).ok().filter(Value::is_object);
    let mut text = output.text;
    if let Some(values) = &mut values
        && values["status"] == "async_launched"
        && let Some(id) = values["agent_id"].as_str()
    {
        let message = format!(
            "it works in the background; TaskOutput with this agent_id returns its result, and so does the resource {}",
            resources::address(id)
        );
        values["message"] = Value::String(message);
        text = values.to_string();
    }
    let content = vec![ContentBlock::text(text)];
    let mut result = if output.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = values;
    result
}

/// The result of a call that failed before its tool was reached.
pub(super) fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text.into())])
}

/// The result of a call that nobody waits for any more: which run it was, and how to go on with it.
pub(super) fn broken_off(reason: &str, run: Option<&RunId>) -> CallToolResult {
    failure(match run {
        Some(run) => format!(
            "{reason}; {run} was stopped: TaskOutput with this agent_id returns what it has, and Task with it as `resume` goes on with it"
        ),
        None => reason.to_owned(),
    })
}
