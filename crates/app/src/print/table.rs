//! Tables: they fit the terminal, and are plain and whole in a pipe.

use std::io::IsTerminal as _;

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets,
};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::harmless;

/// Blanks between two columns.
const GAP: usize = 2;

/// A field of a table: one line of text.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    text: String,
    color: Option<Color>,
    side: Side,
}

/// Where a field stands in its column; its heading stands where the first row's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// What happens to a row that is wider than the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Overflow<'a> {
    /// Its fields are broken into lines, but for those of these columns.
    Wrap { whole: &'a [usize] },
    /// Its fields are cut, in this order of columns, each down to a least width; if that is not
    /// enough, the last column is left out.
    Cut { order: &'a [(usize, usize)] },
}

impl Field {
    /// A field without colour.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        let line = text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { text: harmless(&line).into_owned(), color: None, side: Side::Left }
    }

    /// The same in a colour.
    pub(crate) fn colored(self, color: Color) -> Self {
        Self { color: Some(color), ..self }
    }

    /// The same at the right of its column, as numbers stand.
    pub(crate) fn right(self) -> Self {
        Self { side: Side::Right, ..self }
    }

    /// The same, cut to so many columns of the terminal.
    pub(crate) fn cut(self, width: usize) -> Self {
        Self { text: cut(&self.text, width), ..self }
    }

    fn cell(&self) -> Cell {
        let cell = self.side.set(Cell::new(&self.text));
        match self.color {
            Some(color) => cell.fg(color),
            None => cell,
        }
    }
}

impl Side {
    fn set(self, cell: Cell) -> Cell {
        match self {
            Self::Left => cell,
            Self::Right => cell.set_alignment(CellAlignment::Right),
        }
    }
}

/// A table with those headings.
pub(crate) fn render(
    headings: &[&str],
    mut rows: Vec<Vec<Field>>,
    overflow: Overflow<'_>,
) -> String {
    let terminal = std::io::stdout().is_terminal();
    let mut headings: Vec<&str> = headings.to_vec();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // The printer takes the colours off where they do not belong.
    table.enforce_styling();
    if terminal
        && let Overflow::Cut { order } = overflow
        && let Some(width) = table.width()
    {
        fit(&mut headings, &mut rows, order, usize::from(width));
    }
    table.set_header(headings.iter().enumerate().map(|(column, heading)| {
        let side = rows.first().and_then(|row| row.get(column)).map_or(Side::Left, |it| it.side);
        side.set(Cell::new(heading).add_attribute(Attribute::Bold))
    }));
    match overflow {
        Overflow::Wrap { whole } if terminal => {
            table.set_content_arrangement(ContentArrangement::Dynamic);
            for column in whole {
                if let Some(column) = table.column_mut(*column) {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
        Overflow::Wrap { .. } | Overflow::Cut { .. } => {
            table.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    for row in &rows {
        table.add_row(row.iter().map(Field::cell));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let plain = |line: &str| anstream::adapter::strip_str(line).to_string().trim_end().to_owned();
    let lines: Vec<String> =
        table.lines().map(|line| if terminal { line } else { plain(&line) }).collect();
    lines.join("\n")
}

/// Cuts fields until every row fits.
fn fit(
    headings: &mut Vec<&str>,
    rows: &mut [Vec<Field>],
    order: &[(usize, usize)],
    terminal: usize,
) {
    let mut widths: Vec<usize> = Vec::new();
    while headings.len() > 1 {
        let columns = headings.iter().enumerate();
        let natural = columns.map(|(index, heading)| {
            let fields = rows.iter().filter_map(|row| row.get(index));
            fields.map(|field| field.text.width()).max().unwrap_or_default().max(heading.width())
        });
        widths = natural.collect();
        let mut over = (widths.iter().sum::<usize>() + GAP * widths.len()).saturating_sub(terminal);
        for (column, least) in order {
            if let Some(width) = widths.get_mut(*column) {
                let given = over.min(width.saturating_sub(*least));
                *width -= given;
                over -= given;
            }
        }
        if over == 0 {
            break;
        }
        headings.pop();
        for row in rows.iter_mut() {
            row.truncate(headings.len());
        }
    }
    for row in rows {
        for (field, width) in row.iter_mut().zip(&widths) {
            *field = field.clone().cut(*width);
        }
    }
}

/// As much of somebody's text as fits on one line of so many columns.
pub(crate) fn clip(text: &str, width: usize) -> String {
    let text = harmless(text);
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), width)
}

/// As much of a line as fits into so many columns of the terminal.
fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = line.chars().take_while(|letter| {
        used += letter.width().unwrap_or_default();
        used <= width
    });
    let mut shown: String = fits.collect();
    shown.truncate(shown.trim_end().len());
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_of_the_terminal() {
        assert_eq!(cut("four", 4), "four");
        assert_eq!(cut("a longer line", 9), "a longer…");
        assert_eq!(cut("数据库专家", 5), "数据…");
        assert_eq!(Field::new("one\n two\u{1b}[31m").text, "one two\u{fffd}[31m");
    }

    #[test]
    fn columns_give_way_in_order_and_the_last_one_goes() {
        let row = |texts: [&str; 3]| texts.map(Field::new).to_vec();
        let fitted = |terminal: usize| {
            let mut headings = vec!["NAME", "TOOLS", "DESCRIPTION"];
            let mut rows = vec![
                row(["reviewer", "read_file, grep_files", "Reviews what was changed"]),
                row(["x", "none", "Short"]),
            ];
            fit(&mut headings, &mut rows, &[(2, 12), (1, 8), (0, 6)], terminal);
            let texts = rows.iter().map(|row| {
                row.iter().map(|field| field.text.clone()).collect::<Vec<_>>().join("|")
            });
            texts.collect::<Vec<_>>()
        };
        assert_eq!(fitted(100)[0], "reviewer|read_file, grep_files|Reviews what was changed");
        assert_eq!(fitted(50)[0], "reviewer|read_file, grep_files|Reviews what w…");
        assert_eq!(fitted(40)[0], "reviewer|read_file, gr…|Reviews wha…");
        assert_eq!(fitted(28), ["reviewer|read_file, grep…", "x|none"]);
        assert_eq!(fitted(5)[0], "revie…");
    }
}
