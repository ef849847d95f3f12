//! Full screens: a title, the text or the list, and the keys.

use ratatui::{
    style::Modifier,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use super::Moment;
use crate::{
    print::palette::{Tone, toned},
    tui::{
        screen::Frame,
        state::page::{ListKind, ListPage, Page, TextPage},
        text::{cut, plain, wrapped},
        theme::Theme,
    },
};

/// The lines of a page that are not its text: title, rule, keys.
pub(crate) const FRAME_LINES: usize = 3;

/// A narrower terminal shows rows in their short form.
const NARROW: usize = 72;

/// A page that fills the screen.
pub(super) fn frame(page: &Page, moment: &Moment) -> Frame {
    match page {
        Page::Text(page) => text(page, moment),
        Page::List(list) => listed(list, moment),
    }
}

fn text(page: &TextPage, moment: &Moment) -> Frame {
    let room = moment.height().saturating_sub(FRAME_LINES).max(1);
    let last = page.lines.len().saturating_sub(room);
    let from = if page.follows { last } else { page.scroll.min(last) };
    let shown = page.lines.iter().skip(from);
    let mut body: Vec<Line<'static>> = Vec::new();
    for line in shown {
        if body.len() >= room {
            break;
        }
        body.extend(wrapped(painted(line, moment.theme), moment.width(), 4));
    }
    if page.follows {
        let over = body.len().saturating_sub(room);
        body.drain(..over);
    }
    body.truncate(room);
    let end = (from + room).min(page.lines.len());
    let place = format!("{end} of {} lines", page.lines.len());
    let keys = if page.run.is_some() {
        format!("{place} · follows the run · ↑ ↓ PgUp PgDn Home End · q goes back")
    } else {
        format!("{place} · ↑ ↓ PgUp PgDn Home End · q goes back")
    };
    framed(&page.title, body, &keys, moment)
}

fn listed(list: &ListPage, moment: &Moment) -> Frame {
    let room = moment.height().saturating_sub(FRAME_LINES).max(1);
    let first = (list.chosen + 1).saturating_sub(room);
    let rows = list.rows.iter().enumerate().skip(first).take(room);
    let mut body: Vec<Line<'static>> = rows
        .map(|(at, row)| {
            let text = if moment.width() < NARROW { &row.short } else { &row.text };
            let mut line = painted(text, moment.theme);
            let mark = if at == list.chosen { "▸ " } else { "  " };
            line.spans.insert(0, Span::styled(mark, moment.theme.tone(Tone::Name)));
            if at == list.chosen {
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
    let (title, keys) = match list.kind {
        ListKind::Tasks if moment.width() < NARROW => {
            ("Tasks", "Enter · s stop · m msg · g bg · r · b")
        }
        ListKind::Tasks => {
            ("Tasks", "Enter follow · s stop · m message · g background · r resume · b branch · q")
        }
        ListKind::Conversations => ("Conversations", "Enter resume · t transcript · q close"),
        ListKind::Agents => ("Agents", "Enter show · t try it · e edit · q close"),
    };
    let Some(words) = &list.message else { return framed(title, body, keys, moment) };
    let label = " message: ";
    let typed = plain(words);
    let column = label.width() + typed.width();
    let mut frame = framed(title, body, &format!("{}{typed}", label.trim_start()), moment);
    let row = u16::try_from(frame.lines.len().saturating_sub(1)).unwrap_or_default();
    frame.cursor = Some((u16::try_from(column).unwrap_or(u16::MAX), row));
    frame
}

fn framed(title: &str, body: Vec<Line<'static>>, keys: &str, moment: &Moment) -> Frame {
    let theme = moment.theme;
    let title = Line::styled(format!(" {}", plain(title)), theme.tone(Tone::Strong));
    let mut lines = vec![cut(title, moment.width())];
    lines.push(Line::styled("─".repeat(moment.width()), theme.tone(Tone::Faint)));
    lines.extend(body);
    lines.resize(moment.height().saturating_sub(1).max(2), Line::default());
    lines.push(cut(Line::styled(format!(" {keys}"), theme.tone(Tone::Faint)), moment.width()));
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
