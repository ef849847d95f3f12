//! Lines of styled text: made harmless, cut and wrapped to a width in columns.
//!
//! Invariant: nothing that a model, a tool or a file wrote reaches a line except through [`plain`].

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::print::harmless;

/// A text as a terminal may show it: no codes, no tabs.
pub(crate) fn plain(text: &str) -> String {
    harmless(text).replace('\t', "    ")
}

/// A piece of a line.
pub(crate) fn span(text: &str, style: Style) -> Span<'static> {
    Span::styled(plain(text).replace('\n', " "), style)
}

/// The first line of a text, harmless.
pub(crate) fn first_line(text: &str) -> String {
    plain(text.trim().lines().next().unwrap_or_default())
}

/// A line that fits: what is too long ends with `…`.
pub(crate) fn cut(line: Line<'static>, width: usize) -> Line<'static> {
    if line.width() <= width {
        return line;
    }
    let mut room = width.saturating_sub(1);
    let mut spans = Vec::new();
    for piece in line.spans {
        let mut text = String::new();
        let mut is_full = false;
        for letter in piece.content.graphemes(true) {
            if letter.width() > room {
                is_full = true;
                break;
            }
            room -= letter.width();
            text.push_str(letter);
        }
        spans.push(Span::styled(text, piece.style));
        if is_full {
            break;
        }
    }
    spans.push(Span::raw("…"));
    Line::from(spans)
}

/// A text that fits: what is too long ends with `…`.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    cut(Line::raw(text.to_owned()), width).to_string()
}

/// The lines that a line takes in that width. Those after the first are indented.
pub(crate) fn wrapped(line: Line<'static>, width: usize, indent: usize) -> Vec<Line<'static>> {
    let indent = if indent + 8 > width.max(2) { 0 } else { indent };
    let before = if indent == 0 { Span::default() } else { Span::raw(" ".repeat(indent)) };
    wrapped_after(line, width, &before, Break::AtBlanks)
}

/// Where a line that is too long is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// At a blank, if there is one; that blank is not shown.
    AtBlanks,
    /// Where it ends, so that nothing of it is left out.
    Anywhere,
}

/// The lines that a line takes in that width. Those after the first begin with that piece.
pub(crate) fn wrapped_after(
    line: Line<'static>,
    width: usize,
    before: &Span<'static>,
    at: Break,
) -> Vec<Line<'static>> {
    let width = width.max(2);
    if line.width() <= width {
        return vec![line];
    }
    let letters: Vec<(&str, Style)> = line
        .spans
        .iter()
        .flat_map(|span| span.content.graphemes(true).map(|letter| (letter, span.style)))
        .collect();
    let mut lines = Vec::new();
    let mut rest = letters.as_slice();
    while !rest.is_empty() {
        let first = lines.is_empty().then(Span::default);
        let before = first.as_ref().unwrap_or(before);
        let taken = fitting(rest, width.saturating_sub(before.width()).max(1), at);
        let (row, left) = rest.split_at(taken);
        lines.push(joined(row, before));
        // The blank at which a line is broken belongs to neither part.
        let is_blank = left.first().is_some_and(|(letter, _)| *letter == " ");
        let skipped = usize::from(is_blank && at == Break::AtBlanks);
        rest = left.get(skipped..).unwrap_or_default();
    }
    lines
}

/// How many characters go into a row: up to the last blank that fits, or as many as fit.
fn fitting(letters: &[(&str, Style)], width: usize, broken: Break) -> usize {
    let mut used = 0;
    let mut last_blank = None;
    let mut is_indent = true;
    for (at, (letter, _)) in letters.iter().enumerate() {
        is_indent &= *letter == " ";
        if *letter == " " && !is_indent && broken == Break::AtBlanks {
            last_blank = Some(at);
        }
        used += letter.width();
        if used > width {
            return last_blank.unwrap_or(at).max(1);
        }
    }
    letters.len()
}

fn joined(letters: &[(&str, Style)], before: &Span<'static>) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if !before.content.is_empty() {
        spans.push(before.clone());
    }
    let mut text = String::new();
    let mut style = letters.first().map(|(_, style)| *style).unwrap_or_default();
    for (letter, own) in letters {
        if *own != style {
            spans.push(Span::styled(std::mem::take(&mut text), style));
            style = *own;
        }
        text.push_str(letter);
    }
    spans.push(Span::styled(text, style));
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize, indent: usize) -> Vec<String> {
        wrapped(Line::raw(text.to_owned()), width, indent).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn long_lines_break_at_blanks_and_long_words_anywhere() {
        assert_eq!(shown("one two three", 8, 0), ["one two", "three"]);
        assert_eq!(shown("- one two three four", 12, 2), ["- one two", "  three four"]);
        assert_eq!(shown("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(shown("数据库数据库", 5, 0), ["数据", "库数", "据库"]);
        assert_eq!(shown("  abcdefghij", 6, 0), ["  abcd", "efghij"], "an indent is no place");
    }

    #[test]
    fn code_keeps_its_blanks_and_its_frame() {
        let bar = Span::raw("│ ");
        let line = Line::raw("│ a = b + c;");
        let rows = wrapped_after(line, 8, &bar, Break::Anywhere);
        let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(rows, ["│ a = b ", "│ + c;"]);
    }

    #[test]
    fn what_is_cut_says_so() {
        assert_eq!(cut(Line::raw("数据库"), 5).to_string(), "数据…");
        assert_eq!(cut(Line::raw("abc"), 3).to_string(), "abc");
    }

    #[test]
    fn codes_are_written_out() {
        assert_eq!(plain("a\u{1b}[2Jb\tc"), "a\\u001b[2Jb    c");
        assert_eq!(span("a\nb", Style::new()).content, "a b");
    }
}
