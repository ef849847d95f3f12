//! The input: a text of any number of lines with a cursor, and what was sent before.

use unicode_segmentation::UnicodeSegmentation as _;

/// How many messages are remembered.
const MOST_REMEMBERED: usize = 500;
/// The longest text that is taken.
const LONGEST: usize = 1 << 20;

/// The text that is being written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Composer {
    text: String,
    /// Where the cursor is, in bytes.
    cursor: usize,
    history: Vec<String>,
    /// Which remembered message is shown, and what was written before it was.
    recalled: Option<(usize, String)>,
    /// What was cut last.
    cut: String,
}

/// Where the cursor goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

impl Composer {
    /// The text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts a text in at the cursor. Line ends become `\n`.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if self.text.len() + text.len() > LONGEST {
            return;
        }
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        self.recalled = None;
    }

    /// Replaces the end of the text before the cursor.
    pub(crate) fn complete(&mut self, bytes: usize, with: &str) {
        let start = self.cursor.saturating_sub(bytes);
        self.text.replace_range(start..self.cursor, with);
        self.cursor = start + with.len();
    }

    /// Replaces everything.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Takes the text and remembers it.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.recalled = None;
        self.remember(&text);
        text
    }

    /// Remembers a text as one that was sent.
    pub(crate) fn remember(&mut self, text: &str) {
        if !text.trim().is_empty() && self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
            if self.history.len() > MOST_REMEMBERED {
                self.history.remove(0);
            }
        }
    }

    pub(crate) fn go(&mut self, to: Move) {
        let before = self.before_cursor();
        let after = self.text.get(self.cursor..).unwrap_or_default();
        self.cursor = match to {
            Move::Left => before.grapheme_indices(true).next_back().map_or(0, |(at, _)| at),
            Move::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            Move::WordLeft => word_start(before),
            Move::WordRight => self.cursor + word_end(after),
            Move::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            Move::LineEnd => self.cursor + after.find('\n').unwrap_or(after.len()),
        };
    }

    /// Removes what lies between the cursor and where it would go.
    pub(crate) fn remove(&mut self, to: Move) {
        let from = self.cursor;
        self.go(to);
        let (start, end) = (self.cursor.min(from), self.cursor.max(from));
        // At the end of a line, its end goes.
        let end =
            if start == end && to == Move::LineEnd { (end + 1).min(self.text.len()) } else { end };
        let removed: String = self.text.drain(start..end).collect();
        if !matches!(to, Move::Left | Move::Right) && !removed.is_empty() {
            self.cut = removed;
        }
        self.cursor = start;
        self.recalled = None;
    }

    /// Puts in what was cut last.
    pub(crate) fn paste_cut(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    /// A line up; in the first line, the message before.
    pub(crate) fn up(&mut self) {
        let before = self.before_cursor();
        let Some(line) = before.rfind('\n') else { return self.recall_earlier() };
        let column = before.get(line + 1..).unwrap_or_default().graphemes(true).count();
        let start = before.get(..line).unwrap_or_default().rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.at_column(start, column);
    }

    /// A line down; in the last line, the message after.
    pub(crate) fn down(&mut self) {
        let after = self.text.get(self.cursor..).unwrap_or_default();
        let Some(line) = after.find('\n') else { return self.recall_later() };
        let before = self.before_cursor();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(start..).unwrap_or_default().graphemes(true).count();
        self.cursor = self.at_column(self.cursor + line + 1, column);
    }

    fn at_column(&self, start: usize, column: usize) -> usize {
        let line = self.text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        start + line.graphemes(true).take(column).map(str::len).sum::<usize>()
    }

    fn recall_earlier(&mut self) {
        let at = self.recalled.as_ref().map_or(self.history.len(), |(at, _)| *at);
        let Some(earlier) = at.checked_sub(1) else { return };
        self.recall(earlier);
    }

    fn recall_later(&mut self) {
        let Some((at, written)) = self.recalled.clone() else { return };
        if at + 1 < self.history.len() {
            self.recall(at + 1);
        } else {
            self.set(written);
            self.recalled = None;
        }
    }

    fn recall(&mut self, at: usize) {
        let Some(text) = self.history.get(at).cloned() else { return };
        let written =
            self.recalled.take().map_or_else(|| self.text.clone(), |(_, written)| written);
        self.set(text);
        self.recalled = Some((at, written));
    }
}

fn word_start(text: &str) -> usize {
    let trimmed = text.trim_end();
    trimmed.rfind(char::is_whitespace).map_or(0, |at| {
        at + trimmed.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    })
}

fn word_end(text: &str) -> usize {
    let skipped = text.len() - text.trim_start().len();
    let rest = text.trim_start();
    skipped + rest.find(char::is_whitespace).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.insert(text);
        composer
    }

    #[test]
    fn one_key_moves_and_removes_one_visible_character() {
        let mut composer = written("a👩\u{200d}💻é");
        composer.remove(Move::Left);
        composer.remove(Move::Left);
        assert_eq!(composer.text(), "a");
        composer.go(Move::Left);
        composer.go(Move::Left);
        composer.insert("数");
        assert_eq!(composer.text(), "数a");
    }

    #[test]
    fn lines_come_before_history() {
        let mut composer = written("first");
        assert_eq!(composer.take(), "first");
        composer.insert("one\r\ntwo lines");
        composer.up();
        assert_eq!(composer.before_cursor(), "one");
        composer.up();
        assert_eq!(composer.text(), "first");
        composer.up();
        composer.down();
        assert_eq!(composer.text(), "one\ntwo lines", "what was written comes back");
    }

    #[test]
    fn words_are_cut_and_put_back() {
        let mut composer = written("fix the test");
        composer.remove(Move::WordLeft);
        assert_eq!(composer.text(), "fix the ");
        composer.go(Move::LineStart);
        composer.paste_cut();
        assert_eq!(composer.text(), "testfix the ");
        composer.remove(Move::LineEnd);
        assert_eq!(composer.text(), "test");
    }

    #[test]
    fn a_text_without_end_is_not_taken() {
        let mut composer = written(&"x".repeat(LONGEST));
        composer.insert("y");
        assert_eq!(composer.text().len(), LONGEST);
    }
}
