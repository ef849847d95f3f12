//! A concept: one thing a question is about, in all the ways code may spell it.
//!
//! Its pattern goes to `grep_files`; its own matching is the stricter of the two, word by word.

use crate::words::{same_stem, stem, subwords};

/// How a concept was written, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// In quotes or backticks: it is looked for as it is.
    Literal,
    /// As a name: `RingBuffer`, `ring_buffer`, `ring-buffer`.
    Identifier,
    /// As words beside each other that may be a name.
    Compound,
    /// As a word.
    Word,
}

/// One thing a question is about.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concept {
    /// As it is shown.
    pub(crate) label: String,
    pub(crate) kind: Kind,
    words: Vec<String>,
    stems: Vec<String>,
    literal: Option<String>,
}

impl Concept {
    /// A text that is looked for as it is.
    pub(crate) fn literal(text: &str) -> Self {
        Self {
            label: text.to_owned(),
            kind: Kind::Literal,
            words: subwords(text),
            stems: stems_of(text),
            literal: Some(text.to_owned()),
        }
    }

    /// A name or words, however code may spell them.
    pub(crate) fn named(label: &str, kind: Kind) -> Self {
        let stems = stems_of(label);
        let plain = stems.iter().all(|stem| stem.is_ascii());
        let literal = (!plain || stems.is_empty()).then(|| label.to_owned());
        Self { label: label.to_owned(), kind, words: subwords(label), stems, literal }
    }

    /// How much a file that has it counts.
    pub(crate) fn weight(&self) -> f64 {
        match self.kind {
            Kind::Literal => 4.0,
            Kind::Identifier => 3.5,
            Kind::Compound => 3.0,
            Kind::Word => 1.0,
        }
    }

    /// Whether it is more than a single common word.
    pub(crate) fn is_strong(&self) -> bool {
        self.kind <= Kind::Compound
    }

    /// The stems of its words.
    pub(crate) fn stems(&self) -> &[String] {
        &self.stems
    }

    /// A ripgrep pattern for it.
    pub(crate) fn pattern(&self) -> String {
        if let Some(literal) = &self.literal {
            let escaped = regex_syntax::escape(literal);
            return if self.kind == Kind::Literal { escaped } else { format!("(?i:{escaped})") };
        }
        match self.stems.as_slice() {
            [one] => word_pattern(one),
            [first, second] if self.kind == Kind::Compound => {
                format!("(?i:{}|{})", joined([first, second]), joined([second, first]))
            }
            all => format!("(?i:{})", joined(all)),
        }
    }

    /// A glob alternative for names that hold it.
    pub(crate) fn name_glob(&self) -> Option<String> {
        let words = self.stems.iter().map(|stem| either_case(stem));
        let words: Vec<_> = words.collect::<Option<Vec<_>>>()?;
        (!words.is_empty()).then(|| words.join("*"))
    }

    /// Whether a line has it.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        match (&self.literal, self.kind) {
            (Some(literal), Kind::Literal) => line.contains(literal.as_str()),
            (Some(literal), _) => line.to_lowercase().contains(&literal.to_lowercase()),
            (None, _) => self.fit(&subwords(line)) > 0.0,
        }
    }

    /// Whether these are its very words.
    pub(crate) fn is_spelled(&self, words: &[String]) -> bool {
        self.words == words
    }

    /// How well a name made of these words fits: 1 if it is nothing else, less the more it is besides.
    pub(crate) fn fit(&self, words: &[String]) -> f64 {
        let long = self.stems.len();
        if long == 0 || words.len() < long {
            return 0.0;
        }
        let matches = |window: &[String], wanted: &mut dyn Iterator<Item = &String>| {
            window.iter().zip(wanted).all(|(word, wanted)| same_stem(stem(word), wanted))
        };
        let either_way = self.kind == Kind::Compound && long == 2;
        let found = words.windows(long).any(|window| {
            matches(window, &mut self.stems.iter())
                || (either_way && matches(window, &mut self.stems.iter().rev()))
        });
        if found { ratio(long, words.len()) } else { 0.0 }
    }
}

#[expect(clippy::cast_precision_loss, reason = "words of a line")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn stems_of(text: &str) -> Vec<String> {
    subwords(text).iter().map(|word| stem(word).to_owned()).collect()
}

/// What may follow a stem within the same word.
const ENDINGS: &str = "(?:e|s|es|y|ies|[a-z]?(?:ed|ing|ers?|ors?))?";

/// A word as a whole: `ring` in `RingBuffer`, `my_ring` and `rings`, not in `string`.
fn word_pattern(stem: &str) -> String {
    let plain = regex_syntax::escape(stem);
    let upper = regex_syntax::escape(&stem.to_uppercase());
    let mut letters = stem.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let capital = regex_syntax::escape(&format!("{first}{}", letters.as_str()));
    format!(
        "(?:(?:\\b|_){plain}{ENDINGS}(?:\\b|_|[A-Z0-9])|{capital}{ENDINGS}(?:\\b|_|[A-Z0-9])\
         |(?:\\b|_){upper}(?:ES|S)?(?:\\b|_))"
    )
}

fn joined<'s>(stems: impl IntoIterator<Item = &'s String>) -> String {
    let words: Vec<_> = stems.into_iter().map(|stem| regex_syntax::escape(stem)).collect();
    words.join("[a-z]{0,3}[-_. ]?")
}

/// A glob for a word with either case of its first letter; none for letters a glob has its own use for.
fn either_case(stem: &str) -> Option<String> {
    let mut letters = stem.chars();
    let first = letters.next()?;
    let rest = letters.as_str();
    if !stem.chars().all(char::is_alphanumeric) {
        return None;
    }
    let upper: String = first.to_uppercase().collect();
    Some(if upper.chars().eq([first]) {
        stem.to_owned()
    } else {
        format!("[{first}{upper}]{rest}")
    })
}
