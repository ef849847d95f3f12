//! The spans of turns and calls: names, numbers and times. What was said goes to the target of telemetry, and only
//! if somebody asks for it.

use attache_kernel::run::{ModelFailure, PendingCall, Reply, event::StopReason};
use tracing::{Span, field::Empty};

use crate::{
    store::Secrets,
    telemetry::{CONTENT, content},
    tool::ToolOutput,
};

/// The span of a turn: one request to the model.
pub(super) fn turn(attempt: u32) -> Span {
    tracing::debug_span!(
        "turn",
        attempt,
        stop = Empty,
        error = Empty,
        input_tokens = Empty,
        output_tokens = Empty,
        cache_read_tokens = Empty,
        cache_creation_tokens = Empty,
    )
}

/// The model replied.
pub(super) fn replied(span: &Span, reply: &Reply, secrets: &Secrets) {
    let stop = match reply.stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
        StopReason::Other => "other",
    };
    span.record("stop", stop);
    span.record("input_tokens", reply.usage.input_tokens);
    span.record("output_tokens", reply.usage.output_tokens);
    let (read, created) =
        (reply.usage.cache_read_input_tokens, reply.usage.cache_creation_input_tokens);
    if read > 0 || created > 0 {
        span.record("cache_read_tokens", read);
        span.record("cache_creation_tokens", created);
    }
    if content::is_wanted() {
        let said = secrets.mask_json(content::reply(reply));
        tracing::trace!(target: CONTENT, parent: span, output_messages = %said);
    }
}

/// The model could not be called, or its answer broke off.
pub(super) fn failed(span: &Span, failure: &ModelFailure) {
    let kind = match failure {
        ModelFailure::Transient { .. } => "transient",
        ModelFailure::ContextLength { .. } => "context_length",
        ModelFailure::Fatal { .. } => "fatal",
    };
    span.record("error", kind);
}

/// The span of a call.
pub(super) fn call(call: &PendingCall, secrets: &Secrets) -> Span {
    let span = tracing::debug_span!(
        "call",
        tool = %call.tool,
        id = %call.id,
        ended = Empty,
        error = Empty,
    );
    if content::is_wanted() {
        let arguments = secrets.mask_json(call.arguments.clone());
        tracing::trace!(target: CONTENT, parent: &span, arguments = %arguments);
    }
    span
}

/// What must not be in the content that somebody asks for; none if nobody does.
pub(super) fn secrets_of_content(secrets: &Secrets) -> Option<Secrets> {
    content::is_wanted().then(|| secrets.clone())
}

/// A call was answered.
pub(super) fn answered(span: &Span, output: &ToolOutput, secrets: Option<&Secrets>) {
    span.record("ended", "answered");
    if output.is_error {
        span.record("error", "tool_error");
    }
    if let Some(secrets) = secrets {
        let result = secrets.mask(&output.text);
        tracing::trace!(target: CONTENT, parent: span, result = %result);
    }
}
