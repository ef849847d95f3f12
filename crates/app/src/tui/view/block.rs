//! The block of one agent, and the same in one line.

use attache_kernel::run::outcome::{RecoveredFrom, Status};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{Moment, items::call_line};
use crate::{
    print::{
        number::{count, money, time},
        palette::Tone,
    },
    tui::{
        state::{
            agent::{Agent, Phase, Said},
            item::CallEnd,
        },
        text::{cut, first_line, plain, span},
    },
};

/// How many messages a folded and an unfolded block shows.
const FOLDED: usize = 2;
const UNFOLDED: usize = 10;
/// How many lines of one message an unfolded block shows.
const MESSAGE_LINES: usize = 4;
/// A narrower terminal shows progress in its short form.
const NARROW: usize = 60;

/// An agent in one line.
pub(super) fn brief(agent: &Agent, moment: &Moment) -> Line<'static> {
    let mut spans = name(agent, moment);
    let faint = moment.theme.tone(Tone::Faint);
    let progress = progress(agent, moment);
    if agent.is_open() {
        spans.push(Span::styled(format!(" {progress} "), faint));
        spans.push(span(&first_line(&agent.description), Style::new()));
        if let Some(doing) = doing(agent) {
            spans.push(span(&format!(" → {}", first_line(&doing)), faint));
        }
    } else {
        spans.push(span(&format!(" {}", first_line(&agent.description)), Style::new()));
        spans.push(Span::styled(format!(" · {progress}"), faint));
        spans.push(span(&last_word(agent), faint));
    }
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
            if let CallEnd::Failed(_, why) | CallEnd::Refused(why) = &call.end {
                line.spans.push(span(&format!(": {}", first_line(why)), theme.tone(Tone::Bad)));
            }
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

/// `Turn 3/50 (12s/300s)`; `3/50 12s` where there is little room.
fn progress(agent: &Agent, moment: &Moment) -> String {
    let took = time(agent.clock.milliseconds(moment.now_ms));
    let turns = turns(agent, moment);
    let saved = agent.recovered_from;
    match &agent.phase {
        Phase::Starting => "starting".to_owned(),
        Phase::Queued(0) => "queued, next".to_owned(),
        Phase::Queued(ahead) => format!("queued behind {ahead}"),
        Phase::Asking => format!("{turns} paused"),
        Phase::Working | Phase::Retrying(_) | Phase::Grace(_) if agent.clock.is_paused() => {
            format!("{turns} paused")
        }
        Phase::Ended(_) if agent.is_cut_off && agent.turn == 0 => "Cut off, not begun".to_owned(),
        Phase::Ended(_) if agent.is_cut_off => format!("Cut off in turn {}", agent.turn),
        Phase::Ended(Status::Goal) if agent.is_crowded && saved.is_none() => took,
        Phase::Ended(status) if agent.is_crowded => format!("{}{took}", ended(*status, saved)),
        Phase::Ended(status) => {
            let turns = count(u64::from(agent.turn), "turn");
            format!("{}{took} ({turns})", ended(*status, saved))
        }
        Phase::Working | Phase::Retrying(_) | Phase::Grace(_) => turns,
    }
}

/// The turn that it is in, and its clock. Turns of a last chance have no number.
fn turns(agent: &Agent, moment: &Moment) -> String {
    let seconds = agent.clock.seconds(moment.now_ms);
    let (turn, most) = (agent.turn, agent.max_turns);
    match (agent.is_in_grace, moment.width() < NARROW) {
        (true, true) => format!("grace {seconds}s"),
        (true, false) => format!("Grace turn ({seconds}s/{}s)", agent.clock.max_seconds),
        (false, true) => format!("{turn}/{most} {seconds}s"),
        (false, false) => format!("Turn {turn}/{most} ({seconds}s/{}s)", agent.clock.max_seconds),
    }
}

/// How a run ended, before its time. A limit that its last chance saved it from is named.
fn ended(status: Status, saved: Option<RecoveredFrom>) -> String {
    match (status, saved) {
        (Status::Goal, None) => "Completed in ".to_owned(),
        (Status::Goal, Some(limit)) => format!("Completed in grace ({}), ", limit.as_str()),
        (Status::Aborted, _) => "Stopped after ".to_owned(),
        (other, _) => format!("Failed ({}) after ", other.as_str()),
    }
}

fn totals(agent: &Agent, moment: &Moment) -> String {
    let mut parts = vec![progress(agent, moment)];
    if agent.tokens > 0 {
        parts.push(count(agent.tokens, "token"));
    }
    parts.extend(agent.cost.usd().filter(|usd| *usd > 0.0).map(money));
    if agent.is_background && agent.is_open() {
        parts.push("in the background".to_owned());
    }
    parts.join(" · ")
}

/// The end of what an agent said.
fn last_word(agent: &Agent) -> String {
    match agent.messages.last() {
        Some(Said::Text(text) | Said::Note(text) | Said::Error(text)) => {
            format!(" · {}", first_line(text))
        }
        Some(Said::Call(_)) | None => String::new(),
    }
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
