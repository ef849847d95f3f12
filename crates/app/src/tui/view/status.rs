//! The status line: who answers, what it has used, and what it may do. What has no room is left out, the
//! least important first.

use ratatui::text::Line;
use unicode_width::UnicodeWidthStr as _;

use super::Moment;
use crate::{
    print::{
        number::{count, money},
        palette::Tone,
    },
    tui::{
        state::{State, agent::Phase},
        text::{cut, plain},
    },
};

pub(super) fn line(state: &State, moment: &Moment) -> Line<'static> {
    let faint = moment.theme.tone(Tone::Faint);
    if let Some(hint) = state.hint.as_ref().map(crate::tui::state::Hint::text) {
        return cut(
            Line::styled(format!(" {}", plain(hint)), moment.theme.tone(Tone::Warning)),
            moment.width(),
        );
    }
    let mut parts = parts(state);
    let joined = |parts: &[(u8, String)]| {
        let texts: Vec<&str> = parts.iter().map(|(_, text)| text.as_str()).collect();
        format!(" {}", texts.join(" · "))
    };
    while joined(&parts).width() > moment.width() && parts.len() > 1 {
        let least = parts.iter().map(|(worth, _)| *worth).min().unwrap_or_default();
        parts.retain(|(worth, _)| *worth != least);
    }
    cut(Line::styled(joined(&parts), faint), moment.width())
}

/// The parts, each with how much it is worth.
fn parts(state: &State) -> Vec<(u8, String)> {
    let session = &state.session;
    let facts = &state.facts;
    let model = if session.model.is_empty() { &facts.model } else { &session.model };
    let mut parts = vec![(9, plain(model))];
    let queued =
        session.agents.iter().filter(|agent| matches!(agent.phase, Phase::Queued(_))).count();
    let running = session.agents.len() - queued;
    if running > 0 {
        parts.push((8, format!("{} running", count(running as u64, "agent"))));
    }
    if queued > 0 {
        parts.push((7, format!("{queued} queued")));
    }
    let totals = &session.totals;
    if let Some(window) = totals.window.filter(|window| *window > 0 && totals.context > 0) {
        parts.push((6, format!("context {}%", totals.context.saturating_mul(100) / window)));
    }
    if totals.tokens > 0 {
        parts.push((4, count(totals.tokens, "token")));
    }
    if let Some(usd) = totals.cost.usd().filter(|usd| *usd > 0.0) {
        parts.push((5, money(usd)));
    }
    parts.push((3, session.sandbox.clone().unwrap_or_else(|| facts.sandbox.clone())));
    parts.push((2, facts.approval.clone()));
    parts.retain(|(_, text)| !text.is_empty());
    parts
}
