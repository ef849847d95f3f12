//! Progress on stderr: on a terminal a live line for each agent, above it the model's text and a line for
//! each finished call; plain lines elsewhere. The last line says how the run ended and what it cost.

pub(crate) mod call;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use attache_kernel::run::event::activity::{EventType, SubagentActivityEvent};
use attache_runtime::internal::events::TreeEvents;
use serde_json::Value;

use self::call::described;
use super::{
    live::{Change, LiveClock, LiveLine},
    number::{count, grouped, money, time},
    palette::{Tone, paint},
    printer::Printer,
    table::clip,
};

/// How much of a reason or an error is shown on its line.
const LINE: usize = 160;
const RETRYING: &str = "retrying";

/// What is shown of the runs under way.
pub(crate) struct Progress<'a> {
    printer: &'a Printer,
    runs: BTreeMap<String, RunUnderWay>,
    /// The notices that were shown: many agents may give the same.
    told: BTreeSet<String>,
    /// What the agents below a run used that have ended, by the run's id.
    below: BTreeMap<String, Spent>,
}

/// A run under way, as far as it is needed to show it.
struct RunUnderWay {
    line: LiveLine,
    /// The calls under way: id and description.
    calls: Vec<(String, String)>,
}

/// How much of a run was shown while it went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All of it, how it ended included.
    ToTheEnd,
    /// All of it, and the answer as it came.
    WithTheAnswer,
    /// Not its end.
    Cut,
}

