//! A question about a call: who asks, what for, why, and the keys that answer.

use ratatui::{
    style::Style,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::Moment;
use crate::{
    print::{number::count, palette::Tone},
    tui::{
        markdown,
        state::{
            State,
            question::{Asked, HANG, INDENT, Stage},
        },
        text::{cut, first_line, plain, shortened, span, wrapped},
    },
};

/// How much of an agent's task is shown.
const MOST_ABOUT: usize = 60;
/// How many lines a full screen keeps above a question: title, rule, four rows, keys.
const KEPT: usize = 7;
/// How much of a change is shown, however little room there is.
const LEAST: usize = 3;

/// The lines of a question, and where the cursor is in them.
pub(super) fn lines(
    asked: &Asked,
    state: &State,
    moment: &Moment,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let theme = moment.theme;
    let warning = theme.tone(Tone::Warning);
    let width = moment.width();
    let question = &asked.question;
    let is_value = matches!(asked.stage, Stage::Value { .. });
    let mut lines = vec![Line::styled("─".repeat(width), warning)];
    let mut head = vec![
        Span::styled("[", theme.tone(Tone::Name)),
        span(question.agent_type.as_str(), theme.tone(Tone::Name)),
        Span::styled("]", theme.tone(Tone::Name)),
    ];
    let agent = state.session.agents.iter().find(|agent| agent.id == question.agent_id);
    if let Some(agent) = agent {
        let about = shortened(&first_line(&agent.description), MOST_ABOUT);
        head.push(span(&format!(" {about},"), Style::new()));
    }
    head.push(Span::raw(if is_value { " is asked by " } else { " asks to call " }));
    head.push(span(&question.tool.to_string(), theme.tone(Tone::Strong)));
    let all = &state.questions;
    let waiting = if all.len() > 1 { format!("1 of {}, ", all.len()) } else { String::new() };
    head.push(Span::styled(format!("  ({waiting}its clock is paused)"), warning));
    lines.extend(wrapped(Line::from(head), width, 2));
    let (end, cursor) = end(asked, state, moment);
    let mut room = asked.room(moment.size);
    if state.page.is_some() {
        // One more line says how much is left.
        let others = lines.len() + end.len() + 1 + KEPT;
        room = room.min(moment.height().saturating_sub(others)).max(LEAST);
    }
    lines.extend(preview(asked, room, state.page.is_some(), moment));
    let cursor = cursor.map(|(column, row)| (column, row + lines.len()));
    lines.extend(end);
    (lines, cursor)
}

/// What stands below what a question is about: why it is asked, and the keys; and where the cursor is in it.
fn end(
    asked: &Asked,
    state: &State,
    moment: &Moment,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let theme = moment.theme;
    let warning = theme.tone(Tone::Warning);
    let width = moment.width();
    let question = &asked.question;
    let mut lines = Vec::new();
    let justification = question.arguments.get("justification").and_then(|text| text.as_str());
    if let Some(words) = justification.filter(|words| !words.trim().is_empty()) {
        let line = vec![Span::raw("  the agent says: "), span(&first_line(words), Style::new())];
        lines.push(cut(Line::from(line), width));
    }
    let why = vec![Span::styled("  why: ", warning), span(&question.reason, Style::new())];
    lines.extend(wrapped(Line::from(why), width, 7));
    if let Some(next) = state.questions.get(1).map(|next| &next.question) {
        let text = format!("  then [{}] asks to call {}", next.agent_type, next.tool);
        lines.push(cut(Line::from(span(&text, theme.tone(Tone::Faint))), width));
    }
    let cursor = match &asked.stage {
        Stage::Choosing => {
            // On a full screen, Esc is a key of that.
            let stops = state.session.is_busy() && state.page.is_none();
            lines.extend(keys(asked, stops, moment));
            None
        }
        Stage::Words(words) => {
            let help = "  Enter refuses with these words, Esc goes back";
            Some(typing(&mut lines, ("words for the agent", words), help, moment))
        }
        Stage::Value { label, typed } => {
            let help = "  Enter sends it, Esc declines";
            Some(typing(&mut lines, (label, typed), help, moment))
        }
    };
    lines.push(Line::styled("─".repeat(width), warning));
    (lines, cursor)
}

/// A line that is being typed, and where the cursor is in it.
fn typing(
    lines: &mut Vec<Line<'static>>,
    (label, typed): (&str, &str),
    help: &'static str,
    moment: &Moment,
) -> (usize, usize) {
    let width = moment.width();
    let label = format!("  {}: ", plain(label));
    let typed = plain(typed);
    let column = (label.width() + typed.width()).min(width.saturating_sub(1));
    let warning = moment.theme.tone(Tone::Warning);
    lines.push(cut(Line::from(vec![Span::styled(label, warning), Span::raw(typed)]), width));
    let row = lines.len() - 1;
    lines.extend(wrapped(Line::styled(help, moment.theme.tone(Tone::Faint)), width, 2));
    (column, row)
}

/// As much of what a question is about as there is room for.
fn preview(asked: &Asked, room: usize, is_beside: bool, moment: &Moment) -> Vec<Line<'static>> {
    let rows = rows(asked, moment);
    let from = asked.scroll.min(rows.len().saturating_sub(room));
    let left = rows.len().saturating_sub(from + room);
    let mut lines: Vec<Line<'static>> = rows.into_iter().skip(from).take(room).collect();
    if left > 0 || from > 0 {
        let more = count(left as u64, "line");
        let text = match (left, is_beside) {
            (0, true) => "  the end".to_owned(),
            (0, false) => "  the end; ↑ ↓ move".to_owned(),
            (_, true) => format!("  … {more} more; q, then ↑ ↓ move"),
            (_, false) => format!("  … {more} more; v shows more, ↑ ↓ move"),
        };
        let faint = moment.theme.tone(Tone::Faint);
        lines.push(cut(Line::styled(text, faint), moment.width()));
    }
    lines
}

fn rows(asked: &Asked, moment: &Moment) -> Vec<Line<'static>> {
    let text = asked.about();
    let is_diff = text.lines().any(|line| line.starts_with("@@"));
    let rows = text.lines().flat_map(|line| {
        let shown = if is_diff {
            markdown::diff_line(line, moment.theme)
        } else {
            Span::styled(line.to_owned(), moment.theme.tone(Tone::Strong))
        };
        wrapped(Line::from(vec![Span::raw(INDENT), shown]), moment.width(), HANG)
    });
    rows.collect()
}

/// The keys; a narrow terminal gets them in several lines.
fn keys(asked: &Asked, stops: bool, moment: &Moment) -> Vec<Line<'static>> {
    let theme = moment.theme;
    let key = theme.tone(Tone::Strong);
    let covered = first_line(&asked.covered);
    let mut choices = vec![
        ("[y]", "es".to_owned()),
        ("[s]", format!("ession ({covered})")),
        ("[n]", "o".to_owned()),
        ("[a]", "bort".to_owned()),
    ];
    if stops {
        choices.push(("Esc", " stops the turn".to_owned()));
    }
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (letter, rest) in choices {
        let choice = [Span::styled(format!("  {letter}"), key), span(&rest, Style::new())];
        let width: usize = choice.iter().map(Span::width).sum();
        match lines.last_mut() {
            Some(line) if line.width() + width <= moment.width() => line.spans.extend(choice),
            _ => lines.push(Line::from(choice.to_vec())),
        }
    }
    lines.into_iter().flat_map(|line| wrapped(line, moment.width(), 4)).collect()
}
