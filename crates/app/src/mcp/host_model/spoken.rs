//! Tools for a model that is offered none: they are described in the instructions, and a call is a line of JSON.
//!
//! Invariant: only a line that names a tool of the request is a call; all else is text.

use std::collections::BTreeMap;

use attache_kernel::{
    id::ToolCallId,
    run::{
        Demand, ModelRequest, Reply,
        event::StopReason,
        message::{AssistantPart, Message, ToolCall, UserPart},
    },
};
use serde_json::{Value, json};

use super::{LONGEST_ANSWER, block};

/// How a model calls a tool.
const HOW: &str = "You have tools. To call one, write one line of JSON and nothing else: \
{\"tool\": \"NAME\", \"arguments\": {…}}. Several lines are several calls. Then wait: the results come in the next message. \
Never write a result yourself. Your tools:";

/// A conversation in words alone.
pub(super) fn params(request: &ModelRequest) -> Value {
    let mut system = String::new();
    let mut written: Vec<Value> = Vec::new();
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for message in request.messages.messages() {
        match &**message {
            Message::System { text } => system.push_str(text),
            Message::User { content } => {
                let parts = content.iter().map(|part| match part {
                    UserPart::Text { text } => block(text),
                    UserPart::Image { image } => {
                        json!({"type": "image", "data": image.data, "mimeType": image.media_type})
                    }
                });
                // A message has one part where there are no tools.
                written.extend(parts.map(|part| json!({"role": "user", "content": part})));
            }
            Message::Assistant { content } => {
                let lines = content.iter().filter_map(|part| match part {
                    AssistantPart::Text { text, .. } => Some(text.clone()),
                    AssistantPart::Thinking { .. } => None,
                    AssistantPart::ToolCall { call } => {
                        names.insert(call.id.as_str(), call.name.as_str());
                        let arguments = call.arguments().ok().cloned().unwrap_or_default();
                        Some(json!({"tool": call.name, "arguments": arguments}).to_string())
                    }
                });
                let text = lines.collect::<Vec<_>>().join("\n");
                written.push(json!({"role": "assistant", "content": block(&text)}));
            }
            Message::Tool { results } => {
                let told = results.iter().map(|result| {
                    let name = names.get(result.call_id.as_str()).copied().unwrap_or("a call");
                    let how = if result.is_error { "failed" } else { "answered" };
                    format!("{name} {how}:\n{}", result.text)
                });
                let text = told.collect::<Vec<_>>().join("\n\n");
                written.push(json!({"role": "user", "content": block(&text)}));
            }
        }
    }
    if !request.tools.is_empty() {
        system.push_str("\n\n");
        system.push_str(HOW);
        for tool in request.tools.iter() {
            let described = json!({
                "tool": tool.name.to_string(),
                "description": &*tool.description,
                "arguments": &*tool.parameters,
            });
            system.push('\n');
            system.push_str(&described.to_string());
        }
        if request.demand == Demand::AnyTool {
            system.push_str("\nYou must call one of them now.");
        }
    }
    json!({"messages": written, "systemPrompt": system, "maxTokens": LONGEST_ANSWER})
}

/// The same answer with its lines of JSON as calls.
pub(super) fn reply(reply: Reply, request: &ModelRequest) -> Reply {
    let mut content = Vec::new();
    for part in reply.content {
        match part {
            AssistantPart::Text { text, .. } => content.extend(parts(&text, request)),
            other => content.push(other),
        }
    }
    let has_calls = content.iter().any(|part| matches!(part, AssistantPart::ToolCall { .. }));
    let stop = if has_calls { StopReason::ToolUse } else { reply.stop };
    Reply { content, stop, ..reply }
}

fn parts(text: &str, request: &ModelRequest) -> Vec<AssistantPart> {
    let turn = request.messages.len();
    let mut calls = Vec::new();
    let mut words = Vec::new();
    if let Some((name, arguments)) = call(text, request) {
        calls.push((name, arguments));
    } else {
        for line in text.lines() {
            match call(line, request) {
                Some(found) => calls.push(found),
                None if line.trim_start().starts_with("```") => {}
                None => words.push(line),
            }
        }
        if calls.is_empty() {
            words = text.lines().collect();
        }
    }
    let words = words.join("\n");
    let said = (!words.trim().is_empty()).then(|| AssistantPart::text(words.trim()));
    let calls = calls.into_iter().enumerate().map(|(number, (name, arguments))| {
        let id = ToolCallId::new(format!("call_{turn}_{number}"));
        AssistantPart::ToolCall { call: ToolCall::new(id, name, arguments) }
    });
    said.into_iter().chain(calls).collect()
}

/// A text that is one call of a tool on offer.
fn call(text: &str, request: &ModelRequest) -> Option<(String, String)> {
    let text = text.trim();
    let text = text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).unwrap_or(text);
    let text = text.strip_suffix("```").unwrap_or(text).trim();
    let value: Value = serde_json::from_str(text).ok()?;
    let name = value.get("tool")?.as_str()?;
    let is_offered = request.tools.iter().any(|tool| tool.name.to_string() == name);
    let arguments = value.get("arguments").cloned().unwrap_or_else(|| json!({}));
    is_offered.then(|| (name.to_owned(), arguments.to_string()))
}
