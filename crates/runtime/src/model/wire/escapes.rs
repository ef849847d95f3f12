//! Half characters: an escape such as `\\ud83d` that stands without its other half.
//!
//! No text can hold one, and a server that cuts its text between two halves sends them time and again. So
//! each becomes U+FFFD, the sign for a character that is missing. Nothing is looked at that can be read.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads JSON, half characters or not.
pub(super) fn read<Read: DeserializeOwned>(text: &str) -> Result<Read, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match repaired(text) {
        Cow::Owned(repaired) => serde_json::from_str(&repaired),
        Cow::Borrowed(_) => Err(error),
    })
}

/// JSON with lone surrogates replaced; borrowed if it has none.
pub(super) fn repaired(text: &str) -> Cow<'_, str> {
    let mut repaired = Cow::Borrowed("");
    let (mut rest, mut kept) = (text, text);
    while let Some((escape, after)) = next_escape(rest) {
        rest = after;
        let whole = match unit(escape) {
            Some(0xd800..=0xdbff) => match next_escape(after) {
                Some((other, beyond))
                    if after.starts_with(other) && matches!(unit(other), Some(0xdc00..=0xdfff)) =>
                {
                    rest = beyond;
                    true
                }
                Some(_) | None => false,
            },
            Some(0xdc00..=0xdfff) => false,
            Some(_) | None => true,
        };
        if !whole {
            let before = kept.len() - escape.len() - after.len();
            repaired.to_mut().push_str(kept.get(..before).unwrap_or_default());
            repaired.to_mut().push('\u{fffd}');
            kept = after;
        }
    }
    match repaired {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(repaired) => Cow::Owned(repaired + kept),
    }
}

/// The next escape and what follows it: `\\uXXXX`, or a backslash and the character after it.
fn next_escape(text: &str) -> Option<(&str, &str)> {
    let (_, from) = text.split_at(memchr::memchr(b'\\', text.as_bytes())?);
    let length = if from.get(..6).and_then(unit).is_some() {
        6
    } else {
        let escaped = from.chars().nth(1);
        1 + escaped.map_or(0, char::len_utf8)
    };
    from.split_at_checked(length)
}

/// The unit of UTF-16 an escape stands for.
fn unit(escape: &str) -> Option<u16> {
    let digits = escape.strip_prefix("\\u").filter(|digits| digits.len() == 4)?;
    let are_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    are_digits.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (text, expected) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\uDE00\uD83D""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""a\ud83d ü\ude00b""#, "a\u{fffd} ü\u{fffd}b"),
            (r#""\ud83d\n\\ud83d\"""#, "\u{fffd}\n\\ud83d\""),
        ] {
            assert_eq!(read::<String>(text).unwrap(), expected, "{text}");
        }
        for text in [r#""\ud83d"#, r#""\ud8"#, r#""\q""#, "\\", "\\u", "{"] {
            assert!(read::<Value>(text).is_err(), "{text}");
        }
        let whole = r#"{"a":"\ud83d\ude00 \\ud83d \u00e4"}"#;
        assert!(matches!(repaired(whole), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn any_text_of_escapes_can_be_read(
            pieces in prop::collection::vec(
                prop::sample::select(&[
                    r"\ud83d", r"\ude00", r"\uDBFF", r"\u00e4", r"\\", r"\n", "ü", "u", "d83d",
                ]),
                0..12,
            ),
        ) {
            let text = format!("\"{}\"", pieces.concat());
            let said = read::<String>(&text).unwrap();
            let is_whole = serde_json::from_str::<String>(&text).is_ok();
            prop_assert_eq!(is_whole, !said.contains('\u{fffd}'), "{}", text);
        }
    }
}
