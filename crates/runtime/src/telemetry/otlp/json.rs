//! OTLP as JSON: ids in hexadecimal, 64-bit numbers as text.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{Attribute, SCOPE, STATUS_ERROR, Span, Value};

/// A request with these spans.
pub(super) fn request(resource: &[Attribute], spans: &[Span]) -> Json {
    let spans: Vec<Json> = spans.iter().map(span).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes(resource) },
            "scopeSpans": [{
                "scope": { "name": SCOPE, "version": env!("CARGO_PKG_VERSION") },
                "spans": spans,
            }],
        }],
    })
}

fn span(span: &Span) -> Json {
    let mut written = json!({
        "traceId": hex(&span.trace_id),
        "spanId": hex(&span.id),
        "name": span.name,
        "kind": span.kind.number(),
        "startTimeUnixNano": span.start.to_string(),
        "endTimeUnixNano": span.end.to_string(),
        "attributes": attributes(&span.attributes),
        "status": {},
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = hex(&parent).into();
    }
    if span.is_error {
        written["status"] = json!({ "code": STATUS_ERROR });
    }
    written
}

fn attributes(attributes: &[Attribute]) -> Json {
    let written = attributes.iter().map(|(key, value)| json!({ "key": key, "value": one(value) }));
    written.collect()
}

fn one(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
        Value::Texts(texts) => {
            let values: Vec<Json> =
                texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
