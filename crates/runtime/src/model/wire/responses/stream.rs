//! An answer of the Responses API. Its end is `response.completed`, or `response.incomplete`.
//!
//! Pieces are shown as they come; what counts is each item as it is when it is done.

use attache_kernel::{model::usage::Usage, run::event::StopReason};
use serde::Deserialize;
use serde_json::Value;

use super::API;
use crate::model::{
    Chunk,
    remote::failure::StreamedError,
    wire::{
        Answer, Decoder, End, StreamFault,
        draft::{Draft, DraftPart},
        escapes, stopped,
    },
};

#[derive(Default)]
pub(in crate::model::wire) struct ResponsesDecoder {
    draft: Draft,
    items: u64,
    thought_parts: u64,
    stop: Option<StopReason>,
    usage: Usage,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Text { delta: String },
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    Thought { delta: String },
    #[serde(rename = "response.reasoning_summary_part.added")]
    ThoughtPart,
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments { delta: String },
    #[serde(rename = "response.output_item.done")]
    Item { item: Value },
    #[serde(rename = "response.completed", alias = "response.done")]
    Completed { response: Response },
    #[serde(rename = "response.incomplete")]
    Incomplete { response: Response },
    #[serde(rename = "response.failed")]
    Failed { response: Response },
    #[serde(rename = "error")]
    Error(Box<Value>),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Response {
    usage: Option<WrittenUsage>,
    service_tier: Option<String>,
    incomplete_details: Option<Incomplete>,
    error: Option<Value>,
    #[serde(default)]
    output: Vec<Value>,
}

#[derive(Deserialize)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct WrittenUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for ResponsesDecoder {
    fn take(&mut self, data: &str, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        match escapes::read(data)? {
            Event::Text { delta } => {
                self.draft.grew(delta.len())?;
                show(Chunk::Text(delta));
            }
            Event::Thought { delta } => {
                self.draft.grew(delta.len())?;
                show(Chunk::Thought(delta));
            }
            Event::ThoughtPart => {
                if self.thought_parts > 0 {
                    show(Chunk::Thought("\n\n".to_owned()));
                }
                self.thought_parts += 1;
            }
            Event::Arguments { delta } => self.draft.grew(delta.len())?,
            Event::Item { item } => self.take_item(&item)?,
            Event::Completed { response } => self.end_with(response, StopReason::EndTurn)?,
            Event::Incomplete { response } => {
                let reason = response.incomplete_details.as_ref();
                let stop = match reason.and_then(|details| details.reason.as_deref()) {
                    Some("max_output_tokens" | "max_tokens") => StopReason::Length,
                    Some("content_filter") => StopReason::ContentFilter,
                    _ => StopReason::Other,
                };
                self.end_with(response, stop)?;
            }
            Event::Failed { response } => {
                let error = response.error.unwrap_or_default();
                return Err(StreamFault::Error(streamed_error(&error)));
            }
            Event::Error(error) => {
                let error = error.get("error").filter(|error| error.is_object()).unwrap_or(&error);
                return Err(StreamFault::Error(streamed_error(error)));
            }
            Event::Other => {}
        }
        Ok(())
    }

    fn end(&self) -> End {
        if self.stop.is_some() { End::Whole } else { End::Open }
    }

    fn answer(self: Box<Self>) -> Answer {
        let content = self.draft.finish();
        let stop = stopped(self.stop.unwrap_or(StopReason::Other), &content);
        Answer { content, stop, usage: self.usage, cost_usd: None }
    }
}

impl ResponsesDecoder {
    fn end_with(&mut self, response: Response, stop: StopReason) -> Result<(), StreamFault> {
        // A server that tells no item by itself tells them all at the end.
        if self.items == 0 {
            for item in &response.output {
                self.take_item(item)?;
            }
        }
        if let Some(usage) = response.usage {
            let input = usage.input_tokens_details;
            let output = usage.output_tokens_details;
            self.usage.input_tokens = usage.input_tokens;
            self.usage.output_tokens = usage.output_tokens;
            self.usage.cache_read_input_tokens =
                input.as_ref().and_then(|details| details.cached_tokens).unwrap_or_default();
            self.usage.cache_creation_input_tokens =
                input.and_then(|details| details.cache_write_tokens).unwrap_or_default();
            self.usage.reasoning_tokens =
                output.and_then(|details| details.reasoning_tokens).unwrap_or_default();
        }
        self.usage.service_tier = response.service_tier;
        self.stop = Some(stop);
        Ok(())
    }

    fn take_item(&mut self, item: &Value) -> Result<(), StreamFault> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let number = self.items;
        match text("type") {
            "message" => {
                let mut part = DraftPart::text();
                part.words().push_str(&joined(item.get("content"), &["text", "refusal"]));
                if let Some(phase) = item.get("phase").filter(|phase| !phase.is_null()) {
                    part.keep(API, [("phase".to_owned(), phase.clone())]);
                }
                self.draft.begin(number, part);
            }
            "reasoning" => {
                let summary = joined_by(item.get("summary"), "\n\n");
                let content = joined_by(item.get("content"), "\n\n");
                let mut part = DraftPart::thinking();
                part.words().push_str(if summary.is_empty() { &content } else { &summary });
                let wanted = ["summary", "content", "encrypted_content"];
                let wanted = wanted.iter().filter_map(|key| {
                    let value = item.get(*key).filter(|value| !value.is_null())?;
                    Some(((*key).to_owned(), value.clone()))
                });
                part.keep(API, wanted);
                self.draft.grew(text("encrypted_content").len())?;
                self.draft.begin(number, part);
            }
            "function_call" => {
                let id = if text("call_id").is_empty() { text("id") } else { text("call_id") };
                let mut part = DraftPart::call(id, text("name"));
                part.words().push_str(text("arguments"));
                self.draft.begin(number, part);
            }
            "local_shell_call" => {
                let id = if text("call_id").is_empty() { text("id") } else { text("call_id") };
                let action = item.get("action").cloned().unwrap_or_default();
                let mut part = DraftPart::call(id, "local_shell");
                part.words().push_str(&action.to_string());
                part.keep(API, [("local_shell_action".to_owned(), action)]);
                self.draft.begin(number, part);
            }
            // What the provider's own tools did is its own affair.
            _ => return Ok(()),
        }
        self.items += 1;
        Ok(())
    }
}

fn joined(parts: Option<&Value>, keys: &[&str]) -> String {
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| keys.iter().find_map(|key| part.get(*key)?.as_str())).collect()
}

fn joined_by(parts: Option<&Value>, between: &str) -> String {
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("text")?.as_str());
    texts.collect::<Vec<_>>().join(between)
}

fn streamed_error(error: &Value) -> StreamedError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = if text("code").is_empty() { text("type") } else { text("code") };
    StreamedError {
        kind: kind.to_owned(),
        message: text("message").to_owned(),
        ..StreamedError::default()
    }
}
