//! The input: a rule, the text with its cursor, and below it what can be completed.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::Moment;
use crate::{
    print::palette::Tone,
    tui::{
        state::State,
        text::{cut, plain, span},
    },
};

/// How many completions are shown.
const MOST_COMPLETIONS: usize = 8;

/// The lines of the input, and where the cursor is in them.
pub(super) fn lines(
    state: &State,
    moment: &Moment,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let theme = moment.theme;
    let faint = theme.tone(Tone::Faint);
    let width = moment.width();
    let mut lines = vec![Line::styled("─".repeat(width), faint)];
    let most = (moment.height() / 3).max(1);
    let (text, before) = around_cursor(state.composer.text(), state.composer.before_cursor(), most);
    let is_whole_beginning = before.len() == state.composer.before_cursor().len();
    let (rows, (column, row)) = laid_out(text, before, width);
    // The cursor's row is always seen.
    let from = (row + 1).saturating_sub(most).min(rows.len().saturating_sub(most));
    for (at, text) in rows.iter().enumerate().skip(from).take(most) {
        let mark = if at == 0 && is_whole_beginning { "› " } else { "  " };
        let mut spans = vec![Span::styled(mark, theme.user()), Span::raw(text.clone())];
        if state.composer.is_empty() {
            spans.push(Span::styled(hint(state), faint));
        }
        lines.push(cut(Line::from(spans), width));
    }
    let cursor = (column + 2, row - from + 1);
    if let Some(completion) = &state.completion {
        let first = completion.chosen.saturating_sub(MOST_COMPLETIONS - 1);
        let shown = completion.found.iter().enumerate().skip(first).take(MOST_COMPLETIONS);
        for (at, candidate) in shown {
            let style = if at == completion.chosen { theme.chosen() } else { Style::new() };
            let line = vec![
                Span::raw("  "),
                span(&candidate.text, style),
                span(&format!("  {}", candidate.about), faint),
            ];
            lines.push(cut(Line::from(line), width));
        }
    }
    lines.push(Line::styled("─".repeat(width), faint));
    (lines, Some(cursor))
}

fn hint(state: &State) -> &'static str {
    match (state.session.is_busy(), state.session.block_count()) {
        (true, _) => "Write on; it is read with the next turn",
        (false, 0) => "Ask something, or /help",
        (false, _) => "Ask something, or /help · Tab looks at agents",
    }
}

/// The lines of a text that can be seen: so many before and after the cursor's. A frame costs the same, however
/// long the text is.
fn around_cursor<'a>(text: &'a str, before: &'a str, most: usize) -> (&'a str, &'a str) {
    let start = before.rmatch_indices('\n').nth(most).map_or(0, |(at, _)| at + 1);
    let after = text.get(before.len()..).unwrap_or_default();
    let end = after.match_indices('\n').nth(most).map_or(text.len(), |(at, _)| before.len() + at);
    (text.get(start..end).unwrap_or(text), before.get(start..).unwrap_or(before))
}

/// The rows of a text, and the column and row of its cursor.
fn laid_out(text: &str, before: &str, width: usize) -> (Vec<String>, (usize, usize)) {
    let room = width.saturating_sub(3).max(1);
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut cursor = (0, 0);
    let mut at = 0;
    for letter in text.graphemes(true) {
        if at == before.len() {
            cursor = (used, rows.len() - 1);
        }
        at += letter.len();
        let shown = if letter == "\n" { String::new() } else { plain(letter) };
        if letter == "\n" || used + shown.width() > room {
            rows.push(String::new());
            used = 0;
            if at - letter.len() == before.len() && letter != "\n" {
                cursor = (0, rows.len() - 1);
            }
        }
        used += shown.width();
        if let Some(row) = rows.last_mut() {
            row.push_str(&shown);
        }
    }
    if at == before.len() {
        cursor = (used, rows.len() - 1);
    }
    (rows, cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_where_the_text_before_it_ends() {
        for (text, before, width, rows, cursor) in [
            ("", "", 10, &[""][..], (0, 0)),
            ("ab", "a", 10, &["ab"], (1, 0)),
            ("ab\ncd", "ab\n", 10, &["ab", "cd"], (0, 1)),
            ("abcdefghij", "abcdefghij", 10, &["abcdefg", "hij"], (3, 1)),
            ("数据库x", "数据库", 8, &["数据", "库x"], (2, 1)),
            ("a\n", "a\n", 8, &["a", ""], (0, 1)),
        ] {
            let (found, at) = laid_out(text, before, width);
            assert_eq!(
                (found.as_slice(), at),
                (rows.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice(), cursor),
                "{text:?}"
            );
        }
    }
}
