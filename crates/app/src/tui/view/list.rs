//! Rows of a list in columns: where they have no room, cells become short, then the least important columns are
//! left out; what a row is about keeps most of its room.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use crate::tui::{
    state::page::{Cell, ListKind, Row},
    text::{plain, shortened},
    theme::Theme,
};

/// How much room what a row is about keeps, if it needs it: so many columns at most, and that part of them all.
const ABOUT: usize = 28;
const ABOUT_PART: (usize, usize) = (2, 5);
/// A column that is worth no more goes before another one becomes short.
const EXPENDABLE: u8 = 2;

/// A column: how much it is worth, and how it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    /// Its text begins on the left.
    Left(u8),
    /// Its text ends on the right.
    Right(u8),
    /// What the row is about: it takes the room that is left.
    About,
}

impl Column {
    fn worth(self) -> u8 {
        match self {
            Self::Left(worth) | Self::Right(worth) => worth,
            Self::About => u8::MAX,
        }
    }
}

/// The columns of a list.
pub(super) fn columns(kind: ListKind) -> &'static [Column] {
    match kind {
        // State, agent, task, age, place, turns, tokens, id.
        ListKind::Tasks | ListKind::Conversations => &[
            Column::Left(9),
            Column::Left(8),
            Column::About,
            Column::Right(7),
            Column::Left(6),
            Column::Right(5),
            Column::Right(4),
            Column::Left(1),
        ],
        // Name, state, scope, problems, overrides, what it is for.
        ListKind::Agents => &[
            Column::Left(9),
            Column::Left(8),
            Column::Left(2),
            Column::Left(7),
            Column::Left(3),
            Column::About,
        ],
    }
}

/// A column as it is laid out.
struct Laid {
    column: Column,
    at: usize,
    width: usize,
    is_short: bool,
}

/// The rows as lines of at most that width.
pub(super) fn lines(
    rows: &[&Row],
    columns: &[Column],
    width: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let laid = laid_out(rows, columns, width);
    rows.iter().map(|row| line(row, &laid, theme)).collect()
}

fn laid_out(rows: &[&Row], columns: &[Column], width: usize) -> Vec<Laid> {
    let widest = |at: usize, is_short: bool| {
        let cells = rows.iter().filter_map(|row| row.cells.get(at));
        cells.map(|cell| shown(cell, is_short).width()).max().unwrap_or_default()
    };
    let all = columns.iter().enumerate();
    let mut laid: Vec<Laid> = all
        .map(|(at, column)| Laid { column: *column, at, width: widest(at, false), is_short: false })
        .collect();
    laid.retain(|column| column.width > 0);
    let kept = ABOUT.min(width * ABOUT_PART.0 / ABOUT_PART.1);
    loop {
        let gaps = laid.len().saturating_sub(1);
        let others = laid.iter().filter(|column| column.column != Column::About);
        let used: usize = others.map(|column| column.width).sum::<usize>() + gaps;
        let left = width.saturating_sub(used);
        let about = laid.iter_mut().find(|column| column.column == Column::About);
        let wanted = about.as_ref().map_or(0, |about| about.width);
        let can_give = laid.len() > 1;
        if left >= wanted.min(kept) && used <= width || !can_give {
            if let Some(about) = laid.iter_mut().find(|column| column.column == Column::About) {
                about.width = about.width.min(left);
            }
            return laid;
        }
        give(&mut laid, widest);
    }
}

/// The least important column becomes short; if all are, it goes.
fn give(laid: &mut Vec<Laid>, widest: impl Fn(usize, bool) -> usize) {
    let least = laid.iter().map(|column| column.column.worth()).min().unwrap_or_default();
    let candidates = laid.iter_mut().filter(|column| {
        column.column != Column::About && !column.is_short && widest(column.at, true) < column.width
    });
    let shortened = candidates.min_by_key(|column| column.column.worth());
    match shortened.filter(|column| least > EXPENDABLE || column.column.worth() == least) {
        Some(column) => {
            column.is_short = true;
            column.width = widest(column.at, true);
        }
        None => laid.retain(|column| column.column.worth() != least),
    }
}

fn line(row: &Row, laid: &[Laid], theme: Theme) -> Line<'static> {
    let mut spans = Vec::new();
    for column in laid {
        if !spans.is_empty() {
            spans.push(Span::raw(" "));
        }
        let Some(cell) = row.cells.get(column.at) else { continue };
        let text = shortened(&shown(cell, column.is_short), column.width);
        let free = " ".repeat(column.width.saturating_sub(text.width()));
        let text = match column.column {
            Column::Right(_) => format!("{free}{text}"),
            Column::Left(_) | Column::About => format!("{text}{free}"),
        };
        let style = cell.tone.map(|tone| theme.tone(tone)).unwrap_or_default();
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

fn shown(cell: &Cell, is_short: bool) -> String {
    plain(if is_short { &cell.short } else { &cell.text }).replace('\n', " ")
}
