//! The ready-made turns: each is a stream of its API, whole and in order.

use attache_kernel::{model::usage::Usage, run::event::StopReason};
use attache_testkit::scripted_server::{ScriptedServer, Turn, WireApi, text, tool_call};
use serde_json::{Value, json};

use crate::client::Client;

/// The events of a turn, as a client gets them: the data of each, as text.
fn stream(api: WireApi, turn: &Turn) -> Vec<String> {
    let server = ScriptedServer::start();
    server.answer_on(&api.path("m"), api.answer(turn));
    let reply = Client::connect(&server).ask(&api.path("m"));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let events = reply.text().split_terminator("\n\n");
    let data = events.map(|event| {
        let (name, data) = event.split_once("data: ").unwrap();
        if let Some(name) = name.strip_prefix("event: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["type"], name.trim_end());
        }
        data.to_owned()
    });
    data.collect()
}

fn values(api: WireApi, turn: &Turn) -> Vec<Value> {
    let events = stream(api, turn);
    let json = events.iter().filter(|data| *data != "[DONE]");
    json.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// The strings at that place of the events, put together.
fn joined(events: &[Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)?.as_str()).collect()
}

fn whole_turn() -> Turn {
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 30,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 50,
        reasoning_tokens: 10,
        ..Usage::default()
    };
    Turn::empty()
        .then_thinking(["hm", "m"], "c2ln")
        .then_text(["Grü", "ße"])
        .then_tool_call("call_1", "grep_files", &json!({ "pattern": "größe" }))
        .then_tool_call("call_2", "list_dir", &json!({}))
        .using(usage)
}

#[test]
fn every_stream_ends_with_its_end_marker() {
    for turn in [Turn::empty(), text(["hello"]), tool_call("c", "t", &json!({})), whole_turn()] {
        let last = |api| stream(api, &turn).pop().unwrap();
        assert_eq!(last(WireApi::Chat), "[DONE]");
        assert!(last(WireApi::Responses).starts_with(r#"{"type":"response.completed""#));
        assert_eq!(last(WireApi::Anthropic), r#"{"type":"message_stop"}"#);
        assert!(last(WireApi::Gemini).contains(r#""finishReason":"STOP""#));
    }
}

#[test]
fn chat_streams_a_whole_turn() {
    let events = values(WireApi::Chat, &whole_turn());
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_content"), "hmm");
    assert_eq!(joined(&events, "/choices/0/delta/reasoning_details/0/signature"), "c2ln");
    assert_eq!(joined(&events, "/choices/0/delta/content"), "Grüße");
    assert_eq!(joined(&events, "/choices/0/delta/tool_calls/0/id"), "call_1call_2");
    let arguments = joined(&events, "/choices/0/delta/tool_calls/0/function/arguments");
    assert_eq!(arguments, r#"{"pattern":"größe"}{}"#);
    assert_eq!(joined(&events, "/choices/0/finish_reason"), "tool_calls");
    let usage = &events.last().unwrap()["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(100), &json!(30)));
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 50);
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 10);
}

#[test]
fn responses_streams_a_whole_turn() {
    let events = values(WireApi::Responses, &whole_turn());
    let of = |kind: &str| -> Vec<Value> {
        events.iter().filter(|event| event["type"] == kind).cloned().collect()
    };
    assert_eq!(joined(&of("response.reasoning_summary_text.delta"), "/delta"), "hmm");
    assert_eq!(joined(&of("response.output_text.delta"), "/delta"), "Grüße");
    let arguments = joined(&of("response.function_call_arguments.delta"), "/delta");
    assert_eq!(arguments, r#"{"pattern":"größe"}{}"#);
    let done: Vec<Value> =
        of("response.output_item.done").iter().map(|event| event["item"].clone()).collect();
    assert_eq!(done[0]["encrypted_content"], "c2ln");
    assert_eq!(done[2]["call_id"], "call_1");
    let response = &of("response.completed")[0]["response"];
    assert_eq!(response["output"], json!(done));
    assert_eq!(response["usage"]["input_tokens_details"]["cached_tokens"], 50);
    assert_eq!(response["usage"]["output_tokens_details"]["reasoning_tokens"], 10);
    let numbers: Vec<u64> =
        events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|left, right| left + 1 == *right));
}

#[test]
fn anthropic_streams_a_whole_turn() {
    let events = values(WireApi::Anthropic, &whole_turn());
    assert_eq!(joined(&events, "/delta/thinking"), "hmm");
    assert_eq!(joined(&events, "/delta/signature"), "c2ln");
    assert_eq!(joined(&events, "/delta/text"), "Grüße");
    assert_eq!(joined(&events, "/delta/partial_json"), r#"{"pattern":"größe"}{}"#);
    assert_eq!(joined(&events, "/content_block/id"), "call_1call_2");
    assert_eq!(joined(&events, "/delta/stop_reason"), "tool_use");
    let usage = &events[0]["message"]["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["cache_read_input_tokens"]),
        (&json!(30), &json!(50))
    );
    assert_eq!(usage["cache_creation_input_tokens"], 20);
    assert_eq!(events[events.len() - 2]["usage"]["output_tokens"], 30);
    let hidden = values(WireApi::Anthropic, &Turn::empty().then_thinking([""; 0], "ZW5j"));
    assert_eq!(hidden[2]["content_block"], json!({ "type": "redacted_thinking", "data": "ZW5j" }));
}

#[test]
fn gemini_streams_a_whole_turn() {
    let events = values(WireApi::Gemini, &whole_turn());
    assert_eq!(joined(&events, "/candidates/0/content/parts/0/text"), "hmmGrüße");
    assert_eq!(joined(&events, "/candidates/0/content/parts/0/thoughtSignature"), "c2ln");
    let calls: Vec<&Value> = events
        .iter()
        .filter_map(|event| event.pointer("/candidates/0/content/parts/0/functionCall"))
        .collect();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["args"], json!({ "pattern": "größe" }));
    let usage = &events.last().unwrap()["usageMetadata"];
    assert_eq!(
        (&usage["candidatesTokenCount"], &usage["thoughtsTokenCount"]),
        (&json!(20), &json!(10))
    );
    let cut = Turn::empty().then_raw_tool_call("c", "t", [r#"{"a"#]);
    let finish = joined(&values(WireApi::Gemini, &cut), "/candidates/0/finishReason");
    assert_eq!(finish, "MALFORMED_FUNCTION_CALL");
}

#[test]
fn every_api_has_its_word_for_a_cut_answer() {
    let turn = text(["a"]).stopping(StopReason::Length);
    let words = [
        (WireApi::Chat, "/choices/0/finish_reason", "length"),
        (WireApi::Responses, "/response/incomplete_details/reason", "max_output_tokens"),
        (WireApi::Anthropic, "/delta/stop_reason", "max_tokens"),
        (WireApi::Gemini, "/candidates/0/finishReason", "MAX_TOKENS"),
    ];
    for (api, pointer, word) in words {
        assert_eq!(joined(&values(api, &turn), pointer), word, "{api:?}");
    }
}

#[test]
fn every_api_has_its_own_errors() {
    for api in WireApi::ALL {
        let server = ScriptedServer::start();
        server.answer(api.context_length_error());
        let reply = Client::connect(&server).ask(&api.path("m"));
        let body: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(reply.status, 400);
        assert!(body["error"]["message"].is_string(), "{api:?}: {body}");
    }
}
