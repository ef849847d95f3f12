//! A conversation as the Responses API takes it: nothing is stored there, everything is sent again.
//!
//! Encrypted reasoning goes back as it came; without its encryption it would be refused, and stays away.

use std::borrow::Cow;

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
use serde_json::{Value, json};

use super::API;
use crate::model::wire::{
    Asked,
    call_name::call_name,
    draft::kept,
    head::Head,
    repeated::Repeated,
    sampling::sampled,
    thinking::{as_effort, wish},
};

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Vec<Part<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a Value>,
    },
    Reasoning {
        summary: Cow<'a, Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        encrypted_content: Option<&'a Value>,
    },
    FunctionCall {
        call_id: &'a str,
        name: Cow<'a, str>,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: Output<'a>,
    },
    LocalShellCall {
        call_id: &'a str,
        status: &'static str,
        action: &'a Value,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
    InputImage { image_url: String },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Output<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

/// A tool as it is offered.
#[derive(Serialize)]
pub(in crate::model::wire) struct Tool<'a> {
    r#type: &'static str,
    name: &'a ToolName,
    description: &'a str,
    parameters: &'a Parameters,
    strict: bool,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec;
        Self { r#type: "function", name, description, parameters, strict: false }
    }
}

pub(in crate::model::wire) fn body(
    asked: Asked<'_>,
    repeated: &mut Repeated,
) -> Result<Vec<u8>, serde_json::Error> {
    let Asked { request, model, config, cache_key, traits, tools, max_output_tokens } = asked;
    let wished = wish(config, traits.thinking);
    let messages = request.messages.messages();
    let (instructions, messages) = match messages.split_first() {
        Some((first, rest)) => match first.as_ref() {
            Message::System { text } => (Some(text.as_str()), rest),
            _ => (None, messages),
        },
        None => (None, messages),
    };
    let sampled = sampled(config, traits);
    let mut head = Head::new(tools)
        .with("model", model)
        .with("stream", true)
        .with("store", false)
        .with_some("instructions", instructions)
        .with_some("temperature", sampled.temperature)
        .with_some("top_p", sampled.top_p)
        .with_some("max_output_tokens", max_output_tokens)
        .with_some("tool_choice", (request.demand == Demand::AnyTool).then_some("required"))
        .with_some("reasoning", wished.map(|wish| json!({"effort": as_effort(wish)})));
    if traits.thinking.map_or_else(|| may_reason(model), |kind| kind != Thinking::None) {
        head = head.with("include", json!(["reasoning.encrypted_content"]));
    }
    head = head.with("prompt_cache_key", cache_key);
    let head = head.merged(&config.parameters);
    repeated.written(messages, write, |items| head.body_of("input", items))?
}

/// Models that do not reason refuse to be asked for their reasoning.
fn may_reason(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    !(["gpt-4", "gpt-3", "chatgpt-4"].iter().any(|family| model.starts_with(family))
        || model.contains("-chat-latest"))
}

fn write<'a>(message: &'a Message, to: &mut Vec<Item<'a>>) {
    match message {
        Message::System { text } => {
            let content = vec![Part::InputText { text }];
            to.push(Item::Message { role: "developer", content, phase: None });
        }
        Message::User { content } => {
            let content = content.iter().map(|part| match part {
                UserPart::Text { text } => Part::InputText { text },
                UserPart::Image { image: shown } => image(shown),
            });
            to.push(Item::Message { role: "user", content: content.collect(), phase: None });
        }
        Message::Assistant { content } => to.extend(content.iter().filter_map(said)),
        Message::Tool { results } => to.extend(results.iter().map(output)),
    }
}

fn said(part: &AssistantPart) -> Option<Item<'_>> {
    match part {
        AssistantPart::Text { text, .. } if text.is_empty() => None,
        AssistantPart::Text { text, provider_data } => {
            let data = kept(provider_data.as_ref(), API);
            Some(Item::Message {
                role: "assistant",
                content: vec![Part::OutputText { text }],
                phase: data.and_then(|data| data.get("phase")),
            })
        }
        AssistantPart::Thinking { provider_data, .. } => {
            let data = kept(provider_data.as_ref(), API)?;
            let filled = |key: &str| data.get(key).filter(|value| !value.is_null());
            let (encrypted_content, content) = (filled("encrypted_content"), filled("content"));
            if encrypted_content.is_none() && content.is_none() {
                return None;
            }
            let summary = filled("summary").map_or(Cow::Owned(json!([])), Cow::Borrowed);
            Some(Item::Reasoning { summary, content, encrypted_content })
        }
        AssistantPart::ToolCall { call } => Some(called(call)),
    }
}

fn called(call: &ToolCall) -> Item<'_> {
    let call_id = call.id.as_str();
    let data = kept(call.provider_data.as_ref(), API);
    if let Some(action) = data.and_then(|data| data.get("local_shell_action")) {
        return Item::LocalShellCall { call_id, status: "completed", action };
    }
    let written = call.written_arguments();
    let arguments = if written.trim().is_empty() { "{}" } else { written };
    Item::FunctionCall { call_id, name: call_name(call), arguments }
}

fn output(result: &ToolResult) -> Item<'_> {
    let output = if result.images.is_empty() {
        Output::Text(&result.text)
    } else {
        let mut parts = vec![Part::InputText { text: &result.text }];
        parts.extend(result.images.iter().map(image));
        Output::Parts(parts)
    };
    Item::FunctionCallOutput { call_id: result.call_id.as_str(), output }
}

fn image(image: &Image) -> Part<'_> {
    Part::InputImage { image_url: format!("data:{};base64,{}", image.media_type, image.data) }
}
