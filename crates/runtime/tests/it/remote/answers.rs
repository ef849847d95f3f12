//! Answers of the four APIs, however they are cut, spelled and padded, and the quirks of compatible servers.

use std::time::Duration;

use attache_kernel::{
    model::{
        price::Price,
        usage::{ServerToolUse, Usage},
    },
    run::{
        ModelFailure, Reply, Stage,
        event::StopReason,
        message::{AssistantPart, text_of},
    },
};
use attache_runtime::internal::model::wire::Traits;
use attache_testkit::scripted_server::{
    Answer, Gate, ScriptedServer, Turn, WireApi as Api, text, tool_call,
};
use serde_json::{Value, json};

use super::{Heard, ask, described, everywhere, model_at, model_of, reads};

/// A part in short: what it is and what it says.
fn short(content: &[AssistantPart]) -> Vec<(&'static str, String)> {
    let part = |part: &AssistantPart| match part {
        AssistantPart::Text { text, .. } => ("text", text.clone()),
        AssistantPart::Thinking { text, .. } => ("thinking", text.clone()),
        AssistantPart::ToolCall { call } => {
            ("call", format!("{} {} {}", call.id, call.name, call.written_arguments()))
        }
    };
    content.iter().map(part).collect()
}

fn owned(parts: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    parts.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
}

async fn heard(api: Api, answer: Answer) -> Heard {
    let server = ScriptedServer::start();
    server.answer(answer);
    let heard = ask(&model_at(api, &server)).await;
    server.assert_done();
    heard
}

async fn reply(api: Api, answer: Answer) -> Reply {
    heard(api, answer).await.reply()
}

fn usage() -> Usage {
    Usage {
        input_tokens: 1000,
        output_tokens: 200,
        cache_creation_input_tokens: 100,
        cache_read_input_tokens: 600,
        reasoning_tokens: 50,
        server_tool_use: None,
        service_tier: Some("flex".to_owned()),
    }
}

fn rich() -> Turn {
    Turn::default()
        .then_thinking(["Let me ", "think …"], "signed-1")
        .then_text(["Héllo, ", "wörld ✓ 🦀"])
        .then_tool_call("call_a", "read_file", &json!({"path": "a ü.rs"}))
        .then_tool_call("call_b", "read_file", &json!({"path": "b.rs", "limit": 3}))
        .using(usage())
}

