//! A conversation as Anthropic's Messages takes it.
//!
//! Tools and instructions end in a cache breakpoint that never moves; a second one, at the end of the
//! conversation, is left to the provider. So nothing before the newest messages ever changes.
//! Results and what the user says after them go into one message, results first.

use std::borrow::Cow;

use attache_kernel::{
    model::catalogue::Thinking,
    rights::tool_name::ToolName,
    run::{
        Demand,
        message::{AssistantPart, Image, Message, ToolResult, UserPart},
        tool_spec::{Parameters, ToolSpec},
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use super::API;
use crate::model::wire::{
    Asked,
    arguments::Arguments,
    call_name::call_name,
    draft::kept,
    head::Head,
    sampling::sampled,
    thinking::{Wish, as_effort, as_tokens, tokens_of, wish},
};

/// How much a model may answer that nothing is known of.
const USUAL_OUTPUT: u64 = 8192;
/// How much a model of this provider may answer that is too new to be known.
const NEW_MODEL_OUTPUT: u64 = 32_000;
/// Nothing below it is thinking.
const LEAST_THINKING: u64 = 1024;
/// Tokens left for the answer after thinking.
const ANSWER_ROOM: u64 = 8192;

#[derive(Serialize)]
struct Written<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Arguments<'a>,
    },
    ToolResult {
        tool_use_id: String,
        content: Vec<Self>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// A tool as it is offered.
#[derive(Serialize)]
pub(in crate::model::wire) struct Tool<'a> {
    name: &'a ToolName,
    description: &'a str,
    input_schema: &'a Parameters,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters: input_schema, .. } = spec;
        Self { name, description, input_schema }
    }
}

pub(in crate::model::wire) fn body(asked: Asked<'_>) -> Result<Vec<u8>, serde_json::Error> {
    let Asked { request, model, config, traits, tools, max_output_tokens, .. } = asked;
    let usual = if model.contains("claude") { NEW_MODEL_OUTPUT } else { USUAL_OUTPUT };
    let most = traits.max_output_tokens.unwrap_or(usual);
    let wish = wish(config, traits.thinking);
    let budget = match (traits.thinking, wish) {
        (Some(Thinking::Adaptive), _)
        | (_, None | Some(Wish::Nothing))
        | (None, Some(Wish::Effort(_))) => None,
        (_, Some(Wish::Effort(effort))) => tokens_of(effort),
        (_, Some(wish)) => Some(as_tokens(wish).unwrap_or(NEW_MODEL_OUTPUT)),
    };
    let budget = budget.filter(|tokens| *tokens > 0).map(|tokens| tokens.max(LEAST_THINKING));
    // What is asked for unasked is bounded; the thinking comes on top.
    let room = budget.map_or(0, |tokens| tokens + ANSWER_ROOM);
    let sampled = sampled(config, traits);
    let mut head = Head::new(tools)
        .with("model", model)
        .with("max_tokens", most.min(max_output_tokens.unwrap_or(NEW_MODEL_OUTPUT)).max(room))
        .with("stream", true)
        .with_some("temperature", sampled.temperature)
        .with_some("top_p", sampled.top_p);
    head = match (traits.thinking, wish, budget) {
        (_, _, Some(budget_tokens)) => {
            head.with("thinking", json!({"type": "enabled", "budget_tokens": budget_tokens}))
        }
        (Some(Thinking::Adaptive), Some(wish), _) if wish != Wish::Nothing => head
            .with("thinking", json!({"type": "adaptive"}))
            .with("output_config", json!({"effort": effort(wish)})),
        (_, Some(wish @ Wish::Effort(_)), _) => {
            head.with("output_config", json!({"effort": effort(wish)}))
        }
        (_, Some(_), _) => head.with("thinking", json!({"type": "disabled"})),
        (_, None, _) => head,
    };
    // A call cannot be demanded of a model that is told to think.
    let thinking = config.parameters.get("thinking").or_else(|| head.get("thinking"));
    let thinks = thinking.is_some_and(|thinking| thinking["type"] != "disabled");
    if request.demand == Demand::AnyTool && !thinks {
        head = head.with("tool_choice", json!({"type": "any"}));
    }
    head = head.with("cache_control", json!({"type": "ephemeral"}));
    let mut system = Vec::new();
    let mut messages: Vec<Written<'_>> = Vec::with_capacity(request.messages.len());
    for message in request.messages.messages() {
        match message.as_ref() {
            Message::System { text } => system.push(json!({"type": "text", "text": text})),
            Message::User { content } => {
                push(&mut messages, "user", content.iter().filter_map(user).collect());
            }
            Message::Assistant { content } => {
                push(&mut messages, "assistant", content.iter().filter_map(said).collect());
            }
            Message::Tool { results } => {
                push(&mut messages, "user", results.iter().map(result).collect());
            }
        }
    }
    if let Some(Value::Object(last)) = system.last_mut() {
        last.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
        head = head.with("system", system);
    }
    head.merged(&config.parameters).body("messages", &messages)
}

/// The least effort has another name here.
fn effort(wish: Wish<'_>) -> &str {
    match as_effort(wish) {
        "minimal" => "low",
        effort => effort,
    }
}

/// Two messages of one role are one.
fn push<'a>(messages: &mut Vec<Written<'a>>, role: &'static str, content: Vec<Block<'a>>) {
    match messages.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        _ if content.is_empty() => {}
        _ => messages.push(Written { role, content }),
    }
}

fn user(part: &UserPart) -> Option<Block<'_>> {
    match part {
        UserPart::Text { text } => text_block(text),
        UserPart::Image { image: shown } => Some(image(shown)),
    }
}

/// Blank texts are refused.
fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

fn image(image: &Image) -> Block<'_> {
    let source = Source { r#type: "base64", media_type: &image.media_type, data: &image.data };
    Block::Image { source }
}

fn said(part: &AssistantPart) -> Option<Block<'_>> {
    match part {
        AssistantPart::Text { text, .. } => text_block(text),
        AssistantPart::Thinking { text, signature, provider_data } => {
            let data = kept(provider_data.as_ref(), API)?;
            if let Some(data) = data.get("redacted").and_then(Value::as_str) {
                return Some(Block::RedactedThinking { data });
            }
            let signature = signature.as_deref().filter(|signature| !signature.is_empty())?;
            Some(Block::Thinking { thinking: text, signature })
        }
        AssistantPart::ToolCall { call } => {
            let input = Arguments::sent_for(call);
            Some(Block::ToolUse { id: id(call.id.as_str()), name: call_name(call), input })
        }
    }
}

fn result(result: &ToolResult) -> Block<'_> {
    let mut content: Vec<_> = text_block(&result.text).into_iter().collect();
    content.extend(result.images.iter().map(image));
    let is_error = result.is_error && !content.is_empty();
    Block::ToolResult { tool_use_id: id(result.call_id.as_str()), content, is_error }
}

/// Only some characters may be in an id; one of another provider's may have others.
fn id(id: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    id.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect()
}
