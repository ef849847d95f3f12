//! The status line: who answers, what it has used, and what it may do.
//!
//! Where the words have no room, their short forms are shown; where those have none, the least important parts
//! are left out. A hint, or the keys of the block that has the focus, stand in its place.

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

/// A part: how much it is worth, and its words in full and in short.
struct Part {
    worth: u8,
    long: String,
    short: String,
}

impl Part {
    fn new(worth: u8, long: impl Into<String>, short: impl Into<String>) -> Self {
        Self { worth, long: long.into(), short: short.into() }
    }

    fn same(worth: u8, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { worth, short: text.clone(), long: text }
    }
}

pub(super) fn line(state: &State, moment: &Moment) -> Line<'static> {
    let warning = moment.theme.tone(Tone::Warning);
    if let Some(hint) = state.hint.as_ref().map(crate::tui::state::Hint::text) {
        return cut(Line::styled(format!(" {}", plain(hint)), warning), moment.width());
    }
    let keys = focus(state);
    let style = moment.theme.tone(if keys.is_some() { Tone::Name } else { Tone::Faint });
    let parts = keys.unwrap_or_else(|| parts(state));
    cut(Line::styled(fitting(parts, moment.width()), style), moment.width())
}

/// The parts that fit, in full if all do.
fn fitting(mut parts: Vec<Part>, width: usize) -> String {
    let joined = |texts: Vec<&str>| format!(" {}", texts.join(" · "));
    loop {
        let text = joined(parts.iter().map(|part| part.long.as_str()).collect());
        if text.width() <= width || parts.len() <= 1 {
            return text;
        }
        let longer = parts.iter_mut().filter(|part| part.long != part.short);
        if let Some(part) = longer.min_by_key(|part| part.worth) {
            part.long.clone_from(&part.short);
            continue;
        }
        let least = parts.iter().map(|part| part.worth).min().unwrap_or_default();
        parts.retain(|part| part.worth != least);
    }
}

/// The keys of the block that has the focus.
fn focus(state: &State) -> Option<Vec<Part>> {
    let (at, all) = state.blocks.place(&state.session)?;
    let id = state.blocks.focus()?;
    let fold = if state.blocks.is_unfolded(id) { "folds" } else { "unfolds" };
    Some(vec![
        Part::new(9, format!("agent {} of {all}", at + 1), format!("{}/{all}", at + 1)),
        Part::new(8, "Enter transcript", "Enter opens"),
        Part::same(7, format!("Ctrl-O {fold}")),
        Part::new(6, "↑ ↓ another agent", "↑ ↓"),
        Part::new(5, "Esc back", "Esc"),
    ])
}

/// What there is to know.
fn parts(state: &State) -> Vec<Part> {
    let session = &state.session;
    let facts = &state.facts;
    let model = if session.model.is_empty() { &facts.model } else { &session.model };
    let mut parts = vec![Part::same(9, plain(model))];
    let queued =
        session.agents.iter().filter(|agent| matches!(agent.phase, Phase::Queued(_))).count();
    let running = session.agents.len() - queued;
    if running > 0 {
        let long = format!("{} running", count(running as u64, "agent"));
        parts.push(Part::new(8, long, format!("{running} run")));
    }
    if queued > 0 {
        parts.push(Part::new(7, format!("{queued} queued"), format!("{queued} wait")));
    }
    let totals = &session.totals;
    if let Some(window) = totals.window.filter(|window| *window > 0 && totals.context > 0) {
        let used = totals.context.saturating_mul(100) / window;
        parts.push(Part::new(6, format!("context {used}%"), format!("ctx {used}%")));
    }
    if let Some(usd) = totals.cost.usd().filter(|usd| *usd > 0.0) {
        parts.push(Part::same(5, money(usd)));
    }
    if totals.tokens > 0 {
        parts.push(Part::new(4, count(totals.tokens, "token"), rounded(totals.tokens)));
    }
    let sandbox = session.sandbox.as_deref().unwrap_or(&facts.sandbox);
    parts.push(Part::new(2, sandbox, short_sandbox(sandbox)));
    parts.push(Part::new(3, facts.approval.as_str(), short_approval(&facts.approval)));
    parts.retain(|part| !part.long.is_empty());
    parts
}

/// `53k`.
fn rounded(tokens: u64) -> String {
    match tokens {
        0..1_000 => format!("{tokens}t"),
        1_000..1_000_000 => format!("{}kt", tokens / 1_000),
        _ => format!("{}.{}Mt", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

fn short_sandbox(sandbox: &str) -> String {
    match sandbox {
        "workspace-write" => "ws-write".to_owned(),
        "danger-full-access" => "full".to_owned(),
        other => other.to_owned(),
    }
}

fn short_approval(approval: &str) -> String {
    approval.strip_prefix("approve ").map_or_else(|| approval.to_owned(), |how| format!("+{how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts() -> Vec<Part> {
        vec![
            Part::same(9, "lab-1"),
            Part::new(8, "16 agents running", "16 run"),
            Part::new(7, "184 queued", "184 wait"),
            Part::new(6, "context 12%", "ctx 12%"),
            Part::same(5, "$1.20"),
            Part::new(4, "53,380 tokens", rounded(53_380)),
            Part::new(2, "workspace-write", short_sandbox("workspace-write")),
            Part::same(3, "on-request"),
        ]
    }

    #[test]
    fn words_become_short_before_anything_is_left_out() {
        for (width, expected) in [
            (
                90,
                " lab-1 · 16 agents running · 184 queued · ctx 12% · $1.20 · 53kt · ws-write · on-request",
            ),
            (80, " lab-1 · 16 run · 184 wait · ctx 12% · $1.20 · 53kt · ws-write · on-request"),
            (60, " lab-1 · 16 run · 184 wait · ctx 12% · $1.20 · 53kt"),
            (40, " lab-1 · 16 run · 184 wait · ctx 12%"),
            (20, " lab-1 · 16 run"),
        ] {
            let shown = fitting(parts(), width);
            assert!(shown.width() <= width, "{width}: {shown}");
            assert_eq!(shown, expected, "{width}");
        }
    }
}
