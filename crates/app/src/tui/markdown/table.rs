//! Tables: columns as wide as their widest cell, cut where the terminal ends.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::inline::inline;
use crate::{
    print::palette::Tone,
    tui::{text::cut, theme::Theme},
};

/// Whether a line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|')
}

/// The rows of a table as lines.
pub(super) fn lines(rows: &[String], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let rows: Vec<Vec<Line<'static>>> = rows
        .iter()
        .map(|row| {
            let row = row.trim().trim_start_matches('|').trim_end_matches('|');
            row.split('|')
                .map(|cell| inline(cell.trim(), ratatui::style::Style::new(), theme))
                .collect()
        })
        .collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter(|row| !is_rule(row)).filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or_default()
        })
        .collect();
    let faint = theme.tone(Tone::Faint);
    let shown = rows.iter().map(|row| {
        if is_rule(row) {
            let dashes: Vec<String> = widths
                .iter()
                .enumerate()
                .map(|(at, width)| {
                    "─".repeat(width + if at == 0 { 1 } else { 1 + usize::from(at + 1 < columns) })
                })
                .collect();
            return cut(Line::styled(dashes.join("┼"), faint), width);
        }
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                spans.push(Span::styled(" │ ", faint));
            }
            let used = cell.width();
            spans.extend(cell.spans.iter().cloned());
            let room = widths.get(at).copied().unwrap_or_default();
            if at + 1 < row.len() {
                spans.push(Span::raw(" ".repeat(room.saturating_sub(used))));
            }
        }
        cut(Line::from(spans), width)
    });
    shown.collect()
}

/// Whether a row only separates the heading from the rest.
fn is_rule(row: &[Line<'static>]) -> bool {
    let is_dashes = |cell: &Line<'static>| {
        let text = cell.to_string();
        text.width() > 0 && text.chars().all(|letter| matches!(letter, '-' | ':'))
    };
    row.iter().all(is_dashes)
}
