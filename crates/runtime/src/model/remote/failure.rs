//! What a provider's refusal means: worth another attempt, too long, or final; always in its own words.

use std::{error::Error, fmt::Write as _};

use attache_kernel::run::{ModelFailure, Stage};
use jiff::Timestamp;
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use super::retry_after;

/// Maximum number of bytes read of an error body.
pub(super) const MOST_BODY_BYTES: usize = 64 << 10;
/// Maximum length of a provider's message that is repeated.
const MOST_WORDS: usize = 2000;

/// An answer with a status other than success.
pub(super) struct Refusal<'a> {
    pub(super) provider: &'a str,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    /// How its body is encoded, if it cannot be read for that.
    pub(super) encoding: Option<&'a str>,
    /// Where the key comes from, in words.
    pub(super) key_from: Option<&'a str>,
    /// Where the model's name comes from and what to do if there is no such model, in words.
    pub(super) named_by: Option<&'a str>,
}

/// An error in the middle of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StreamedError {
    /// The status it would have been, where it was told.
    pub(crate) status: Option<u16>,
    /// Its kind, as the provider names it.
    pub(crate) kind: String,
    /// What it says.
    pub(crate) message: String,
    /// What else it says, for programs.
    pub(crate) details: Box<Value>,
}

/// What a refusal means.
pub(super) fn refused(refusal: &Refusal<'_>, now: Timestamp) -> ModelFailure {
    let Refusal { provider, status, headers, body, encoding, key_from, named_by } = *refusal;
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let kind = kind_of(&value);
    let words = words_of(&value).unwrap_or_else(|| page_text(body));
    let mut message = format!("{provider} answered {}", spelled(status));
    if !words.is_empty() {
        push(&mut message, format_args!(": {}", bounded(&words)));
    }
    if let Some(encoding) = encoding {
        push(&mut message, format_args!(" (content-encoding: {encoding})"));
    }
    if is_too_long(status.as_u16(), &kind, &words) {
        return ModelFailure::ContextLength { message };
    }
    let told_not_to = headers.get("x-should-retry").is_some_and(|value| value == "false");
    if is_passing(status) && !told_not_to && !is_out_of_money(&kind) {
        let retry_after = retry_after::asked_for(headers, &value, now);
        return ModelFailure::Transient { message, stage: Stage::Request, retry_after };
    }
    match (status, key_from) {
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(from)) => {
            push(&mut message, format_args!(" (the key comes from {from})"));
        }
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, None) => {
            push(&mut message, format_args!(" (no key was sent: give the provider an env_key)"));
        }
        _ if status.is_redirection() => {
            push(&mut message, format_args!(" (redirects are not followed: fix base_url)"));
        }
        (StatusCode::NOT_FOUND, _) => {
            if let Some(named_by) = named_by {
                push(&mut message, format_args!(" ({named_by})"));
            }
        }
        _ => {}
    }
    ModelFailure::Fatal { message }
}

/// What an error in the middle of a stream means.
pub(super) fn streamed(provider: &str, error: &StreamedError) -> ModelFailure {
    let StreamedError { status, kind, message, details } = error;
    let mut text = format!("{provider} broke off its answer");
    let words = [kind.as_str(), message.as_str()];
    for word in words.iter().filter(|word| !word.is_empty()) {
        push(&mut text, format_args!(": {}", bounded(word)));
    }
    if is_too_long(status.unwrap_or(400), kind, message) {
        return ModelFailure::ContextLength { message: text };
    }
    let passing = match status.map(StatusCode::from_u16) {
        Some(Ok(status)) => is_passing(status),
        Some(Err(_)) | None => !is_final(kind),
    };
    if passing && !is_out_of_money(kind) {
        let body = serde_json::json!({ "error": { "message": message, "details": details } });
        let retry_after = retry_after::asked_for(&HeaderMap::new(), &body, Timestamp::UNIX_EPOCH);
        return ModelFailure::Transient { message: text, stage: Stage::Stream, retry_after };
    }
    ModelFailure::Fatal { message: text }
}

/// What an error means that stands in the place of a stream, or in its middle but in no event; none if
/// it is not an error.
pub(super) fn misplaced(provider: &str, body: &Value) -> Option<ModelFailure> {
    // Gemini's errors may come as a list of one.
    let error = body.get(0).unwrap_or(body).get("error").filter(|error| !error.is_null())?;
    let status = error.get("code").and_then(Value::as_u64);
    let status = status.and_then(|code| u16::try_from(code).ok());
    let message = words_of(body)?;
    let details = Box::new(error.get("details").cloned().unwrap_or_default());
    Some(streamed(provider, &StreamedError { status, kind: kind_of(body), message, details }))
}

/// What a connection that cannot be made, or breaks, means.
pub(super) fn disconnected(
    provider: &str,
    address: &str,
    stage: Stage,
    error: &reqwest::Error,
) -> ModelFailure {
    let what = match stage {
        Stage::RefusedHere => "cannot be reached",
        Stage::Request if error.is_connect() => "cannot be reached",
        Stage::Request => "did not answer",
        Stage::Stream => "broke off its answer",
    };
    let message = format!("{provider} {what} at {address}: {}", root_of(error));
    if error.is_builder() || is_about_certificates(error) {
        return ModelFailure::Fatal { message };
    }
    ModelFailure::Transient { message, stage, retry_after: None }
}

