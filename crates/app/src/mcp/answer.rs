//! What a tool answers, as the protocol writes it: text, and beside it the same as values.

use attache_runtime::tool::ToolOutput;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The result of a call.
pub(super) fn result(output: ToolOutput) -> CallToolResult {
    let values = serde_json::from_str::<Value>(&output.text).ok().filter(Value::is_object);
    let content = vec![ContentBlock::text(output.text)];
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
