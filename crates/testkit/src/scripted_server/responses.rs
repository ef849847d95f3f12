//! A turn as OpenAI's Responses API streams it; its end is `response.completed`, or `response.incomplete`.

use attache_kernel::run::event::StopReason;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    turn::{Call, MODEL, Part, Turn},
};

/// The turn as a stream.
pub fn answer(turn: &Turn) -> Answer {
    let started = response("in_progress", &[]);
    let mut events = vec![
        json!({ "type": "response.created", "response": started }),
        json!({ "type": "response.in_progress", "response": started }),
    ];
    let mut output = Vec::new();
    for (index, part) in turn.parts.iter().enumerate() {
        output.push(match part {
            Part::Text(pieces) => message(&mut events, index, pieces),
            Part::Thinking(pieces, encrypted) => reasoning(&mut events, index, pieces, encrypted),
            Part::Call(call) => function_call(&mut events, index, call),
        });
    }
    events.push(end(turn, &output));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    let named = events.iter().map(|event| (event["type"].as_str().unwrap_or_default(), event));
    Answer::new().sse(named)
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_750_000_000, "status": status, "error": null,
        "incomplete_details": null, "model": MODEL, "output": output, "usage": null,
    })
}

fn end(turn: &Turn, output: &[Value]) -> Value {
    let (status, reason) = match turn.stop() {
        StopReason::EndTurn | StopReason::ToolUse => ("completed", None),
        StopReason::Length => ("incomplete", Some("max_output_tokens")),
        StopReason::ContentFilter => ("incomplete", Some("content_filter")),
        StopReason::Other => ("incomplete", Some("something_new")),
    };
    let usage = &turn.usage;
    let mut response = response(status, output);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    if let Some(tier) = &usage.service_tier {
        response["service_tier"] = json!(tier);
    }
    response["usage"] = json!({
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
        "total_tokens": usage.input_tokens + usage.output_tokens,
    });
    json!({ "type": format!("response.{status}"), "response": response })
}

fn item(events: &mut Vec<Value>, kind: &str, index: usize, item: &Value) {
    let kind = format!("response.output_item.{kind}");
    events.push(json!({ "type": kind, "output_index": index, "item": item }));
}

fn message(events: &mut Vec<Value>, index: usize, pieces: &[String]) -> Value {
    let id = format!("msg_{index}");
    let whole = |status: &str, content: Value| json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content });
    let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
    item(events, "added", index, &whole("in_progress", json!([])));
    let mut tell = |kind: &str, field: &str, value: Value| {
        events.push(json!({
            "type": format!("response.{kind}"), "item_id": id, "output_index": index, "content_index": 0,
            field: value,
        }));
    };
    let text = pieces.concat();
    tell("content_part.added", "part", part(""));
    for piece in pieces {
        tell("output_text.delta", "delta", json!(piece));
    }
    tell("output_text.done", "text", json!(text));
    tell("content_part.done", "part", part(&text));
    let done = whole("completed", json!([part(&text)]));
    item(events, "done", index, &done);
    done
}

fn reasoning(events: &mut Vec<Value>, index: usize, pieces: &[String], encrypted: &str) -> Value {
    let id = format!("rs_{index}");
    let mut whole = json!({ "id": id, "type": "reasoning", "summary": [] });
    item(events, "added", index, &whole);
    let text = pieces.concat();
    let part = |text: &str| json!({ "type": "summary_text", "text": text });
    let mut tell = |kind: &str, field: &str, value: Value| {
        events.push(json!({
            "type": format!("response.reasoning_summary_{kind}"), "item_id": id, "output_index": index,
            "summary_index": 0, field: value,
        }));
    };
    if !pieces.is_empty() {
        tell("part.added", "part", part(""));
        for piece in pieces {
            tell("text.delta", "delta", json!(piece));
        }
        tell("text.done", "text", json!(text));
        tell("part.done", "part", part(&text));
        whole["summary"] = json!([part(&text)]);
    }
    if !encrypted.is_empty() {
        whole["encrypted_content"] = json!(encrypted);
    }
    item(events, "done", index, &whole);
    whole
}

fn function_call(events: &mut Vec<Value>, index: usize, call: &Call) -> Value {
    let id = format!("fc_{index}");
    let whole = |status: &str, arguments: &str| {
        json!({
            "id": id, "type": "function_call", "status": status, "call_id": call.id, "name": call.name,
            "arguments": arguments,
        })
    };
    item(events, "added", index, &whole("in_progress", ""));
    let mut tell = |kind: &str, field: &str, text: &str| {
        let kind = format!("response.function_call_arguments.{kind}");
        events.push(json!({ "type": kind, "item_id": id, "output_index": index, field: text }));
    };
    for piece in &call.arguments {
        tell("delta", "delta", piece);
    }
    let arguments = call.arguments.concat();
    tell("done", "arguments", &arguments);
    let done = whole("completed", &arguments);
    item(events, "done", index, &done);
    done
}