impl<'a> Progress<'a> {
    /// Live on a terminal, plain elsewhere.
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self { printer, runs: BTreeMap::new(), told: BTreeSet::new(), below: BTreeMap::new() }
    }

    /// Shows everything until the last event.
    pub(crate) async fn show(mut self, mut events: TreeEvents) -> Shown {
        let mut shown = Shown::Cut;
        while let Some(event) = events.next().await {
            if let Some(activity) = event.activity() {
                self.take(&activity);
            }
            if event.is_last() {
                shown = Shown::ToTheEnd;
            }
        }
        shown
    }

    fn take(&mut self, event: &SubagentActivityEvent) {
        if !matches!(event.event_type, EventType::TextChunk | EventType::ThoughtChunk) {
            self.printer.show(Change::TextEnd { id: event.agent_id.to_string() });
        }
        match event.event_type {
            EventType::Started => self.started(event),
            EventType::Queued => self.doing(event, "queued"),
            EventType::TurnStart => self.turn(event),
            EventType::TextChunk => {
                let id = event.agent_id.to_string();
                if self.run(event).line.doing.starts_with(RETRYING) {
                    self.doing(event, "");
                }
                self.printer.show(Change::Text { id, piece: text(event, "text").to_owned() });
            }
            EventType::ToolCallStart => self.call_started(event),
            EventType::ToolCallEnd => self.call_ended(event),
            EventType::ApprovalRequested => {
                self.run(event).line.clock.pause(Instant::now());
                self.doing(event, "waits for approval");
            }
            EventType::ApprovalResolved => {
                self.run(event).line.clock.go_on(Instant::now());
                self.doing(event, "");
            }
            EventType::Retry => {
                let (attempt, tries) = (number(event, "attempt"), number(event, "max_retries") + 1);
                let wait = time(number(event, "delay_ms"));
                let reason = clip(text(event, "reason"), LINE);
                self.say(
                    event,
                    Tone::Warning,
                    &format!("{RETRYING}, attempt {attempt} of {tries} in {wait}: {reason}"),
                );
                self.doing(event, &format!("{RETRYING}, attempt {attempt} of {tries}"));
            }
            EventType::Compacted => {
                let what = match text(event, "kind") {
                    "summarised" => "the conversation was summarised to free context",
                    "dropped" => "old turns were removed to free context",
                    _ => "old tool results were shortened to free context",
                };
                self.say(event, Tone::Warning, what);
            }
            EventType::GracePeriodStart => {
                let reason = text(event, "reason");
                let seconds = number(event, "grace_seconds");
                let what = format!("{reason}: {seconds} s of grace to hand in a result");
                self.say(event, Tone::Warning, &what);
            }
            EventType::Completed | EventType::Error => self.ended(event),
            EventType::TurnComplete
            | EventType::ThoughtChunk
            | EventType::ToolOutputChunk
            | EventType::GracePeriodEnd => {}
        }
    }

    fn started(&mut self, event: &SubagentActivityEvent) {
        let task = clip(text(event, "description"), 80);
        let what =
            if task.is_empty() { "Starting".to_owned() } else { format!("Starting: {task}") };
        self.say(event, Tone::Name, &what);
        for (reason, tools) in withheld(event) {
            self.say(event, Tone::Warning, &format!("withheld: {}: {reason}", tools.join(", ")));
        }
        // Those of the run itself were told before it began.
        let notices = event.data.get("notices").filter(|_| event.parent_id.is_some());
        for notice in notices.and_then(Value::as_array).into_iter().flatten() {
            let notice = notice.as_str().unwrap_or_default();
            if self.told.insert(notice.to_owned()) {
                self.say(event, Tone::Warning, &format!("notice: {notice}"));
            }
        }
        self.doing(event, "");
    }

    fn turn(&mut self, event: &SubagentActivityEvent) {
        let progress = |key: &str| {
            let progress = event.data.get("progress").and_then(|progress| progress.get(key));
            progress.and_then(Value::as_u64).unwrap_or_default()
        };
        let grace = event.data.get("grace").and_then(Value::as_bool).unwrap_or_default();
        let turn = if grace {
            "Grace turn".to_owned()
        } else {
            format!("Turn {}/{}", number(event, "turn"), progress("max_turns"))
        };
        let (elapsed, most) = (progress("elapsed_seconds"), progress("max_seconds"));
        if !self.printer.is_live() {
            self.say(event, Tone::Name, &format!("{turn} ({elapsed}s/{most}s)"));
        }
        let run = self.run(event);
        run.line.turn = turn;
        run.line.max_seconds = most;
        run.line.clock = LiveClock::showing(elapsed, Instant::now());
        run.calls.clear();
        self.doing(event, "");
    }

    fn call_started(&mut self, event: &SubagentActivityEvent) {
        let tool = event.data.get("tool_name").and_then(Value::as_str).unwrap_or("tool");
        let call = described(tool, event.data.get("arguments"));
        if !self.printer.is_live() {
            self.say(event, Tone::Name, &format!("→ {call}"));
        }
        self.run(event).calls.push((text(event, "call_id").to_owned(), call));
        self.in_hand(event);
    }

    /// A finished call stays as a line; in plain lines only one that went wrong does.
    fn call_ended(&mut self, event: &SubagentActivityEvent) {
        let (id, tool) = (text(event, "call_id"), text(event, "tool_name"));
        let flag = |key: &str| event.data.get(key).and_then(Value::as_bool).unwrap_or_default();
        let (success, executed) = (flag("success"), flag("executed"));
        let calls = &mut self.run(event).calls;
        let call = calls.iter().position(|(known, _)| known == id).map(|at| calls.remove(at).1);
        let call = call.unwrap_or_else(|| tool.to_owned());
        let took = time(number(event, "duration_ms"));
        let error = text(event, "error");
        let reason = reason_of(error);
        let error = reason.as_deref().unwrap_or(error);
        let problem = clip(error.strip_prefix("Refused: ").unwrap_or(error), LINE);
        if !success {
            let how = if executed { format!("failed after {took}") } else { "refused".to_owned() };
            let mark = paint(Tone::Bad, "✗");
            self.stay(event, Tone::Bad, &format!("{mark} {call}  {how}: {problem}"));
        } else if self.printer.is_live() && executed {
            let (mark, took) = (paint(Tone::Good, "✓"), paint(Tone::Faint, &took));
            self.stay(event, Tone::Good, &format!("{mark} {call}  {took}"));
        }
        self.in_hand(event);
    }

    fn ended(&mut self, event: &SubagentActivityEvent) {
        let id = event.agent_id.to_string();
        self.printer.show(Change::Done { id: id.clone() });
        self.runs.remove(&id);
        let float = |key: &str| event.data.get(key).and_then(Value::as_f64);
        let took = format!("{:.1}s", float("duration_seconds").unwrap_or_default());
        let status = text(event, "status");
        let own =
            Spent { agents: 1, tokens: number(event, "total_tokens"), cost_usd: float("cost_usd") };
        let below = self.below.remove(&id);
        let tree = below.map_or(own, |below| own.plus(below));
        if let Some(parent) = &event.parent_id {
            let known = self.below.entry(parent.to_string());
            known.and_modify(|known| *known = known.plus(tree)).or_insert(tree);
        }
        let with_agents = match below {
            None => String::new(),
            Some(Spent { agents, .. }) => {
                format!("with {}: {}, ", count(agents, "subagent"), tree.in_words())
            }
        };
        let totals = format!(
            "{status}, {}, {}, {with_agents}{id}",
            count(number(event, "turns_used"), "turn"),
            own.in_words(),
        );
        if event.event_type == EventType::Completed {
            let saved = match text(event, "recovered_from") {
                "" => String::new(),
                from => format!(", recovered from {from}"),
            };
            let tone = if saved.is_empty() { Tone::Good } else { Tone::Warning };
            self.say(event, tone, &format!("Completed in {took}{saved} ({totals})"));
        } else {
            let error = text(event, "error");
            if !error.is_empty() {
                self.say(event, Tone::Bad, &format!("Error: {error}"));
            }
            self.say(event, Tone::Bad, &format!("Ended after {took} ({totals})"));
        }
    }

    fn run(&mut self, event: &SubagentActivityEvent) -> &mut RunUnderWay {
        self.runs.entry(event.agent_id.to_string()).or_insert_with(|| RunUnderWay {
            line: LiveLine {
                agent: event.agent_type.as_str().to_owned(),
                turn: String::new(),
                clock: LiveClock::showing(0, Instant::now()),
                max_seconds: number(event, "max_seconds"),
                doing: String::new(),
            },
            calls: Vec::new(),
        })
    }

    /// Shows the calls under way.
    fn in_hand(&mut self, event: &SubagentActivityEvent) {
        let calls = &self.run(event).calls;
        let doing = match calls.as_slice() {
            [] => String::new(),
            [(_, call)] => call.clone(),
            [(_, first), more @ ..] => format!("{first} +{}", grouped(more.len() as u64)),
        };
        self.doing(event, &doing);
    }

    /// What the live line of an agent says; nothing elsewhere.
    fn doing(&mut self, event: &SubagentActivityEvent, what: &str) {
        let live = self.printer.is_live();
        let run = self.run(event);
        what.clone_into(&mut run.line.doing);
        let line = run.line.clone();
        if live {
            self.printer.show(Change::Doing { id: event.agent_id.to_string(), line });
        } else if event.event_type == EventType::Queued {
            self.say(event, Tone::Name, what);
        }
    }

    /// A line that stays, with the agent's name in front.
    fn say(&self, event: &SubagentActivityEvent, tone: Tone, what: &str) {
        self.printer.aside(&format!("[{}] {what}", paint(tone, event.agent_type.as_str())));
    }

    /// A line about a call: indented on a terminal, where the agent's name is in the live line.
    fn stay(&self, event: &SubagentActivityEvent, tone: Tone, what: &str) {
        if self.printer.is_live() {
            self.printer.aside(&format!("  {what}"));
        } else {
            self.say(event, tone, what);
        }
    }
}

/// What a run has used, or several together.
#[derive(Debug, Clone, Copy)]
struct Spent {
    agents: u64,
    tokens: u64,
    /// None if a part of it is not known.
    cost_usd: Option<f64>,
}

impl Spent {
    fn plus(self, other: Self) -> Self {
        Self {
            agents: self.agents.saturating_add(other.agents),
            tokens: self.tokens.saturating_add(other.tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(one, other)| one + other),
        }
    }

    fn in_words(self) -> String {
        let cost = self.cost_usd.map_or("cost unknown".to_owned(), money);
        format!("{}, {cost}", count(self.tokens, "token"))
    }
}

/// Why a subagent failed, of the object that the agent above it gets.
fn reason_of(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let reason = answer.get("error").and_then(Value::as_str)?;
    Some(reason.to_owned())
}

fn text<'a>(event: &'a SubagentActivityEvent, key: &str) -> &'a str {
    event.data.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(event: &SubagentActivityEvent, key: &str) -> u64 {
    event.data.get(key).and_then(Value::as_u64).unwrap_or_default()
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
