//! The agents that work, in the live part: a block each while they are few, a line each when they are many, and
//! the block that has the focus.

use ratatui::{
    style::{Modifier, Style},
    text::{Line, Span},
};

use super::{
    Moment,
    block::{block, brief},
};
use crate::{
    print::{number::grouped, palette::Tone},
    tui::{
        state::{State, agent::Agent, session::MOST_BLOCKS},
        text::cut,
    },
};

/// How many lines the agents have, however small the screen is.
const FEWEST: usize = 2;

/// The agents that work, and the earlier one that has the focus, in at most that many lines.
pub(super) fn lines(state: &State, room: usize, moment: &Moment) -> Vec<Line<'static>> {
    let open = state.session.open_agents();
    let focus = state.blocks.focus();
    let earlier = focus.and_then(|id| state.session.ended_agent(id));
    let again = earlier.map(|agent| shown_again(agent, state, moment)).unwrap_or_default();
    let left = room.saturating_sub(again.len()).max(FEWEST);
    let mut lines = working(&open, state, left, moment);
    lines.extend(again);
    lines
}

fn working(open: &[&Agent], state: &State, room: usize, moment: &Moment) -> Vec<Line<'static>> {
    if open.len() <= MOST_BLOCKS {
        let blocks: Vec<Vec<Line<'static>>> =
            open.iter().map(|agent| marked(agent, state, moment)).collect();
        if blocks.iter().map(Vec::len).sum::<usize>() <= room.max(6) {
            return blocks.into_iter().flatten().collect();
        }
    }
    listed(open, state, room, moment)
}

/// A line for each agent; the one that has the focus has its block.
fn listed(open: &[&Agent], state: &State, room: usize, moment: &Moment) -> Vec<Line<'static>> {
    let at = open.iter().position(|agent| state.blocks.has_focus(&agent.id));
    let own = at.and_then(|at| open.get(at)).map(|agent| marked(agent, state, moment));
    let mut own = own.unwrap_or_default();
    // A line for each side of what is left out.
    own.truncate(room.saturating_sub(3).max(1));
    let places = room.saturating_sub(own.len().saturating_sub(1)).max(FEWEST);
    let shown = if open.len() <= places { open.len() } else { places.saturating_sub(1).max(1) };
    let first = at.map_or(0, |at| (at + 1).saturating_sub(shown));
    let mut lines = Vec::new();
    for (number, agent) in open.iter().enumerate().skip(first).take(shown) {
        if at == Some(number) {
            lines.append(&mut own);
        } else {
            lines.push(brief(agent, moment));
        }
    }
    let left = open.len().saturating_sub(shown);
    if left > 0 {
        let text = format!("  … and {} more; Ctrl-T shows all", grouped(left as u64));
        lines.push(cut(Line::styled(text, moment.theme.tone(Tone::Faint)), moment.width()));
    }
    lines
}

/// The block of an agent, with a mark if it has the focus.
fn marked(agent: &Agent, state: &State, moment: &Moment) -> Vec<Line<'static>> {
    let lines = block(agent, state.blocks.is_unfolded(&agent.id), moment);
    if state.blocks.has_focus(&agent.id) { focused(lines, moment) } else { lines }
}

/// A block of the scrollback once more: what is up there cannot be changed.
fn shown_again(agent: &Agent, state: &State, moment: &Moment) -> Vec<Line<'static>> {
    let mut lines = marked(agent, state, moment);
    let most = (moment.height() / 2).max(3);
    if lines.len() > most {
        lines.truncate(most - 1);
        let text = "  … Enter opens the transcript";
        lines.push(cut(Line::styled(text, moment.theme.tone(Tone::Faint)), moment.width()));
    }
    let rule = Line::styled("╌".repeat(moment.width()), moment.theme.tone(Tone::Faint));
    std::iter::once(rule).chain(lines).collect()
}

fn focused(mut lines: Vec<Line<'static>>, moment: &Moment) -> Vec<Line<'static>> {
    if let Some(head) = lines.first_mut() {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        let mut spans = vec![Span::styled("▸ ", moment.theme.tone(Tone::Name))];
        spans.extend(head.spans.drain(..).map(|span| span.patch_style(style)));
        *head = cut(Line::from(spans), moment.width());
    }
    lines
}