#[tokio::test]
async fn an_answer_is_the_same_however_it_arrives() {
    everywhere(|api| async move {
        let whole = || api.answer(&rich());
        let unknown = "event: brand.new\ndata: {\"type\":\"brand.new\",\"delta\":\"x\"}\n\n";
        let ways = [
            ("as it is", whole()),
            ("byte by byte", whole().split_every(1)),
            ("in threes", whole().split_every(3)),
            ("at once", whole().split_every(1 << 20)),
            ("with CRLF", whole().crlf()),
            ("with CRLF, byte by byte", whole().crlf().split_every(1)),
            ("with comments", whole().between(": ping\n\n")),
            ("with unknown events", whole().between(unknown)),
            ("with blank lines", whole().between("\n\n")),
        ];
        for (way, answer) in ways {
            let heard = heard(api, answer).await;
            assert_eq!(heard.text, "Héllo, wörld ✓ 🦀", "{api:?} {way}");
            assert_eq!(heard.thoughts, "Let me think …", "{api:?} {way}");
            let reply = heard.reply();
            let expected = owned(&[
                ("thinking", "Let me think …"),
                ("text", "Héllo, wörld ✓ 🦀"),
                ("call", r#"call_a read_file {"path":"a ü.rs"}"#),
                ("call", r#"call_b read_file {"path":"b.rs","limit":3}"#),
            ]);
            assert_eq!(short(&reply.content), expected, "{api:?} {way}");
            assert_eq!(reply.stop, StopReason::ToolUse, "{api:?} {way}");
        }
    })
    .await;
}

#[tokio::test]
async fn all_input_is_counted_and_its_cached_parts_are_parts_of_it() {
    everywhere(|api| async move {
        let price = Price {
            input: 2.0,
            output: 10.0,
            cache_read: Some(0.2),
            cache_write: Some(2.5),
            above: None,
        };
        let server = ScriptedServer::start();
        server.answer(api.answer(&rich()));
        let model = model_of(described(api, &server.base_url()), Traits::default(), Some(price));
        let reply = ask(&model).await.reply();
        // Nobody but Gemini leaves out what was written to its cache.
        let written = if api == Api::Gemini { 0 } else { 100 };
        let expected = Usage { cache_creation_input_tokens: written, ..usage() };
        assert_eq!(reply.usage, expected, "{api:?}");
        // 300 fresh, 600 read, 100 written, 200 said; in millionths of a dollar.
        let cost = if api == Api::Gemini { 800.0 + 120.0 } else { 600.0 + 120.0 + 250.0 };
        let millionths = reply.cost_usd.unwrap() * 1e6;
        assert!((millionths - (cost + 2000.0)).abs() < 1e-6, "{api:?}: {millionths}");
        assert_eq!(ask(&model_at(api, &again(api))).await.reply().cost_usd, None);
    })
    .await;
}

fn again(api: Api) -> ScriptedServer {
    let server = ScriptedServer::start();
    server.answer(api.answer(&rich()));
    server
}

#[tokio::test]
async fn an_answer_may_end_without_its_last_blank_line() {
    everywhere(|api| async move {
        let mut whole = Vec::new();
        for event in api.answer(&rich()).pieces() {
            whole.extend_from_slice(event);
        }
        let stripped = whole.trim_ascii_end();
        for (way, kept) in [("both", stripped.len()), ("one", stripped.len() + 1)] {
            let answer = Answer::new().data(Vec::<String>::new()).chunk(&whole[..kept]);
            let reply = reply(api, answer).await;
            assert_eq!(reply.content.len(), 4, "{api:?} without {way}: {reply:?}");
            assert_eq!(reply.usage.output_tokens, 200, "{api:?} without {way}");
        }
        // What was cut off in its last event is not whole.
        for missing in 1..8 {
            let cut = &stripped[..stripped.len() - missing];
            let answer = Answer::new().data(Vec::<String>::new()).chunk(cut);
            let failure = heard(api, answer).await.failure();
            let passes = matches!(&failure, ModelFailure::Transient { message, .. }
                if message.contains("without the mark at its end"));
            assert!(passes, "{api:?} without {missing} bytes: {failure:?}");
        }
    })
    .await;
}

/// An answer that says this, as it stands in JSON.
fn spelled(api: Api, pieces: &[&str]) -> Answer {
    let event = |template: &str, piece: &str| template.replace("PIECE", piece);
    let (before, template, after): (&[&str], &str, &[&str]) = match api {
        Api::Chat => (
            &[],
            r#"{"choices":[{"delta":{"content":"PIECE"}}]}"#,
            &[r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, "[DONE]"],
        ),
        Api::Anthropic => (
            &[
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            ],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"PIECE"}}"#,
            &[r#"{"type":"message_stop"}"#],
        ),
        Api::Responses => (
            &[],
            r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"PIECE"}]}}"#,
            &[r#"{"type":"response.completed","response":{}}"#],
        ),
        Api::Gemini => (
            &[],
            r#"{"candidates":[{"content":{"parts":[{"text":"PIECE"}]}}]}"#,
            &[r#"{"candidates":[{"finishReason":"STOP"}]}"#],
        ),
    };
    let said: Vec<String> = pieces.iter().map(|piece| event(template, piece)).collect();
    Answer::new().data(before).data(said).data(after)
}

