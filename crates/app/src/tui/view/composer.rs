//! The input: a rule, the text with its cursor, and below it what can be completed.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::Moment;
use crate::{
    print::{number::count, palette::Tone},
    tui::{
        state::{State, completion::Completion},
        text::{cut, plain, span},
    },
};

/// How many completions are shown.
const MOST_COMPLETIONS: usize = 10;
/// How wide the names of completions are at most, so that what they are stands in a column.
const MOST_NAME: usize = 24;
/// How much of one long line is laid out around the cursor, for each row that is shown.
const ROW_BYTES: usize = 4096;

/// The lines of the input, and where the cursor is in them.
pub(super) fn lines(
    state: &State,
    moment: &Moment,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let theme = moment.theme;
    let faint = theme.tone(Tone::Faint);
    let width = moment.width();
    let most = (moment.height() / 3).max(1);
    let (text, before) = around_cursor(state.composer.text(), state.composer.before_cursor(), most);
    let is_whole_beginning = before.len() == state.composer.before_cursor().len();
    let (rows, (column, row)) = laid_out(text, before, width);
    // The cursor's row is always seen.
    let from = (row + 1).saturating_sub(most).min(rows.len().saturating_sub(most));
    let hidden = state.composer.before_cursor().matches('\n').count();
    let above = if is_whole_beginning { from } else { (hidden + from).saturating_sub(row) };
    let mut lines = vec![rule("↑", above, moment)];
    for (at, text) in rows.iter().enumerate().skip(from).take(most) {
        let mark = if at == 0 && is_whole_beginning { "› " } else { "  " };
        let mut spans = vec![Span::styled(mark, theme.user()), Span::raw(text.clone())];
        if state.composer.is_empty() {
            spans.push(Span::styled(hint(state, width.saturating_sub(2)), faint));
        }
        lines.push(cut(Line::from(spans), width));
    }
    let cursor = (column + 2, row - from + 1);
    if let Some(completion) = &state.completion {
        lines.extend(completions(completion, moment));
    }
    let after = state.composer.text().get(state.composer.before_cursor().len()..);
    let below = after.map_or(0, |after| after.matches('\n').count());
    let seen = rows.len().min(from + most).saturating_sub(row + 1);
    lines.push(rule("↓", below.saturating_sub(seen), moment));
    (lines, Some(cursor))
}

/// A rule, which tells how many lines of the text are not seen beyond it.
fn rule(mark: &str, hidden: usize, moment: &Moment) -> Line<'static> {
    let width = moment.width();
    let words = match hidden {
        0 => String::new(),
        hidden => format!("── {mark} {} ", count(hidden as u64, "line")),
    };
    let rest = width.saturating_sub(words.width());
    let text =
        if rest == 0 { "─".repeat(width) } else { format!("{words}{}", "─".repeat(rest)) };
    Line::styled(text, moment.theme.tone(Tone::Faint))
}

/// What can be completed, around what is chosen.
fn completions(completion: &Completion, moment: &Moment) -> Vec<Line<'static>> {
    let faint = moment.theme.tone(Tone::Faint);
    let most = MOST_COMPLETIONS.min(moment.height() / 2).max(2);
    let first = (completion.chosen + 1).saturating_sub(most);
    let shown = || completion.found.iter().enumerate().skip(first).take(most);
    let widest = shown().map(|(_, candidate)| candidate.text.width()).max().unwrap_or_default();
    let mut lines: Vec<Line<'static>> = shown()
        .map(|(at, candidate)| {
            let is_chosen = at == completion.chosen;
            let style = if is_chosen { moment.theme.chosen() } else { Style::new() };
            let gap = widest.min(MOST_NAME).saturating_sub(candidate.text.width()) + 2;
            let about = format!("{}{}", " ".repeat(gap), candidate.about);
            let mark = if is_chosen { "▸ " } else { "  " };
            let line = vec![Span::raw(mark), span(&candidate.text, style), span(&about, faint)];
            cut(Line::from(line), moment.width())
        })
        .collect();
    let more = completion.found.len().saturating_sub(first + lines.len());
    if more > 0 {
        lines.push(Line::styled(format!("  ↓ {more} more"), faint));
    }
    lines
}

/// What can be done with an empty input, in as many words as fit.
fn hint(state: &State, width: usize) -> &'static str {
    let forms = match (state.session.is_busy(), state.session.block_count()) {
        (true, _) => ["Write on; it is read with the next turn", "Write on for the next turn"],
        (false, 0) => ["Ask something, or /help", "Ask, or /help"],
        (false, _) => ["Ask something, or /help · Tab looks at agents", "Ask something, or /help"],
    };
    forms.into_iter().find(|form| form.width() <= width).unwrap_or_default()
}

/// The lines of a text that can be seen: so many before and after the cursor's. A frame costs the same, however
/// long the text is.
fn around_cursor<'a>(text: &'a str, before: &'a str, most: usize) -> (&'a str, &'a str) {
    let start = before.rmatch_indices('\n').nth(most).map_or(0, |(at, _)| at + 1);
    let after = text.get(before.len()..).unwrap_or_default();
    let end = after.match_indices('\n').nth(most).map_or(text.len(), |(at, _)| before.len() + at);
    // One line may be as long as a book. The beginning moves in steps, so rows stay while somebody types.
    let step = most * ROW_BYTES;
    let start = start.max((before.len() / step).saturating_sub(1) * step);
    let start = (start..before.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(before.len());
    let end = end.min(before.len() + step);
    let end = (end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
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
