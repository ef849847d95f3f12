//! OTLP: spans as collectors read them, as JSON or as protocol buffers.

mod json;
mod protobuf;

use super::Protocol;

/// The name of what made the spans.
const SCOPE: &str = "attache";

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    pub(super) trace_id: [u8; 16],
    pub(super) id: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// In nanoseconds since 1970.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<Attribute>,
    /// Whether what it stands for failed.
    pub(super) is_error: bool,
}

/// A key and its value.
pub(super) type Attribute = (String, Value);

/// What kind of work a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    /// A request to another program.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Texts(Vec<String>),
}

impl SpanKind {
    fn number(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Client => 3,
        }
    }
}

/// The code of a span that failed.
const STATUS_ERROR: u8 = 2;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Protocol {
    /// The media type of a request.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "application/x-protobuf",
            Self::HttpJson => "application/json",
        }
    }

    /// The body of a request with these spans.
    pub(super) fn body(self, resource: &[Attribute], spans: &[Span]) -> Vec<u8> {
        match self {
            Self::HttpProtobuf => protobuf::request(resource, spans),
            Self::HttpJson => json::request(resource, spans).to_string().into_bytes(),
        }
    }
}
