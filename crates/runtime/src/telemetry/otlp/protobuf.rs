//! OTLP as protocol buffers: the few messages of a trace, field by field.
//!
//! The numbers are those of `opentelemetry/proto/trace/v1/trace.proto`.

use super::{Attribute, SCOPE, STATUS_ERROR, Span, Value};

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(low_byte(value) | 0x80);
            value >>= 7;
        }
        self.0.push(low_byte(value));
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// A request with these spans.
pub(super) fn request(resource: &[Attribute], spans: &[Span]) -> Vec<u8> {
    let mut about = Message::default();
    attributes(&mut about, 1, resource);
    let mut scope = Message::default();
    scope.bytes(1, SCOPE.as_bytes());
    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut in_scope = Message::default();
    in_scope.message(1, &scope);
    for one in spans {
        in_scope.message(2, &span(one));
    }
    let mut of_resource = Message::default();
    of_resource.message(1, &about);
    of_resource.message(2, &in_scope);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.0
}

fn span(span: &Span) -> Message {
    let mut message = Message::default();
    message.bytes(1, &span.trace_id);
    message.bytes(2, &span.id);
    if let Some(parent) = span.parent {
        message.bytes(4, &parent);
    }
    message.bytes(5, span.name.as_bytes());
    message.number(6, span.kind.number().into());
    message.fixed(7, span.start);
    message.fixed(8, span.end);
    attributes(&mut message, 9, &span.attributes);
    if span.is_error {
        let mut status = Message::default();
        status.number(3, STATUS_ERROR.into());
        message.message(15, &status);
    }
    message
}

fn attributes(message: &mut Message, field: u64, attributes: &[Attribute]) {
    for (key, value) in attributes {
        let mut attribute = Message::default();
        attribute.bytes(1, key.as_bytes());
        attribute.message(2, &any(value));
        message.message(field, &attribute);
    }
}

fn any(value: &Value) -> Message {
    let mut message = Message::default();
    match value {
        Value::Text(text) => message.bytes(1, text.as_bytes()),
        Value::Number(number) => message.number(3, number.cast_unsigned()),
        Value::Texts(texts) => {
            let mut array = Message::default();
            for text in texts {
                array.message(1, &any(&Value::Text(text.clone())));
            }
            message.message(5, &array);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::{super::SpanKind, *};

    #[test]
    fn a_request_is_the_bytes_that_the_format_asks_for() {
        let span = Span {
            trace_id: [1; 16],
            id: [2; 8],
            parent: Some([3; 8]),
            name: "n".into(),
            kind: SpanKind::Client,
            start: 1,
            end: 0x0102_0304_0506_0708,
            attributes: vec![
                ("t".into(), "x".into()),
                ("i".into(), Value::Number(300)),
                ("a".into(), Value::Texts(vec!["y".into()])),
            ],
            is_error: true,
        };
        let mut body = Vec::new();
        body.extend([0x0a, 16].into_iter().chain([1; 16]));
        body.extend([0x12, 8].into_iter().chain([2; 8]));
        body.extend([0x22, 8].into_iter().chain([3; 8]));
        body.extend([0x2a, 1, b'n', 0x30, 3]);
        body.extend([0x39, 1, 0, 0, 0, 0, 0, 0, 0]);
        body.extend([0x41, 8, 7, 6, 5, 4, 3, 2, 1]);
        body.extend([0x4a, 8, 0x0a, 1, b't', 0x12, 3, 0x0a, 1, b'x']);
        body.extend([0x4a, 8, 0x0a, 1, b'i', 0x12, 3, 0x18, 0xac, 2]);
        body.extend([0x4a, 12, 0x0a, 1, b'a', 0x12, 7, 0x2a, 5, 0x0a, 3, 0x0a, 1, b'y']);
        body.extend([0x7a, 2, 0x18, 2]);
        assert_eq!(super::span(&span).0, body);
        let request = request(&[("r".into(), "z".into())], &[span]);
        let version = env!("CARGO_PKG_VERSION").len();
        // resource_spans, then its resource with one attribute, then the scope's spans.
        assert_eq!(request[0], 0x0a);
        let resource = [0x0a, 10, 0x0a, 8, 0x0a, 1, b'r', 0x12, 3, 0x0a, 1, b'z'];
        assert!(request.windows(resource.len()).any(|part| part == resource), "{request:?}");
        assert!(request.windows(9).any(|part| part == b"\x0a\x07attache"), "{request:?}");
        assert!(request.ends_with(&body), "{request:?}");
        assert!(request.len() > body.len() + resource.len() + version, "{request:?}");
    }
}
