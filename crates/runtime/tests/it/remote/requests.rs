//! Requests of the four APIs: the exact JSON of one rich conversation, and what changes it.

use std::{path::Path, sync::Arc};

use attache_kernel::{
    agent::definition::ModelConfig,
    id::ToolCallId,
    model::catalogue::Thinking,
    run::Demand,
    run::message::{AssistantPart, Image, Message, ToolCall, ToolResult, UserPart},
};
use attache_runtime::internal::model::{provider::ProviderDescription, wire::Traits};
use attache_testkit::{
    golden,
    scripted_server::{Answer, Request, ScriptedServer, Turn, WireApi as Api, text},
};
use serde_json::{Map, Value, json};

use super::{Asking, KEY, ask, described, everywhere, model_at, model_of};

fn image(data: &str) -> Image {
    Image { media_type: "image/png".to_owned(), data: data.to_owned() }
}

fn results(calls: &[ToolCall]) -> Message {
    let result = |call: &ToolCall, text: &str| ToolResult {
        call_id: call.id.clone(),
        text: text.to_owned(),
        is_error: false,
        images: Vec::new(),
        artifacts: Vec::new(),
        data: Some(Arc::new(json!({"files": ["never sent"]}))),
    };
    Message::Tool {
        results: vec![
            ToolResult { is_error: true, ..result(&calls[0], "no such file") },
            ToolResult { images: vec![image("UkVTVUxU")], ..result(&calls[1], "a picture") },
        ],
    }
}

/// What a model of that API says: a thought, a text, two calls.
async fn said(api: Api, turn: &Turn) -> Vec<AssistantPart> {
    let server = ScriptedServer::start();
    server.answer(api.answer(turn));
    ask(&model_at(api, &server)).await.reply().content
}

fn thinking_and_calling() -> Turn {
    Turn::default()
        .then_thinking(["I wonder."], "signed-1")
        .then_text(["Let me look."])
        .then_tool_call("call_1", "read_file", &json!({"path": "a.txt"}))
        .then_tool_call("call_2", "read_file", &json!({"path": "b.png"}))
}

fn conversation(content: Vec<AssistantPart>) -> Vec<Message> {
    let calls: Vec<ToolCall> = content.iter().filter_map(AssistantPart::call).cloned().collect();
    vec![
        Message::system("You test."),
        Message::User {
            content: vec![
                UserPart::Text { text: "What is \"this\"?\nTell me. ü".to_owned() },
                UserPart::Image { image: image("VVNFUg==") },
            ],
        },
        Message::Assistant { content },
        results(&calls),
        Message::user("Go on."),
    ]
}

