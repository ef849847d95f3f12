//! A turn as Anthropic's Messages API streams it; its end is `message_stop`.

use attache_kernel::run::event::StopReason;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    turn::{MODEL, Part, Turn},
};

/// The turn as a stream.
pub fn answer(turn: &Turn) -> Answer {
    let usage = &turn.usage;
    let cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": usage.input_tokens.saturating_sub(cached),
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "output_tokens": 1,
            "service_tier": usage.service_tier.as_deref().unwrap_or("standard"),
        },
    });
    let mut events =
        vec![json!({ "type": "message_start", "message": message }), json!({ "type": "ping" })];
    for (index, part) in turn.parts.iter().enumerate() {
        let (block, deltas) = block(part);
        events
            .push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        events.extend(
            deltas.into_iter().map(
                |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ),
        );
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    events.push(json!({
        "type": "message_delta",
        "delta": { "stop_reason": stop_reason(turn.stop()), "stop_sequence": null },
        "usage": {
            "output_tokens": usage.output_tokens,
            "output_tokens_details": { "thinking_tokens": usage.reasoning_tokens },
        },
    }));
    events.push(json!({ "type": "message_stop" }));
    let named = events.iter().map(|event| (event["type"].as_str().unwrap_or_default(), event));
    Answer::new().sse(named)
}

/// A content block as it starts, and what is added to it.
fn block(part: &Part) -> (Value, Vec<Value>) {
    let deltas = |kind: &str, field: &str, pieces: &[String]| -> Vec<Value> {
        pieces.iter().map(|piece| json!({ "type": kind, field: piece })).collect()
    };
    match part {
        Part::Text(pieces) => {
            (json!({ "type": "text", "text": "" }), deltas("text_delta", "text", pieces))
        }
        Part::Thinking(pieces, data) if pieces.is_empty() => {
            (json!({ "type": "redacted_thinking", "data": data }), Vec::new())
        }
        Part::Thinking(pieces, signature) => {
            let mut deltas = deltas("thinking_delta", "thinking", pieces);
            deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        Part::Call(call) => (
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} }),
            deltas("input_json_delta", "partial_json", &call.arguments),
        ),
    }
}

fn stop_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::ContentFilter => "refusal",
        StopReason::Other => "something_new",
    }
}
