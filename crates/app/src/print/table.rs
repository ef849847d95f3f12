//! Tables: they fit the terminal, and are plain and whole in a pipe.
//!
//! What does not fit shrinks by worth: values wrap, columns that matter least go, and where even that is
//! not enough each row becomes a block of lines. No column is ever narrower than can be read.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{
    palette::{Tone, paint},
    visible::one_line,
    writer::Stream,
};

/// Blanks between two columns.
const GAP: usize = 2;
/// The least width of a column whose values wrap.
const LEAST: usize = 14;
/// How many lines a value that may be cut has.
const MOST_LINES: usize = 2;

/// A field of a table: one line of text.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    text: String,
    tone: Option<Tone>,
    side: Side,
}

/// Where a field stands in its column; its heading stands where the first row's does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// What happens to rows that are wider than the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Overflow<'a> {
    /// Values wrap onto as many lines as they need, but for those of these columns.
    Wrap { whole: &'a [usize] },
    /// In this order, columns shrink to a least width and their values wrap onto a second line; a column
    /// whose least width is 0 is left out.
    Cut { order: &'a [(usize, usize)] },
}

impl Field {
    /// A field without colour.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: one_line(text.as_ref()), tone: None, side: Side::Left }
    }

    /// The same in a colour.
    pub(crate) fn toned(self, tone: Tone) -> Self {
        Self { tone: Some(tone), ..self }
    }

    /// The same at the right of its column, as numbers stand.
    pub(crate) fn right(self) -> Self {
        Self { side: Side::Right, ..self }
    }

    /// The same, cut to this many columns.
    pub(crate) fn cut(self, width: usize) -> Self {
        Self { text: cut(&self.text, width), ..self }
    }
}

/// A table with those headings, for standard output.
pub(crate) fn render(headings: &[&str], rows: &[Vec<Field>], overflow: Overflow<'_>) -> String {
    let terminal = Stream::Out.is_terminal();
    let columns = terminal.then(|| Stream::Out.width()).flatten();
    laid_out(headings, rows, overflow, columns)
}

/// A table for a terminal of this width; `None` is a pipe.
fn laid_out(
    headings: &[&str],
    rows: &[Vec<Field>],
    overflow: Overflow<'_>,
    columns: Option<usize>,
) -> String {
    let natural: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(index, heading)| {
            let fields = rows.iter().filter_map(|row| row.get(index));
            fields.map(|field| field.text.width()).max().unwrap_or_default().max(heading.width())
        })
        .collect();
    let most_lines = match overflow {
        Overflow::Wrap { .. } => usize::MAX,
        Overflow::Cut { .. } => MOST_LINES,
    };
    let widths = match columns {
        None => Some(natural.iter().copied().map(Some).collect()),
        Some(columns) => fitted(&natural, overflow, columns),
    };
    match (widths, columns) {
        (Some(widths), _) => grid(headings, rows, &widths, most_lines),
        (None, columns) => blocks(headings, rows, columns.unwrap_or(usize::MAX)),
    }
}

/// The width of each column, `None` for a column that is left out; `None` if the rows cannot fit.
fn fitted(natural: &[usize], overflow: Overflow<'_>, columns: usize) -> Option<Vec<Option<usize>>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    let total = |widths: &[Option<usize>]| {
        let sum: usize = widths.iter().flatten().map(|width| width + GAP).sum();
        sum.saturating_sub(GAP)
    };
    match overflow {
        Overflow::Wrap { whole } => {
            while total(&widths) > columns {
                let shrinks =
                    widths.iter_mut().enumerate().filter(|(index, _)| !whole.contains(index));
                let widest = shrinks.filter_map(|(_, width)| width.as_mut()).max()?;
                if *widest <= LEAST {
                    return None;
                }
                *widest -= 1;
            }
        }
        Overflow::Cut { order } => {
            for (column, least) in order {
                let over = total(&widths).saturating_sub(columns);
                let Some(slot) = widths.get_mut(*column).filter(|_| over > 0) else { continue };
                *slot = match *slot {
                    Some(_) if *least == 0 => None,
                    Some(width) => Some(width - over.min(width.saturating_sub(*least))),
                    None => None,
                };
            }
            let spare = columns.checked_sub(total(&widths))?;
            give_back(&mut widths, natural, order, spare);
        }
    }
    Some(widths)
}

