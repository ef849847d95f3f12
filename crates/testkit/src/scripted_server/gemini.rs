//! A turn as Gemini's `streamGenerateContent?alt=sse` sends it; its end is a `finishReason`.
//!
//! Calls come whole. One whose arguments are not JSON is not sent: Gemini says `MALFORMED_FUNCTION_CALL` instead.
//! The signature of a thought stands on the first call after it; without a call, on the last part.

use attache_kernel::run::event::StopReason;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    turn::{Call, MODEL, Part, Turn},
};

/// The turn as a stream.
pub fn answer(turn: &Turn) -> Answer {
    let mut parts = Vec::new();
    let mut signature = None;
    let mut malformed = false;
    for part in &turn.parts {
        match part {
            Part::Thinking(pieces, signed) => {
                parts.extend(pieces.iter().map(|piece| json!({ "text": piece, "thought": true })));
                signature = Some(signed.as_str()).filter(|signed| !signed.is_empty());
            }
            Part::Text(pieces) => parts.extend(pieces.iter().map(|piece| json!({ "text": piece }))),
            Part::Call(call) => match function_call(call) {
                Some(mut call) => {
                    if let Some(signature) = signature.take() {
                        call["thoughtSignature"] = json!(signature);
                    }
                    parts.push(call);
                }
                None => malformed = true,
            },
        }
    }
    // The last part may be an empty text; it carries a signature that is left.
    let mut last = json!({ "text": "" });
    if let Some(signature) = signature {
        last["thoughtSignature"] = json!(signature);
    }
    let mut events: Vec<Value> = parts.iter().map(|part| event(turn, part)).collect();
    let mut end = event(turn, &last);
    let malformed = malformed && turn.stop() == StopReason::ToolUse;
    let finish = if malformed { "MALFORMED_FUNCTION_CALL" } else { finish_reason(turn.stop()) };
    end["candidates"][0]["finishReason"] = json!(finish);
    events.push(end);
    Answer::new().data(events)
}

fn function_call(call: &Call) -> Option<Value> {
    let arguments: Value = serde_json::from_str(&call.arguments.concat()).ok()?;
    let mut function = json!({ "name": call.name, "args": arguments });
    if !call.id.is_empty() {
        function["id"] = json!(call.id);
    }
    Some(json!({ "functionCall": function }))
}

fn event(turn: &Turn, part: &Value) -> Value {
    let usage = &turn.usage;
    let mut event = json!({
        "candidates": [{ "content": { "parts": [part], "role": "model" }, "index": 0 }],
        "usageMetadata": {
            "promptTokenCount": usage.input_tokens,
            "cachedContentTokenCount": usage.cache_read_input_tokens,
            "candidatesTokenCount": usage.output_tokens.saturating_sub(usage.reasoning_tokens),
            "thoughtsTokenCount": usage.reasoning_tokens,
            "totalTokenCount": usage.input_tokens + usage.output_tokens,
        },
        "modelVersion": MODEL,
        "responseId": "response-1",
    });
    if let Some(tier) = &usage.service_tier {
        event["usageMetadata"]["trafficType"] = json!(tier);
    }
    event
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::ToolUse => "STOP",
        StopReason::Length => "MAX_TOKENS",
        StopReason::ContentFilter => "SAFETY",
        StopReason::Other => "SOMETHING_NEW",
    }
}
