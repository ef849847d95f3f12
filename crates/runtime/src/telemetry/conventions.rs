//! The conventions for generative AI: what a run, a turn and a call are called, and what they say.
//!
//! See <https://opentelemetry.io/docs/specs/semconv/gen-ai/>.

use std::collections::BTreeMap;

use super::otlp::{Attribute, SpanKind, Value};

/// What the runtime told of a span, by the name of the field.
pub(super) type Fields = BTreeMap<&'static str, Value>;

/// What a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Run,
    Turn,
    Call,
}

/// A span in the words of the conventions.
pub(super) struct Told {
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) attributes: Vec<Attribute>,
    pub(super) is_error: bool,
}

/// Fields of any span, and the attributes they become.
const ATTRIBUTES: [(&str, &str); 12] = [
    ("input_tokens", "gen_ai.usage.input_tokens"),
    ("output_tokens", "gen_ai.usage.output_tokens"),
    ("cache_read_tokens", "gen_ai.usage.cache_read.input_tokens"),
    ("cache_creation_tokens", "gen_ai.usage.cache_creation.input_tokens"),
    ("attempt", "attache.attempt"),
    ("turns", "attache.turns"),
    ("tools", "attache.tools"),
    ("status", "attache.status"),
    ("input_messages", "gen_ai.input.messages"),
    ("output_messages", "gen_ai.output.messages"),
    ("arguments", "gen_ai.tool.call.arguments"),
    ("result", "gen_ai.tool.call.result"),
];

impl What {
    /// What a span of that name stands for.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "subagent.run" => Some(Self::Run),
            "turn" => Some(Self::Turn),
            "call" => Some(Self::Call),
            _ => None,
        }
    }
}

/// The text of a field, or nothing.
pub(super) fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    match fields.get(name) {
        Some(Value::Text(text)) => text,
        Some(Value::Number(_) | Value::Texts(_)) | None => "",
    }
}

/// A span, with what its run told.
pub(super) fn told(what: What, fields: &Fields, run: &Fields) -> Told {
    let (agent, model) = (text(run, "name"), text(run, "model"));
    let tool = text(fields, "tool");
    let (name, operation, kind) = match what {
        What::Run => (format!("invoke_agent {agent}"), "invoke_agent", SpanKind::Internal),
        What::Turn => (format!("chat {model}"), "chat", SpanKind::Client),
        What::Call => (format!("execute_tool {tool}"), "execute_tool", SpanKind::Internal),
    };
    let mut attributes: Vec<Attribute> = vec![("gen_ai.operation.name".into(), operation.into())];
    let mut say = |key: &str, value: &str| {
        if !value.is_empty() {
            attributes.push((key.to_owned(), value.into()));
        }
    };
    say("gen_ai.agent.name", agent);
    say("gen_ai.agent.id", text(run, "id"));
    say("gen_ai.conversation.id", text(run, "session"));
    match what {
        What::Run | What::Turn => {
            say("gen_ai.provider.name", provider(text(run, "provider")));
            say("gen_ai.request.model", model);
        }
        What::Call => {
            say("gen_ai.tool.name", tool);
            say("gen_ai.tool.call.id", text(fields, "id"));
            say("gen_ai.tool.type", "function");
        }
    }
    let error = error_type(what, fields);
    say("error.type", error.unwrap_or_default());
    for (field, attribute) in ATTRIBUTES {
        if let Some(value) = fields.get(field) {
            attributes.push((attribute.to_owned(), value.clone()));
        }
    }
    let stop = text(fields, "stop");
    if !stop.is_empty() {
        let reasons = Value::Texts(vec![stop.to_owned()]);
        attributes.push(("gen_ai.response.finish_reasons".to_owned(), reasons));
    }
    Told { name, kind, attributes, is_error: error.is_some() }
}

/// Why it failed; what nobody told the end of was stopped.
fn error_type(what: What, fields: &Fields) -> Option<&str> {
    let (done, failed) = match what {
        What::Run => (text(fields, "status"), text(fields, "status")),
        What::Turn => (text(fields, "stop"), text(fields, "error")),
        What::Call => (text(fields, "ended"), text(fields, "error")),
    };
    match (what, done, failed) {
        (What::Run, "goal", _) => None,
        (What::Turn | What::Call, done, "") if !done.is_empty() => None,
        (_, _, "") => Some("cancelled"),
        (_, _, failed) => Some(failed),
    }
}

/// The well-known name of a provider.
fn provider(id: &str) -> &str {
    match id {
        "gemini" => "gcp.gemini",
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    }
}