#[tokio::test]
async fn half_a_character_becomes_the_sign_for_one_that_is_missing() {
    everywhere(|api| async move {
        for (pieces, expected) in [
            (&[r"hi \ud83d", r"\ude00!"][..], "hi \u{fffd}\u{fffd}!"),
            (&[r"\uD83D"], "\u{fffd}"),
            (&[r"\uDE00\ud83d x"], "\u{fffd}\u{fffd} x"),
            // A whole one, an escaped backslash and a letter beside it stay what they are.
            (&[r"\ud83d\ude00 \\ud83d \u00e4 \ud83d\u00e4"], "😀 \\ud83d ä \u{fffd}ä"),
        ] {
            let said = reply(api, spelled(api, pieces)).await;
            assert_eq!(text_of(&said.content), expected, "{api:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn half_a_character_in_arguments_is_no_reason_to_call_again() {
    everywhere(|api| async move {
        let raw = r#"{"path":"a \ud83d"}"#;
        let answer = match api {
            Api::Gemini => Answer::new().data([format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"read_file","args":{raw}}}}}]}},"finishReason":"STOP"}}]}}"#
            )]),
            _ => api.answer(&Turn::default().then_raw_tool_call("a", "read_file", [raw])),
        };
        let said = reply(api, answer).await;
        let call = said.content[0].call().unwrap();
        assert_eq!(call.arguments().unwrap()["path"], "a \u{fffd}", "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn every_reason_to_stop_has_one_name() {
    everywhere(|api| async move {
        for stop in
            [StopReason::EndTurn, StopReason::Length, StopReason::ContentFilter, StopReason::Other]
        {
            let said = reply(api, api.answer(&text(["words"]).stopping(stop))).await;
            assert_eq!(said.stop, stop, "{api:?}");
            assert_eq!(short(&said.content), owned(&[("text", "words")]), "{api:?}");
        }
        assert_eq!(reply(api, api.answer(&reads("a", "a"))).await.stop, StopReason::ToolUse);
        // What was called decides, whatever the server says of it.
        let done = reads("a", "a").stopping(StopReason::EndTurn);
        assert_eq!(reply(api, api.answer(&done)).await.stop, StopReason::ToolUse, "{api:?}");
        if api != Api::Responses {
            let none = text(["words"]).stopping(StopReason::ToolUse);
            assert_eq!(reply(api, api.answer(&none)).await.stop, StopReason::EndTurn, "{api:?}");
        }
    })
    .await;
    for (api, words, expected) in [
        (Api::Anthropic, "stop_sequence", StopReason::EndTurn),
        (Api::Anthropic, "model_context_window_exceeded", StopReason::Length),
        (Api::Anthropic, "pause_turn", StopReason::Length),
        (Api::Gemini, "RECITATION", StopReason::ContentFilter),
        (Api::Gemini, "PROHIBITED_CONTENT", StopReason::ContentFilter),
        (Api::Gemini, "SPII", StopReason::ContentFilter),
        (Api::Gemini, "IMAGE_PROHIBITED_CONTENT", StopReason::ContentFilter),
        (Api::Gemini, "TOO_MANY_TOOL_CALLS", StopReason::Other),
        (Api::Chat, "function_call", StopReason::EndTurn),
        (Api::Chat, "max_tokens", StopReason::Length),
    ] {
        let answer = match api {
            Api::Anthropic => anthropic(&[
                json!({"type": "message_delta", "delta": {"stop_reason": words}, "usage": {"output_tokens": 1}}),
            ]),
            Api::Gemini => Answer::new().data([json!({"candidates": [{"finishReason": words}]})]),
            _ => chat(&[json!({"content": "x"})], words),
        };
        assert_eq!(reply(api, answer).await.stop, expected, "{words}");
    }
}

#[tokio::test]
async fn an_empty_answer_is_one() {
    everywhere(|api| async move {
        let empty = reply(api, api.answer(&Turn::empty())).await;
        assert_eq!(short(&empty.content), [], "{api:?}");
        assert_eq!(empty.stop, StopReason::EndTurn, "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn hidden_reasoning_is_a_thought_without_words() {
    for api in [Api::Chat, Api::Responses, Api::Anthropic] {
        let turn = Turn::default().then_thinking(Vec::<String>::new(), "opaque").then_tool_call(
            "a",
            "read_file",
            &json!({"path": "a"}),
        );
        let heard = heard(api, api.answer(&turn)).await;
        assert_eq!(heard.thoughts, "", "{api:?}");
        let content = heard.reply().content;
        let thought = content.iter().find_map(|part| match part {
            AssistantPart::Thinking { text, provider_data, .. } => Some((text, provider_data)),
            _ => None,
        });
        let (words, data) = thought.unwrap();
        assert_eq!(words, "", "{api:?}");
        assert!(data.as_ref().unwrap().to_string().contains("opaque"), "{api:?}: {data:?}");
    }
}

#[tokio::test]
async fn cut_arguments_are_handed_on_as_they_are() {
    for api in [Api::Chat, Api::Responses, Api::Anthropic] {
        let turn = Turn::default()
            .then_raw_tool_call("a", "read_file", ["{\"path\": ", "\"src/ma"])
            .stopping(StopReason::Length);
        let reply = reply(api, api.answer(&turn)).await;
        assert_eq!(reply.stop, StopReason::Length, "{api:?}");
        let call = reply.content[0].call().unwrap();
        assert_eq!(call.written_arguments(), "{\"path\": \"src/ma", "{api:?}");
        assert!(call.arguments().is_err());
    }
    // Gemini writes no half call; it says that it could not, and another attempt goes better.
    let turn = Turn::default().then_raw_tool_call("a", "read_file", ["{\"path\": "]);
    let failure = heard(Api::Gemini, Api::Gemini.answer(&turn)).await.failure();
    assert!(
        matches!(&failure, ModelFailure::Transient { stage: Stage::Stream, .. }),
        "{failure:?}"
    );
}

// Anthropic.

fn anthropic(events: &[Value]) -> Answer {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}});
    let stop = json!({"type": "message_stop"});
    let named = std::iter::once(&start).chain(events).chain([&stop]);
    Answer::new().sse(named.map(|event| (event["type"].as_str().unwrap(), event)))
}

