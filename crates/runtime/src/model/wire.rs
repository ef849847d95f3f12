//! Wire APIs: how a conversation is written for a provider, and how its answer is read.
//!
//! What a provider says stays in the file of its API. A request begins with everything that does not
//! change from turn to turn and ends with the messages, so each one repeats the bytes of the one before.

mod anthropic;
mod arguments;
mod call_name;
mod chat;
mod draft;
mod escapes;
mod gemini;
mod head;
mod repeated;
mod responses;
mod sampling;
mod thinking;

use attache_kernel::{
    agent::definition::ModelConfig,
    model::{
        catalogue::{Sampling, Thinking},
        usage::Usage,
    },
    run::{ModelRequest, event::StopReason, message::AssistantPart, tool_spec::ToolSpec},
};

use serde::Serialize;

use super::{
    Chunk,
    remote::{failure::StreamedError, sse::SseError},
};

pub(crate) use self::{
    head::ReservedParameter,
    sampling::{sampling_at_home, unsampled},
    thinking::unheeded,
};
pub(super) use self::{head::check_parameters, repeated::Repeated};

/// How a provider is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireApi {
    /// OpenAI's Responses.
    #[default]
    Responses,
    /// OpenAI's Chat Completions, and compatible servers.
    Chat,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

/// What is known of a model that decides how it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits {
    /// How it is told to think; none is not known.
    pub thinking: Option<Thinking>,
    /// Whether it can be told how to choose its words.
    pub sampling: Sampling,
    /// How many tokens it can answer with.
    pub max_output_tokens: Option<u64>,
    /// Whether it is OpenAI itself that answers: what is only understood there is only sent there.
    pub openai: bool,
}

/// Everything a request is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) request: &'a ModelRequest,
    pub(super) model: &'a str,
    pub(super) config: &'a ModelConfig,
    pub(super) cache_key: &'a str,
    pub(super) traits: Traits,
    /// The request's tools as [`WireApi::tools`] writes them.
    pub(super) tools: Option<&'a str>,
    /// The longest answer in tokens, where the caller bounds it.
    pub(super) max_output_tokens: Option<u64>,
}

/// Reads the events of an answer.
pub(super) trait Decoder: Send {
    /// Takes the data of one event. An event of an unknown kind is nothing.
    fn take(&mut self, data: &str, show: &mut dyn FnMut(Chunk)) -> Result<(), StreamFault>;
    /// Whether the answer is whole.
    fn end(&self) -> End;
    /// The answer.
    fn answer(self: Box<Self>) -> Answer;
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// More is to come.
    Open,
    /// It says that it is done. More may come that belongs to it, such as the usage; the end of the body
    /// is its end.
    Unmarked,
    /// It says that it is done and nothing has to come: after a short silence it is whole.
    Trailing,
    /// It is whole.
    Whole,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) content: Vec<AssistantPart>,
    pub(super) stop: StopReason,
    pub(super) usage: Usage,
    /// What it cost, where the provider says.
    pub(super) cost_usd: Option<f64>,
}

/// What can be wrong with a stream.
#[derive(Debug)]
pub(super) enum StreamFault {
    /// An event is not what it should be.
    Malformed(String),
    /// The provider says that something went wrong.
    Error(StreamedError),
    /// The answer is larger than any answer is.
    TooLarge,
}

