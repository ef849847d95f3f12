//! Needles: many texts that are searched for at once, in one pass.

use aho_corasick::{AhoCorasick, MatchKind};

/// Texts to search for. They are secret, so there is no `Debug`.
#[derive(Default)]
pub(super) struct Needles {
    spellings: Vec<String>,
    /// None if there is nothing to search for.
    automaton: Option<AhoCorasick>,
    place: Place,
}

/// Where a needle counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Place {
    /// Wherever it appears.
    #[default]
    Anywhere,
    /// Where no letter or digit stands before or after it.
    WholeWord,
}

impl Needles {
    pub(super) fn new(mut spellings: Vec<String>, place: Place) -> Self {
        spellings.sort_unstable();
        spellings.dedup();
        if spellings.is_empty() {
            return Self::default();
        }
        // Of two that begin at the same place the longer one counts.
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&spellings);
        Self { spellings, automaton: built.ok(), place }
    }

    pub(super) fn len(&self) -> usize {
        self.spellings.len()
    }

    /// Whether one of them is anywhere in a text.
    pub(super) fn may_be_in(&self, text: &[u8]) -> bool {
        match &self.automaton {
            Some(automaton) => automaton.is_match(text),
            None => !self.spellings.is_empty(),
        }
    }

    /// The text with a replacement for each of them; none if it holds none.
    pub(super) fn replaced(&self, text: &str, replacement: &str) -> Option<String> {
        let Some(automaton) = &self.automaton else {
            // More needles than can be searched for: everything is taken for one.
            return (!self.spellings.is_empty()).then(|| replacement.to_owned());
        };
        let mut replaced = String::new();
        let mut copied = 0;
        for found in automaton.find_iter(text) {
            if self.place == Place::WholeWord && !is_whole_word(text, found.start(), found.end()) {
                continue;
            }
            replaced.push_str(text.get(copied..found.start()).unwrap_or_default());
            replaced.push_str(replacement);
            copied = found.end();
        }
        if copied == 0 {
            return None;
        }
        replaced.push_str(text.get(copied..).unwrap_or_default());
        Some(replaced)
    }

    /// How many bytes at the end of a text may be the beginning of one of them.
    pub(super) fn unfinished(&self, text: &str) -> usize {
        let bytes = text.as_bytes();
        let begun = |spelling: &String| {
            let needle = spelling.as_bytes();
            // Whether a word is whole is known only when the next character is.
            let most = match self.place {
                Place::Anywhere => needle.len().saturating_sub(1),
                Place::WholeWord => needle.len(),
            };
            let tail = bytes.get(bytes.len().saturating_sub(most)..).unwrap_or_default();
            let first = needle.first().copied().unwrap_or_default();
            let mut starts = memchr::memchr_iter(first, tail);
            starts.find_map(|start| {
                let end = tail.get(start..)?;
                needle.starts_with(end).then_some(end.len())
            })
        };
        self.spellings.iter().filter_map(begun).max().unwrap_or_default()
    }
}

fn is_whole_word(text: &str, start: usize, end: usize) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut before = text.get(..start).unwrap_or_default().chars().rev();
    let begins = match before.next() {
        // The letter of an escape such as `\n` belongs to no word.
        Some('b' | 'f' | 'n' | 'r' | 't') if before.next() == Some('\\') => true,
        Some(letter) => !is_part(letter),
        None => true,
    };
    let after = text.get(end..).unwrap_or_default().chars().next();
    begins && !after.is_some_and(is_part)
}
