//! A conversation as Gemini takes it.
//!
//! The signature of a thought goes back on the very part it came with. Results name their function;
//! images among them stand beside them.

use std::{borrow::Cow, collections::BTreeMap};

use attache_kernel::{
    model::catalogue::Thinking,
    rights::tool_name::ToolName,
    run::{
        Demand,
        message::{AssistantPart, Image, Message, ToolCall, ToolResult, UserPart},
        tool_spec::{Parameters, ToolSpec},
    },
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::API;
use crate::model::wire::{
    Asked,
    arguments::Arguments,
    call_name::call_name,
    draft::kept,
    head::Head,
    thinking::{Wish, as_effort, as_tokens, tokens_of, wish},
};

/// What stands for the signature of a call that another model made.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Thinking budget that every model with a counted budget accepts.
const MOST_THINKING: u64 = 24_576;

#[derive(Serialize)]
struct Written<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    args: Arguments<'a>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome<'a> {
    Output(&'a str),
    Error(&'a str),
}

/// The tools as they are offered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::model::wire) struct Tools<'a> {
    function_declarations: Vec<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: &'a ToolName,
    description: &'a str,
    parameters_json_schema: &'a Parameters,
}

impl<'a> From<&'a [ToolSpec]> for Tools<'a> {
    fn from(specs: &'a [ToolSpec]) -> Self {
        let declared = specs.iter().map(|spec| {
            let ToolSpec { name, description, parameters: parameters_json_schema, .. } = spec;
            Tool { name, description, parameters_json_schema }
        });
        Self { function_declarations: declared.collect() }
    }
}

pub(in crate::model::wire) fn body(asked: Asked<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Asked { request, config, traits, tools, max_output_tokens, .. } = asked;
    let messages = request.messages.messages();
    let instructions: Vec<Value> = messages
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::System { text } => Some(json!({"text": text})),
            _ => None,
        })
        .collect();
    let mut head = Head::new(tools);
    if !instructions.is_empty() {
        head = head.with("systemInstruction", json!({"parts": instructions}));
    }
    if request.demand == Demand::AnyTool {
        head = head.with("toolConfig", json!({"functionCallingConfig": {"mode": "ANY"}}));
    }
    let mut generation = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            generation.insert(key.to_owned(), value);
        }
    };
    set("temperature", config.temperature.map(Value::from));
    set("topP", config.top_p.map(Value::from));
    set("maxOutputTokens", max_output_tokens.map(Value::from));
    set("thinkingConfig", thinking(traits.thinking, wish(config, traits.thinking)));
    // An agent's parameters are those of the generation, unless they are the request's own.
    let (own, of_generation): (Map<_, _>, Map<_, _>) = config
        .parameters
        .clone()
        .into_iter()
        .partition(|(key, _)| REQUEST_KEYS.contains(&key.as_str()));
    let mut of_generation = Head::default()
        .with("generationConfig", generation)
        .merged(&Map::from_iter([("generationConfig".to_owned(), Value::Object(of_generation))]))
        .merged(&own)
        .into_fields();
    if of_generation.get("generationConfig").and_then(Value::as_object).is_some_and(Map::is_empty) {
        of_generation.shift_remove("generationConfig");
    }
    for (key, value) in of_generation {
        head = head.with(&key, value);
    }
    let mut written: Vec<Written<'_>> = Vec::with_capacity(messages.len());
    let mut calls: &[AssistantPart] = &[];
    for message in messages {
        match message.as_ref() {
            Message::System { .. } => {}
            Message::User { content } => {
                push(&mut written, "user", content.iter().map(user).collect());
            }
            Message::Assistant { content } => {
                calls = content;
                push(&mut written, "model", said(content));
            }
            Message::Tool { results } => push(&mut written, "user", answered(results, calls)),
        }
    }
    head.body("contents", &written)
}

/// What belongs to a request itself; all else is about the generation.
const REQUEST_KEYS: [&str; 10] = [
    "generationConfig",
    "generation_config",
    "safetySettings",
    "safety_settings",
    "toolConfig",
    "tool_config",
    "cachedContent",
    "cached_content",
    "labels",
    "serviceTier",
];