#[tokio::test]
async fn later_counts_of_anthropic_replace_earlier_ones() {
    let delta = |usage: Value| json!({"type": "message_delta", "delta": {}, "usage": usage});
    let said = reply(
        Api::Anthropic,
        anthropic(&[
            delta(json!({"output_tokens": 5, "input_tokens": 40})),
            delta(json!({
                "output_tokens": 9, "cache_read_input_tokens": 2, "cache_creation_input_tokens": null,
                "server_tool_use": {"web_search_requests": 3},
            })),
        ]),
    )
    .await;
    assert_eq!((said.usage.input_tokens, said.usage.output_tokens), (42, 9));
    let searches = ServerToolUse { web_search_requests: 3, web_fetch_requests: 0 };
    assert_eq!(said.usage.server_tool_use, Some(searches));
}

#[tokio::test]
async fn what_else_anthropic_sends_is_passed_over() {
    let block = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let said = reply(
        Api::Anthropic,
        anthropic(&[
            block(
                0,
                json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            ),
            delta(0, json!({"type": "input_json_delta", "partial_json": "{\"query\": 1}"})),
            block(1, json!({"type": "text", "text": "It ", "citations": null})),
            delta(1, json!({"type": "citations_delta", "citation": {}})),
            delta(1, json!({"type": "text_delta", "text": "is."})),
            block(
                2,
                json!({"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "a"}}),
            ),
            block(3, json!({"type": "tool_use", "id": "b", "name": "read_file", "input": {}})),
            delta(3, json!({"type": "input_json_delta", "partial_json": ""})),
        ]),
    )
    .await;
    let expected = owned(&[
        ("text", "It is."),
        ("call", r#"a read_file {"path":"a"}"#),
        ("call", "b read_file "),
    ]);
    assert_eq!(short(&said.content), expected);
}

// Chat Completions, and what compatible servers make of it.

fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn chat(deltas: &[Value], finish: &str) -> Answer {
    let chunks = deltas.iter().map(|delta| chunk(delta, None));
    let end = chunk(&json!({}), Some(finish));
    Answer::new().data(chunks.chain([end])).data(["[DONE]"])
}

#[tokio::test]
async fn compatible_servers_write_calls_in_their_own_ways() {
    let calls = |calls: Value| json!({ "tool_calls": calls });
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let ways = [
        (
            "whole, without numbers",
            vec![calls(json!([
                {"id": "a", "type": "function", "function": function("f", "{\"n\":1}")},
                {"id": "b", "type": "function", "function": function("g", "{\"n\":2}")},
            ]))],
        ),
        (
            "in pieces, without numbers",
            vec![
                calls(json!([{"id": "a", "function": function("f", "")}])),
                calls(json!([{"function": {"arguments": "{\"n\""}}])),
                calls(json!([{"function": {"arguments": ":1}"}}])),
                calls(json!([{"id": "b", "function": function("g", "{\"n\"")}])),
                calls(json!([{"id": null, "function": {"name": null, "arguments": ":2}"}}])),
            ],
        ),
        (
            "all under number 0, with ids of their own",
            vec![
                calls(json!([{"index": 0, "id": "a", "function": function("f", "{\"n\":1}")}])),
                calls(json!([{"index": 0, "id": "b", "function": function("g", "{\"n\"")}])),
                calls(json!([{"index": 0, "function": {"arguments": ":2}"}}])),
            ],
        ),
        (
            "the id and the name again with every piece",
            vec![
                calls(json!([{"index": 0, "id": "a", "function": function("f", "{\"n\"")}])),
                calls(json!([{"index": 0, "id": "a", "function": function("f", ":1}")}])),
                calls(json!([{"index": 1, "id": "b", "function": function("g", "{\"n\":2}")}])),
            ],
        ),
        (
            "one between the pieces of the other",
            vec![
                calls(json!([
                    {"index": 0, "id": "a", "function": function("f", "")},
                    {"index": 1, "id": "b", "function": function("g", "")},
                ])),
                calls(json!([{"index": 1, "function": {"arguments": "{\"n\":2}"}}])),
                calls(json!([{"index": 0, "function": {"arguments": "{\"n\":1}"}}])),
            ],
        ),
        (
            "arguments as an object",
            vec![
                calls(
                    json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"n": 1}}}]),
                ),
                calls(
                    json!([{"index": 1, "id": "b", "function": {"name": "g", "arguments": {"n": 2}}}]),
                ),
            ],
        ),
    ];
    for (way, deltas) in ways {
        let said = reply(Api::Chat, chat(&deltas, "stop")).await;
        let expected = owned(&[("call", "a f {\"n\":1}"), ("call", "b g {\"n\":2}")]);
        assert_eq!(short(&said.content), expected, "{way}");
        assert_eq!(said.stop, StopReason::ToolUse, "{way}");
    }
    let none = calls(json!([{"index": 0, "id": "a", "function": {"name": "f"}}]));
    assert_eq!(
        short(&reply(Api::Chat, chat(&[none], "tool_calls")).await.content),
        owned(&[("call", "a f ")])
    );
    let nulls =
        json!({"content": null, "tool_calls": null, "reasoning_content": null, "refusal": null});
    assert_eq!(short(&reply(Api::Chat, chat(&[nulls], "stop")).await.content), []);
}

