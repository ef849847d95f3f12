//! A conversation as Chat Completions takes it.
//!
//! Results are texts here; images among them follow in a user's message. A call of the local shell is a
//! call of the function `shell`. Reasoning goes back under the name it came by.

use std::borrow::Cow;

use attache_kernel::{
    rights::tool_name::ToolName,
    run::{
        Demand,
        message::{AssistantPart, Image, Message, ToolCall, UserPart},
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
    thinking::{Wish, as_effort, wish},
};

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Written<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

/// A tool as it is offered.
#[derive(Serialize)]
pub(in crate::model::wire) struct Tool<'a> {
    r#type: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a ToolName,
    description: &'a str,
    parameters: &'a Parameters,
}

impl<'a> From<&'a ToolSpec> for Tool<'a> {
    fn from(spec: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, .. } = spec;
        Self { r#type: "function", function: OfferedFunction { name, description, parameters } }
    }
}

pub(in crate::model::wire) fn body(
    asked: Asked<'_>,
    repeated: &mut Repeated,
) -> Result<Vec<u8>, serde_json::Error> {
    let Asked { request, model, config, cache_key, traits, tools, max_output_tokens } = asked;
    let longest = if traits.openai { "max_completion_tokens" } else { "max_tokens" };
    let sampled = sampled(config, traits);
    let mut head = Head::new(tools)
        .with("model", model)
        .with("stream", true)
        .with("stream_options", json!({"include_usage": true}))
        .with_some("temperature", sampled.temperature)
        .with_some("top_p", sampled.top_p)
        .with_some(longest, max_output_tokens)
        .with_some("reasoning_effort", wish(config, traits.thinking).map(as_effort))
        .with_some("tool_choice", demanded(asked));
    if traits.openai {
        head = head.with("prompt_cache_key", cache_key);
    }
    let head = head.merged(&config.parameters);
    repeated.written(request.messages.messages(), write, |items| head.body_of("messages", items))?
}

/// A demanded call. Only OpenAI itself is known to take it together with reasoning.
fn demanded(asked: Asked<'_>) -> Option<&'static str> {
    let Asked { request, config, traits, .. } = asked;
    let wished = wish(config, traits.thinking);
    let thinks = !traits.openai && !matches!(wished, None | Some(Wish::Nothing));
    (request.demand == Demand::AnyTool && !thinks).then_some("required")
}

fn write<'a>(message: &'a Message, to: &mut Vec<Written<'a>>) {
    match message {
        Message::System { text } => to.push(Written::System { content: text }),
        Message::User { content } => to.push(Written::User { content: user(content) }),
        Message::Assistant { content } => to.push(assistant(content)),
        Message::Tool { results } => {
            for result in results {
                let tool_call_id = result.call_id.as_str();
                to.push(Written::Tool { tool_call_id, content: &result.text });
            }
            let images: Vec<_> = results.iter().flat_map(|result| &result.images).collect();
            if !images.is_empty() {
                let mut parts = vec![Part::Text { text: "The images of these results:" }];
                parts.extend(images.into_iter().map(image));
                to.push(Written::User { content: Content::Parts(parts) });
            }
        }
    }
}

fn user(content: &[UserPart]) -> Content<'_> {
    if let [UserPart::Text { text }] = content {
        return Content::Text(text);
    }
    let parts = content.iter().map(|part| match part {
        UserPart::Text { text } => Part::Text { text },
        UserPart::Image { image: shown } => image(shown),
    });
    Content::Parts(parts.collect())
}

fn image(image: &Image) -> Part<'_> {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    Part::ImageUrl { image_url: ImageUrl { url } }
}

fn assistant(content: &[AssistantPart]) -> Written<'_> {
    let mut said = Cow::Borrowed("");
    let (mut as_content, mut as_reasoning) = (Cow::Borrowed(""), Cow::Borrowed(""));
    let mut reasoning_details = Vec::new();
    let mut tool_calls = Vec::new();
    for part in content {
        match part {
            AssistantPart::Text { text, .. } => add(&mut said, text),
            AssistantPart::Thinking { text, provider_data, .. } => {
                let Some(data) = kept(provider_data.as_ref(), API) else { continue };
                match data.get("field").and_then(Value::as_str) {
                    Some("reasoning_content") => add(&mut as_content, text),
                    Some("reasoning") => add(&mut as_reasoning, text),
                    _ => {}
                }
                let details = data.get("reasoning_details").and_then(Value::as_array);
                reasoning_details.extend(details.into_iter().flatten());
            }
            AssistantPart::ToolCall { call } => tool_calls.push(written_call(call)),
        }
    }
    // A server that wants reasoning back wants it with the calls it led to.
    let with_calls = !tool_calls.is_empty();
    Written::Assistant {
        content: match filled(said) {
            None if !with_calls => Some(Cow::Borrowed("")),
            said => said,
        },
        reasoning_content: if with_calls { filled(as_content) } else { None },
        reasoning: if with_calls && reasoning_details.is_empty() {
            filled(as_reasoning)
        } else {
            None
        },
        reasoning_details,
        tool_calls,
    }
}

fn filled(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(text)
}

fn add<'a>(to: &mut Cow<'a, str>, text: &'a str) {
    if to.is_empty() {
        *to = Cow::Borrowed(text);
    } else {
        to.to_mut().push_str(text);
    }
}

fn written_call(call: &ToolCall) -> Call<'_> {
    let name = if call.name == "local_shell" { Cow::Borrowed("shell") } else { call_name(call) };
    // Servers parse what they get back: what was no JSON goes back as none.
    let arguments = if call.arguments().is_ok() && !call.written_arguments().trim().is_empty() {
        call.written_arguments()
    } else {
        "{}"
    };
    Call { id: call.id.as_str(), r#type: "function", function: Function { name, arguments } }
}
