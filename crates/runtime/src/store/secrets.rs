//! Secrets: keys and passwords that no file may hold, and how they are taken out of a line.
//!
//! A line without any of them, which is nearly every line, is only searched. One with a secret in it is
//! taken apart, so that what is written is still a line: numbers and the format's own words stay.

use std::{borrow::Cow, fmt, sync::Arc};

use attache_kernel::run::transcript::Line;
use memchr::memmem::Finder;
use serde_json::Value;

/// What stands in the place of a secret.
const MASK: &str = "***";
/// Anything shorter is found in innocent words.
const SHORTEST: usize = 8;
/// JSON in JSON in JSON: arguments are JSON text within a line, and may hold JSON text themselves.
const NESTING: usize = 3;

/// Keys and passwords that no file may hold. A copy shares them.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Every way a secret may be spelled, longest first.
    spellings: Arc<[Finder<'static>]>,
}

impl Secrets {
    /// These; those of fewer than eight characters are ignored.
    pub fn new(secrets: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut spellings: Vec<String> = secrets
            .into_iter()
            .map(Into::into)
            .map(|secret: String| secret.trim().to_owned())
            .filter(|secret| secret.chars().count() >= SHORTEST)
            .flat_map(|secret| spellings(&secret))
            .collect();
        spellings.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        spellings.dedup();
        let finders = spellings.iter().map(|spelling| Finder::new(spelling).into_owned());
        Self { spellings: finders.collect() }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.spellings.is_empty()
    }

    /// A text without them.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut masked = Cow::Borrowed(text);
        for spelling in self.spellings.iter() {
            if spelling.find(masked.as_bytes()).is_some() {
                // Whole UTF-8 taken out of whole UTF-8 leaves whole UTF-8.
                let Ok(needle) = std::str::from_utf8(spelling.needle()) else { continue };
                masked = Cow::Owned(masked.replace(needle, MASK));
            }
        }
        masked
    }

    /// How many bytes at the end of a text may be the beginning of one of them.
    pub(crate) fn unfinished(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let begun = |spelling: &Finder<'static>| {
            let needle = spelling.needle();
            let from = bytes.len().saturating_sub(needle.len().saturating_sub(1));
            let tail = bytes.get(from..).unwrap_or_default();
            let first = needle.first().copied().unwrap_or_default();
            let mut starts = memchr::memchr_iter(first, tail);
            starts.find_map(|start| {
                let end = tail.get(start..)?;
                needle.starts_with(end).then_some(end.len())
            })
        };
        self.spellings.iter().filter_map(begun).max().unwrap_or_default()
    }

    /// A value without them.
    pub(crate) fn mask_json(&self, value: Value) -> Value {
        self.mask_value(value, Words::Masked)
    }

    /// The line without them; none if it holds none, an error if no line would be left.
    pub(super) fn mask_line(&self, line: &[u8]) -> Result<Option<String>, Unmaskable> {
        if !self.spellings.iter().any(|spelling| spelling.find(line).is_some()) {
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
            .field("spellings", &self.spellings.len())
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

/// The secret as it is, and as JSON within JSON spells it. Some writers of JSON escape slashes.
fn spellings(secret: &str) -> Vec<String> {
    let mut all = vec![secret.to_owned()];
    let mut plain = secret.to_owned();
    for level in 1..=NESTING {
        plain = escaped(&plain);
        all.push(plain.clone());
        let mut slashed = plain.replace('/', "\\/");
        for _ in level..=NESTING {
            all.push(slashed.clone());
            slashed = escaped(&slashed);
        }
    }
    all
}

fn escaped(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
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
