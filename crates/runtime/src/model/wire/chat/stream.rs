//! An answer of Chat Completions. Its end is `[DONE]`, or the end of the body after a `finish_reason`.
//!
//! Compatible servers differ: calls may come whole, without a number, or all under the same one.

use std::collections::BTreeMap;

use attache_kernel::{model::usage::Usage, run::event::StopReason};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

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

/// Reasoning and text have numbers no call has.
const THOUGHT: u64 = u64::MAX;
const TEXT: u64 = u64::MAX - 1;

#[derive(Default)]
pub(in crate::model::wire) struct ChatDecoder {
    draft: Draft,
    calls: u64,
    /// Which call each number of the server stands for now.
    numbers: BTreeMap<i64, (u64, String)>,
    last_index: Option<i64>,
    /// What the last piece belonged to, if a text or a thought goes on.
    open: Option<u64>,
    details: Vec<Value>,
    stop: Option<StopReason>,
    usage: Usage,
    cost_usd: Option<f64>,
    /// Whether the usage has come.
    is_counted: bool,
    done: bool,
}

#[derive(Deserialize)]
struct Event {
    choices: Option<Vec<Choice>>,
    usage: Option<WrittenUsage>,
    service_tier: Option<String>,
    error: Option<Value>,
    object: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<Value>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<Value>,
    reasoning_details: Option<Vec<Value>>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: Option<i64>,
    id: Option<String>,
    function: Option<FunctionDelta>,
}

#[derive(Deserialize, Default)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct WrittenUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    prompt_cache_hit_tokens: Option<u64>,
    cost: Option<f64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Decoder for ChatDecoder {
    fn take(&mut self, data: &str, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let event: Event = escapes::read(data)?;
        if let Some(error) = event.error.filter(|error| !error.is_null()) {
            return Err(StreamFault::Error(streamed_error(&error)));
        }
        // Some servers send the error itself for an event.
        if event.object.as_deref() == Some("error") {
            return Err(StreamFault::Error(streamed_error(&escapes::read(data)?)));
        }
        if let Some(usage) = event.usage {
            self.take_usage(&usage);
            self.is_counted = true;
            show(Chunk::counted(self.usage.clone()));
        }
        if event.service_tier.is_some() {
            self.usage.service_tier = event.service_tier;
        }
        for choice in event.choices.into_iter().flatten() {
            if let Some(delta) = choice.delta {
                self.take_delta(delta, show)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.stop = Some(stop(&reason));
            }
        }
        Ok(())
    }

    fn end(&self) -> End {
        match (self.done, self.stop) {
            (true, _) => End::Whole,
            (false, Some(_)) if self.is_counted => End::Trailing,
            (false, Some(_)) => End::Unmarked,
            (false, None) => End::Open,
        }
    }

    fn answer(mut self: Box<Self>) -> Answer {
        if !self.details.is_empty() {
            self.keep_details();
        }
        let content = self.draft.finish();
        let stop = stopped(self.stop.unwrap_or(StopReason::EndTurn), &content);
        Answer { content, stop, usage: self.usage, cost_usd: self.cost_usd }
    }
}

impl ChatDecoder {
    fn take_delta(&mut self, delta: Delta, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        let reasoning = delta.reasoning.as_ref().and_then(Value::as_str);
        let thoughts =
            [("reasoning_content", delta.reasoning_content.as_deref()), ("reasoning", reasoning)];
        // Some servers send the same thought under both names.
        let thought = thoughts.into_iter().find_map(|(field, text)| Some((field, text?)));
        if let Some((field, text)) = thought {
            self.take_thought(field, text, show)?;
        }
        for detail in delta.reasoning_details.into_iter().flatten() {
            self.draft.grew(detail.to_string().len())?;
            self.take_detail(detail);
        }
        match delta.content {
            None => {}
            Some(Value::Array(parts)) => {
                for part in parts {
                    self.take_part(part, show)?;
                }
            }
            Some(part) => self.take_part(part, show)?,
        }
        if let Some(refusal) = delta.refusal {
            self.take_text(refusal, show)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(call)?;
        }
        Ok(())
    }

    /// Content is a text, or parts that are texts or thoughts. Any other part is nothing.
    fn take_part(&mut self, part: Value, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        let mut part = match part {
            Value::String(text) => return self.take_text(text, show),
            part => part,
        };
        match part.get("type").and_then(Value::as_str) {
            Some("text") => match part.get_mut("text").map(Value::take) {
                Some(Value::String(text)) => self.take_text(text, show),
                Some(_) | None => Ok(()),
            },
            Some("thinking") => match part.get("thinking") {
                Some(Value::String(text)) => self.take_thought("content", text, show),
                Some(Value::Array(parts)) => {
                    let mut texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                    texts.try_for_each(|text| self.take_thought("content", text, show))
                }
                Some(_) | None => Ok(()),
            },
            Some(_) | None => Ok(()),
        }
    }

    fn take_text(&mut self, text: String, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        if text.is_empty() {
            return Ok(());
        }
        self.goes_on(TEXT, DraftPart::text).words().push_str(&text);
        self.draft.grew(text.len())?;
        show(Chunk::Text(text));
        Ok(())
    }

