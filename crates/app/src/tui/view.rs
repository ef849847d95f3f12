//! The view: a state as lines. It decides nothing, and the time comes in as an argument.

mod agents;
mod block;
mod composer;
mod items;
mod list;
pub(crate) mod page;
mod parts;
mod question;
mod status;

use ratatui::{
    layout::Size,
    text::{Line, Span},
};
use unicode_width::UnicodeWidthStr as _;

use self::parts::{Gaps, Part, fitting};
use super::{
    markdown,
    screen::Frame,
    state::{Offer, Request, State, blocks::Blocks, page::Page, question::Asked, session::Phase},
    text::{cut, first_line, plain, span, wrapped},
    theme::Theme,
};
use crate::print::{number::time, palette::Tone};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// When and where something is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now_ms: u64,
    pub(crate) size: Size,
    pub(crate) theme: Theme,
}

impl Moment {
    pub(crate) fn width(&self) -> usize {
        usize::from(self.size.width.max(1))
    }

    pub(crate) fn height(&self) -> usize {
        usize::from(self.size.height.max(1))
    }

    fn spinner(&self) -> &'static str {
        let at = usize::try_from(self.now_ms / 250).unwrap_or_default() % SPINNER.len();
        SPINNER.get(at).copied().unwrap_or("·")
    }
}

/// The lines of finished items.
pub(crate) fn finished(
    items: &[super::state::item::Item],
    blocks: &Blocks,
    moment: &Moment,
) -> Vec<Line<'static>> {
    items.iter().flat_map(|item| items::lines(item, blocks, moment)).collect()
}

/// What is on the screen below what is finished: a full screen, or the live part of the conversation.
pub(crate) fn frame(state: &State, moment: &Moment) -> Frame {
    let Some(page) = &state.page else { return live(state, moment) };
    let mut frame = match state.questions.first() {
        Some(question) => beside(page, question, state, moment),
        None => page::frame(page, false, moment),
    };
    if let (Some(hint), Some(last)) = (state.hint(), frame.lines.last_mut()) {
        let text = format!(" {}", plain(&hint));
        *last = cut(Line::styled(text, moment.theme.tone(Tone::Warning)), moment.width());
    }
    frame
}

/// A full screen with a question below it.
fn beside(page: &Page, question: &Asked, state: &State, moment: &Moment) -> Frame {
    let (lines, cursor) = question::lines(question, state, moment);
    let left = moment.height().saturating_sub(lines.len());
    let height = u16::try_from(left.max(page::FEWEST)).unwrap_or(u16::MAX);
    let size = Size::new(moment.size.width, height);
    let mut frame = page::frame(page, true, &Moment { size, ..*moment });
    frame.lines.truncate(left);
    // A message that is being written keeps the cursor.
    frame.cursor = frame.cursor.or_else(|| {
        let (column, row) = cursor?;
        Some((u16::try_from(column).ok()?, u16::try_from(row + left).ok()?))
    });
    frame.lines.extend(lines);
    frame
}

/// The live part of the conversation.
pub(crate) fn live(state: &State, moment: &Moment) -> Frame {
    let (below, cursor) = input(state, moment);
    let status = status::lines(state, moment);
    // A row is left for the end of the conversation.
    let room = moment.height().saturating_sub(below.len() + status.len() + 1);
    let mut lines = under_way(state, room, moment);
    let over = lines.len().saturating_sub(room);
    lines.drain(..over);
    let cursor = cursor.map(|(column, row)| (column, row + lines.len()));
    lines.extend(below);
    lines.extend(status);
    let cursor = cursor
        .and_then(|(column, row)| Some((u16::try_from(column).ok()?, u16::try_from(row).ok()?)));
    Frame { lines, cursor }
}

/// The question that is open, or the input.
fn input(state: &State, moment: &Moment) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    if let Some(question) = state.questions.first() {
        return question::lines(question, state, moment);
    }
    if let Some(offer) = &state.offer {
        return (offered(offer, moment), None);
    }
    composer::lines(state, moment)
}

/// An offer, which needs a yes.
fn offered(offer: &Offer, moment: &Moment) -> Vec<Line<'static>> {
    let theme = moment.theme;
    let rule = Line::styled("─".repeat(moment.width()), theme.tone(Tone::Name));
    let what = vec![
        span(&offer.agent, theme.tone(Tone::Name)),
        Span::raw(" is for this (keyword "),
        span(&offer.keyword, theme.tone(Tone::Strong)),
        Span::raw("). Use it?  [y]es  [n]o  Esc goes back"),
    ];
    let sent = Line::styled(format!("› {}", first_line(&offer.text)), theme.user());
    let mut lines = vec![rule.clone(), cut(sent, moment.width())];
    lines.extend(wrapped(Line::from(what), moment.width(), 0));
    lines.push(rule);
    lines
}

