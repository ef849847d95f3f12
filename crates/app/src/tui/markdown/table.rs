//! Tables: columns as wide as their widest cell; where they have no room, the widest become narrower and their cells
//! are broken into lines, so nothing is lost.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::inline::inline;
use crate::{
    print::palette::Tone,
    tui::{
        text::{cut, wrapped},
        theme::Theme,
    },
};

/// What stands between two columns.
const GAP: &str = " │ ";
/// No column becomes narrower than this.
const NARROWEST: usize = 4;

/// On which side of its column a cell stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Middle,
    Right,
}

/// Whether a line is a row of a table.
pub(super) fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 1 && line.starts_with('|')
}

/// The rows of a table as lines.
pub(super) fn lines(rows: &[String], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| cells(row)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let rule = rows.iter().find(|row| is_rule(row));
    let sides: Vec<Side> =
        (0..columns).map(|at| side(rule.and_then(|row| row.get(at)).copied())).collect();
    let styled: Vec<Option<Vec<Line<'static>>>> = rows
        .iter()
        .map(|row| {
            let cells = || row.iter().map(|cell| inline(cell, Style::new(), theme)).collect();
            (!is_rule(row)).then(cells)
        })
        .collect();
    let natural = (0..columns).map(|column| {
        let cells = styled.iter().flatten().filter_map(|row| row.get(column));
        cells.map(Line::width).max().unwrap_or_default()
    });
    let widths = narrowed(natural.collect(), width);
    let faint = theme.tone(Tone::Faint);
    let shown = styled.iter().flat_map(|row| {
        if let Some(cells) = row {
            return laid_out(cells, &widths, &sides, faint);
        }
        let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        vec![Line::styled(dashes.join("─┼─"), faint)]
    });
    shown.map(|line| cut(line, width)).collect()
}

/// The cells of a row.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').map(str::trim).collect()
}

/// Widths that fit: the widest columns give first.
fn narrowed(mut widths: Vec<usize>, width: usize) -> Vec<usize> {
    let gaps = GAP.width() * widths.len().saturating_sub(1);
    loop {
        let used: usize = widths.iter().sum::<usize>() + gaps;
        let Some(over) = used.checked_sub(width).filter(|over| *over > 0) else { return widths };
        let widest = widths.iter().copied().max().unwrap_or_default();
        if widest <= NARROWEST {
            return widths;
        }
        // Down to the next widest, or as far as it has to be.
        let next = widths.iter().copied().filter(|other| *other < widest).max();
        let least = next.unwrap_or(NARROWEST).max(NARROWEST);
        if let Some(column) = widths.iter_mut().rev().find(|column| **column == widest) {
            *column = widest.saturating_sub(over.min((widest - least).max(1))).max(NARROWEST);
        }
    }
}

/// A row, in as many lines as its highest cell needs.
fn laid_out(
    cells: &[Line<'static>],
    widths: &[usize],
    sides: &[Side],
    faint: Style,
) -> Vec<Line<'static>> {
    let broken: Vec<Vec<Line<'static>>> =
        cells.iter().zip(widths).map(|(cell, width)| wrapped(cell.clone(), *width, 0)).collect();
    let height = broken.iter().map(Vec::len).max().unwrap_or_default();
    let row = |at: usize| {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                spans.push(Span::styled(GAP, faint));
            }
            let cell = broken.get(column).and_then(|rows| rows.get(at));
            let free = width.saturating_sub(cell.map_or(0, Line::width));
            let before = match sides.get(column) {
                Some(Side::Right) => free,
                Some(Side::Middle) => free / 2,
                Some(Side::Left) | None => 0,
            };
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(cell.into_iter().flat_map(|cell| cell.spans.iter().cloned()));
            spans.push(Span::raw(" ".repeat(free - before)));
        }
        trimmed(spans)
    };
    (0..height).map(row).collect()
}

/// A line without the blanks at its end.
fn trimmed(mut spans: Vec<Span<'static>>) -> Line<'static> {
    while spans.last().is_some_and(|last| last.content.trim().is_empty()) {
        spans.pop();
    }
    Line::from(spans)
}

fn side(rule: Option<&str>) -> Side {
    match rule.map(|rule| (rule.starts_with(':'), rule.ends_with(':'))) {
        Some((true, true)) => Side::Middle,
        Some((false, true)) => Side::Right,
        _ => Side::Left,
    }
}

/// Whether a row only separates the heading from the rest.
fn is_rule(row: &[&str]) -> bool {
    let is_dashes =
        |cell: &&str| !cell.is_empty() && cell.chars().all(|it| matches!(it, '-' | ':'));
    row.iter().all(is_dashes)
}
