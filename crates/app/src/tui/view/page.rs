//! Full screens: a title, the text or the list, and the keys.

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::{
    Moment, list,
    parts::{Gaps, Part, fitting},
};
use crate::{
    print::palette::{Tone, toned},
    tui::{
        screen::Frame,
        state::page::{HANG, ListKind, ListPage, Page, Row, TextPage, room},
        text::{cut, plain, wrapped},
        theme::Theme,
    },
};

/// The fewest lines of a page: title, rule, a row, keys.
pub(super) const FEWEST: usize = 4;

/// A page that fills the screen, or what a question leaves of it.
pub(super) fn frame(page: &Page, is_asked: bool, moment: &Moment) -> Frame {
    match page {
        Page::Text(page) => text(page, moment),
        Page::List(list) => listed(list, is_asked, moment),
    }
}

fn text(page: &TextPage, moment: &Moment) -> Frame {
    let room = room(moment.size);
    let height = usize::from(room.height);
    let last = page.last(room);
    let from = if page.follows { last } else { page.scroll.min(last) };
    let mut body: Vec<Line<'static>> = Vec::new();
    let mut end = from;
    for line in page.lines.iter().skip(from) {
        if body.len() >= height {
            break;
        }
        end += 1;
        body.extend(wrapped(painted(line, moment.theme), moment.width(), HANG));
    }
    if page.follows {
        let over = body.len().saturating_sub(height);
        body.drain(..over);
    }
    body.truncate(height);
    let all = page.lines.len();
    let mut keys = vec![Part::new(8, [&format!("{end} of {all} lines"), &format!("{end}/{all}")])];
    if page.run.is_some() {
        keys.push(Part::new(6, ["follows the run", "follows"]));
    }
    keys.push(Part::new(5, ["↑ ↓ PgUp PgDn Home End", "↑ ↓ PgUp PgDn", "↑ ↓"]));
    keys.push(Part::new(9, ["q goes back", "q back"]));
    framed(&page.title, body, keys, moment)
}

fn listed(list: &ListPage, is_asked: bool, moment: &Moment) -> Frame {
    let room = usize::from(room(moment.size).height);
    let first = (list.chosen + 1).saturating_sub(room);
    let shown: Vec<&Row> = list.rows.iter().skip(first).take(room).collect();
    let columns = list::columns(list.kind);
    let lines = list::lines(&shown, columns, moment.width().saturating_sub(2), moment.theme);
    let mut body: Vec<Line<'static>> = lines
        .into_iter()
        .enumerate()
        .map(|(at, mut line)| {
            let is_chosen = first + at == list.chosen;
            let mark = if is_chosen { "▸ " } else { "  " };
            line.spans.insert(0, Span::styled(mark, moment.theme.tone(Tone::Name)));
            if is_chosen {
                line.spans.iter_mut().for_each(|span| {
                    span.style = span.style.add_modifier(Modifier::BOLD | Modifier::REVERSED);
                });
            }
            cut(line, moment.width())
        })
        .collect();
    if body.is_empty() {
        body.push(Line::styled("  nothing yet", moment.theme.tone(Tone::Faint)));
    }
    let (title, mut keys) = keys(list.kind);
    if is_asked && list.kind == ListKind::Tasks {
        // The letter answers the question.
        keys.remove(STOP);
    }
    let Some(words) = &list.message else { return framed(title, body, keys, moment) };
    let label = " message: ";
    // Its end is always seen.
    let typed = tail(&plain(words), moment.width().saturating_sub(label.width() + 1));
    let column = label.width() + typed.width();
    let mut frame = framed(title, body, Vec::new(), moment);
    if let Some(last) = frame.lines.last_mut() {
        *last = Line::from(vec![
            Span::styled(label, moment.theme.tone(Tone::Warning)),
            Span::raw(typed),
        ]);
    }
    let row = u16::try_from(frame.lines.len().saturating_sub(1)).unwrap_or_default();
    frame.cursor = Some((u16::try_from(column).unwrap_or(u16::MAX), row));
    frame
}

/// Where the key that stops a run is among those of the board.
const STOP: usize = 1;

/// The title of a list, and its keys.
fn keys(kind: ListKind) -> (&'static str, Vec<Part>) {
    match kind {
        ListKind::Tasks => (
            "Tasks",
            vec![
                Part::new(8, ["Enter follow", "Enter"]),
                Part::new(7, ["s stop", "s stop", "s"]),
                Part::new(6, ["m message", "m msg", "m"]),
                Part::new(5, ["g background", "g bg", "g"]),
                Part::new(4, ["r resume", "r res", "r"]),
                Part::new(3, ["b branch", "b"]),
                // With a longer word the keys do not fit into 80 columns.
                Part::new(9, ["q back", "q"]),
            ],
        ),
        ListKind::Conversations => (
            "Conversations",
            vec![
                Part::new(8, ["Enter resume"]),
                Part::new(7, ["t transcript", "t text"]),
                Part::new(9, ["q close", "q"]),
            ],
        ),
        ListKind::Agents => (
            "Agents",
            vec![
                Part::new(8, ["Enter show", "Enter"]),
                Part::new(7, ["t try it", "t try"]),
                Part::new(6, ["e edit"]),
                Part::new(9, ["q close", "q"]),
            ],
        ),
    }
}

/// The end of a text that is being typed.
fn tail(text: &str, width: usize) -> String {
    let mut used = 0;
    let shown = text.chars().rev().take_while(|letter| {
        used += letter.to_string().width();
        used <= width
    });
    let count = shown.count();
    text.chars().skip(text.chars().count() - count).collect()
}

fn framed(title: &str, body: Vec<Line<'static>>, keys: Vec<Part>, moment: &Moment) -> Frame {
    let theme = moment.theme;
    let title = Line::styled(format!(" {}", plain(title)), theme.tone(Tone::Strong));
    let mut lines = vec![cut(title, moment.width())];
    lines.push(Line::styled("─".repeat(moment.width()), theme.tone(Tone::Faint)));
    lines.extend(body);
    lines.resize(moment.height().saturating_sub(1).max(2), Line::default());
    let keys = fitting(keys, Gaps::Wide, moment.width());
    lines.push(cut(Line::styled(keys, theme.tone(Tone::Faint)), moment.width()));
    Frame { lines, cursor: None }
}

/// A painted line as a styled one.
fn painted(text: &str, theme: Theme) -> Line<'static> {
    let pieces = toned(text).into_iter().map(|(tone, piece)| {
        let style = tone.map(|tone| theme.tone(tone)).unwrap_or_default();
        Span::styled(plain(piece).replace('\n', " "), style)
    });
    Line::from(pieces.collect::<Vec<_>>())
}
