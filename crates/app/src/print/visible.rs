//! Visible text: every character that a terminal obeys, or that a reader cannot see, is written out.
//!
//! Control characters (C0, DEL, C1), characters that change the direction of text, zero-width characters,
//! tag characters and blank fillers become `\u001b`, `\u202e`, and so on. The escapes are those of JSON, so
//! the same function serves text for people and JSON: a JSON document stays valid and keeps its meaning.
//! Line feeds, tabs, emoji sequences and the joiners of scripts that need them are kept.

use std::{borrow::Cow, fmt::Write as _};

const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
const TEXT_STYLE: char = '\u{fe0e}';
const EMOJI_STYLE: char = '\u{fe0f}';

/// The text with everything written out that could steer a terminal or deceive a reader.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    // Printable ASCII is the common case and needs no look at its neighbours.
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let after = letters.peek().copied();
        if letter == '\r' && after == Some('\n') {
            // The end of a line on other systems.
            continue;
        }
        if is_deceptive(letter) && !is_needed(before, letter, after) {
            escape(letter, &mut shown);
        } else {
            shown.push(letter);
        }
        before = Some(letter);
    }
    Cow::Owned(shown)
}

/// The text on one line: white space and line ends become single blanks.
pub(crate) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    visible(&line).into_owned()
}

/// As JSON writes it; beyond the first plane as two halves.
fn escape(letter: char, shown: &mut String) {
    for half in letter.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        write!(shown, "\\u{half:04x}").unwrap_or_default();
    }
}

/// Whether a terminal obeys the character, or a reader cannot see it.
fn is_deceptive(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

/// Whether an invisible character changes how its neighbours look, as in an emoji sequence.
fn is_needed(before: Option<char>, letter: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match letter {
        JOINER => {
            let joins_emoji =
                (is_emoji(before) || before == EMOJI_STYLE) && after.is_some_and(is_emoji);
            joins_emoji || joins_letters(before, after)
        }
        NON_JOINER => joins_letters(before, after),
        EMOJI_STYLE | TEXT_STYLE => {
            is_emoji(before) || before.is_ascii_digit() || matches!(before, '#' | '*' | '©' | '®')
        }
        _ => false,
    }
}

fn is_emoji(letter: char) -> bool {
    matches!(letter, '\u{203c}' | '\u{2049}' | '\u{2122}'..='\u{2bff}' | '\u{3030}'..='\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

/// Arabic, Syriac and the scripts of South Asia, where joiners choose the form of a letter.
fn joins_letters(before: char, after: Option<char>) -> bool {
    let joined = |letter: char| matches!(letter, '\u{620}'..='\u{77f}' | '\u{900}'..='\u{dff}');
    joined(before) && after.is_some_and(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        for (text, shown) in [
            ("a\u{1b}[31mb", r"a\u001b[31mb"),
            ("\u{1b}]52;c;aGk=\u{7}", r"\u001b]52;c;aGk=\u0007"),
            ("c1\u{9b}31m\u{7f}", r"c1\u009b31m\u007f"),
            ("a\rb\r\nc\u{8}", "a\\u000db\nc\\u0008"),
            ("user\u{202e}txt.exe\u{2066}", r"user\u202etxt.exe\u2066"),
            ("pay\u{200b}pal\u{feff}\u{ad}", r"pay\u200bpal\ufeff\u00ad"),
            ("hi\u{e0041}\u{e007f}", r"hi\udb40\udc41\udb40\udc7f"),
            ("x\u{fe0f}\u{e0101}", r"x\ufe0f\udb40\udd01"),
            ("a\u{200d}b\u{fdd0}", r"a\u200db\ufdd0"),
        ] {
            assert_eq!(visible(text), shown, "{text:?}");
            assert_eq!(visible(&visible(text)), shown, "a second time");
        }
    }

    #[test]
    fn what_people_write_is_kept() {
        for text in [
            "plain\ttext\n",
            "naïve 数据库 Ελληνικά",
            "👩\u{200d}💻 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} 🏳\u{fe0f}\u{200d}🌈 👍🏽",
            "می\u{200c}خواهم",
            "✓ ✗ … – “”",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn a_json_document_keeps_its_meaning() {
        let value = serde_json::json!({"a\u{202e}": "\u{9b}\u{1b}\u{e0041}é\u{2028}"});
        let text = value.to_string();
        let shown = visible(&text);
        assert!(!shown.contains(['\u{202e}', '\u{9b}', '\u{e0041}']), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