#[tokio::test]
async fn compatible_servers_name_reasoning_in_their_own_ways() {
    for deltas in [
        vec![json!({"reasoning_content": "hm"}), json!({"reasoning_content": "m"})],
        vec![json!({"reasoning": "hm"}), json!({"reasoning": "m"})],
        vec![
            json!({"reasoning": "hmm", "reasoning_content": "hmm"}),
            json!({"reasoning": null, "reasoning_content": null}),
        ],
        vec![
            json!({"reasoning": "h", "reasoning_details": [{"type": "reasoning.text", "text": "h", "index": 0}]}),
            json!({"reasoning": "mm", "reasoning_details": [{"type": "reasoning.text", "text": "mm", "index": 0}]}),
        ],
    ] {
        let all: Vec<Value> = deltas.into_iter().chain([json!({"content": "so"})]).collect();
        let heard = heard(Api::Chat, chat(&all, "stop")).await;
        assert_eq!(heard.thoughts, "hmm", "{all:?}");
        let expected = owned(&[("thinking", "hmm"), ("text", "so")]);
        assert_eq!(short(&heard.reply().content), expected, "{all:?}");
    }
    let refusal = reply(Api::Chat, chat(&[json!({"refusal": "No."})], "stop")).await;
    assert_eq!(text_of(&refusal.content), "No.");
}

#[tokio::test]
async fn compatible_servers_send_content_in_parts() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let thinking = |parts: Value| json!({"type": "thinking", "thinking": parts});
    let deltas = [
        json!({"content": [thinking(json!([text("h"), text("m")]))]}),
        json!({"content": [thinking(json!("m"))]}),
        json!({"content": [{"type": "reference", "reference_ids": [1]}, 7]}),
        json!({"content": [text("arr"), text("ay")]}),
        json!({"content": " of"}),
        json!({"content": [" parts"]}),
        json!({"content": []}),
    ];
    let heard = heard(Api::Chat, chat(&deltas, "stop")).await;
    assert_eq!((heard.text.as_str(), heard.thoughts.as_str()), ("array of parts", "hmm"));
    let expected = owned(&[("thinking", "hmm"), ("text", "array of parts")]);
    assert_eq!(short(&heard.reply().content), expected);
}

#[tokio::test]
async fn compatible_servers_count_in_their_own_ways() {
    let usage = json!({
        "prompt_tokens": 70, "completion_tokens": 7, "prompt_cache_hit_tokens": 60,
        "prompt_cache_miss_tokens": 10, "cost": 0.25,
    });
    // In the last chunk, beside its choice, and once more under a null.
    let mut last = chunk(&json!({}), Some("stop"));
    last["usage"] = usage;
    last["service_tier"] = json!("default");
    let first = chunk(&json!({"content": "hi"}), None);
    let empty = json!({"choices": null, "usage": null});
    let answer = Answer::new().data([&first, &empty, &last]).data(["[DONE]"]);
    let said = reply(Api::Chat, answer).await;
    assert_eq!((said.usage.input_tokens, said.usage.output_tokens), (70, 7));
    assert_eq!(said.usage.cache_read_input_tokens, 60);
    assert_eq!(said.usage.service_tier.as_deref(), Some("default"));
    assert_eq!(said.cost_usd, Some(0.25));
}