/// What is sent when a model of that API is asked so.
async fn sent(api: Api, traits: Traits, change: impl FnOnce(&mut Asking<'_>)) -> Request {
    let server = ScriptedServer::start();
    server.answer(api.answer(&text(["ok"])));
    let model = model_of(described(api, &server.base_url()), traits, None);
    let mut asking = Asking::new(&model);
    change(&mut asking);
    asking.hear().await.reply();
    server.wait_for_request(1)
}

fn config<'a>(asking: &'a mut Asking<'_>) -> &'a mut ModelConfig {
    &mut Arc::make_mut(&mut asking.assignment.definition).model_config
}

#[tokio::test]
async fn a_rich_conversation_is_written_as_each_provider_wants_it() {
    for (api, name) in [
        (Api::Chat, "chat"),
        (Api::Responses, "responses"),
        (Api::Anthropic, "anthropic"),
        (Api::Gemini, "gemini"),
    ] {
        let content = said(api, &thinking_and_calling()).await;
        let request = sent(api, Traits::default(), |asking| {
            asking.messages = conversation(content);
            config(asking).temperature = Some(0.5);
            config(asking).top_p = Some(0.75);
        })
        .await;
        let shown = serde_json::to_string_pretty(&request.json()).unwrap() + "\n";
        let path = format!("{}/tests/it/remote/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
        golden::check(Path::new(&path), &shown);
    }
}

#[tokio::test]
async fn hidden_reasoning_goes_back_as_it_came() {
    let turn = Turn::default()
        .then_thinking(Vec::<String>::new(), "opaque")
        .then_tool_call("call_1", "read_file", &json!({"path": "a.txt"}))
        .then_tool_call("call_2", "read_file", &json!({"path": "b.txt"}));
    for (api, place, expected) in [
        (
            Api::Chat,
            "/messages/2/reasoning_details",
            json!([{"type": "reasoning.encrypted", "data": "opaque", "index": 0}]),
        ),
        (
            Api::Responses,
            "/input/1",
            json!({"type": "reasoning", "summary": [], "encrypted_content": "opaque"}),
        ),
        (
            Api::Anthropic,
            "/messages/1/content/0",
            json!({"type": "redacted_thinking", "data": "opaque"}),
        ),
        (
            Api::Gemini,
            "/contents/1/parts/0",
            json!({
                "functionCall": {"id": "call_1", "name": "read_file", "args": {"path": "a.txt"}},
                "thoughtSignature": "opaque",
            }),
        ),
    ] {
        let content = said(api, &turn).await;
        let request =
            sent(api, Traits::default(), |asking| asking.messages = conversation(content)).await;
        assert_eq!(request.json().pointer(place), Some(&expected), "{api:?} {}", request.json());
    }
}

#[tokio::test]
async fn nobody_is_told_what_another_providers_model_thought() {
    for from in Api::ALL {
        let content = said(from, &thinking_and_calling()).await;
        for to in Api::ALL.into_iter().filter(|to| *to != from) {
            let content = content.clone();
            let request =
                sent(to, Traits::default(), |asking| asking.messages = conversation(content)).await;
            let body = String::from_utf8(request.body.clone()).unwrap();
            assert!(!body.contains("I wonder."), "{from:?} → {to:?}: {body}");
            assert!(!body.contains("signed-1"), "{from:?} → {to:?}: {body}");
            assert!(body.contains("Let me look."), "{from:?} → {to:?}: {body}");
            assert!(!body.contains("\"api\""), "{from:?} → {to:?}: {body}");
            // A call nobody signed is sent with the words that excuse it.
            let excuses = body.matches("skip_thought_signature_validator").count();
            assert_eq!(excuses, usize::from(to == Api::Gemini), "{from:?} → {to:?}");
        }
    }
}

#[tokio::test]
async fn what_was_kept_for_another_api_is_not_sent_whatever_it_looks_like() {
    everywhere(|api| async move {
        let kept = json!({
            "api": "elsewhere", "field": "reasoning_content", "reasoning_details": [{"data": "sealed"}],
            "encrypted_content": "sealed", "redacted": "sealed", "thoughtSignature": "sealed",
            "phase": "sealed", "local_shell_action": "sealed", "id": true,
        });
        for provider_data in [Some(kept), None] {
            let mut call = ToolCall::new(ToolCallId::new("call_1"), "read_file", "{}");
            call.provider_data.clone_from(&provider_data);
            let content = vec![
                AssistantPart::Thinking {
                    text: "sealed".to_owned(),
                    signature: Some("sealed".to_owned()),
                    provider_data: provider_data.clone(),
                },
                AssistantPart::Text { text: "so".to_owned(), provider_data },
                AssistantPart::ToolCall { call },
            ];
            let request = sent(api, Traits::default(), |asking| {
                asking.messages = vec![Message::user("q"), Message::Assistant { content }];
            })
            .await;
            let body = String::from_utf8(request.body).unwrap();
            assert!(body.contains("read_file") && !body.contains("sealed"), "{api:?}: {body}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_signed_thought_of_gemini_goes_back_with_its_signature() {
    let server = ScriptedServer::start();
    let parts = json!([
        {"text": "deep", "thought": true, "thoughtSignature": "s"}, {"text": "shallow", "thought": true},
        {"text": "so", "thoughtSignature": "t"},
    ]);
    let event = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    server.answer(Answer::new().data([event]));
    let content = ask(&model_at(Api::Gemini, &server)).await.reply().content;
    let request = sent(Api::Gemini, Traits::default(), |asking| {
        asking.messages =
            vec![Message::user("q"), Message::Assistant { content }, Message::user("r")];
    })
    .await;
    let expected = json!([
        {"text": "deep", "thought": true, "thoughtSignature": "s"},
        {"text": "so", "thoughtSignature": "t"},
    ]);
    assert_eq!(request.json()["contents"][1]["parts"], expected);
}

#[tokio::test]
async fn a_call_of_the_local_shell_is_written_for_each_api() {
    let server = ScriptedServer::start();
    let action = json!({"type": "exec", "command": ["ls"], "env": {}});
    let item = json!({"type": "local_shell_call", "call_id": "call_1", "action": action});
    let answer = Answer::new().data([
        json!({"type": "response.output_item.done", "item": item}),
        json!({"type": "response.completed", "response": {}}),
    ]);
    server.answer(answer);
    let content = ask(&model_at(Api::Responses, &server)).await.reply().content;
    let messages = |content: Vec<AssistantPart>| {
        let result = ToolResult {
            call_id: ToolCallId::new("call_1"),
            text: "a.txt".to_owned(),
            is_error: false,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: Some(Arc::new(json!({"files": ["never sent"]}))),
        };
        let results = vec![result];
        vec![Message::user("q"), Message::Assistant { content }, Message::Tool { results }]
    };
    let body = |api| {
        let messages = messages(content.clone());
        async move { sent(api, Traits::default(), |asking| asking.messages = messages).await.json() }
    };
    let input = body(Api::Responses).await["input"].clone();
    let call = json!({
        "type": "local_shell_call", "call_id": "call_1", "status": "completed", "action": action,
    });
    assert_eq!(input[1], call);
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "a.txt"});
    assert_eq!(input[2], output);
    let call = body(Api::Chat).await["messages"][1]["tool_calls"][0].clone();
    let function = json!({"name": "shell", "arguments": action.to_string()});
    assert_eq!(call, json!({"id": "call_1", "type": "function", "function": function}));
    let block = body(Api::Anthropic).await["messages"][1]["content"][0].clone();
    assert_eq!((&block["name"], &block["input"]), (&json!("local_shell"), &action));
    let part = body(Api::Gemini).await["contents"][1]["parts"][0].clone();
    assert_eq!(part["functionCall"], json!({"name": "local_shell", "args": action}));
}

#[tokio::test]
async fn broken_arguments_and_foreign_ids_are_mended_for_the_way_back() {
    for (api, place, expected) in [
        (Api::Chat, "/messages/1/tool_calls/0/function/arguments", json!("{}")),
        (Api::Responses, "/input/1/arguments", json!("{\"path\": \"a")),
        (Api::Anthropic, "/messages/1/content/0/input", json!({})),
        (Api::Anthropic, "/messages/1/content/0/id", json!("call_1_x_y_z")),
        (Api::Anthropic, "/messages/2/content/0/tool_use_id", json!("call_1_x_y_z")),
        (Api::Gemini, "/contents/1/parts/0/functionCall/args", json!({})),
    ] {
        let id = ToolCallId::new("call:1|x.y/z");
        let call = ToolCall::new(id.clone(), "read_file", "{\"path\": \"a");
        let result = ToolResult {
            call_id: id,
            text: "no".to_owned(),
            is_error: true,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: Some(Arc::new(json!({"files": ["never sent"]}))),
        };
        let request = sent(api, Traits::default(), |asking| {
            asking.messages = vec![
                Message::user("q"),
                Message::Assistant { content: vec![AssistantPart::ToolCall { call }] },
                Message::Tool { results: vec![result] },
            ];
        })
        .await;
        assert_eq!(request.json().pointer(place), Some(&expected), "{api:?} {}", request.json());
    }
}

/// Providers refuse a conversation with a name that no tool can have; models make such names up.
#[tokio::test]
async fn invented_names_of_tools_are_mended_for_the_way_back() {
    for (api, place) in [
        (Api::Chat, "/messages/1/tool_calls/0/function/name"),
        (Api::Responses, "/input/1/name"),
        (Api::Anthropic, "/messages/1/content/0/name"),
        (Api::Gemini, "/contents/1/parts/0/functionCall/name"),
        (Api::Gemini, "/contents/2/parts/0/functionResponse/name"),
    ] {
        for (name, expected) in [
            ("read file", "read_file"),
            ("a.b/c:d", "a_b_c_d"),
            ("", "unknown"),
            ("lesen_é", "lesen__"),
            (&"x".repeat(90), &"x".repeat(64)),
        ] {
            let call = ToolCall::new(ToolCallId::new("call_1"), name, "{}");
            let Message::Tool { mut results } = results(&[call.clone(), call.clone()]) else {
                panic!("no results")
            };
            results.truncate(1);
            let messages = vec![
                Message::user("q"),
                Message::Assistant { content: vec![AssistantPart::ToolCall { call }] },
                Message::Tool { results },
            ];
            let request = sent(api, Traits::default(), |asking| asking.messages = messages).await;
            let found = request.json().pointer(place).cloned();
            assert_eq!(found, Some(json!(expected)), "{api:?} {}", request.json());
        }
    }
}

#[tokio::test]
async fn arguments_go_back_as_they_were_written() {
    let written = r#"{"n":12345678901234567890123,"e": 1e3,"f":1.0,"s":"\u00e4"}"#;
    let anthropic = |start: &str, delta: &str| {
        Answer::new().data([
            format!(
                r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"tool_use","id":"a","name":"t","input":{start}}}}}"#
            ),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": delta}})
                .to_string(),
            json!({"type": "message_stop"}).to_string(),
        ])
    };
    let gemini = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"t","args":{written}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    let chat = format!(
        r#"{{"choices":[{{"delta":{{"tool_calls":[{{"id":"a","function":{{"name":"t","arguments":{written}}}}}]}}}}]}}"#
    );
    let text = json!(written).to_string();
    for (api, key, sent_back, answer) in [
        (Api::Anthropic, "input", written, anthropic("{}", written)),
        (Api::Anthropic, "input", written, anthropic(written, "")),
        (Api::Gemini, "args", written, Answer::new().data([gemini])),
        (Api::Chat, "arguments", &text, Answer::new().data([chat, "[DONE]".to_owned()])),
    ] {
        let server = ScriptedServer::start();
        server.answer(answer);
        let content = ask(&model_at(api, &server)).await.reply().content;
        assert_eq!(content[0].call().unwrap().written_arguments(), written, "{api:?}");
        let request = sent(api, Traits::default(), |asking| {
            asking.messages = vec![Message::user("q"), Message::Assistant { content }];
        })
        .await;
        let body = String::from_utf8(request.body).unwrap();
        assert!(body.contains(&format!("\"{key}\":{sent_back}")), "{api:?}: {body}");
    }
}

