//! Replacing one text by another in a file's text.
//!
//! A line break in the text that is looked for matches `\n` and `\r\n`; what is put in gets the line
//! endings of the place it goes to. Everything else is compared byte by byte. The cost is linear.

use std::fmt;

/// How many places are named.
const MAX_NAMED: usize = 10;

/// What is to be replaced by what.
#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) places: Places,
}

/// How many places are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    One,
    All,
}

/// Why nothing was replaced.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Failure {
    NotFound,
    /// There is more than one place, and only one is meant.
    Several(FoundLines),
}

/// The lines in which a text begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundLines {
    pub(super) count: usize,
    first: Vec<usize>,
}

impl Replacement {
    /// The text with the replacement made.
    pub(super) fn apply(&self, text: &str) -> Result<String, Failure> {
        if self.old.is_empty() {
            return Ok(self.new.clone());
        }
        if !text.contains("\r\n") {
            let found: Vec<usize> = text.match_indices(&self.old).map(|(at, _)| at).collect();
            self.check(text, &found)?;
            return Ok(text.replace(&self.old, &self.new));
        }
        self.apply_with_returns(text)
    }

    /// The same in a text with `\r\n`: places are looked for as if every line ended with `\n` alone.
    fn apply_with_returns(&self, text: &str) -> Result<String, Failure> {
        let plain = text.replace("\r\n", "\n");
        let old = self.old.replace("\r\n", "\n");
        let new = self.new.replace("\r\n", "\n");
        let found: Vec<usize> = plain.match_indices(&old).map(|(at, _)| at).collect();
        self.check(&plain, &found)?;
        let mut offsets = Offsets::new(text);
        let mut result = String::with_capacity(text.len() + new.len());
        let mut kept_from = 0;
        for start in found {
            let from = offsets.original(start);
            let to = offsets.original(start + old.len());
            result.push_str(text.get(kept_from..from).unwrap_or_default());
            let replaced = text.get(from..to).unwrap_or_default();
            if ends_in_returns(text, replaced) {
                result.push_str(&new.replace('\n', "\r\n"));
            } else {
                result.push_str(&new);
            }
            kept_from = to;
        }
        result.push_str(text.get(kept_from..).unwrap_or_default());
        Ok(result)
    }

    fn check(&self, text: &str, found: &[usize]) -> Result<(), Failure> {
        match (found.len(), self.places) {
            (0, _) => Err(Failure::NotFound),
            (1, _) | (_, Places::All) => Ok(()),
            (count, Places::One) => {
                let first = found.iter().take(MAX_NAMED).map(|at| line_of(text, *at)).collect();
                Err(Failure::Several(FoundLines { count, first }))
            }
        }
    }
}

/// Whether a place has lines that end with `\r\n`: by its own line breaks, or else by those of the
/// whole text.
fn ends_in_returns(text: &str, place: &str) -> bool {
    if let Some(at) = place.find('\n') {
        return place.get(..at).is_some_and(|line| line.ends_with('\r'));
    }
    text.matches("\r\n").count() * 2 >= text.matches('\n').count()
}

/// The number of the line that an offset is in.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

/// Offsets in a text, of offsets in the same text without its carriage returns; asked in rising order.
struct Offsets<'t> {
    returns: std::iter::Peekable<Box<dyn Iterator<Item = usize> + 't>>,
    passed: usize,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        let places: Box<dyn Iterator<Item = usize>> =
            Box::new(text.match_indices("\r\n").map(|(at, _)| at));
        Self { returns: places.peekable(), passed: 0 }
    }

    fn original(&mut self, plain: usize) -> usize {
        // A line break before the offset has lost its return; one that begins there has not passed yet.
        while self.returns.next_if(|at| at - self.passed < plain).is_some() {
            self.passed += 1;
        }
        plain + self.passed
    }
}

impl fmt::Display for FoundLines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.first.iter().map(usize::to_string).collect();
        let more = if self.count > self.first.len() { ", …" } else { "" };
        write!(formatter, "lines {}{more}", lines.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn apply(text: &str, old: &str, new: &str, places: Places) -> Result<String, Failure> {
        Replacement { old: old.to_owned(), new: new.to_owned(), places }.apply(text)
    }

    #[test]
    fn a_text_is_replaced_where_it_is_and_line_endings_stay() {
        for (text, old, new, expected) in [
            ("a\nb\nc\n", "b", "x", "a\nx\nc\n"),
            ("a\nb\nc", "c", "x\ny", "a\nb\nx\ny"),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\nc\r\n", "a\r\nb\r\n", "x\n", "x\r\nc\r\n"),
            ("a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n"),
            ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
            ("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"),
            ("\u{feff}a\r\nb", "a", "x", "\u{feff}x\r\nb"),
            ("ä\r\nö\r\nü", "ö\nü", "o\nu", "ä\r\no\r\nu"),
        ] {
            assert_eq!(apply(text, old, new, Places::One).unwrap(), expected, "{text:?} {old:?}");
        }
        assert_eq!(apply("a\r\na\r\n", "a\n", "b\n", Places::All).unwrap(), "b\r\nb\r\n");
        assert_eq!(apply("aaa", "a", "bb", Places::All).unwrap(), "bbbbbb");
    }

    #[test]
    fn a_place_must_be_the_only_one() {
        for text in ["x\ny\nx\n", "x\r\ny\r\nx\r\n"] {
            let Err(Failure::Several(lines)) = apply(text, "x", "z", Places::One) else {
                panic!("{text:?}")
            };
            assert_eq!((lines.count, lines.to_string().as_str()), (2, "lines 1, 3"));
            assert_eq!(apply(text, "q", "z", Places::All), Err(Failure::NotFound));
        }
        let Err(Failure::Several(lines)) = apply(&"x\n".repeat(30), "x", "z", Places::One) else {
            panic!()
        };
        assert_eq!(lines.to_string(), "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …");
    }

    proptest! {
        /// With line endings aside, the result is that of plain replacement; and nothing outside of
        /// the places changes.
        #[test]
        fn replacing_is_plain_replacing(text in "([ab]|\r\n|\n){0,40}", old in "[ab\n]{1,4}", new in "[bc\n]{0,4}") {
            let plain = text.replace("\r\n", "\n");
            match apply(&text, &old, &new, Places::All) {
                Ok(result) => prop_assert_eq!(
                    result.replace("\r\n", "\n"),
                    plain.replace(&old, &new).replace("\r\n", "\n")
                ),
                Err(failure) => {
                    prop_assert_eq!(failure, Failure::NotFound);
                    prop_assert!(!plain.contains(&old));
                }
            }
        }
    }
}