/// What a column that was left out has freed goes to those that had shrunk before it.
fn give_back(
    widths: &mut [Option<usize>],
    natural: &[usize],
    order: &[(usize, usize)],
    mut spare: usize,
) {
    for (column, _) in order.iter().rev() {
        if let (Some(Some(width)), Some(natural)) = (widths.get_mut(*column), natural.get(*column))
        {
            let given = spare.min(natural.saturating_sub(*width));
            *width += given;
            spare -= given;
        }
    }
}

fn grid(
    headings: &[&str],
    rows: &[Vec<Field>],
    widths: &[Option<usize>],
    most_lines: usize,
) -> String {
    let heading = |column: usize, heading: &&str| Field {
        text: (*heading).to_owned(),
        tone: Some(Tone::Strong),
        side: rows.first().and_then(|row| row.get(column)).map_or(Side::Left, |field| field.side),
    };
    let head: Vec<Field> =
        headings.iter().enumerate().map(|(column, text)| heading(column, text)).collect();
    let mut lines = Vec::new();
    for row in std::iter::once(&head).chain(rows) {
        let cells: Vec<(&Field, usize, Vec<String>)> = row
            .iter()
            .zip(widths)
            .filter_map(|(field, width)| {
                let width = (*width)?;
                Some((field, width, wrapped(&field.text, width, most_lines)))
            })
            .collect();
        let height = cells.iter().map(|(_, _, lines)| lines.len()).max().unwrap_or_default();
        lines.extend((0..height).map(|line| row_line(&cells, line)));
    }
    lines.join("\n")
}

/// One line of a row, without blanks at its end.
fn row_line(cells: &[(&Field, usize, Vec<String>)], line: usize) -> String {
    let mut text = String::new();
    let mut pending = 0;
    for (field, width, lines) in cells {
        let part = lines.get(line).map_or("", String::as_str);
        let free = width.saturating_sub(part.width());
        let (before, after) = match field.side {
            Side::Left => (0, free),
            Side::Right => (free, 0),
        };
        pending += before;
        if !part.is_empty() {
            text.push_str(&" ".repeat(pending));
            pending = 0;
            text.push_str(&field.tone.map_or_else(|| part.to_owned(), |tone| paint(tone, part)));
        }
        pending += after + GAP;
    }
    text
}

/// Each row as a block: the first value, and below it the others with their headings.
fn blocks(headings: &[&str], rows: &[Vec<Field>], columns: usize) -> String {
    let label = headings.iter().skip(1).map(|heading| heading.width()).max().unwrap_or_default();
    let room = columns.saturating_sub(label + 4).max(LEAST.min(columns.max(1)));
    let toned = |field: &Field, text: &str| {
        field.tone.map_or_else(|| text.to_owned(), |tone| paint(tone, text))
    };
    let mut lines = Vec::new();
    for row in rows {
        let mut fields = row.iter().zip(headings);
        if let Some((first, _)) = fields.next() {
            let name = wrapped(&first.text, columns.max(1), usize::MAX);
            lines.extend(name.iter().map(|part| toned(first, part)));
        }
        for (field, heading) in fields.filter(|(field, _)| !field.text.is_empty()) {
            let mut name = heading.to_lowercase();
            for part in wrapped(&field.text, room, usize::MAX) {
                let shown = paint(Tone::Faint, &name);
                let blanks = " ".repeat(label.saturating_sub(name.width()) + 2);
                lines.push(format!("  {shown}{blanks}{}", toned(field, &part)));
                name.clear();
            }
        }
    }
    lines.join("\n")
}

