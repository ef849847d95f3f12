//! `mcp_call`: an envelope around the call of a tool whose schema the model was not shown at first.
//!
//! Invariant: a run opens it when the reply arrives. Rights, approvals, events and the conversation
//! have the call of the tool that is meant, never the envelope.

use serde_json::Value;

use crate::{
    rights::{filter::MCP_CALL, tool_name::ToolName},
    run::{
        assignment::Assignment,
        message::{AssistantPart, ToolCall},
    },
};

/// A reply with its envelopes opened. One that names no tool that the run may call stays as it is.
pub(crate) fn opened(content: Vec<AssistantPart>, assignment: &Assignment) -> Vec<AssistantPart> {
    if assignment.searchable_tools.is_empty() {
        return content;
    }
    let open = |part: AssistantPart| match part {
        AssistantPart::ToolCall { call } => {
            AssistantPart::ToolCall { call: inner(&call, assignment).unwrap_or(call) }
        }
        other @ (AssistantPart::Text { .. } | AssistantPart::Thinking { .. }) => other,
    };
    content.into_iter().map(open).collect()
}

fn inner(call: &ToolCall, assignment: &Assignment) -> Option<ToolCall> {
    if call.name.trim() != MCP_CALL {
        return None;
    }
    let envelope = call.arguments().ok()?;
    let name = envelope.get("tool")?.as_str()?.trim();
    let Ok(tool) = name.parse::<ToolName>();
    assignment.searchable_tools.iter().find(|spec| spec.name == tool)?;
    let arguments = match envelope.get("arguments") {
        None | Some(Value::Null) => "{}".to_owned(),
        // Models write an object as a string now and then.
        Some(Value::String(written)) => written.clone(),
        Some(value) => value.to_string(),
    };
    let mut inner = ToolCall::new(call.id.clone(), name, arguments);
    inner.provider_data.clone_from(&call.provider_data);
    Some(inner)
}