#[tokio::test]
async fn errors_stand_in_streams_in_many_ways() {
    for (api, answer, words, passes) in [
        (
            Api::Chat,
            Answer::new().data([json!({"error": {"message": "busy", "code": 502}})]),
            "busy",
            true,
        ),
        (Api::Chat, Answer::new().data([json!({"error": "busy"})]), "busy", true),
        (
            Api::Chat,
            Answer::new().data([json!({"object": "error", "message": "bad input", "code": 400})]),
            "bad input",
            false,
        ),
        (
            Api::Chat,
            Answer::new().data([json!({"error": {"message": "no money", "code": "insufficient_quota"}})]),
            "no money",
            false,
        ),
        (
            Api::Responses,
            Answer::new().sse([("error", json!({"type": "error", "code": "server_error", "message": "oh", "param": null}))]),
            "oh",
            true,
        ),
        (
            Api::Responses,
            Answer::new().sse([("error", json!({"type": "error", "error": {"type": "invalid_request_error", "code": null, "message": "bad"}}))]),
            "bad",
            false,
        ),
        (
            Api::Responses,
            Answer::new().sse([("response.failed", json!({"type": "response.failed", "response": {"error": {"code": "invalid_image", "message": "broken image"}}}))]),
            "broken image",
            false,
        ),
        (
            Api::Anthropic,
            Answer::new().sse([("error", json!({"type": "error", "error": {"type": "timeout_error", "message": "too slow"}}))]),
            "too slow",
            true,
        ),
        (
            Api::Anthropic,
            Answer::new().sse([("error", json!({"type": "error", "error": {"type": "authentication_error", "message": "who?"}}))]),
            "who?",
            false,
        ),
        // Without a stream, or in its middle but in no event.
        (
            Api::Gemini,
            Answer::new().json(&json!([{"error": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}])),
            "overloaded",
            true,
        ),
        (
            Api::Gemini,
            Answer::new().data([json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}]})])
                .chunk("{\n \"error\": {\n  \"code\": 400,\n  \"message\": \"bad thing\"\n }\n}\n"),
            "bad thing",
            false,
        ),
        (Api::Chat, Answer::new().json(&json!({"error": {"message": "no such model", "code": 404}})), "no such model", false),
        (Api::Chat, Answer::new().json(&json!({"choices": [{"message": {"content": "hi"}}]})), "without a stream", false),
    ] {
        let failure = heard(api, answer).await.failure();
        let (message, passed) = match &failure {
            ModelFailure::Transient { message, stage: Stage::Stream, .. } => (message, true),
            ModelFailure::Fatal { message } => (message, false),
            _ => panic!("{failure:?}"),
        };
        assert!(message.contains(words) && passed == passes, "{failure:?}");
    }
}

#[tokio::test]
async fn a_server_that_leaves_out_done_is_asked_once() {
    let server = ScriptedServer::start();
    let unmarked = || Answer::new().data([chunk(&json!({"content": "hi"}), Some("stop"))]);
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}});
    let cut = unmarked().chunk("data: {\"choices\": [");
    let open = Answer::new().data([chunk(&json!({"content": "hi"}), None)]);
    // This one is not even closed.
    let held = unmarked().data([usage.clone()]).wait_for(&Gate::new());
    server.answer(unmarked()).answer(unmarked().data([usage])).answer(held);
    server.answer(cut).answer(open);
    let model = model_at(Api::Chat, &server);
    for counted in [0, 9, 9] {
        let reply = ask(&model).await.reply();
        assert_eq!((text_of(&reply.content).as_str(), reply.usage.total_tokens()), ("hi", counted));
    }
    // One that was cut, or does not even say that it is done, is never believed.
    for _ in 0..2 {
        let failure = ask(&model).await.failure();
        assert!(matches!(&failure, ModelFailure::Transient { message, stage: Stage::Stream, .. }
            if message.contains("without the mark at its end")));
    }
}

// Responses.

fn responses(items: &[Value], end: &Value) -> Answer {
    let done = items.iter().map(|item| json!({"type": "response.output_item.done", "item": item}));
    let events: Vec<Value> = done.chain([end.clone()]).collect();
    Answer::new().sse(events.iter().map(|event| (event["type"].as_str().unwrap(), event)))
}