    /// A piece of a thought, and the field it came in: it goes back there, if it goes back.
    fn take_thought(
        &mut self,
        field: &str,
        text: &str,
        show: &mut dyn FnMut(Chunk),
    ) -> Result<(), StreamFault> {
        if text.is_empty() {
            return Ok(());
        }
        let part = self.goes_on(THOUGHT, DraftPart::thinking);
        part.words().push_str(text);
        part.keep(API, [("field".to_owned(), json!(field))]);
        self.draft.grew(text.len())?;
        show(Chunk::Thought(text.to_owned()));
        Ok(())
    }

    fn goes_on(&mut self, number: u64, new: impl FnOnce() -> DraftPart) -> &mut DraftPart {
        if self.open.replace(number) == Some(number) {
            self.draft.part_or_begin(number, new)
        } else {
            self.draft.begin(number, new())
        }
    }

    fn take_call(&mut self, delta: CallDelta) -> Result<(), StreamFault> {
        let CallDelta { index, id, function } = delta;
        let FunctionDelta { name, arguments } = function.unwrap_or_default();
        let id = id.unwrap_or_default();
        let name = name.unwrap_or_default();
        let index = index.unwrap_or(if id.is_empty() { self.last_number() } else { -1 });
        let goes_on = self.numbers.get(&index).filter(|(_, begun)| {
            // A new id under an old number is a new call, unless it only repeats itself.
            id.is_empty() || id == *begun || (begun.is_empty() && name.is_empty())
        });
        let known = goes_on.map(|(number, _)| *number);
        let number = known.unwrap_or_else(|| self.begin_call(index, &id));
        let arguments = match arguments.as_deref().map(RawValue::get) {
            None => String::new(),
            Some(text) if text.starts_with('"') => escapes::read(text)?,
            // Some servers send them as they are.
            Some(object) => object.to_owned(),
        };
        self.draft.grew(arguments.len() + name.len() + id.len())?;
        let Some(DraftPart::Call { name: known, arguments: so_far, .. }) = self.draft.part(number)
        else {
            return Ok(());
        };
        if known.is_empty() {
            *known = name;
        }
        so_far.push_str(&arguments);
        Ok(())
    }

    fn begin_call(&mut self, index: i64, id: &str) -> u64 {
        let number = self.calls;
        self.calls += 1;
        self.numbers.insert(index, (number, id.to_owned()));
        self.last_index = Some(index);
        self.draft.begin(number, DraftPart::call(id, ""));
        self.open = None;
        number
    }

    fn last_number(&self) -> i64 {
        self.last_index.unwrap_or(-1)
    }

    /// Details arrive in pieces, each with the number of the one it belongs to.
    fn take_detail(&mut self, detail: Value) {
        let number = detail.get("index").cloned();
        let kind = detail.get("type").cloned();
        let same = self.details.iter_mut().rev().find(|known| {
            number.is_some()
                && known.get("index") == number.as_ref()
                && known.get("type") == kind.as_ref()
        });
        let (Some(Value::Object(known)), Value::Object(more)) = (same, &detail) else {
            self.details.push(detail);
            return;
        };
        for (key, value) in more {
            match (known.get_mut(key), value) {
                (Some(Value::String(text)), Value::String(piece))
                    if matches!(key.as_str(), "text" | "summary" | "data" | "signature") =>
                {
                    text.push_str(piece);
                }
                (_, Value::Null) => {}
                (_, value) => {
                    known.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn keep_details(&mut self) {
        let details = std::mem::take(&mut self.details);
        if self.draft.part(THOUGHT).is_none() {
            self.draft.begin(THOUGHT, DraftPart::thinking());
        }
        if let Some(thought) = self.draft.part(THOUGHT) {
            thought.keep(API, [("reasoning_details".to_owned(), Value::Array(details))]);
        }
    }

    fn take_usage(&mut self, written: &WrittenUsage) {
        let prompt = written.prompt_tokens_details.as_ref();
        let completion = written.completion_tokens_details.as_ref();
        let cached = prompt.and_then(|details| details.cached_tokens);
        self.usage.input_tokens = written.prompt_tokens.unwrap_or_default();
        self.usage.output_tokens = written.completion_tokens.unwrap_or_default();
        self.usage.cache_read_input_tokens =
            cached.or(written.prompt_cache_hit_tokens).unwrap_or_default();
        self.usage.cache_creation_input_tokens =
            prompt.and_then(|details| details.cache_write_tokens).unwrap_or_default();
        self.usage.reasoning_tokens =
            completion.and_then(|details| details.reasoning_tokens).unwrap_or_default();
        self.cost_usd = written.cost;
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "stop" | "eos" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" | "sensitive" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

fn is_too_long(code: Option<String>) -> bool {
    code.is_some_and(|code| code.contains("context"))
}

fn streamed_error(error: &Value) -> StreamedError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
    let code = error.get("code");
    StreamedError {
        status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        kind: match text("type") {
            // What was wrong with the request matters more than its code.
            Some(kind) if kind == "invalid_request_error" && !is_too_long(text("code")) => kind,
            kind => text("code").or(kind).unwrap_or_default(),
        },
        message: text("message")
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| error.to_string()),
        details: Box::default(),
    }
}
