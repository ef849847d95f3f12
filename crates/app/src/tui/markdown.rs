//! Markdown as lines of styled text, line by line, so that an answer can be shown while it arrives.
//!
//! Headings, lists, quotes, rules, tables, code blocks, and inside of a line code, bold, italics and
//! links. What is not understood is shown as it was written.

mod code;
mod inline;
mod printed;
mod table;

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

pub(crate) use self::{code::diff_line, printed::printed};
use self::{code::highlighted, inline::inline};
use super::{
    state::{item::Piece, stream::fence_after},
    text::{Break, plain, wrapped, wrapped_after},
    theme::Theme,
};
use crate::print::palette::Tone;

/// The lines of a piece of an answer.
pub(crate) fn lines(piece: &Piece, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut fence = piece.fence.clone();
    let mut shown = Vec::new();
    let text = plain(&piece.text);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let before = fence.clone();
        fence_after(&mut fence, line);
        match (&before, &fence) {
            (Some(language), Some(_)) => {
                let bar = Span::styled("│ ", theme.tone(Tone::Faint));
                let mut code = highlighted(line, language, theme);
                code.spans.insert(0, bar.clone());
                shown.extend(wrapped_after(code, width, &bar, Break::Anywhere));
            }
            (None, Some(language)) => {
                let name = if language.is_empty() { String::new() } else { format!(" {language}") };
                shown.push(Line::styled(format!("╭─{name}"), theme.tone(Tone::Faint)));
            }
            (Some(_), None) => shown.push(Line::styled("╰─", theme.tone(Tone::Faint))),
            (None, None) if table::is_row(line) => {
                let mut rows = vec![line.to_owned()];
                while let Some(row) = lines.next_if(|line| table::is_row(line)) {
                    rows.push(row.to_owned());
                }
                shown.extend(table::lines(&rows, width, theme));
            }
            (None, None) => shown.extend(paragraph(line, width, theme)),
        }
    }
    shown
}

/// A line outside of code and tables.
fn paragraph(line: &str, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let indent = line.len() - line.trim_start().len();
    let body = line.trim();
    let bold = theme.tone(Tone::Strong);
    let level = body.chars().take_while(|letter| *letter == '#').count();
    if let Some(heading) = body.get(level..).and_then(|rest| rest.strip_prefix(' '))
        && (1..=6).contains(&level)
    {
        let style = if level == 1 { bold.add_modifier(Modifier::UNDERLINED) } else { bold };
        return wrapped(inline(heading.trim_end_matches(" #"), style, theme), width, 0);
    }
    let is_rule = |mark: char| body.len() >= 3 && body.chars().all(|letter| letter == mark);
    if is_rule('-') || is_rule('*') || is_rule('_') {
        return vec![Line::styled("─".repeat(width.min(40)), theme.tone(Tone::Faint))];
    }
    if let Some(quoted) = body.strip_prefix('>') {
        let faint = theme.tone(Tone::Faint);
        let mut line = inline(quoted.trim_start(), faint, theme);
        line.spans.insert(0, Span::styled("▌ ", faint));
        return wrapped(line, width, 2);
    }
    let (mark, rest) = match list_item(body) {
        Some((mark, rest)) => (mark, rest),
        None => (String::new(), body),
    };
    let mut line = inline(rest, Style::new(), theme);
    let hang = indent + mark.chars().count();
    line.spans
        .insert(0, Span::styled(format!("{}{mark}", " ".repeat(indent)), theme.tone(Tone::Name)));
    wrapped(line, width, hang)
}

/// The mark of a list's item, and what follows it.
fn list_item(body: &str) -> Option<(String, &str)> {
    for bullet in ["- ", "* ", "+ "] {
        if let Some(rest) = body.strip_prefix(bullet) {
            let done = rest.strip_prefix("[x] ").or_else(|| rest.strip_prefix("[X] "));
            return Some(match (done, rest.strip_prefix("[ ] ")) {
                (Some(done), _) => ("☑ ".to_owned(), done),
                (None, Some(open)) => ("☐ ".to_owned(), open),
                (None, None) => ("• ".to_owned(), rest),
            });
        }
    }
    let digits = body.chars().take_while(char::is_ascii_digit).count();
    let rest = body.get(digits..)?;
    let rest = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=3)
        .contains(&digits)
        .then(|| (format!("{}. ", body.get(..digits).unwrap_or_default()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::palette::Colours;

    fn shown(text: &str, width: usize) -> Vec<String> {
        let piece = Piece { text: text.to_owned(), fence: None, is_first: true };
        lines(&piece, width, Theme::new(Colours::On)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_kind_of_line_is_laid_out() {
        assert_eq!(
            shown(
                "# Title\n\n- one **two**\n  - [x] done\n1. `x`\n> said\n---\nsee [it](http://x)",
                40
            ),
            [
                "Title",
                "",
                "• one two",
                "  ☑ done",
                "1. x",
                "▌ said",
                &"─".repeat(40),
                "see it (http://x)",
            ]
        );
    }

    #[test]
    fn code_is_framed_and_keeps_its_blanks() {
        assert_eq!(
            shown("```rust\n  let a = *b * c;\n```", 40),
            ["╭─ rust", "│   let a = *b * c;", "╰─"]
        );
        assert_eq!(
            shown("```rust\n  let a = *b * c;\n```", 14),
            ["╭─ rust", "│   let a = *b", "│  * c;", "╰─"]
        );
    }

    #[test]
    fn a_table_has_columns() {
        assert_eq!(
            shown("| a | long name |\n|---|---:|\n| x | 1 |", 40),
            ["a │ long name", "──┼──────────", "x │         1"]
        );
    }

    #[test]
    fn a_table_that_is_too_wide_loses_nothing() {
        assert_eq!(
            shown(
                "| a | what it says |\n|---|:---:|\n| x | one two three four |\n| 数据 | 五 |",
                17
            ),
            [
                "a    │  what it",
                "     │    says",
                "─────┼───────────",
                "x    │  one two",
                "     │ three four",
                "数据 │     五",
            ]
        );
    }

    #[test]
    fn what_is_not_markdown_stays_as_it_is() {
        for text in ["2 * 3 * 4", "snake_case_name", "a ** b", "#hash", "`open", "[x]", "1.5 m"] {
            assert_eq!(shown(text, 40), [text]);
        }
    }
}
