//! A turn of a model, to be written in any of the four wire APIs.

use attache_kernel::{model::usage::Usage, run::event::StopReason};
use serde_json::{Value, json};

use super::{answer::Answer, anthropic, chat, gemini, responses};

/// The model that every ready-made turn comes from.
pub(super) const MODEL: &str = "scripted-1";

/// A wire API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireApi {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`, with `alt=sse`.
    Gemini,
}

/// A turn of a model.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Turn {
    pub(super) parts: Vec<Part>,
    pub(super) usage: Usage,
    stop: Option<StopReason>,
}

/// One part of a turn, in the pieces in which it arrives.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(Vec<String>),
    /// A thought, and its signature or its encrypted content. Without pieces only that is sent.
    Thinking(Vec<String>, String),
    Call(Call),
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Vec<String>,
}

/// A turn that says this, each piece as an event of its own.
pub fn text<P: Into<String>>(pieces: impl IntoIterator<Item = P>) -> Turn {
    Turn::default().then_text(pieces)
}

/// A turn that calls this tool, with its arguments in three pieces.
pub fn tool_call(id: &str, name: &str, arguments: &Value) -> Turn {
    Turn::default().then_tool_call(id, name, arguments)
}

impl Turn {
    /// A turn that says nothing and calls nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The same, saying this next.
    pub fn then_text<P: Into<String>>(self, pieces: impl IntoIterator<Item = P>) -> Self {
        self.with(Part::Text(pieces.into_iter().map(Into::into).collect()))
    }

    /// The same, thinking this next. Without pieces the thought is hidden: only its encrypted content is sent.
    pub fn then_thinking<P: Into<String>>(
        self,
        pieces: impl IntoIterator<Item = P>,
        signature: &str,
    ) -> Self {
        let pieces = pieces.into_iter().map(Into::into).collect();
        self.with(Part::Thinking(pieces, signature.to_owned()))
    }

    /// The same, calling this tool next, with its arguments in three pieces.
    pub fn then_tool_call(self, id: &str, name: &str, arguments: &Value) -> Self {
        let letters: Vec<char> = arguments.to_string().chars().collect();
        let pieces = letters.chunks(letters.len().div_ceil(3)).map(String::from_iter);
        self.then_raw_tool_call(id, name, pieces)
    }

    /// The same, calling this tool next, with arguments as they are written, good or bad.
    pub fn then_raw_tool_call<P: Into<String>>(
        self,
        id: &str,
        name: &str,
        arguments: impl IntoIterator<Item = P>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.with(Part::Call(Call { id: id.to_owned(), name: name.to_owned(), arguments }))
    }

    /// The same, having used that.
    pub fn using(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The same, stopping for that reason; else for its calls, or because it is done.
    pub fn stopping(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    pub(super) fn stop(&self) -> StopReason {
        let calls = self.parts.iter().any(|part| matches!(part, Part::Call(_)));
        let otherwise = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        self.stop.unwrap_or(otherwise)
    }
}

impl WireApi {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Chat, Self::Responses, Self::Anthropic, Self::Gemini];

    /// The path its requests go to, for that model.
    pub fn path(self, model: &str) -> String {
        match self {
            Self::Chat => "/v1/chat/completions".to_owned(),
            Self::Responses => "/v1/responses".to_owned(),
            Self::Anthropic => "/v1/messages".to_owned(),
            Self::Gemini => format!("/v1beta/models/{model}:streamGenerateContent"),
        }
    }

    /// That turn as a stream of this API, an event a chunk.
    pub fn answer(self, turn: &Turn) -> Answer {
        match self {
            Self::Chat => chat::answer(turn),
            Self::Responses => responses::answer(turn),
            Self::Anthropic => anthropic::answer(turn),
            Self::Gemini => gemini::answer(turn),
        }
    }

    /// An error with that status, in the words of this API.
    pub fn error(self, status: u16, kind: &str, message: &str) -> Answer {
        let body = match self {
            Self::Chat | Self::Responses => {
                json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
            }
            Self::Anthropic => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
                "request_id": "req_1",
            }),
            Self::Gemini => {
                json!({ "error": { "code": status, "message": message, "status": kind } })
            }
        };
        Answer::new().status(status).json(&body)
    }

    /// The error for a conversation that is too long.
    pub fn context_length_error(self) -> Answer {
        let (kind, message) = match self {
            Self::Chat => (
                "context_length_exceeded",
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
            ),
            Self::Responses => (
                "context_length_exceeded",
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
            ),
            Self::Anthropic => {
                ("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")
            }
            Self::Gemini => (
                "INVALID_ARGUMENT",
                "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
            ),
        };
        self.error(400, kind, message)
    }
}
