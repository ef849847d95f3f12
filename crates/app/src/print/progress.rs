//! Progress on stderr: one live line an agent on a terminal, plain lines elsewhere.

use std::{collections::BTreeMap, io::IsTerminal as _, time::Duration};

use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use attache_kernel::run::event::activity::{EventType, SubagentActivityEvent};
use attache_runtime::events::Events;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::Value;

use super::{
    aside,
    palette::{Tone, paint},
    table::clip,
};

/// What is shown of the runs under way.
pub(crate) struct Progress {
    live: Option<MultiProgress>,
    lines: BTreeMap<String, ProgressBar>,
    turns: BTreeMap<String, String>,
}

/// How much of a run was shown while it went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All of it, how it ended included.
    ToTheEnd,
    /// Nobody was shown how it ended.
    Cut,
}

impl Progress {
    /// Live on a terminal, plain elsewhere.
    pub(crate) fn new() -> Self {
        let live = std::io::stderr().is_terminal().then(MultiProgress::new);
        Self { live, lines: BTreeMap::new(), turns: BTreeMap::new() }
    }

    /// Shows everything until the last event.
    pub(crate) async fn show(mut self, mut events: Events) -> Shown {
        let mut shown = Shown::Cut;
        while let Some(event) = events.next().await {
            if let Some(activity) = event.activity() {
                self.take(&activity);
            }
            if event.is_last() {
                shown = Shown::ToTheEnd;
            }
        }
        for line in self.lines.values() {
            line.finish_and_clear();
        }
        shown
    }

    fn take(&mut self, event: &SubagentActivityEvent) {
        let agent = event.agent_type.as_str();
        let id = event.agent_id.to_string();
        let text = |key: &str| event.data.get(key).and_then(Value::as_str).unwrap_or_default();
        match event.event_type {
            EventType::Started => {
                let what = text("description");
                self.say(&format!("{} Starting: {}", tag(agent, Tone::Name), clip(what, 80)));
                for (reason, tools) in withheld(event) {
                    let tools = tools.join(", ");
                    let line = format!("{} withheld: {tools}: {reason}", tag(agent, Tone::Warning));
                    self.say(&line);
                }
            }
            EventType::Queued => self.update(&id, agent, "queued"),
            EventType::TurnStart => {
                let turn = turn_of(event);
                self.turns.insert(id.clone(), turn.clone());
                self.update(&id, agent, &turn);
            }
            EventType::ToolCallStart => {
                let call = call_of(event);
                let turn = self.turns.get(&id).cloned().unwrap_or_default();
                if self.live.is_some() {
                    self.update(&id, agent, &format!("{turn} → {call}"));
                } else {
                    self.say(&format!("{} → {call}", tag(agent, Tone::Name)));
                }
            }
            EventType::Retry => {
                let why = text("reason");
                self.say(&format!("{} retrying: {}", tag(agent, Tone::Warning), clip(why, 100)));
            }
            EventType::Compacted => {
                let what = match text("kind") {
                    "summarised" => "the conversation was summed up to make room",
                    "dropped" => "old turns were dropped to make room",
                    _ => "old results were cut to make room",
                };
                self.say(&format!("{} {what}", tag(agent, Tone::Warning)));
            }
            EventType::GracePeriodStart => {
                let reason = text("reason");
                self.say(&format!(
                    "{} {reason} - attempting recovery...",
                    tag(agent, Tone::Warning)
                ));
            }
            EventType::Completed => {
                self.clear(&id);
                let seconds =
                    event.data.get("duration_seconds").and_then(Value::as_f64).unwrap_or_default();
                let turns =
                    event.data.get("turns_used").and_then(Value::as_u64).unwrap_or_default();
                self.say(&format!(
                    "{} Completed in {seconds:.1}s ({turns} turns)",
                    tag(agent, Tone::Good)
                ));
            }
            EventType::Error => {
                self.clear(&id);
                self.say(&format!("{} Error: {}", tag(agent, Tone::Bad), text("error")));
            }
            EventType::TurnComplete
            | EventType::TextChunk
            | EventType::ThoughtChunk
            | EventType::ToolCallEnd
            | EventType::ApprovalRequested
            | EventType::ApprovalResolved
            | EventType::GracePeriodEnd => {}
        }
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        match &self.live {
            Some(live) => live.suspend(|| aside(line)),
            None => aside(line),
        }
    }

    /// The live line of an agent; elsewhere a line of its own.
    fn update(&mut self, id: &str, agent: &str, text: &str) {
        let Some(live) = &self.live else {
            aside(&format!("{} {text}", tag(agent, Tone::Name)));
            return;
        };
        let line = self.lines.entry(id.to_owned()).or_insert_with(|| {
            let bar = live.add(ProgressBar::new_spinner());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let message = format!("{} {text}", tag(agent, Tone::Name));
        // The live line does not go through the printer, which takes colours off where they do not belong.
        let plain = AutoStream::choice(&std::io::stderr()) == ColorChoice::Never;
        line.set_message(if plain { strip_str(&message).to_string() } else { message });
    }

    fn clear(&mut self, id: &str) {
        if let Some(line) = self.lines.remove(id) {
            line.finish_and_clear();
        }
    }
}

/// The tools a run did not get, by reason, in the order of the reasons.
fn withheld(event: &SubagentActivityEvent) -> Vec<(&str, Vec<&str>)> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    let all = event.data.get("withheld_tools").and_then(Value::as_array).into_iter().flatten();
    for one in all {
        let field = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let (tool, reason) = (field("tool"), field("reason"));
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, tools)) => tools.push(tool),
            None => by_reason.push((reason, vec![tool])),
        }
    }
    by_reason
}

fn tag(agent: &str, tone: Tone) -> String {
    format!("[{}]", paint(tone, agent))
}

/// `Turn 3/30 (2s/120s)`.
fn turn_of(event: &SubagentActivityEvent) -> String {
    let number = |key: &str| {
        event
            .data
            .get("progress")
            .and_then(|progress| progress.get(key))
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    let turn = event.data.get("turn").and_then(Value::as_u64).unwrap_or_default();
    format!(
        "Turn {turn}/{} ({}s/{}s)",
        number("max_turns"),
        number("elapsed_seconds"),
        number("max_seconds")
    )
}

/// `grep_files "ToolFilter"`: the tool and what matters of its arguments.
fn call_of(event: &SubagentActivityEvent) -> String {
    let tool = event.data.get("tool_name").and_then(Value::as_str).unwrap_or("tool");
    let arguments = event.data.get("arguments").and_then(Value::as_object);
    let main = arguments.and_then(|arguments| {
        ["pattern", "path", "command", "url", "query", "prompt", "task"]
            .iter()
            .find_map(|key| arguments.get(*key).and_then(Value::as_str))
    });
    match main {
        Some(main) => format!("{tool} \"{}\"", clip(main, 60)),
        None => tool.to_owned(),
    }
}
