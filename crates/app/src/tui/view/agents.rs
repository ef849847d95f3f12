//! The blocks of subagents: each in full while they are few, one line each when they are many.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{Moment, items::call_line};
use crate::{
    print::{
        number::{count, grouped, money, time},
        palette::Tone,
    },
    tui::{
        state::{
            agent::{Agent, Phase, Said},
            session::Session,
        },
        text::{cut, first_line, plain, span},
    },
};

/// How many agents have a block each; more have a line each.
const MOST_BLOCKS: usize = 4;
/// How many messages a folded and an unfolded block shows.
const FOLDED: usize = 2;
const UNFOLDED: usize = 10;
/// How many lines of one message an unfolded block shows.
const MESSAGE_LINES: usize = 4;

/// The agents that work, in at most that many lines.
pub(super) fn lines(
    session: &Session,
    is_unfolded: bool,
    room: usize,
    moment: &Moment,
) -> Vec<Line<'static>> {
    let agents = &session.agents;
    if agents.len() <= MOST_BLOCKS {
        let blocks: Vec<Vec<Line<'static>>> =
            agents.iter().map(|agent| block(agent, is_unfolded, moment)).collect();
        if blocks.iter().map(Vec::len).sum::<usize>() <= room.max(6) {
            return blocks.into_iter().flatten().collect();
        }
    }
    let most = room.max(2);
    let (shown, left) = if agents.len() <= most {
        (agents.as_slice(), 0)
    } else {
        (agents.get(..most - 1).unwrap_or_default(), agents.len() + 1 - most)
    };
    let mut lines: Vec<Line<'static>> = shown.iter().map(|agent| one_line(agent, moment)).collect();
    if left > 0 {
        let text = format!("  … and {} more; /tasks shows all", grouped(left as u64));
        lines.push(cut(Line::styled(text, moment.theme.tone(Tone::Faint)), moment.width()));
    }
    lines
}

/// An agent in one line.
fn one_line(agent: &Agent, moment: &Moment) -> Line<'static> {
    let mut spans = name(agent, moment);
    let faint = moment.theme.tone(Tone::Faint);
    spans.push(Span::styled(format!(" {} ", progress(agent, moment)), faint));
    let doing = doing(agent).unwrap_or_else(|| agent.description.clone());
    spans.push(span(&first_line(&doing), Style::new()));
    cut(Line::from(spans), moment.width())
}

/// An agent with its progress and what it said and did last.
pub(super) fn block(agent: &Agent, is_unfolded: bool, moment: &Moment) -> Vec<Line<'static>> {
    let theme = moment.theme;
    let faint = theme.tone(Tone::Faint);
    let mut head = name(agent, moment);
    head.push(Span::raw(" "));
    head.push(span(&first_line(&agent.description), Style::new()));
    let mut lines = vec![head, vec![Span::styled(format!("  {}", totals(agent, moment)), faint)]];
    if let Some(doing) = doing(agent) {
        let tone = match agent.phase {
            Phase::Retrying(_) | Phase::Grace(_) | Phase::Asking => Tone::Warning,
            _ => Tone::Name,
        };
        lines.push(vec![
            Span::styled("  → ", theme.tone(tone)),
            span(&first_line(&doing), Style::new()),
        ]);
    }
    let mut lines: Vec<Line<'static>> = lines.into_iter().map(Line::from).collect();
    let shown = if is_unfolded { UNFOLDED } else { FOLDED };
    let from = agent.messages.len().saturating_sub(shown);
    for said in agent.messages.get(from..).unwrap_or_default() {
        lines.extend(message(said, is_unfolded, moment));
    }
    lines.into_iter().map(|line| cut(line, moment.width())).collect()
}

fn message(said: &Said, is_unfolded: bool, moment: &Moment) -> Vec<Line<'static>> {
    let theme = moment.theme;
    let (text, tone) = match said {
        Said::Call(call) => {
            let mut line = call_line(call, theme);
            line.spans.insert(0, Span::styled("  │ ", theme.tone(Tone::Faint)));
            return vec![line];
        }
        Said::Text(text) => (text, Tone::Faint),
        Said::Note(text) => (text, Tone::Warning),
        Said::Error(text) => (text, Tone::Bad),
    };
    let most = if is_unfolded { MESSAGE_LINES } else { 1 };
    let text = plain(text);
    let rows = text.lines().filter(|row| !row.trim().is_empty()).take(most);
    let bar = theme.tone(Tone::Faint);
    rows.map(|row| {
        Line::from(vec![Span::styled("  │ ", bar), Span::styled(row.to_owned(), theme.tone(tone))])
    })
    .collect()
}

/// `● [Explore]`, in the colour of its state.
fn name(agent: &Agent, moment: &Moment) -> Vec<Span<'static>> {
    let (mark, tone) = match &agent.phase {
        Phase::Starting | Phase::Queued(_) => ("○", Tone::Name),
        Phase::Working => ("●", Tone::Name),
        Phase::Asking | Phase::Retrying(_) | Phase::Grace(_) => ("●", Tone::Warning),
        Phase::Ended(_) if agent.has_failed() => ("✗", Tone::Bad),
        Phase::Ended(_) => ("✓", Tone::Good),
    };
    let indent = " ".repeat(usize::try_from(agent.depth.saturating_sub(1)).unwrap_or_default() * 2);
    let style = moment.theme.tone(tone);
    vec![
        Span::styled(format!("{indent}{mark} ["), style),
        span(&agent.name, style),
        Span::styled("]", style),
    ]
}

/// `Turn 3/50 (12s/300s)`.
fn progress(agent: &Agent, moment: &Moment) -> String {
    let seconds = agent.clock.seconds(moment.now_ms);
    let clock = format!("({seconds}s/{}s)", agent.clock.max_seconds);
    match &agent.phase {
        Phase::Starting => "starting".to_owned(),
        Phase::Queued(0) => "queued, next".to_owned(),
        Phase::Queued(ahead) => format!("queued behind {ahead}"),
        Phase::Asking => format!("Turn {}/{} {clock} paused", agent.turn, agent.max_turns),
        Phase::Ended(status) => format!("{}, {}", status.as_str(), time(seconds * 1000)),
        Phase::Working | Phase::Retrying(_) | Phase::Grace(_) => {
            format!("Turn {}/{} {clock}", agent.turn, agent.max_turns)
        }
    }
}

fn totals(agent: &Agent, moment: &Moment) -> String {
    let mut parts = vec![progress(agent, moment)];
    if !agent.is_open() {
        parts.push(count(u64::from(agent.turn), "turn"));
    }
    if agent.tokens > 0 {
        parts.push(count(agent.tokens, "token"));
    }
    parts.extend(agent.cost.usd().filter(|usd| *usd > 0.0).map(money));
    if agent.is_background && agent.is_open() {
        parts.push("in the background".to_owned());
    }
    parts.join(" · ")
}

/// The call that it waits for, or what else holds it up.
fn doing(agent: &Agent) -> Option<String> {
    match &agent.phase {
        Phase::Asking => Some("waits for your answer".to_owned()),
        Phase::Retrying(why) => Some(format!("retrying, {why}")),
        Phase::Grace(why) => Some(format!("last chance to answer: {why}")),
        Phase::Starting | Phase::Queued(_) | Phase::Working => match agent.calls.open() {
            [] => None,
            [call] => Some(call.what.clone()),
            [first, more @ ..] => Some(format!("{} and {} more", first.what, more.len())),
        },
        Phase::Ended(_) => None,
    }
}