fn thinking(known: Option<Thinking>, wish: Option<Wish<'_>>) -> Option<Value> {
    let mut config = match (known, wish) {
        (Some(Thinking::None), _) | (None, None) => return None,
        (_, None) => json!({}),
        (
            Some(Thinking::Level),
            Some(wish @ (Wish::Effort(_) | Wish::Both { .. } | Wish::Nothing | Wish::Unlimited)),
        )
        | (None, Some(wish @ Wish::Effort(_))) => json!({"thinkingLevel": level(wish)}),
        (_, Some(Wish::Effort(effort))) => match tokens_of(effort) {
            Some(tokens) => json!({"thinkingBudget": tokens.min(MOST_THINKING)}),
            None => json!({"thinkingLevel": effort}),
        },
        (_, Some(wish)) => match as_tokens(wish).map(i64::try_from) {
            Some(Ok(tokens)) => json!({"thinkingBudget": tokens}),
            Some(Err(_)) | None => json!({"thinkingBudget": -1}),
        },
    };
    if known.is_some() && wish != Some(Wish::Nothing) {
        config["includeThoughts"] = json!(true);
    }
    Some(config)
}

/// There are four levels.
fn level(wish: Wish<'_>) -> &str {
    match as_effort(wish) {
        "none" => "minimal",
        "xhigh" | "max" => "high",
        level => level,
    }
}

/// Two messages of one role are one.
fn push<'a>(messages: &mut Vec<Written<'a>>, role: &'static str, parts: Vec<Part<'a>>) {
    match messages.last_mut() {
        Some(last) if last.role == role => last.parts.extend(parts),
        _ if parts.is_empty() => {}
        _ => messages.push(Written { role, parts }),
    }
}

fn user(part: &UserPart) -> Part<'_> {
    match part {
        UserPart::Text { text } => Part { text: Some(text), ..Part::default() },
        UserPart::Image { image: shown } => image(shown),
    }
}

fn image(image: &Image) -> Part<'_> {
    let inline_data = InlineData { mime_type: &image.media_type, data: &image.data };
    Part { inline_data: Some(inline_data), ..Part::default() }
}

fn signature(data: Option<&Value>) -> Option<&str> {
    kept(data, API)?.get("thoughtSignature")?.as_str()
}

fn said(content: &[AssistantPart]) -> Vec<Part<'_>> {
    let mut parts = Vec::with_capacity(content.len());
    let mut first_call = true;
    for part in content {
        match part {
            AssistantPart::Text { text, provider_data } => {
                let thought_signature = signature(provider_data.as_ref());
                if !text.is_empty() || thought_signature.is_some() {
                    parts.push(Part { text: Some(text), thought_signature, ..Part::default() });
                }
            }
            // The summary of a thought is not for sending back, unless it carries a signature itself.
            AssistantPart::Thinking { text, provider_data, .. } => {
                if let Some(signed) = signature(provider_data.as_ref()) {
                    let thought_signature = Some(signed);
                    let text = Some(text.as_str());
                    parts.push(Part { text, thought: true, thought_signature, ..Part::default() });
                }
            }
            AssistantPart::ToolCall { call } => {
                let own = kept(call.provider_data.as_ref(), API).is_some();
                let foreign = (!own && first_call).then_some(FOREIGN_SIGNATURE);
                first_call = false;
                parts.push(Part {
                    function_call: Some(FunctionCall {
                        id: id(call),
                        name: call_name(call),
                        args: Arguments::sent_for(call),
                    }),
                    thought_signature: signature(call.provider_data.as_ref()).or(foreign),
                    ..Part::default()
                });
            }
        }
    }
    parts
}

/// A call that came without an id goes back without one.
fn id(call: &ToolCall) -> Option<&str> {
    let data = kept(call.provider_data.as_ref(), API)?;
    data.get("id").is_some_and(|has| has == true).then_some(call.id.as_str())
}

fn answered<'a>(results: &'a [ToolResult], calls: &'a [AssistantPart]) -> Vec<Part<'a>> {
    let mut parts = Vec::with_capacity(results.len());
    let calls = calls.iter().filter_map(AssistantPart::call);
    let calls: BTreeMap<_, _> = calls.map(|call| (&call.id, call)).collect();
    for result in results {
        let call = calls.get(&result.call_id).copied();
        let response = if result.is_error {
            Outcome::Error(&result.text)
        } else {
            Outcome::Output(&result.text)
        };
        let function_response = FunctionResponse {
            id: call.and_then(id),
            name: call.map_or(Cow::Borrowed("unknown"), call_name),
            response,
        };
        parts.push(Part { function_response: Some(function_response), ..Part::default() });
    }
    parts.extend(results.iter().flat_map(|result| &result.images).map(image));
    parts
}
