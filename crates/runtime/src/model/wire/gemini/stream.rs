//! An answer of Gemini. It is done with the first `finishReason`, and ends with its body.
//!
//! Any event may have a `finishReason`, and the counts may come after it: there is no other mark.

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

#[derive(Default)]
pub(in crate::model::wire) struct GeminiDecoder {
    draft: Draft,
    parts: u64,
    /// What the last part was, if the next one may go on with it.
    open: Option<Kind>,
    stop: Option<StopReason>,
    usage: WrittenUsage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<WrittenUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    id: Option<String>,
    #[serde(default)]
    name: String,
    /// As it is written: numbers lose digits in any other form.
    args: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Clone, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WrittenUsage {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    traffic_type: Option<String>,
}

impl Decoder for GeminiDecoder {
    fn take(&mut self, data: &str, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        // Some gateways end it as others do; after its end nothing odd counts.
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let event: Event = match escapes::read(data) {
            Err(_) if self.stop.is_some() => return Ok(()),
            read => read?,
        };
        if let Some(error) = event.error {
            // What it has said it has said.
            if self.stop.is_some() {
                return Ok(());
            }
            return Err(StreamFault::Error(streamed_error(&error)));
        }
        if let Some(usage) = event.usage_metadata {
            self.usage.take(usage);
            show(Chunk::counted(self.usage.clone().usage()));
        }
        let blocked = event.prompt_feedback.and_then(|feedback| feedback.block_reason);
        if let Some(reason) = blocked.filter(|_| event.candidates.is_empty()) {
            return Err(StreamFault::Error(StreamedError {
                status: Some(400),
                kind: reason,
                message: "the prompt was blocked".to_owned(),
                details: Box::default(),
            }));
        }
        for candidate in event.candidates {
            for part in candidate.content.into_iter().flat_map(|content| content.parts) {
                self.take_part(part, show)?;
            }
            let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) else {
                continue;
            };
            // The model wrote a call that nobody can read: another attempt goes better.
            if MALFORMED.contains(&reason.as_str()) {
                let message = candidate.finish_message.unwrap_or_default();
                return Err(StreamFault::Error(StreamedError {
                    status: None,
                    kind: reason,
                    message,
                    details: Box::default(),
                }));
            }
            self.stop = Some(stop(&reason));
        }
        Ok(())
    }

    fn end(&self) -> End {
        if self.stop.is_some() { End::Trailing } else { End::Open }
    }

    fn answer(self: Box<Self>) -> Answer {
        let content = self.draft.finish();
        let stop = stopped(self.stop.unwrap_or(StopReason::Other), &content);
        Answer { content, stop, usage: self.usage.usage(), cost_usd: None }
    }
}

impl GeminiDecoder {
    fn take_part(&mut self, part: Part, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        let Part { text, thought, thought_signature, function_call } = part;
        let signed =
            thought_signature.map(|signature| ("thoughtSignature".to_owned(), json!(signature)));
        if let Some(FunctionCall { id, name, args }) = function_call {
            let arguments = args.as_deref().map_or("{}", RawValue::get);
            self.draft.grew(arguments.len() + name.len())?;
            let has_id = id.as_ref().is_some_and(|id| !id.is_empty());
            let part = self.begin(DraftPart::call(id.unwrap_or_default(), name));
            part.words().push_str(arguments);
            part.keep(API, [("id".to_owned(), json!(has_id))].into_iter().chain(signed));
            self.open = None;
            return Ok(());
        }
        let Some(text) = text else { return Ok(()) };
        self.draft.grew(text.len())?;
        let kind = if thought { Kind::Thought } else { Kind::Text };
        if !text.is_empty() {
            show(match kind {
                Kind::Thought => Chunk::Thought(text.clone()),
                Kind::Text => Chunk::Text(text.clone()),
            });
        }
        // A signature belongs to its part alone: nothing is added to a signed one.
        let goes_on = self.open == Some(kind) && signed.is_none();
        if text.is_empty() && signed.is_none() {
            return Ok(());
        }
        self.open = Some(kind).filter(|_| signed.is_none());
        let part = match self.draft.last() {
            Some(last) if goes_on => last,
            _ => self.begin(match kind {
                Kind::Thought => DraftPart::thinking(),
                Kind::Text => DraftPart::text(),
            }),
        };
        part.words().push_str(&text);
        if let Some(signed) = signed {
            part.keep(API, [signed]);
        }
        Ok(())
    }

    fn begin(&mut self, part: DraftPart) -> &mut DraftPart {
        self.parts += 1;
        self.draft.begin(self.parts, part)
    }
}

impl WrittenUsage {
    /// Later counts replace earlier ones; what they leave out stays.
    fn take(&mut self, later: Self) {
        let set = |into: &mut Option<u64>, value: Option<u64>| *into = value.or(*into);
        set(&mut self.prompt_token_count, later.prompt_token_count);
        set(&mut self.cached_content_token_count, later.cached_content_token_count);
        set(&mut self.candidates_token_count, later.candidates_token_count);
        set(&mut self.thoughts_token_count, later.thoughts_token_count);
        set(&mut self.tool_use_prompt_token_count, later.tool_use_prompt_token_count);
        self.traffic_type = later.traffic_type.or(self.traffic_type.take());
    }

    fn usage(self) -> Usage {
        let count = |number: Option<u64>| number.unwrap_or_default();
        let (said, thought) =
            (count(self.candidates_token_count), count(self.thoughts_token_count));
        Usage {
            input_tokens: count(self.prompt_token_count)
                .saturating_add(count(self.tool_use_prompt_token_count)),
            cache_read_input_tokens: count(self.cached_content_token_count),
            output_tokens: said.saturating_add(thought),
            reasoning_tokens: thought,
            service_tier: self.traffic_type,
            ..Usage::default()
        }
    }
}

const MALFORMED: [&str; 3] =
    ["MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"];

fn stop(reason: &str) -> StopReason {
    match reason {
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}

fn streamed_error(error: &Value) -> StreamedError {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_u64);
    StreamedError {
        status: code.and_then(|code| u16::try_from(code).ok()),
        kind: text("status").to_owned(),
        message: text("message").to_owned(),
        details: Box::new(error.get("details").cloned().unwrap_or_default()),
    }
}