#[tokio::test]
async fn the_local_shell_is_a_tool_like_others() {
    let action = json!({"type": "exec", "command": ["ls", "-l"], "env": {}, "timeout_ms": 1000});
    let call = json!({"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "status": "completed", "action": action});
    let other = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let end = json!({"type": "response.completed", "response": {}});
    let said = reply(Api::Responses, responses(&[other, call], &end)).await;
    let call = said.content[0].call().unwrap();
    assert_eq!((call.id.as_str(), call.name.as_str()), ("call_1", "local_shell"));
    assert_eq!(call.arguments().unwrap()["command"], json!(["ls", "-l"]));
    assert_eq!(said.content.len(), 1);
}

#[tokio::test]
async fn items_that_are_told_only_at_the_end_count() {
    let message = json!({"type": "message", "role": "assistant", "phase": "final_answer", "content": [
        {"type": "output_text", "text": "one "}, {"type": "refusal", "refusal": "two"},
    ]});
    let call =
        json!({"type": "function_call", "id": "fc_1", "name": "read_file", "arguments": "{}"});
    let end = json!({"type": "response.completed", "response": {"output": [message, call], "usage": null}});
    let said = reply(Api::Responses, responses(&[], &end)).await;
    let expected = owned(&[("text", "one two"), ("call", "fc_1 read_file {}")]);
    assert_eq!(short(&said.content), expected);
}

#[tokio::test]
async fn summaries_of_reasoning_are_set_apart() {
    let part = |index: u64, text: &str| {
        [
            json!({"type": "response.reasoning_summary_part.added", "summary_index": index}),
            json!({"type": "response.reasoning_summary_text.delta", "summary_index": index, "delta": text}),
        ]
    };
    let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed", "summary": [
        {"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"},
    ]});
    let mut events: Vec<Value> = [part(0, "first"), part(1, "second")].concat();
    events.push(json!({"type": "response.output_item.done", "item": item}));
    events.push(json!({"type": "response.completed", "response": {}}));
    let answer =
        Answer::new().sse(events.iter().map(|event| (event["type"].as_str().unwrap(), event)));
    let heard = heard(Api::Responses, answer).await;
    assert_eq!(heard.thoughts, "first\n\nsecond");
    assert_eq!(short(&heard.reply().content), owned(&[("thinking", "first\n\nsecond")]));
}

// Gemini.

fn gemini(parts: &Value, finish: Option<&str>) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}]})
}

#[tokio::test]
async fn calls_of_gemini_need_neither_id_nor_arguments() {
    let calls = json!([
        {"functionCall": {"name": "read_file", "args": {"path": "a"}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "list_dir"}},
        {"executableCode": {"code": "1"}},
    ]);
    let said = reply(Api::Gemini, Answer::new().data([gemini(&calls, Some("STOP"))])).await;
    let expected = owned(&[("call", " read_file {\"path\":\"a\"}"), ("call", " list_dir {}")]);
    assert_eq!(short(&said.content), expected);
    assert_eq!(said.stop, StopReason::ToolUse);
}

#[tokio::test]
async fn all_of_gemini_counts_until_its_body_ends() {
    let text = |text: &str| gemini(&json!([{ "text": text }]), Some("STOP"));
    let call = json!([{"functionCall": {"name": "read_file", "args": {"path": "a"}}}]);
    let mut last = gemini(&call, Some("STOP"));
    last["usageMetadata"] = json!({"promptTokenCount": 7, "candidatesTokenCount": 3});
    let said = reply(Api::Gemini, Answer::new().data([text("one "), text("two"), last])).await;
    let expected = owned(&[("text", "one two"), ("call", " read_file {\"path\":\"a\"}")]);
    assert_eq!(short(&said.content), expected);
    assert_eq!((said.usage.input_tokens, said.usage.output_tokens), (7, 3));
    assert_eq!(said.stop, StopReason::ToolUse);
    // Counts come by themselves, and those that are left out stay what they were.
    let counts = |counts: Value| json!({ "usageMetadata": counts });
    let said = reply(
        Api::Gemini,
        Answer::new().data([
            text("x"),
            counts(json!({"promptTokenCount": 9, "thoughtsTokenCount": 2})),
            counts(json!({"candidatesTokenCount": 4, "trafficType": "ON_DEMAND"})),
        ]),
    )
    .await;
    let usage = said.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.reasoning_tokens), (9, 6, 2));
    assert_eq!(usage.service_tier.as_deref(), Some("ON_DEMAND"));
}

#[tokio::test]
async fn what_gemini_adds_in_a_moment_is_waited_for() {
    let gate = Gate::new();
    let call = json!([{"functionCall": {"name": "read_file"}}]);
    let answer = Answer::new()
        .data([gemini(&json!([{"text": "x"}]), Some("STOP"))])
        .wait_for(&gate)
        .data([gemini(&call, Some("STOP"))]);
    let opened = tokio::task::spawn_blocking({
        let gate = gate.clone();
        move || {
            gate.wait_until_reached(1);
            gate.open();
        }
    });
    let said = reply(Api::Gemini, answer).await;
    opened.await.unwrap();
    assert_eq!(short(&said.content), owned(&[("text", "x"), ("call", " read_file {}")]));
}

