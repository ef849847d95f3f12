//! What one file contributes to an answer, gathered while it is searched.

use std::io;

use grep_matcher::Matcher as _;
use grep_searcher::{BinaryDetection, Searcher, Sink, SinkContext, SinkMatch};

use super::query::{LineMode, Mode, Query};

/// How many bytes of a line are shown.
const MAX_LINE: usize = 400;
/// How many of them stand before the match.
const BEFORE_MATCH: usize = 100;
/// How many lines of one file are kept, those around matches included.
const MAX_LINES: usize = 10_000;
/// How many lines of one match are shown.
const MAX_MATCH_LINES: usize = 40;

/// What one file contributes.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// The lines shown, in order.
    pub(super) lines: Vec<Line>,
    /// How many lines, or matches if those may span lines, were counted.
    pub(super) count: usize,
    /// How many of the answer's rows it takes up.
    pub(super) rows: usize,
    pub(super) is_binary: bool,
}

/// One line of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line that matches.
    Match(u64, String),
    /// A line around a match.
    Context(u64, String),
    /// More of a match than is shown.
    Cut(usize),
    /// Lines are left out between two matches.
    Break,
}

/// Gathers the hits of one file.
pub(super) struct HitSink<'q> {
    query: &'q Query,
    pub(super) hits: Hits,
}

impl<'q> HitSink<'q> {
    pub(super) fn new(query: &'q Query) -> Self {
        Self { query, hits: Hits::default() }
    }

    /// Whether more would be left out anyway. One row too many is kept, to know that there is more.
    fn is_full(&self) -> bool {
        match self.query.mode {
            Mode::Content => self.hits.rows > self.query.limit || self.hits.lines.len() > MAX_LINES,
            Mode::Files => true,
            Mode::Count => false,
        }
    }

    fn add_lines(&mut self, found: &SinkMatch<'_>) {
        let first = found.line_number().unwrap_or(0);
        let mut lines = found.lines();
        for (number, line) in (first..).zip(lines.by_ref().take(MAX_MATCH_LINES)) {
            let text = self.cut(line);
            self.hits.lines.push(Line::Match(number, text));
            self.hits.rows += 1;
        }
        if let left_out @ 1.. = lines.count() {
            self.hits.lines.push(Line::Cut(left_out));
        }
    }

    /// A line as text; of a long one the part around the match.
    fn cut(&self, line: &[u8]) -> String {
        let line = line.trim_ascii_end();
        if line.len() <= MAX_LINE {
            return String::from_utf8_lossy(line).into_owned();
        }
        let at = match self.query.matcher.find(line) {
            Ok(Some(found)) => found.start(),
            Ok(None) | Err(_) => 0,
        };
        let start = at.saturating_sub(BEFORE_MATCH).min(line.len() - MAX_LINE);
        let end = start + MAX_LINE;
        let window = line.get(whole(line, start)..whole(line, end)).unwrap_or_default();
        let before = if start > 0 { "…" } else { "" };
        let after = if end < line.len() { "…" } else { "" };
        let text = String::from_utf8_lossy(window);
        format!("{before}{text}{after} [line of {} bytes]", line.len())
    }
}

impl Sink for HitSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.hits.is_binary {
            self.hits.count = 1;
            self.hits.rows = 1;
            return Ok(false);
        }
        match self.query.mode {
            Mode::Files => {
                self.hits.rows = 1;
                self.hits.count = 1;
            }
            Mode::Count => {
                self.hits.rows = 1;
                self.hits.count += if self.query.lines == LineMode::Single {
                    1
                } else {
                    matches_in(self.query, found)?
                };
            }
            Mode::Content => {
                self.hits.count += 1;
                self.add_lines(found);
            }
        }
        Ok(!self.is_full())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let text = self.cut(context.bytes());
        let number = context.line_number().unwrap_or(0);
        self.hits.lines.push(Line::Context(number, text));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.hits.lines.push(Line::Break);
        Ok(true)
    }

    /// A file found by a walk is left out when it turns out to be binary; one that was asked for by
    /// name is searched on, to say whether it matches.
    fn binary_data(&mut self, searcher: &Searcher, _: u64) -> Result<bool, io::Error> {
        let goes_on = *searcher.binary_detection() == BinaryDetection::convert(0);
        let had_match = goes_on && self.hits.rows > 0;
        self.hits = Hits {
            is_binary: true,
            count: usize::from(had_match),
            rows: usize::from(had_match),
            ..Hits::default()
        };
        Ok(goes_on && !had_match)
    }
}

fn matches_in(query: &Query, found: &SinkMatch<'_>) -> io::Result<usize> {
    let mut count = 0;
    query
        .matcher
        .find_iter(found.bytes(), |_| {
            count += 1;
            true
        })
        .map_err(io::Error::other)?;
    Ok(count.max(1))
}

/// The next place at or after this one that is not inside a UTF-8 character.
fn whole(line: &[u8], at: usize) -> usize {
    (at..line.len())
        .take(4)
        .find(|at| line.get(*at).is_some_and(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(at)
}
