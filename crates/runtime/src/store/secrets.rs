//! Secrets: keys and passwords that no file may hold, and how they are taken out of a line.
//!
//! A line without any of them, which is nearly every line, is only searched. One with a secret in it is
//! taken apart, so that what is written is still a line: numbers and the format's own words stay.

mod needles;
mod spelling;

use std::{borrow::Cow, fmt, sync::Arc};

use attache_kernel::run::transcript::Line;
use serde_json::Value;

use self::needles::{Needles, Place};

/// What stands in the place of a secret.
const MASK: &str = "***";
/// A secret of at least this many characters is masked wherever it appears.
const LONG: usize = 8;
/// A shorter secret is masked as a whole word, down to this many characters.
const SHORTEST: usize = 4;

/// Keys and passwords that no file may hold. A copy shares them.
#[derive(Clone, Default)]
pub struct Secrets {
    anywhere: Arc<Needles>,
    words: Arc<Needles>,
}

impl Secrets {
    /// Masks these, their JSON spellings and their base64.
    ///
    /// Secrets of 4 to 7 characters are masked as whole words only, and not if they are plain lower-case
    /// words such as `test` or `ollama`: those stand in every other text. Shorter ones are ignored.
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let (mut anywhere, mut words) = (Vec::new(), Vec::new());
        for secret in secrets {
            let secret: String = secret.into();
            let secret = secret.trim();
            let length = secret.chars().count();
            if length >= LONG {
                anywhere.extend(spelling::in_json(secret));
                let encoded = spelling::within_base64(secret);
                anywhere.extend(encoded.iter().flat_map(|encoded| spelling::in_json(encoded)));
            } else if length >= SHORTEST && !secret.chars().all(|c| c.is_ascii_lowercase()) {
                words.extend(spelling::in_json(secret));
                let encoded = spelling::as_base64(secret);
                words.extend(encoded.iter().flat_map(|encoded| spelling::in_json(encoded)));
            }
        }
        Self {
            anywhere: Arc::new(Needles::new(anywhere, Place::Anywhere)),
            words: Arc::new(Needles::new(words, Place::WholeWord)),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.anywhere.len() + self.words.len() == 0
    }

    /// A text without them.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.anywhere.replaced(text, MASK) {
            Some(masked) => Cow::Owned(self.words.replaced(&masked, MASK).unwrap_or(masked)),
            None => self.words.replaced(text, MASK).map_or(Cow::Borrowed(text), Cow::Owned),
        }
    }

    /// How many bytes at the end of a text may be the beginning of one of them.
    pub(crate) fn unfinished(&self, text: &str) -> usize {
        self.anywhere.unfinished(text).max(self.words.unfinished(text))
    }

    /// Whether one of them may be in a text. A whole word is recognised only when it is masked.
    fn may_be_in(&self, text: &[u8]) -> bool {
        self.anywhere.may_be_in(text) || self.words.may_be_in(text)
    }

    /// A value without them.
    pub(crate) fn mask_json(&self, value: Value) -> Value {
        self.mask_value(value, Words::Masked)
    }

    /// The line without them; none if it holds none, an error if no line would be left.
    pub(super) fn mask_line(&self, line: &[u8]) -> Result<Option<String>, Unmaskable> {
        if !self.may_be_in(line) {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(line).map_err(|_| Unmaskable)?;
        for words in [Words::Masked, Words::Kept] {
            let masked = self.mask_value(value.clone(), words).to_string();
            if Line::parse(&masked).is_ok() {
                return Ok(Some(masked));
            }
        }
        Err(Unmaskable)
    }

    fn mask_value(&self, value: Value, words: Words) -> Value {
        match value {
            Value::String(text) if words == Words::Kept && is_word(&text) => Value::String(text),
            Value::String(text) => Value::String(self.mask(&text).into_owned()),
            Value::Array(items) => {
                items.into_iter().map(|item| self.mask_value(item, words)).collect()
            }
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, value)| {
                    let is_ours = key.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
                    let key = if is_ours { key } else { self.mask(&key).into_owned() };
                    (key, self.mask_value(value, words))
                })
                .collect(),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
        }
    }
}

/// Shows how many there are, and none of them.
impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Secrets")
            .field("spellings", &(self.anywhere.len() + self.words.len()))
            .finish_non_exhaustive()
    }
}

/// No line would be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unmaskable;