#[tokio::test]
async fn what_breaks_off_after_the_end_of_gemini_takes_nothing_away_but_half_an_event() {
    let done = || Answer::new().data([gemini(&json!([{"text": "x"}]), Some("STOP"))]);
    let closed = reply(Api::Gemini, done().close_early()).await;
    assert_eq!(text_of(&closed.content), "x");
    let half = "data: {\"candidates\":[{\"content\":";
    for (way, answer) in
        [("ended", done().chunk(half)), ("closed", done().chunk(half).close_early())]
    {
        let failure = heard(Api::Gemini, answer).await.failure();
        assert!(matches!(failure, ModelFailure::Transient { .. }), "{way}: {failure:?}");
    }
}

#[tokio::test]
async fn gemini_does_not_hold_an_answer_open_with_signs_of_life() {
    let gate = Gate::new();
    let done = Answer::new().data([gemini(&json!([{"text": "x"}]), Some("STOP"))]);
    let pinging = (0..1000).fold(done, |answer, _| answer.chunk(": ping\n\n")).gated(&gate, 1);
    let mut pings = 0;
    let drips = async {
        let mut beat = tokio::time::interval(Duration::from_millis(100));
        while pings < 1000 {
            beat.tick().await;
            gate.pass();
            pings += 1;
        }
    };
    let said = tokio::select! {
        said = reply(Api::Gemini, pinging) => Some(said),
        () = drips => None,
    };
    assert_eq!(said.map(|said| text_of(&said.content)).as_deref(), Some("x"));
    assert!(pings < 1000, "the answer was whole after {pings} signs of life");
}

#[tokio::test]
async fn a_signed_part_of_gemini_stays_by_itself() {
    let parts = json!([
        {"text": "one "}, {"text": "two", "thoughtSignature": "s"}, {"text": "three"}, {"text": " four"},
        {"text": "", "thoughtSignature": "t"},
    ]);
    let said = reply(Api::Gemini, Answer::new().data([gemini(&parts, Some("STOP"))])).await;
    let expected =
        owned(&[("text", "one "), ("text", "two"), ("text", "three four"), ("text", "")]);
    assert_eq!(short(&said.content), expected);
}

#[tokio::test]
async fn a_prompt_that_gemini_blocks_ends_it() {
    let answer = Answer::new().data([json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    let failure = heard(Api::Gemini, answer).await.failure();
    assert!(matches!(&failure, ModelFailure::Fatal { message } if message.contains("SAFETY")));
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"] {
        let answer = Answer::new().data([gemini(&json!([]), Some(reason))]);
        let failure = heard(Api::Gemini, answer).await.failure();
        assert!(matches!(&failure, ModelFailure::Transient { .. }), "{failure:?}");
    }
}

#[tokio::test]
async fn nothing_counts_after_the_end() {
    for (api, extra) in [
        (Api::Chat, "data: {\"choices\":[{\"delta\":{\"content\":\"late\"}}]}\n\n"),
        (
            Api::Anthropic,
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"late\"}}\n\n",
        ),
        (Api::Responses, "event: error\ndata: {\"type\":\"error\",\"message\":\"late\"}\n\n"),
        (Api::Gemini, "data: {\"error\":{\"code\":500,\"message\":\"late\"}}\n\n"),
    ] {
        let turn = tool_call("a", "read_file", &json!({"path": "a"})).then_text(["so"]);
        let said = reply(api, api.answer(&turn).chunk(extra).split_every(1 << 20)).await;
        assert!(!format!("{said:?}").contains("late"), "{api:?}");
    }
}

/// Gateways end Gemini's stream as they end any other.
#[tokio::test]
async fn what_follows_the_end_of_a_gemini_answer_is_no_fault() {
    for after in ["data: [DONE]\n\n", "data: \n\n", "data: {\"half\": \n\n"] {
        let lab = super::Lab::new(Api::Gemini);
        lab.server.answer(Api::Gemini.answer(&super::completes()).chunk(after));
        let done = lab.run().await;
        assert_eq!(done.result.status, attache_kernel::run::outcome::Status::Goal, "{after}");
        assert_eq!(lab.server.requests().len(), 1, "{after}");
    }
}