/// What goes on: the answer that is arriving, calls, agents, messages that wait.
fn under_way(state: &State, room: usize, moment: &Moment) -> Vec<Line<'static>> {
    let session = &state.session;
    let theme = moment.theme;
    let faint = theme.tone(Tone::Faint);
    let mut lines = Vec::new();
    let rest = session.stream.rest();
    if rest.text.is_empty() && !session.stream.thinking().is_empty() {
        let thought = plain(session.stream.thinking()).replace('\n', " ");
        let from = thought.chars().count().saturating_sub(moment.width().saturating_sub(4));
        let end: String = thought.chars().skip(from).collect();
        lines.push(Line::from(vec![Span::styled("∴ ", faint), Span::styled(end, faint)]));
    } else if !rest.text.is_empty() {
        let mut arriving = markdown::lines(&rest, moment.width().saturating_sub(2), theme);
        let over = arriving.len().saturating_sub(moment.height() / 2);
        arriving.drain(..over);
        lines.extend(arriving.into_iter().map(items::indented));
    }
    for call in session.calls.open().iter().filter(|call| !call.is_delegation) {
        let took = time(moment.now_ms.saturating_sub(call.since_ms) / 1000 * 1000);
        let line = vec![
            Span::styled(format!("{} ", moment.spinner()), theme.tone(Tone::Name)),
            span(&call.what, ratatui::style::Style::new()),
            Span::styled(format!("  {took}"), faint),
        ];
        lines.push(cut(Line::from(line), moment.width()));
        let output = call.output.lines().rev().take(2).collect::<Vec<_>>();
        for line in output.into_iter().rev() {
            let line = Line::from(vec![Span::raw("  "), span(&first_line(line), faint)]);
            lines.push(cut(line, moment.width()));
        }
    }
    let left = room.saturating_sub(lines.len() + 2);
    lines.extend(agents::lines(state, left, moment));
    if let Some(text) = &state.sending {
        let text = format!("› {}  (being sent)", first_line(text));
        lines.push(cut(Line::styled(text, faint), moment.width()));
    }
    for text in &state.waiting {
        let text = format!("› {}  (read with the next turn)", first_line(text));
        lines.push(cut(Line::styled(text, faint), moment.width()));
    }
    if let Some(line) = busy(state, moment) {
        lines.push(line);
    }
    lines
}

/// What the main agent is doing, where nothing else shows it.
fn busy(state: &State, moment: &Moment) -> Option<Line<'static>> {
    let session = &state.session;
    let theme = moment.theme;
    let seconds = session.clock.seconds(moment.now_ms);
    if session.is_busy() && session.clock.is_paused() && state.request != Request::Stopping {
        let (long, short) =
            (format!("its clock is paused at {seconds}s"), format!("paused at {seconds}s"));
        let parts = vec![
            Part::new(1, ["Waits for your answer", "Waits for you"]),
            Part::new(2, [&long, &short]),
        ];
        let text = format!("∥{}", fitting(parts, Gaps::Wide, moment.width().saturating_sub(1)));
        return Some(cut(Line::styled(text, theme.tone(Tone::Warning)), moment.width()));
    }
    let doing = match &session.phase {
        // Before a run begins it has no clock.
        Phase::Idle if state.request != Request::None => {
            let is_starting = state.request == Request::Starting;
            let doing = if is_starting { "Starting · Esc stops" } else { "Stopping" };
            let text = format!("{} {doing}", moment.spinner());
            return Some(Line::styled(text, theme.tone(Tone::Name)));
        }
        Phase::Working if state.request == Request::Stopping => "Stopping".to_owned(),
        Phase::Idle | Phase::Asking => return None,
        Phase::Working => "Working".to_owned(),
        Phase::Retrying(attempt) => format!("Retrying, {attempt}"),
        Phase::Awaiting(agents) => {
            let noun = if *agents == 1 { "agent works" } else { "agents work" };
            let (long, short) = (
                format!("{agents} {noun} in the background; you can go on"),
                format!("{agents} {noun} in the background"),
            );
            let text = if long.width() <= moment.width() { long } else { short };
            return Some(cut(Line::styled(text, theme.tone(Tone::Faint)), moment.width()));
        }
    };
    let doing = format!("{} {doing}", moment.spinner());
    let mut keys = vec![Part::new(3, [&format!("{seconds}s")]), Part::new(2, ["Esc stops", "Esc"])];
    if !state.foreground().is_empty() {
        keys.push(Part::new(0, ["Tab looks at agents", "Tab agents"]));
        keys.push(Part::new(1, ["Ctrl-B background", "Ctrl-B bg"]));
    }
    let keys = fitting(keys, Gaps::Wide, moment.width().saturating_sub(doing.width()));
    let line = vec![
        Span::styled(doing, theme.tone(Tone::Name)),
        Span::styled(keys, theme.tone(Tone::Faint)),
    ];
    Some(cut(Line::from(line), moment.width()))
}
