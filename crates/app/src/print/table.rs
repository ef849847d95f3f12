//! Tables: columns that fit the terminal, and plain ones in a pipe.

use std::io::IsTerminal as _;

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Table, presets};

/// A table with those headings. Columns named in `fixed` keep their width.
pub(crate) fn render(headings: &[&str], rows: Vec<Vec<Cell>>, fixed: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // The printer takes the colours off where they do not belong.
    table.enforce_styling();
    table.set_header(
        headings.iter().map(|heading| Cell::new(heading).add_attribute(Attribute::Bold)),
    );
    if std::io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        for index in fixed {
            if let Some(column) = table.column_mut(*index) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let plain = |line: &str| anstream::adapter::strip_str(line).to_string().trim_end().to_owned();
    let terminal = std::io::stdout().is_terminal();
    let lines: Vec<String> =
        table.lines().map(|line| if terminal { line } else { plain(&line) }).collect();
    lines.join("\n")
}

/// As much of a text as fits on a line of that many characters.
pub(crate) fn clip(text: &str, width: usize) -> String {
    let text = super::printable(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= width {
        return line;
    }
    let mut clipped: String = line.chars().take(width.saturating_sub(1)).collect();
    clipped.truncate(clipped.trim_end().len());
    clipped.push('…');
    clipped
}
