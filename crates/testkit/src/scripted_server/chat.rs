//! A turn as OpenAI's Chat Completions streams it, with `stream_options.include_usage`; its end is `[DONE]`.
//!
//! Thoughts come as `reasoning_content`, as compatible servers send them, their signatures in `reasoning_details`.

use attache_kernel::run::event::StopReason;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    turn::{MODEL, Part, Turn},
};

/// The turn as a stream.
pub fn answer(turn: &Turn) -> Answer {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    let mut calls = 0;
    for part in &turn.parts {
        match part {
            Part::Text(pieces) => {
                deltas.extend(pieces.iter().map(|piece| json!({ "content": piece })));
            }
            Part::Thinking(pieces, signature) => thinking(&mut deltas, pieces, signature),
            Part::Call(call) => {
                let function = json!({ "name": call.name, "arguments": "" });
                let start = json!({
                    "index": calls, "id": call.id, "type": "function", "function": function,
                });
                deltas.push(json!({ "tool_calls": [start] }));
                deltas.extend(call.arguments.iter().map(|piece| {
                    json!({ "tool_calls": [{ "index": calls, "function": { "arguments": piece } }] })
                }));
                calls += 1;
            }
        }
    }
    let choice = |delta: &Value, finish: Value| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let mut events: Vec<Value> =
        deltas.iter().map(|delta| event(choice(delta, Value::Null), Value::Null)).collect();
    events.push(event(choice(&json!({}), json!(finish(turn.stop()))), Value::Null));
    let mut last = event(json!([]), usage(turn));
    if let Some(tier) = &turn.usage.service_tier {
        last["service_tier"] = json!(tier);
    }
    events.push(last);
    Answer::new().data(events).data(["[DONE]"])
}

fn thinking(deltas: &mut Vec<Value>, pieces: &[String], signature: &str) {
    deltas.extend(pieces.iter().map(|piece| json!({ "reasoning_content": piece })));
    if !signature.is_empty() {
        let detail = if pieces.is_empty() {
            json!({ "type": "reasoning.encrypted", "data": signature, "index": 0 })
        } else {
            json!({ "type": "reasoning.text", "signature": signature, "index": 0 })
        };
        deltas.push(json!({ "reasoning_details": [detail] }));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the macro takes what it is given")]
fn event(choices: Value, usage: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": MODEL,
        "choices": choices, "usage": usage,
    })
}

fn usage(turn: &Turn) -> Value {
    let usage = &turn.usage;
    json!({
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}

fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
        StopReason::Other => "something_new",
    }
}
