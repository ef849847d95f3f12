//! An answer of Anthropic's Messages. Its end is `message_stop`.

use attache_kernel::{
    model::usage::{ServerToolUse, Usage},
    run::event::StopReason,
};
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
pub(in crate::model::wire) struct AnthropicDecoder {
    draft: Draft,
    counts: Counts,
    stop: Option<StopReason>,
    ended: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: Block,
    },
    ContentBlockDelta {
        index: u64,
        delta: Delta,
    },
    MessageDelta {
        delta: Change,
        usage: Option<WrittenUsage>,
    },
    MessageStop,
    Error {
        error: Problem,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<WrittenUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// The input of a call that came with its beginning, letter for letter.
#[derive(Deserialize)]
struct WrittenStart<'a> {
    #[serde(borrow)]
    content_block: WrittenBlock<'a>,
}

#[derive(Deserialize)]
struct WrittenBlock<'a> {
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Change {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    message: String,
}

/// What was told so far; later words replace earlier ones.
#[derive(Clone, Default)]
struct Counts {
    fresh: u64,
    created: u64,
    read: u64,
    output: u64,
    thought: u64,
    server_tool_use: Option<ServerToolUse>,
    service_tier: Option<String>,
}

#[derive(Deserialize)]
struct WrittenUsage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
    server_tool_use: Option<ServerToolUse>,
    service_tier: Option<String>,
}

#[derive(Deserialize)]
struct OutputDetails {
    thinking_tokens: Option<u64>,
}

impl Decoder for AnthropicDecoder {
    fn take(&mut self, data: &str, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault> {
        match escapes::read(data)? {
            Event::MessageStart { message } => {
                if let Some(usage) = message.usage {
                    self.counts.take(usage);
                    show(Chunk::counted(self.counts.clone().usage()));
                }
            }
            Event::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, data, show)?;
            }
            Event::ContentBlockDelta { index, delta } => self.add(index, delta, show)?,
            Event::MessageDelta { delta, usage } => {
                if let Some(usage) = usage {
                    self.counts.take(usage);
                    show(Chunk::counted(self.counts.clone().usage()));
                }
                if let Some(reason) = delta.stop_reason {
                    self.stop = Some(stop(&reason));
                }
            }
            Event::MessageStop => self.ended = true,
            Event::Error { error } => {
                return Err(StreamFault::Error(StreamedError {
                    status: None,
                    kind: error.r#type,
                    message: error.message,
                    details: Box::default(),
                }));
            }
            Event::Other => {}
        }
        Ok(())
    }

    fn end(&self) -> End {
        if self.ended { End::Whole } else { End::Open }
    }

    fn answer(self: Box<Self>) -> Answer {
        let content = self.draft.finish();
        let stop = stopped(self.stop.unwrap_or(StopReason::EndTurn), &content);
        Answer { content, stop, usage: self.counts.usage(), cost_usd: None }
    }
}

impl AnthropicDecoder {
    fn begin(
        &mut self,
        index: u64,
        block: Block,
        data: &str,
        show: &mut dyn FnMut(Chunk),
    ) -> Result<(), StreamFault> {
        let part = match block {
            Block::Text { text } => {
                if !text.is_empty() {
                    show(Chunk::Text(text.clone()));
                }
                DraftPart::Text { text, data: None }
            }
            Block::Thinking { thinking, signature } => {
                if !thinking.is_empty() {
                    show(Chunk::Thought(thinking.clone()));
                }
                let mut part =
                    DraftPart::Thinking { text: thinking, signature: Some(signature), data: None };
                part.keep(API, []);
                part
            }
            Block::RedactedThinking { data } => {
                self.draft.grew(data.len())?;
                let mut part = DraftPart::thinking();
                part.keep(API, [("redacted".to_owned(), json!(data))]);
                part
            }
            Block::ToolUse { id, name, input } => {
                let mut part = DraftPart::call(id, name);
                // Usually empty: the pieces follow.
                if input.as_object().is_some_and(|input| !input.is_empty()) {
                    let written = serde_json::from_str::<WrittenStart<'_>>(data);
                    let written = written.map(|start| start.content_block.input.get().to_owned());
                    part.words().push_str(&written.unwrap_or_else(|_| input.to_string()));
                }
                part
            }
            Block::Other => return Ok(()),
        };
        let grown = self.draft.begin(index, part).words().len();
        self.draft.grew(grown)
    }

    fn add(
        &mut self,
        index: u64,
        delta: Delta,
        show: &mut dyn FnMut(Chunk),
    ) -> Result<(), StreamFault> {
        let Some(part) = self.draft.part(index) else { return Ok(()) };
        let (piece, chunk) = match delta {
            Delta::Text { text } => (text.clone(), Some(Chunk::Text(text))),
            Delta::Thinking { thinking } => (thinking.clone(), Some(Chunk::Thought(thinking))),
            Delta::InputJson { partial_json } => (partial_json, None),
            Delta::Signature { signature } => {
                if let DraftPart::Thinking { signature: Some(so_far), .. } = part {
                    so_far.push_str(&signature);
                }
                return self.draft.grew(signature.len());
            }
            Delta::Other => return Ok(()),
        };
        part.words().push_str(&piece);
        if let Some(chunk) = chunk.filter(|_| !piece.is_empty()) {
            show(chunk);
        }
        self.draft.grew(piece.len())
    }
}

impl Counts {
    fn take(&mut self, written: WrittenUsage) {
        let set = |into: &mut u64, value: Option<u64>| *into = value.unwrap_or(*into);
        set(&mut self.fresh, written.input_tokens);
        set(&mut self.created, written.cache_creation_input_tokens);
        set(&mut self.read, written.cache_read_input_tokens);
        set(&mut self.output, written.output_tokens);
        let details = written.output_tokens_details;
        set(&mut self.thought, details.and_then(|details| details.thinking_tokens));
        self.server_tool_use = written.server_tool_use.or(self.server_tool_use);
        self.service_tier = written.service_tier.or(self.service_tier.take());
    }

    /// Here the cached parts are not among the input; with us they are.
    fn usage(self) -> Usage {
        Usage {
            input_tokens: self.fresh.saturating_add(self.created).saturating_add(self.read),
            output_tokens: self.output,
            cache_creation_input_tokens: self.created,
            cache_read_input_tokens: self.read,
            reasoning_tokens: self.thought,
            server_tool_use: self.server_tool_use,
            service_tier: self.service_tier,
        }
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" | "pause_turn" => StopReason::Length,
        "refusal" => StopReason::ContentFilter,
        _ => StopReason::Other,
    }
}