#[tokio::test]
async fn only_what_was_written_is_sent() {
    everywhere(|api| async move {
        let plain = sent(api, Traits::default(), |_| {}).await.json();
        let text = plain.to_string();
        for word in
            ["temperature", "top_p", "topP", "thinking", "reasoning_effort", "generationConfig"]
        {
            assert!(!text.contains(word), "{api:?} {word}: {text}");
        }
        assert_eq!(plain.get("reasoning"), None, "{api:?}");
        let without_tools =
            sent(api, Traits::default(), |asking| asking.tools.clear()).await.json();
        assert_eq!(without_tools.get("tools"), None, "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn an_agents_parameters_are_merged_into_the_request() {
    everywhere(|api| async move {
        let parameters = match api {
            Api::Chat => json!({"stream_options": {"extra": 1}, "seed": 7, "stream_options_x": null, "temperature": null}),
            Api::Responses => json!({"reasoning": {"summary": "auto"}, "seed": 7, "prompt_cache_key": null, "temperature": null}),
            Api::Anthropic => json!({"metadata": {"user_id": "u"}, "max_tokens": 5, "seed": 7, "temperature": null}),
            Api::Gemini => json!({"seed": 7, "safetySettings": [{"a": 1}], "generationConfig": {"topK": 3}, "temperature": null}),
        };
        let body = sent(api, Traits::default(), |asking| {
            let config = config(asking);
            config.temperature = Some(0.5);
            config.effort = Some("low".to_owned());
            config.parameters = parameters.as_object().unwrap().clone();
        })
        .await
        .json();
        assert!(!body.to_string().contains("temperature"), "{api:?}: {body}");
        let expected = match api {
            Api::Chat => json!({"stream_options": {"include_usage": true, "extra": 1}, "seed": 7, "reasoning_effort": "low"}),
            Api::Responses => json!({"reasoning": {"effort": "low", "summary": "auto"}, "seed": 7}),
            Api::Anthropic => json!({"metadata": {"user_id": "u"}, "max_tokens": 5, "seed": 7}),
            Api::Gemini => json!({
                "generationConfig": {"thinkingConfig": {"thinkingLevel": "low"}, "seed": 7, "topK": 3},
                "safetySettings": [{"a": 1}],
            }),
        };
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&body[key], value, "{api:?} {key}");
        }
        assert_eq!(body.get("prompt_cache_key"), None, "{api:?}");
        // The messages stay the last of all, so that the rest is a prefix.
        let last = body.as_object().unwrap().keys().next_back().unwrap();
        assert!(["messages", "input", "contents"].contains(&last.as_str()), "{api:?} {last}");
    })
    .await;
}

#[tokio::test]
async fn no_parameter_takes_the_place_of_the_conversation() {
    for (api, reserved) in [
        (Api::Chat, ["model", "messages", "tools", "stream"].as_slice()),
        (Api::Responses, &["model", "input", "instructions", "tools", "stream", "store"]),
        (Api::Anthropic, &["model", "messages", "system", "tools", "stream"]),
        (Api::Gemini, &["model", "contents", "systemInstruction", "system_instruction", "tools"]),
    ] {
        let model = model_of(described(api, "http://127.0.0.1:9"), Traits::default(), None);
        for name in reserved {
            let parameters = Map::from_iter([((*name).to_owned(), json!([]))]);
            let config = ModelConfig { parameters, ..ModelConfig::default() };
            let refused = model.check(&config).unwrap_err().to_string();
            assert!(refused.contains(&format!("`parameters.{name}`")), "{api:?} {refused}");
        }
        assert!(model.check(&ModelConfig::default()).is_ok());
    }
}

/// What is asked for: an effort, tokens, or neither.
#[derive(Debug, Clone, Copy)]
enum Wish {
    Effort(&'static str),
    Tokens(i64),
}

#[tokio::test]
async fn how_much_to_think_is_said_in_the_words_of_each_model() {
    use Wish::{Effort, Tokens};
    let budget = |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let adaptive = |effort: &str| json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}});
    let gemini = |config: Value| json!({"generationConfig": {"thinkingConfig": config}});
    let level = |level: &str| gemini(json!({"thinkingLevel": level, "includeThoughts": true}));
    let tokens = |tokens: i64| gemini(json!({"thinkingBudget": tokens, "includeThoughts": true}));
    let effort = |effort: &str| json!({"reasoning_effort": effort});
    let reasoning = |effort: &str| json!({"reasoning": {"effort": effort}});
    let nothing = || json!({});
    let off = || json!({"thinking": {"type": "disabled"}});
    for (api, thinking, wish, expected) in [
        (Api::Chat, Some(Thinking::Effort), Effort("xhigh"), effort("xhigh")),
        (Api::Chat, Some(Thinking::Effort), Effort("none"), effort("none")),
        (Api::Chat, Some(Thinking::Effort), Tokens(1000), effort("low")),
        (Api::Chat, Some(Thinking::Effort), Tokens(8192), effort("medium")),
        (Api::Chat, Some(Thinking::Effort), Tokens(-1), effort("high")),
        (Api::Chat, Some(Thinking::Effort), Tokens(0), effort("none")),
        (Api::Chat, Some(Thinking::None), Effort("high"), nothing()),
        (Api::Chat, None, Effort("high"), effort("high")),
        (Api::Responses, Some(Thinking::Effort), Effort("minimal"), reasoning("minimal")),
        (Api::Responses, Some(Thinking::Effort), Tokens(32_000), reasoning("high")),
        (Api::Responses, Some(Thinking::None), Tokens(32_000), nothing()),
        (Api::Responses, None, Effort("low"), reasoning("low")),
        (Api::Anthropic, Some(Thinking::Budget), Effort("low"), budget(2048)),
        (Api::Anthropic, Some(Thinking::Budget), Effort("none"), off()),
        (Api::Anthropic, Some(Thinking::Budget), Tokens(10), budget(1024)),
        (Api::Anthropic, Some(Thinking::Budget), Tokens(-1), budget(32_000)),
        (Api::Anthropic, Some(Thinking::Budget), Tokens(0), off()),
        (Api::Anthropic, Some(Thinking::Adaptive), Effort("max"), adaptive("max")),
        (Api::Anthropic, Some(Thinking::Adaptive), Effort("minimal"), adaptive("low")),
        (Api::Anthropic, Some(Thinking::Adaptive), Effort("none"), off()),
        (Api::Anthropic, Some(Thinking::Adaptive), Tokens(8192), adaptive("medium")),
        (Api::Anthropic, Some(Thinking::None), Effort("high"), nothing()),
        (Api::Anthropic, None, Effort("high"), json!({"output_config": {"effort": "high"}})),
        (Api::Anthropic, None, Tokens(4096), budget(4096)),
        (Api::Gemini, Some(Thinking::Level), Effort("low"), level("low")),
        (Api::Gemini, Some(Thinking::Level), Effort("xhigh"), level("high")),
        (Api::Gemini, Some(Thinking::Level), Tokens(-1), level("high")),
        (
            Api::Gemini,
            Some(Thinking::Level),
            Tokens(0),
            gemini(json!({"thinkingLevel": "minimal"})),
        ),
        (
            Api::Gemini,
            Some(Thinking::Level),
            Effort("none"),
            gemini(json!({"thinkingLevel": "minimal"})),
        ),
        (Api::Gemini, Some(Thinking::Level), Tokens(4096), tokens(4096)),
        (Api::Gemini, Some(Thinking::Budget), Effort("medium"), tokens(8192)),
        (Api::Gemini, Some(Thinking::Budget), Effort("max"), tokens(24_576)),
        (Api::Gemini, Some(Thinking::Budget), Tokens(32_768), tokens(32_768)),
        (Api::Gemini, Some(Thinking::Budget), Tokens(-1), tokens(-1)),
        (Api::Gemini, Some(Thinking::Budget), Tokens(0), gemini(json!({"thinkingBudget": 0}))),
        (Api::Gemini, Some(Thinking::None), Effort("high"), nothing()),
        (Api::Gemini, None, Effort("high"), gemini(json!({"thinkingLevel": "high"}))),
        (Api::Gemini, None, Tokens(512), gemini(json!({"thinkingBudget": 512}))),
    ] {
        let traits = Traits { thinking, ..Traits::default() };
        let body = sent(api, traits, |asking| match wish {
            Effort(effort) => config(asking).effort = Some(effort.to_owned()),
            Tokens(tokens) => config(asking).thinking_budget = Some(tokens),
        })
        .await
        .json();
        let keys =
            ["reasoning", "reasoning_effort", "thinking", "output_config", "generationConfig"];
        let about =
            keys.iter().filter_map(|key| Some(((*key).to_owned(), body.get(*key)?.clone())));
        let about: Map<String, Value> = about.collect();
        assert_eq!(Value::Object(about), expected, "{api:?} {thinking:?} {wish:?}");
    }
}