/// Kinds of errors in a stream that will not go better next time.
const FINAL_KINDS: [&str; 11] = [
    "invalid_request_error",
    "invalid_request",
    "authentication_error",
    "permission_error",
    "not_found_error",
    "invalid_prompt",
    "invalid_argument",
    "bio_policy",
    "cyber_policy",
    "usage_not_included",
    "data_residency_mismatch",
];

/// An image that cannot be taken now cannot be taken next time either.
fn is_final(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    FINAL_KINDS.contains(&kind.as_str()) || kind.contains("image")
}

fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::REQUEST_TIMEOUT
        || status == StatusCode::TOO_MANY_REQUESTS
        || status.is_server_error()
}

/// Waiting does not fill an empty account.
fn is_out_of_money(kind: &str) -> bool {
    ["insufficient_quota", "billing_error", "billing_hard_limit_reached"].contains(&kind)
}

/// Whether the conversation is too long for the model: providers have a code or only a sentence for it.
fn is_too_long(status: u16, kind: &str, words: &str) -> bool {
    if kind == "context_length_exceeded" || kind == "exceed_context_size_error" {
        return true;
    }
    if status == 413 {
        return true;
    }
    if status != 400 && status != 422 {
        return false;
    }
    let words = words.to_ascii_lowercase();
    let said = |sentence: &str| words.contains(sentence);
    said("prompt is too long")
        || said("maximum context length")
        || said("context length exceeded")
        || said("exceeds the context window")
        || said("exceed context limit")
        || said("exceeds the available context size")
        || said("input is too long")
        || said("too many tokens")
        || (said("input token count") && said("exceeds the maximum"))
        || (said("reduce the length") && (said("messages") || said("prompt")))
}

/// The kind of an error: the code of OpenAI, the type of Anthropic, the status of Gemini.
fn kind_of(body: &Value) -> String {
    let error = error_of(body);
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text("code").or_else(|| text("type")).or_else(|| text("status")).unwrap_or_default().to_owned()
}

/// The sentence a provider says; none if the body is nothing of the kind.
fn words_of(body: &Value) -> Option<String> {
    let error = error_of(body);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    error
        .get("message")
        .and_then(text)
        .or_else(|| text(error))
        .or_else(|| body.get("message").and_then(text))
        .or_else(|| body.get("detail").map(|detail| text(detail).unwrap_or(detail.to_string())))
}

fn error_of(body: &Value) -> &Value {
    let body = body.get(0).unwrap_or(body);
    body.get("error").unwrap_or(body)
}

/// What a body that is not JSON says: the title of a page, else its beginning.
fn page_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with('<') && !lower.contains("<html") {
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let title = lower.find("<title>").zip(lower.find("</title>"));
    let title = title.and_then(|(start, end)| text.get(start + "<title>".len()..end));
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page, “{title}”"),
        None => "a web page".to_owned(),
    }
}

fn bounded(words: &str) -> String {
    let words = words.trim();
    match words.char_indices().nth(MOST_WORDS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words.to_owned(),
    }
}

/// The innermost cause: the outer ones only say where it happened.
fn root_of(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    // Which address it was is said already, and it may hold what must not be shown.
    if text.contains("://") { "the request failed".to_owned() } else { text }
}

fn is_about_certificates(error: &reqwest::Error) -> bool {
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(inner) = cause {
        if inner.to_string().contains("invalid peer certificate") {
            return true;
        }
        cause = inner.source();
    }
    false
}

fn spelled(status: StatusCode) -> String {
    match (status.as_u16(), status.canonical_reason()) {
        (529, _) => "529 Overloaded".to_owned(),
        (code, Some(reason)) => format!("{code} {reason}"),
        (code, None) => code.to_string(),
    }
}

fn push(message: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _always = message.write_fmt(words).is_ok();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_in_mid_stream_says_how_long_to_wait_too() {
        let error = StreamedError {
            status: Some(429),
            kind: "RESOURCE_EXHAUSTED".to_owned(),
            message: "slow down".to_owned(),
            details: Box::new(json!([{"retryDelay": "2s"}])),
        };
        let ModelFailure::Transient { stage, retry_after, .. } = streamed("lab", &error) else {
            panic!("it may pass")
        };
        assert_eq!((stage, retry_after), (Stage::Stream, Some(Duration::from_secs(2))));
    }

    #[test]
    fn what_is_final_in_a_stream_stays_final() {
        for (status, kind, passes) in [
            (None, "overloaded_error", true),
            (None, "server_error", true),
            (None, "invalid_request_error", false),
            (None, "insufficient_quota", false),
            (Some(400), "INVALID_ARGUMENT", false),
            (Some(503), "UNAVAILABLE", true),
        ] {
            let error = StreamedError { status, kind: kind.to_owned(), ..StreamedError::default() };
            let failure = streamed("lab", &error);
            let transient = matches!(failure, ModelFailure::Transient { .. });
            assert_eq!(transient, passes, "{kind}: {failure:?}");
        }
    }
}
