//! Finished items as lines.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    Moment,
    block::{block, brief},
};
use crate::{
    print::{number::time, palette::Tone},
    tui::{
        markdown,
        state::{
            blocks::Blocks,
            item::{CallEnd, FinishedCall, Item},
        },
        text::{cut, plain, span, wrapped},
        theme::Theme,
    },
};

/// How many lines of a change are shown in the conversation.
const MOST_CHANGED: usize = 12;

/// The lines of an item.
pub(super) fn lines(item: &Item, blocks: &Blocks, moment: &Moment) -> Vec<Line<'static>> {
    let theme = moment.theme;
    match item {
        Item::User(text) => user(text, moment),
        Item::Answer(piece) => {
            let blank = piece.is_first.then(Line::default);
            let text = markdown::lines(piece, moment.width().saturating_sub(2), theme);
            blank.into_iter().chain(text.into_iter().map(indented)).collect()
        }
        Item::Call(call) => finished_call(call, moment),
        Item::Agent(agent) => {
            let is_unfolded = blocks.is_unfolded(&agent.id);
            if agent.is_crowded && !is_unfolded {
                return vec![brief(agent, moment)];
            }
            block(agent, is_unfolded, moment)
        }
        Item::Notice { tone, text } => {
            let style = theme.tone(*tone);
            let rows = plain(text);
            let rows = rows.lines().map(|row| (hang(row), Line::styled(row.to_owned(), style)));
            rows.flat_map(|(hang, row)| wrapped(row, moment.width(), hang)).collect()
        }
    }
}

/// Where the rest of a line that is broken begins: below its second column, if it has two.
fn hang(row: &str) -> usize {
    let indent = row.len() - row.trim_start().len();
    let gap = row.get(indent..).and_then(|text| text.find("  "));
    let Some(gap) = gap.filter(|_| indent > 0) else { return 2 };
    let (name, rest) = row.split_at(indent + gap);
    name.width() + rest.len() - rest.trim_start().len()
}

/// A line of an answer, a little to the right.
pub(super) fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw("  "));
    line
}

fn user(text: &str, moment: &Moment) -> Vec<Line<'static>> {
    let style = moment.theme.user();
    let mut shown = vec![Line::default()];
    for (row, line) in plain(text.trim_end()).lines().enumerate() {
        let mark = if row == 0 { "› " } else { "  " };
        let line =
            Line::from(vec![Span::styled(mark, style), Span::styled(line.to_owned(), style)]);
        shown.extend(wrapped(line, moment.width(), 2));
    }
    shown
}

fn finished_call(call: &FinishedCall, moment: &Moment) -> Vec<Line<'static>> {
    let mut lines = vec![cut(call_line(call, moment.theme), moment.width())];
    if let CallEnd::Failed(_, problem) | CallEnd::Refused(problem) = &call.end {
        let bad = moment.theme.tone(Tone::Bad);
        let problem = plain(problem);
        let rows = problem.lines().take(3).map(|row| Line::styled(format!("  {row}"), bad));
        lines.extend(rows.flat_map(|row| wrapped(row, moment.width(), 2)).take(4));
    }
    lines.extend(diff(&call.diff, moment));
    lines
}

/// A call in one line.
pub(super) fn call_line(call: &FinishedCall, theme: Theme) -> Line<'static> {
    let (mark, tone, how) = match &call.end {
        CallEnd::Done(took) => ("✓", Tone::Good, time(*took)),
        CallEnd::Failed(took, _) => ("✗", Tone::Bad, format!("failed after {}", time(*took))),
        CallEnd::Refused(_) => ("✗", Tone::Bad, "refused".to_owned()),
    };
    Line::from(vec![
        Span::styled(mark, theme.tone(tone)),
        Span::raw(" "),
        span(&call.what, Style::new()),
        Span::styled(format!("  {how}"), theme.tone(Tone::Faint)),
    ])
}

/// The beginning of a change.
fn diff(changed: &[String], moment: &Moment) -> Vec<Line<'static>> {
    let shown = changed.iter().take(MOST_CHANGED).map(|line| {
        let line = markdown::diff_line(&plain(line), moment.theme);
        cut(Line::from(vec![Span::raw("    "), line]), moment.width())
    });
    let mut lines: Vec<Line<'static>> = shown.collect();
    let left = changed.len().saturating_sub(MOST_CHANGED);
    if left > 0 {
        let text = format!("    … {left} more lines; /diff shows all changes");
        lines.push(cut(Line::styled(text, moment.theme.tone(Tone::Faint)), moment.width()));
    }
    lines
}
