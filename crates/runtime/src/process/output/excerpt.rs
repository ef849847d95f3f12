//! The head and the tail of a text that may be far longer than memory should hold.
//!
//! Invariant: memory stays within three times the longest text that is shown, and what is left out is
//! counted.

use crate::tool::artifacts::{self, Bound};

/// The most of it that is ever shown.
const MOST: Bound = Bound::DEFAULT;

/// The head and tail of a text, and how long the whole is.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    head: String,
    tail: String,
    bytes: usize,
    line_ends: usize,
}

impl Excerpt {
    /// Adds text.
    pub(super) fn push(&mut self, mut text: &str) {
        self.bytes += text.len();
        self.line_ends += line_ends(text.as_bytes());
        let half = MOST.bytes / 2;
        if self.tail.is_empty() && self.head.len() < half {
            let room = text.floor_char_boundary(half - self.head.len());
            let (first, rest) = text.split_at(room);
            self.head.push_str(first);
            text = rest;
        }
        self.tail.push_str(text);
        if self.tail.len() > 2 * MOST.bytes {
            let from = self.tail.ceil_char_boundary(self.tail.len() - MOST.bytes);
            self.tail.drain(..from);
        }
    }

    /// Whether it is longer than that.
    pub(super) fn exceeds(&self, bound: Bound) -> bool {
        self.bytes > bound.bytes || self.line_ends > bound.lines
    }

    /// Whether it may be longer than the most that is shown once these bytes have come.
    pub(super) fn may_exceed_with(&self, bytes: &[u8]) -> bool {
        // Each invalid byte becomes a character of three.
        self.bytes + 3 * bytes.len() > MOST.bytes || self.line_ends + line_ends(bytes) > MOST.lines
    }

    /// The whole text, while it is short.
    pub(super) fn whole(&self) -> Option<String> {
        let is_whole = self.head.len() + self.tail.len() == self.bytes;
        is_whole.then(|| format!("{}{}", self.head, self.tail))
    }

    /// The text; if it exceeds the bound, its head and tail with the cut named. `where_kept` says where
    /// the whole is.
    pub(super) fn render(&self, bound: Bound, where_kept: &str) -> String {
        let whole = self.whole();
        if let Some(whole) = &whole
            && !self.exceeds(bound)
        {
            return whole.clone();
        }
        let (head, tail) = whole.as_ref().map_or((&self.head, &self.tail), |whole| (whole, whole));
        let head = bound.head(head);
        let tail = bound.tail(tail);
        let shown: usize = head.iter().chain(&tail).map(|line| line.len() + 1).sum();
        let lines = self.line_ends.saturating_sub(head.len() + tail.len());
        let cut = artifacts::cut(lines, self.bytes.saturating_sub(shown), where_kept);
        let mut parts = head;
        parts.push(&cut);
        parts.extend(tail);
        parts.join("\n")
    }
}

fn line_ends(bytes: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', bytes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(pieces: impl IntoIterator<Item = String>) -> Excerpt {
        let mut excerpt = Excerpt::default();
        for piece in pieces {
            excerpt.push(&piece);
        }
        excerpt
    }

    #[test]
    fn a_short_text_is_whole() {
        let short = excerpt(["a\n".to_owned(), "b".to_owned()]);
        assert_eq!(short.render(MOST, "nowhere"), "a\nb");
        assert!(!short.exceeds(MOST));
    }

    #[test]
    fn a_long_text_costs_no_more_than_its_bound() {
        let long = excerpt((0..100_000).map(|number| format!("line é {number}\n")));
        assert!(long.head.capacity() + long.tail.capacity() < 8 * MOST.bytes);
        let text = long.render(MOST, "kept there");
        assert!(text.len() < MOST.bytes + 100, "{}", text.len());
        assert!(text.starts_with("line é 0\nline é 1\n"), "{text}");
        assert!(text.ends_with("\nline é 99998\nline é 99999"), "{text}");
        assert!(text.contains(" lines (") && text.contains("left out; kept there …]"), "{text}");
        assert!(long.whole().is_none());
    }

    #[test]
    fn many_short_lines_are_cut_by_lines() {
        let bound = Bound { bytes: 1000, lines: 10 };
        let text = excerpt((0..50).map(|number| format!("{number}\n"))).render(bound, "k");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11, "{text}");
        assert_eq!(lines[5], "[… 40 lines (115 bytes) left out; k …]");
    }

    #[test]
    fn a_long_line_between_short_ones_shows_both_its_ends() {
        let line = format!("FIRST{}LAST", "x".repeat(200_000));
        let text = excerpt([format!("header\n{line}\nfooter\n")]).render(MOST, "k");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[4]), ("header", "footer"), "{}", lines.len());
        assert!(lines[1].starts_with("FIRSTx") && lines[3].ends_with("xLAST"));
        assert!(
            lines[2].starts_with("[… 169,3") && lines[2].ends_with(" bytes left out; k …]"),
            "{}",
            lines[2]
        );
        assert!(text.len() < MOST.bytes + 100, "{}", text.len());
    }

    #[test]
    fn one_endless_line_is_cut_at_characters() {
        let bound = Bound { bytes: 100, lines: 10 };
        let text = excerpt(["é".repeat(50_000)]).render(bound, "k");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[2]), ("é".repeat(25).as_str(), "é".repeat(25).as_str()));
    }
}
