//! A call's arguments on their way back, for APIs that take them as an object: letter for letter as the
//! model wrote them, since a number that is read and written again may be another.

use std::borrow::Cow;

use attache_kernel::run::message::ToolCall;
use serde::Serialize;
use serde_json::value::RawValue;

/// The arguments of a call as an object.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Arguments<'a> {
    /// As they were written.
    Written(Cow<'a, RawValue>),
    /// There are none, or none that could be read.
    None {},
}

impl<'a> Arguments<'a> {
    pub(super) fn sent_for(call: &'a ToolCall) -> Self {
        written(call).map_or(Self::None {}, Self::Written)
    }
}

fn written(call: &ToolCall) -> Option<Cow<'_, RawValue>> {
    call.arguments().ok()?;
    let text = call.written_arguments();
    // An object may have been written as a string.
    if text.trim_start().starts_with('"') {
        let inner: String = serde_json::from_str(text).ok()?;
        return RawValue::from_string(inner).ok().map(Cow::Owned);
    }
    serde_json::from_str(text).ok().map(Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use attache_kernel::id::ToolCallId;

    use super::*;

    #[test]
    fn arguments_stay_as_they_were_written() {
        for (written, expected) in [
            (
                r#"{"n": 12345678901234567890123, "e":1e3}"#,
                r#"{"n": 12345678901234567890123, "e":1e3}"#,
            ),
            (" {\"a\":1.0}\n", "{\"a\":1.0}"),
            (r#""{\"e\":1e3}""#, r#"{"e":1e3}"#),
            ("", "{}"),
            ("{\"cut", "{}"),
            ("[1e3]", "{}"),
            (r#""no object""#, "{}"),
        ] {
            let call = ToolCall::new(ToolCallId::new("c"), "t", written);
            let sent = serde_json::to_string(&Arguments::sent_for(&call)).unwrap();
            assert_eq!(sent, expected, "{written}");
        }
    }
}