impl From<SseError> for StreamFault {
    fn from(error: SseError) -> Self {
        match error {
            SseError::TooLarge => Self::TooLarge,
            SseError::NotText => Self::Malformed(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for StreamFault {
    fn from(error: serde_json::Error) -> Self {
        Self::Malformed(format!("an event is not the JSON it should be: {error}"))
    }
}

const STREAM: (&str, &str) = ("accept", "text/event-stream");
const UNENCODED: (&str, &str) = ("accept-encoding", "identity");

impl WireApi {
    /// The version and the rest of the path a request for a model goes to.
    pub(super) fn path(self, model: &str) -> (&'static str, String) {
        match self {
            Self::Responses => ("v1", "/responses".to_owned()),
            Self::Chat => ("v1", "/chat/completions".to_owned()),
            Self::Anthropic => ("v1", "/messages".to_owned()),
            Self::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                ("v1beta", format!("/models/{model}:streamGenerateContent"))
            }
        }
    }

    /// Headers every request of this API has.
    pub(super) fn fixed_headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Responses | Self::Chat | Self::Gemini => &[STREAM, UNENCODED],
            Self::Anthropic => &[STREAM, UNENCODED, ("anthropic-version", "2023-06-01")],
        }
    }

    /// Tools as this API takes them; none if there are none. They stay the same from turn to turn, so
    /// they need not be written again for each.
    pub(super) fn tools(self, specs: &[ToolSpec]) -> Result<Option<String>, serde_json::Error> {
        if specs.is_empty() {
            return Ok(None);
        }
        let written = match self {
            Self::Responses => listed::<responses::request::Tool<'_>>(specs),
            Self::Chat => listed::<chat::request::Tool<'_>>(specs),
            Self::Anthropic => listed::<anthropic::request::Tool<'_>>(specs),
            Self::Gemini => serde_json::to_string(&[gemini::request::Tools::from(specs)]),
        };
        written.map(Some)
    }

    /// The body of a request, with what it repeats of the last one.
    pub(super) fn body(
        self,
        asked: Asked<'_>,
        repeated: &mut Repeated,
    ) -> Result<Vec<u8>, serde_json::Error> {
        match self {
            Self::Responses => responses::request::body(asked, repeated),
            Self::Chat => chat::request::body(asked, repeated),
            Self::Anthropic => anthropic::request::body(asked),
            Self::Gemini => gemini::request::body(asked),
        }
    }

    /// Something that reads an answer.
    pub(super) fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Self::Responses => Box::<responses::stream::ResponsesDecoder>::default(),
            Self::Chat => Box::<chat::stream::ChatDecoder>::default(),
            Self::Anthropic => Box::<anthropic::stream::AnthropicDecoder>::default(),
            Self::Gemini => Box::<gemini::stream::GeminiDecoder>::default(),
        }
    }
}

/// Tools, one after another.
fn listed<'a, Tool>(specs: &'a [ToolSpec]) -> Result<String, serde_json::Error>
where
    Tool: From<&'a ToolSpec> + Serialize,
{
    let tools: Vec<Tool> = specs.iter().map(Tool::from).collect();
    serde_json::to_string(&tools)
}

/// Calls decide: some providers say that the model was done when it called.
fn stopped(said: StopReason, content: &[AssistantPart]) -> StopReason {
    match said {
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other => {
            let calls = content.iter().any(|part| part.call().is_some());
            match (calls, said) {
                (true, _) => StopReason::ToolUse,
                (false, StopReason::ToolUse) => StopReason::EndTurn,
                (false, said) => said,
            }
        }
        StopReason::Length | StopReason::ContentFilter => said,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    /// The words of all four APIs, so that what is made up gets far.
    const WORDS: &[&str] = &[
        "type",
        "index",
        "delta",
        "choices",
        "content",
        "tool_calls",
        "function",
        "name",
        "arguments",
        "id",
        "usage",
        "prompt_tokens",
        "finish_reason",
        "stop",
        "error",
        "message",
        "code",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "signature",
        "text",
        "message_start",
        "content_block_start",
        "content_block",
        "content_block_delta",
        "text_delta",
        "thinking",
        "thinking_delta",
        "input_json_delta",
        "partial_json",
        "tool_use",
        "input",
        "message_delta",
        "stop_reason",
        "message_stop",
        "response.output_item.done",
        "item",
        "function_call",
        "call_id",
        "response.completed",
        "response",
        "output",
        "summary",
        "encrypted_content",
        "response.output_text.delta",
        "response.failed",
        "candidates",
        "parts",
        "functionCall",
        "args",
        "thought",
        "thoughtSignature",
        "finishReason",
        "STOP",
        "usageMetadata",
        "promptTokenCount",
        "promptFeedback",
        "blockReason",
        "local_shell_call",
        "action",
    ];

    fn anything() -> impl Strategy<Value = Value> {
        let word = || prop::sample::select(WORDS).prop_map(str::to_owned);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word().prop_map(Value::from),
            ".{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                prop::collection::vec((word(), inner), 0..6)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        /// Any bytes are accepted or refused, and accepted bytes make an answer.
        #[test]
        fn nothing_a_provider_sends_breaks_a_decoder(
            events in prop::collection::vec(anything(), 0..16),
            garbage in ".{0,40}",
        ) {
            for api in [WireApi::Responses, WireApi::Chat, WireApi::Anthropic, WireApi::Gemini] {
                let mut decoder = api.decoder();
                let texts = events.iter().map(Value::to_string);
                for text in texts.chain([garbage.clone(), "[DONE]".to_owned()]) {
                    drop(decoder.take(&text, &mut |_| {}));
                }
                let _whole = decoder.end();
                drop(decoder.answer());
            }
        }
    }
}