/// A line broken at blanks, and inside of words that are too long; what goes beyond the last line is cut.
fn wrapped(line: &str, width: usize, most_lines: usize) -> Vec<String> {
    if line.width() <= width {
        return vec![line.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        if lines.len() + 1 >= most_lines || width == 0 {
            lines.push(cut(rest, width));
            break;
        }
        let (part, after) = rest.split_at(break_at(rest, width));
        lines.push(part.trim_end().to_owned());
        rest = after.trim_start();
    }
    lines
}

/// Where a line is broken: after the last blank, comma or slash that fits, else wherever it is full.
fn break_at(line: &str, width: usize) -> usize {
    let mut used = 0;
    let mut good = None;
    for (at, letter) in line.char_indices() {
        used += letter.width().unwrap_or_default();
        if used > width {
            // A blank itself need not fit.
            return match good {
                _ if letter == ' ' => at,
                Some(good) if good * 3 >= at => good,
                _ => at.max(line.chars().next().map_or(1, char::len_utf8)),
            };
        }
        if matches!(letter, ' ' | ',' | '/') {
            good = Some(at + letter.len_utf8());
        }
    }
    line.len()
}

/// A text on one line, made visible and cut to this many columns.
pub(crate) fn clip(text: &str, width: usize) -> String {
    cut(&one_line(text), width)
}

/// A line cut to this many columns.
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
    use crate::print::palette::unpainted;

    fn plain(columns: usize, overflow: Overflow<'_>) -> String {
        let row = |texts: [&str; 3]| texts.map(Field::new).to_vec();
        let rows = vec![
            row(["reviewer", "read_file, grep_files", "Reviews what was changed"]),
            row(["x", "none", "Short"]),
        ];
        unpainted(&laid_out(&["NAME", "TOOLS", "DESCRIPTION"], &rows, overflow, Some(columns)))
    }

    #[test]
    fn a_line_is_cut_by_columns_of_the_terminal() {
        assert_eq!(cut("four", 4), "four");
        assert_eq!(cut("a longer line", 9), "a longer…");
        assert_eq!(cut("数据库专家", 5), "数据…");
        assert_eq!(Field::new("one\n two\u{1b}[31m").text, "one two\\u001b[31m");
    }

    #[test]
    fn columns_go_by_worth_and_values_wrap() {
        let overflow = Overflow::Cut { order: &[(1, 0), (2, 12), (0, 6)] };
        assert_eq!(
            plain(60, overflow),
            "NAME      TOOLS                  DESCRIPTION\n\
             reviewer  read_file, grep_files  Reviews what was changed\n\
             x         none                   Short"
        );
        assert_eq!(
            plain(30, overflow),
            "NAME      DESCRIPTION\nreviewer  Reviews what was\n          changed\nx         Short"
        );
        assert_eq!(
            plain(18, Overflow::Cut { order: &[(2, 12), (0, 8)] }).lines().next(),
            Some("reviewer")
        );
    }

    #[test]
    fn values_wrap_whole_where_none_may_be_lost() {
        let overflow = Overflow::Wrap { whole: &[0] };
        assert_eq!(
            plain(44, overflow),
            "NAME      TOOLS             DESCRIPTION\n\
             reviewer  read_file,        Reviews what was\n\
             \x20         grep_files        changed\n\
             x         none              Short"
        );
        let narrow = plain(30, overflow);
        assert!(narrow.starts_with("reviewer\n  tools        "), "{narrow}");
        for line in narrow.lines() {
            assert!(line.width() <= 30, "{line}");
        }
        for word in ["read_file,", "grep_files", "Reviews", "changed", "Short"] {
            assert!(narrow.contains(word), "{word} is lost: {narrow}");
        }
    }

    #[test]
    fn a_pipe_gets_whole_rows() {
        let rows = vec![vec![Field::new("a b"), Field::new("1").right()]];
        let table = laid_out(&["NAME", "COUNT"], &rows, Overflow::Wrap { whole: &[] }, None);
        assert_eq!(unpainted(&table), "NAME  COUNT\na b       1");
    }
}