/// Whether words that may be the format's own are masked too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    Masked,
    Kept,
}

fn is_word(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_masked() {
        let secrets = Secrets::new(["sk-\"quoted\"\\back/slash", "short", "  padded-key\n"]);
        let in_json = Value::String("a sk-\"quoted\"\\back/slash b".to_owned()).to_string();
        assert_eq!(secrets.mask("x sk-\"quoted\"\\back/slash y"), "x *** y");
        assert_eq!(secrets.mask(&in_json), "\"a *** b\"");
        assert_eq!(secrets.mask(&in_json.replace('/', "\\/")), "\"a *** b\"");
        assert_eq!(secrets.mask("padded-key short"), "*** short");
        assert_eq!(Secrets::default().mask("nothing"), "nothing");
    }

    #[test]
    fn the_beginning_of_one_is_seen_at_the_end() {
        let secrets = Secrets::new(["sk-12345", "sk-1é345678"]);
        for (text, expected) in [
            ("", 0),
            ("nothing", 0),
            ("a s", 1),
            ("a sk-1", 4),
            ("sk-1é", 6),
            ("sk-12345", 0),
            ("ssk-", 3),
        ] {
            assert_eq!(secrets.unfinished(text), expected, "{text}");
        }
    }

    #[test]
    fn a_short_one_is_masked_as_a_whole_word() {
        let secrets = Secrets::new(["Zork7", "test", "abc", "pass12"]);
        for (text, expected) in [
            ("use Zork7, and Zork7.", "use ***, and ***."),
            ("Zork7", "***"),
            ("\"Zork7\"", "\"***\""),
            ("{\\\"a\\\":\\\"x\\nZork7\\\"}", "{\\\"a\\\":\\\"x\\n***\\\"}"),
            ("Zork77 xZork7 Zork7_ éZork7", "Zork77 xZork7 Zork7_ éZork7"),
            ("a test of abc", "a test of abc"),
            ("user:pass12@host", "user:***@host"),
            // `echo -n Zork7 | base64`
            ("Wm9yazc= Wm9yazcx", "***= Wm9yazcx"),
        ] {
            assert_eq!(secrets.mask(text), expected, "{text}");
        }
        // The next letter may make it another word.
        assert_eq!(secrets.unfinished("a Zork7"), 5);
        assert_eq!(secrets.unfinished("a Zork7 "), 0);
    }

    #[test]
    fn the_base64_of_one_is_masked_too() {
        use base64::{Engine as _, engine::general_purpose as alphabet};
        let key = "sk-live-???>>>0123456789";
        let secrets = Secrets::new([key]);
        for text in [
            key.to_owned(),
            format!("{key}\n"),
            format!("user:{key}"),
            format!("me:{key}"),
            format!("x:{key}@host"),
            format!("{{\"key\":\"{key}\"}}"),
        ] {
            for engine in [alphabet::STANDARD, alphabet::STANDARD_NO_PAD, alphabet::URL_SAFE] {
                let encoded = engine.encode(&text);
                let masked = secrets.mask(&encoded).into_owned();
                assert!(masked.contains("***"), "{text}: {masked}");
                // What is left at its two ends tells less than a letter of it.
                let around = engine.encode(text.replace(key, "")).len();
                assert!(masked.len() <= around + 3 + 4, "{text}: {masked}");
            }
        }
        assert_eq!(Secrets::new(["12345678"]).mask("MTIzNDU2Nzg="), "***g=");
    }

    #[test]
    fn the_longer_of_two_goes_first() {
        let secrets = Secrets::new(["sk-12345", "sk-12345-extended"]);
        assert_eq!(secrets.mask("sk-12345-extended"), "***");
    }

    #[test]
    fn numbers_and_the_words_of_the_format_stay() {
        let line = r#"{"type":"event","seq":12345678,"ts":"t","at_ms":12345678,"event":{"type":"tool_started","call_id":"12345678","tool_name":"tool_started"}}"#;
        let secrets = Secrets::new(["12345678", "tool_started"]);
        let masked = secrets.mask_line(line.as_bytes()).unwrap().unwrap();
        assert!(masked.contains("\"seq\":12345678") && masked.contains("\"call_id\":\"***\""));
        assert!(Line::parse(&masked).is_ok());
    }

    #[test]
    fn the_debug_text_tells_none() {
        assert!(!format!("{:?}", Secrets::new(["very-secret"])).contains("very-secret"));
    }
}
