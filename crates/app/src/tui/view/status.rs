//! The status line: who answers, what it has used, and what it may do.
//!
//! A hint, or the keys of the block that has the focus, stand in its place.

use ratatui::text::Line;

use super::{
    Moment,
    parts::{Gaps, Part, fitting},
};
use crate::{
    print::{
        number::{count, money},
        palette::Tone,
    },
    tui::{
        state::{State, agent::Phase},
        text::{cut, plain, shortened, wrapped},
    },
};

/// How long the name of a model is where there is little room, and where there is hardly any.
const SHORT_MODEL: usize = 18;
const SHORTEST_MODEL: usize = 10;

pub(super) fn lines(state: &State, moment: &Moment) -> Vec<Line<'static>> {
    let warning = moment.theme.tone(Tone::Warning);
    if let Some(hint) = state.hint() {
        let line = Line::styled(format!(" {}", plain(&hint)), warning);
        return wrapped(line, moment.width(), 1);
    }
    let keys = focus(state);
    let style = moment.theme.tone(if keys.is_some() { Tone::Name } else { Tone::Faint });
    let text = match keys {
        Some(keys) => fitting(keys, Gaps::Wide, moment.width()),
        None => fitting(parts(state), Gaps::Narrow, moment.width()),
    };
    vec![cut(Line::styled(text, style), moment.width())]
}

/// The keys of the block that has the focus.
fn focus(state: &State) -> Option<Vec<Part>> {
    let (at, all) = state.blocks.place(&state.session)?;
    let id = state.blocks.focus()?;
    let fold = if state.blocks.is_unfolded(id) { "folds" } else { "unfolds" };
    Some(vec![
        Part::new(9, [&format!("agent {} of {all}", at + 1), &format!("{}/{all}", at + 1)]),
        Part::new(8, ["Enter transcript", "Enter opens"]),
        Part::new(7, [&format!("Ctrl-O {fold}"), "Ctrl-O"]),
        Part::new(6, ["↑ ↓ another agent", "↑ ↓"]),
        Part::new(5, ["Esc back", "Esc"]),
    ])
}

/// What there is to know.
fn parts(state: &State) -> Vec<Part> {
    let session = &state.session;
    let facts = &state.facts;
    let model = plain(if session.model.is_empty() { &facts.model } else { &session.model });
    let (short, shortest) = (shortened(&model, SHORT_MODEL), shortened(&model, SHORTEST_MODEL));
    let mut parts = vec![Part::new(9, [&model, &short, &shortest])];
    let queued =
        session.agents.iter().filter(|agent| matches!(agent.phase, Phase::Queued(_))).count();
    let running = session.agents.len() - queued;
    if running > 0 {
        let long = format!("{} running", count(running as u64, "agent"));
        parts.push(Part::new(8, [&long, &format!("{running} run"), &format!("{running}▶")]));
    }
    if queued > 0 {
        let long = format!("{queued} queued");
        parts.push(Part::new(7, [&long, &format!("{queued} wait"), &format!("{queued}○")]));
    }
    let totals = &session.totals;
    if let Some(window) = totals.window.filter(|window| *window > 0 && totals.context > 0) {
        let used = totals.context.saturating_mul(100) / window;
        let (long, short) = (format!("context {used}%"), format!("ctx {used}%"));
        parts.push(Part::new(6, [&long, &short, &format!("{used}%")]));
    }
    if let Some(usd) = totals.cost.usd().filter(|usd| *usd > 0.0) {
        parts.push(Part::new(5, [&money(usd), &cents(usd)]));
    }
    if totals.tokens > 0 {
        let (long, short) = (count(totals.tokens, "token"), rounded(totals.tokens));
        parts.push(Part::new(2, [&long, &format!("{short}t"), &short]));
    }
    let sandbox = session.sandbox.as_deref().unwrap_or(&facts.sandbox);
    let (short, shortest) = short_sandbox(sandbox);
    parts.push(Part::new(3, [sandbox, short, shortest]));
    let (short, shortest) = short_approval(&facts.approval);
    parts.push(Part::new(4, [&facts.approval, &short, shortest]));
    parts.retain(|part| !part.is_empty());
    parts
}

/// `53k`.
fn rounded(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

/// `$1.20`; less than a cent is said to be so.
fn cents(usd: f64) -> String {
    if usd < 0.01 { "<1¢".to_owned() } else { format!("${usd:.2}") }
}

fn short_sandbox(sandbox: &str) -> (&str, &str) {
    match sandbox {
        "workspace-write" => ("ws-write", "ws"),
        "read-only" => ("read-only", "ro"),
        "danger-full-access" => ("full", "full"),
        other => (other, other),
    }
}

fn short_approval(approval: &str) -> (String, &str) {
    match approval.strip_prefix("approve ") {
        Some(how) => (format!("+{how}"), how),
        None if approval == "on-request" => ("on-req".to_owned(), "ask"),
        None => (approval.to_owned(), approval),
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr as _;

    use super::*;
    use crate::tui::state::Facts;

    fn shown(model: &str, width: usize) -> String {
        let facts = Facts {
            model: model.to_owned(),
            sandbox: "workspace-write".to_owned(),
            approval: "on-request".to_owned(),
            ..Facts::default()
        };
        let mut state = State { facts, ..State::default() };
        state.session.totals.tokens = 53_380;
        state.session.totals.cost.add(Some(1.2));
        state.session.totals.context = 24_000;
        state.session.totals.window = Some(200_000);
        let mut parts = parts(&state);
        parts.insert(1, Part::new(8, ["16 agents running", "16 run", "16▶"]));
        parts.insert(2, Part::new(7, ["184 queued", "184 wait", "184○"]));
        let text = fitting(parts, Gaps::Narrow, width);
        assert!(text.width() <= width, "{width}: {text}");
        text
    }

    #[test]
    fn words_become_short_before_anything_is_left_out() {
        for (width, expected) in [
            (
                110,
                " lab-1 · 16 agents running · 184 queued · context 12% · $1.2000 · 53,380 tokens · workspace-write · on-request",
            ),
            (80, " lab-1 · 16 run · 184 wait · ctx 12% · $1.2000 · 53kt · ws-write · on-req"),
            (60, " lab-1 · 16 run · 184 wait · 12% · $1.20 · 53k · ws · ask"),
            (40, " lab-1 16▶ 184○ 12% $1.20 53k ws ask"),
            (34, " lab-1 16▶ 184○ 12% $1.20 ws ask"),
            (20, " lab-1 16▶ 184○ 12%"),
        ] {
            assert_eq!(shown("lab-1", width), expected, "{width}");
        }
    }

    #[test]
    fn the_name_of_a_model_becomes_short_where_all_else_has_to_fit() {
        let narrow = shown("claude-sonnet-4-5-20250929", 46);
        assert_eq!(narrow, " claude-so… 16▶ 184○ 12% $1.20 53k ws ask");
    }
}