#[tokio::test]
async fn an_answer_of_anthropic_has_room_beside_the_thinking() {
    for (max_output_tokens, model, wish, expected) in [
        (None, "scripted-1", None, 8192),
        (None, "claude-of-tomorrow", None, 32_000),
        (Some(4096), "claude-3-haiku", None, 4096),
        (Some(128_000), "claude-opus", None, 32_000),
        (Some(64_000), "claude-sonnet", Some(40_000), 48_192),
    ] {
        let thinking = Some(Thinking::Budget);
        let traits = Traits { thinking, max_output_tokens, ..Traits::default() };
        let body = sent(Api::Anthropic, traits, |asking| {
            model.clone_into(&mut asking.assignment.model.id);
            config(asking).thinking_budget = wish;
        })
        .await
        .json();
        assert_eq!(body["max_tokens"], expected, "{model}");
    }
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_for_its_reasoning() {
    for (model, thinking, expected) in [
        ("gpt-5.1", None, true),
        ("gpt-4.1-mini", None, false),
        ("openai/gpt-4o", None, false),
        ("gpt-5-chat-latest", None, false),
        ("anything", Some(Thinking::None), false),
        ("gpt-4.1", Some(Thinking::Effort), true),
    ] {
        let traits = Traits { thinking, ..Traits::default() };
        let request = sent(Api::Responses, traits, |asking| {
            model.clone_into(&mut asking.assignment.model.id);
        })
        .await;
        assert_eq!(request.json().get("include").is_some(), expected, "{model}");
    }
}

async fn sent_by(description: impl FnOnce(&ScriptedServer) -> ProviderDescription) -> Request {
    let server = ScriptedServer::start();
    let description = description(&server);
    let api = [Api::Chat, Api::Responses, Api::Anthropic, Api::Gemini]
        .into_iter()
        .find(|api| super::wire(*api) == description.wire_api)
        .unwrap();
    server.answer(api.answer(&text(["ok"])));
    ask(&model_of(description, Traits::default(), None)).await.reply();
    server.wait_for_request(1)
}

#[tokio::test]
async fn a_request_has_its_key_its_headers_and_its_address() {
    everywhere(|api| async move {
        let request = sent_by(|server| described(api, &server.base_url())).await;
        let (name, value) = match api {
            Api::Chat | Api::Responses => ("authorization", format!("Bearer {KEY}")),
            Api::Anthropic => ("x-api-key", KEY.to_owned()),
            Api::Gemini => ("x-goog-api-key", KEY.to_owned()),
        };
        assert_eq!(request.header(name), Some(value.as_str()), "{api:?}");
        for other in ["authorization", "x-api-key", "x-goog-api-key"] {
            assert_eq!(request.header(other).is_some(), other == name, "{api:?} {other}");
        }
        let version = (api == Api::Anthropic).then_some("2023-06-01");
        assert_eq!(request.header("anthropic-version"), version, "{api:?}");
        assert_eq!(request.header("content-type"), Some("application/json"), "{api:?}");
        assert_eq!(request.header("accept"), Some("text/event-stream"), "{api:?}");
        assert!(request.header("user-agent").unwrap().starts_with("attache/"), "{api:?}");
        assert_eq!((request.method.as_str(), request.path), ("POST", api.path("scripted-1")));
        assert_eq!(request.query, if api == Api::Gemini { "alt=sse" } else { "" }, "{api:?}");
    })
    .await;
}

#[tokio::test]
async fn a_providers_own_headers_and_parameters_are_sent_and_win() {
    everywhere(|api| async move {
        let (key, version) = match api {
            Api::Chat | Api::Responses => ("authorization", "x-version"),
            Api::Anthropic => ("x-api-key", "anthropic-version"),
            Api::Gemini => ("x-goog-api-key", "x-version"),
        };
        let request = sent_by(|server| ProviderDescription {
            headers: vec![
                (key.to_uppercase(), "my own".into()),
                (version.to_owned(), "2030-01-01".into()),
                ("X-Team".to_owned(), " blue ".into()),
            ],
            query: vec![("api-version".to_owned(), "2026 a&b".into())],
            ..described(api, &format!("{}/?tenant=1", server.base_url()))
        })
        .await;
        let all = |name: &str| {
            let of_name = request.headers.iter().filter(|(known, _)| known == name);
            of_name.map(|(_, value)| value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(all(key), ["my own"], "{api:?}");
        assert_eq!(all(version), ["2030-01-01"], "{api:?}");
        assert_eq!(all("x-team"), ["blue"], "{api:?}");
        assert_eq!(request.path, api.path("scripted-1"), "{api:?}");
        let rest = if api == Api::Gemini { "&alt=sse" } else { "" };
        assert_eq!(request.query, format!("tenant=1&api-version=2026+a%26b{rest}"), "{api:?}");
        assert!(!String::from_utf8(request.body).unwrap().contains(KEY));
    })
    .await;
}

#[tokio::test]
async fn a_provider_without_a_key_gets_none_and_its_refusal_says_so() {
    everywhere(|api| async move {
        let keyless = |server: &ScriptedServer| ProviderDescription {
            key: None,
            ..described(api, &server.base_url())
        };
        let request = sent_by(keyless).await;
        for name in ["authorization", "x-api-key", "x-goog-api-key"] {
            assert_eq!(request.header(name), None, "{api:?}");
        }
        let server = ScriptedServer::start();
        server.answer(api.error(401, "authentication_error", "who are you?"));
        let model = model_of(keyless(&server), Traits::default(), None);
        let failure = format!("{:?}", ask(&model).await.failure());
        assert!(
            failure.contains("who are you?") && failure.contains("no key was sent"),
            "{failure}"
        );
    })
    .await;
}

#[tokio::test]
async fn an_address_may_have_its_version_or_not() {
    everywhere(|api| async move {
        let version = if api == Api::Gemini { "v1beta" } else { "v1" };
        for end in ["", "/", &format!("/{version}"), &format!("/{version}/")] {
            let request =
                sent_by(|server| described(api, &format!("{}{end}", server.base_url()))).await;
            assert_eq!(request.path, api.path("scripted-1"), "{api:?} {end}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_is_demanded_in_the_words_of_each_provider() {
    everywhere(|api| async move {
        let choice = |request: &Request| {
            let body = request.json();
            let key = if api == Api::Gemini { "toolConfig" } else { "tool_choice" };
            body.get(key).cloned()
        };
        let free = sent(api, Traits::default(), |_| {}).await;
        assert_eq!(choice(&free), None, "{api:?}");
        let demanded = sent(api, Traits::default(), |asking| asking.demand = Demand::AnyTool).await;
        let expected = match api {
            Api::Chat | Api::Responses => json!("required"),
            Api::Anthropic => json!({"type": "any"}),
            Api::Gemini => json!({"functionCallingConfig": {"mode": "ANY"}}),
        };
        assert_eq!(choice(&demanded), Some(expected.clone()), "{api:?}");
        // Two of them refuse it of a model that is told to think.
        let thinking = sent(api, Traits::default(), |asking| {
            asking.demand = Demand::AnyTool;
            config(asking).thinking_budget = Some(4096);
        })
        .await;
        let refused = matches!(api, Api::Chat | Api::Anthropic);
        let expected = (!refused).then_some(expected);
        assert_eq!(choice(&thinking), expected, "{api:?}");
        let openai = sent(api, Traits { openai: true, ..Traits::default() }, |asking| {
            asking.demand = Demand::AnyTool;
            config(asking).effort = Some("high".to_owned());
        })
        .await;
        assert!(api != Api::Chat || choice(&openai).is_some());
    })
    .await;
}

#[tokio::test]
async fn an_agents_own_parameters_decide_about_demanded_calls() {
    let parameters = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    let request = sent(Api::Anthropic, Traits::default(), |asking| {
        asking.demand = Demand::AnyTool;
        config(asking).parameters = parameters.as_object().unwrap().clone();
    })
    .await;
    assert_eq!(request.json().get("tool_choice"), None);
    let request = sent(Api::Chat, Traits::default(), |asking| {
        asking.demand = Demand::AnyTool;
        config(asking).parameters = Map::from_iter([("tool_choice".to_owned(), Value::Null)]);
    })
    .await;
    assert_eq!(request.json().get("tool_choice"), None);
}
