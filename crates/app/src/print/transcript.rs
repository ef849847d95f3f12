//! A run for people: who did what, turn by turn, as far as it is known.
//!
//! It is made line by line, so a run that still goes on is shown like one that is over. What models
//! and tools wrote cannot steer the terminal.

use std::{fmt::Write as _, path::PathBuf};

use attache_kernel::{
    model::usage::Usage,
    run::{
        event::{ApprovalDecision, Event, compaction::Compaction},
        file_change::FileChange,
        message::{AssistantPart, Message, ToolCall, ToolResult, UserPart},
        outcome::{Ending, Outcome, Status},
        transcript::{Entry, Header, Replay},
    },
};
use attache_runtime::internal::store::RunState;

use super::{
    diff::{self, Extent},
    number::{count, grouped, size, time},
    palette::{Tone, paint},
    progress::call::search,
    table::clip,
    visible::{one_line, visible},
};

/// How much of an answer, or of a call's arguments, is shown on its line.
const LINE: usize = 100;

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What was said and called.
    Brief,
    /// What was thought and answered as well.
    Full,
}

/// Where a run lies.
#[derive(Debug)]
pub(crate) struct Place {
    /// The path of its transcript, as it is shown.
    pub(crate) path: String,
    /// The directory of its artifacts.
    pub(crate) artifacts: Option<PathBuf>,
}

/// A call that has no answer yet.
#[derive(Debug)]
struct OpenCall {
    id: String,
    name: String,
    arguments: String,
}

impl OpenCall {
    fn shown(&self) -> String {
        let name = paint(Tone::Name, &self.name);
        format!("  → {name} {}", self.arguments).trim_end().to_owned()
    }
}

/// A run being shown, line by line.
#[derive(Debug)]
pub(crate) struct TranscriptPage {
    detail: Detail,
    /// Where the versions of changed files lie.
    artifacts: Option<PathBuf>,
    max_turns: u32,
    /// The calls that have no answer yet, in the order they were made.
    open_calls: Vec<OpenCall>,
    turn_began_ms: u64,
    /// The run itself, for its totals; none if its events do not fit together.
    replay: Option<Replay>,
    text: String,
}

impl TranscriptPage {
    /// The page of a run, and its head.
    pub(crate) fn new(
        detail: Detail,
        header: &Header,
        state: RunState,
        place: Place,
    ) -> (Self, String) {
        let Place { path, artifacts } = place;
        let mut page = Self {
            detail,
            artifacts,
            max_turns: header.run.limits.max_turns,
            open_calls: Vec::new(),
            turn_began_ms: 0,
            replay: Replay::new(header.clone()).ok(),
            text: String::new(),
        };
        page.head(header, state, &path);
        let head = page.take();
        (page, head)
    }

    /// What an entry adds.
    pub(crate) fn entry(&mut self, entry: &Entry) -> String {
        let misfit = self.replay.as_mut().is_some_and(|replay| replay.take_in(entry).is_err());
        if misfit {
            self.replay = None;
        }
        self.event(&entry.event, entry.at_ms);
        self.take()
    }

    /// What is said of a run that has no end.
    pub(crate) fn unfinished(&mut self, state: RunState) -> String {
        for call in std::mem::take(&mut self.open_calls) {
            let open = paint(Tone::Warning, "no answer yet");
            self.line(&format!("{}  {open}", call.shown()));
        }
        let said = match state {
            RunState::Running => "it is still running; --follow shows the rest",
            RunState::Queued => "it is queued",
            _ => "it was cut off; `attache run --resume` continues it",
        };
        self.line(&format!("\n{}: {said}", paint(state_tone(state), state.as_str())));
        self.take()
    }

    /// The arguments of a call in a line: what is searched for in words, unless everything is wanted.
    fn arguments(&self, call: &ToolCall) -> String {
        let words = call.arguments().ok().and_then(|arguments| search(&call.name, arguments));
        match words.filter(|_| self.detail == Detail::Brief) {
            Some(words) => format!("\"{}\"", safe(&words)),
            None => clip(&safe(call.written_arguments()), LINE),
        }
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn field(&mut self, name: &str, value: &str) {
        let label = paint(Tone::Faint, &format!("{name:<10}"));
        // Writing to a string cannot fail.
        writeln!(self.text, "{label}{value}").unwrap_or_default();
    }

    /// A text of any length, indented.
    fn block(&mut self, margin: &str, text: &str, tone: Option<Tone>) {
        for line in safe(text).trim_end().lines() {
            match tone {
                _ if line.trim().is_empty() => self.line(""),
                Some(tone) => self.line(&format!("{margin}{}", paint(tone, line))),
                None => self.line(&format!("{margin}{line}")),
            }
        }
    }

    fn note(&mut self, tone: Tone, text: &str) {
        self.line(&format!("  {}", paint(tone, &safe(text))));
    }

    fn head(&mut self, header: &Header, state: RunState, path: &str) {
        let run = &header.run;
        self.line(&format!(
            "{} {} ({})",
            paint(Tone::Strong, &safe(run.definition.agent_type.as_str())),
            safe(run.agent_id.as_str()),
            paint(state_tone(state), state.as_str()),
        ));
        let task = safe(run.task.trim());
        let task = if self.detail == Detail::Full { task } else { clip(&task, LINE) };
        self.field("task", &task);
        for (name, value) in &run.inputs {
            self.field("input", &clip(&safe(&format!("{name} = {value}")), LINE));
        }
        let model = &run.model;
        self.field(
            "model",
            &safe(&format!(
                "{} on {} (chosen by: {})",
                model.id,
                model.provider,
                model.chosen_by.as_str()
            )),
        );
        if let Some(earlier) = &run.resumed_from {
            let at = run.at_turn.map(|turn| format!(", branched off after turn {turn}"));
            let at = at.unwrap_or_default();
            self.field("resumes", &safe(&format!("{earlier}{at}")));
        }
        if let Some(parent) = &run.parent_id {
            self.field("asked by", &safe(parent.as_str()));
        }
        self.field("folder", &safe(&run.environment.cwd));
        self.field("started", &moment(&header.ts));
        for withheld in &run.withheld_tools {
            self.field("withheld", &safe(&format!("{}: {}", withheld.tool, withheld.reason)));
        }
        for notice in &run.notices {
            self.field("notice", &safe(notice));
        }
        self.field("file", &safe(path));
    }

    fn event(&mut self, event: &Event, at_ms: u64) {
        match event {
            Event::Opened { messages, reopened, .. } if self.detail == Detail::Full => {
                let afterwards = reopened.iter().flat_map(|reopened| &reopened.afterwards);
                for message in messages.iter().chain(afterwards) {
                    self.message(message);
                }
            }
            Event::TurnStarted { turn, grace, .. } => {
                self.turn_began_ms = at_ms;
                let which = if *grace {
                    format!("Turn {turn}, a last chance")
                } else {
                    format!("Turn {turn}/{}", self.max_turns)
                };
                self.line(&format!("\n{}", paint(Tone::Strong, &which)));
            }
            Event::SummaryRequested { refusal, .. } => {
                self.turn_began_ms = at_ms;
                let why = refusal.as_ref().map(|refusal| format!(": {refusal}"));
                let why = why.unwrap_or_default();
                self.note(Tone::Faint, &format!("a summary is requested{why}"));
            }
            Event::Replied { message, usage, cost_usd, .. } => {
                self.reply(message);
                self.used(usage, *cost_usd, at_ms);
            }
            Event::ToolReturned { tool_name, result, duration_ms, changes, .. } => {
                self.answer(tool_name, result, *duration_ms);
                self.changes(changes);
            }
            Event::Ended { ending } => self.end(ending),
            other => self.remark(other),
        }
    }

    /// What is told in a line.
    fn remark(&mut self, event: &Event) {
        match event {
            Event::Queued { ahead } => self.note(Tone::Faint, &format!("queued, {ahead} ahead")),
            Event::ReplyCutOff { text } => {
                self.block("  ", text, None);
                self.note(Tone::Warning, "the answer was cut off here");
            }
            Event::LostAnswerCounted { usage, .. } => {
                let tokens = grouped(usage.total_tokens());
                self.note(Tone::Warning, &format!("an answer was lost after {tokens} tokens"));
            }
            Event::ModelLent { server, usage, .. } => {
                let tokens = grouped(usage.total_tokens());
                let said = format!("the model answered the MCP server {server}: {tokens} tokens");
                self.note(Tone::Faint, &said);
            }
            Event::ServerAsks { server } => {
                self.note(Tone::Warning, &format!("the MCP server {server} asks the user"));
            }
            Event::Retrying { attempt, max_retries, delay_ms, reason, .. } => {
                let tries = max_retries.saturating_add(1);
                let wait = time(*delay_ms);
                let said = format!("attempt {attempt} of {tries} in {wait}: {reason}");
                self.note(Tone::Warning, &said);
            }
            Event::Failed { message, .. } => self.note(Tone::Bad, message),
            Event::ApprovalRequested { tool_name, reason, .. } => {
                let said = format!("asks to call {tool_name}: {reason}");
                self.note(Tone::Warning, &clip(&said, LINE));
            }
            Event::ApprovalResolved { decision, reason, .. } => {
                let reason = reason.as_ref().map(|reason| format!(": {reason}"));
                let said = format!("{}{}", decided(*decision), reason.unwrap_or_default());
                self.note(Tone::Warning, &said);
            }
            Event::Compacted(compaction) => {
                // Calls that were made in a summary are never answered.
                self.open_calls.clear();
                self.note(Tone::Faint, &room_made(compaction));
            }
            Event::Reminded { message } | Event::Announced { message, .. } => {
                self.note(Tone::Faint, "the agent was told");
                self.message(message);
            }
            Event::TimeUp { .. } => self.note(Tone::Warning, "the time was up"),
            Event::TreeBudgetSpent { .. } => self.note(Tone::Warning, "the budget was spent"),
            Event::Cancelled { .. } => self.note(Tone::Warning, "it was cancelled"),
            Event::GraceStarted { reason, grace_ms, .. } => {
                let said = format!("a last chance of {} ({})", time(*grace_ms), reason.as_str());
                self.note(Tone::Warning, &said);
            }
            Event::GraceEnded { recovered, .. } => {
                let said =
                    if *recovered { "the last chance was used" } else { "the last chance is over" };
                self.note(Tone::Warning, said);
            }
            Event::SubAgentStart { agent_id, name, description, .. } => {
                self.note(Tone::Name, &format!("⇢ {name} {agent_id}: {description}"));
            }
            Event::SubAgentEnd { agent_id, name, success, .. } => {
                let (tone, how) =
                    if *success { (Tone::Good, "is done") } else { (Tone::Bad, "failed") };
                self.note(tone, &format!("⇠ {name} {agent_id} {how}"));
            }
            _ => {}
        }
    }

    /// A message that was put into the conversation.
    fn message(&mut self, message: &Message) {
        match message {
            Message::System { text } => {
                self.note(Tone::Faint, "instructions:");
                self.block("    ", text, Some(Tone::Faint));
            }
            Message::User { content } => {
                self.note(Tone::Faint, "user:");
                for part in content {
                    match part {
                        UserPart::Text { text } => self.block("    ", text, None),
                        UserPart::Image { image } => {
                            self.note(Tone::Faint, &format!("[{}]", image.media_type));
                        }
                    }
                }
            }
            Message::Assistant { .. } => {
                self.note(Tone::Faint, "agent:");
                self.reply(message);
                // Calls of an earlier run, answered in it.
                for call in std::mem::take(&mut self.open_calls) {
                    self.line(&call.shown());
                }
            }
            Message::Tool { results } => {
                for result in results {
                    self.block("    ", &result.text, Some(Tone::Faint));
                    self.images(result);
                }
            }
        }
    }

    fn reply(&mut self, message: &Message) {
        let Message::Assistant { content } = message else { return };
        for part in content {
            match part {
                AssistantPart::Text { text, .. } => self.block("  ", text, None),
                AssistantPart::Thinking { text, .. } if self.detail == Detail::Full => {
                    self.block("  ", text, Some(Tone::Faint));
                }
                AssistantPart::Thinking { .. } => {}
                AssistantPart::ToolCall { call } => {
                    self.open_calls.push(OpenCall {
                        id: call.id.as_str().to_owned(),
                        name: safe(&call.name),
                        arguments: self.arguments(call),
                    });
                }
            }
        }
    }

    fn used(&mut self, usage: &Usage, cost_usd: Option<f64>, at_ms: u64) {
        let mut parts = vec![time(at_ms.saturating_sub(self.turn_began_ms))];
        let cached = match usage.cache_read_input_tokens {
            0 => String::new(),
            cached => format!(" ({} cached)", grouped(cached)),
        };
        parts.push(format!("{} tokens in{cached}", grouped(usage.input_tokens)));
        parts.push(format!("{} out", grouped(usage.output_tokens)));
        parts.extend(cost_usd.map(|usd| format!("${usd:.4}")));
        self.note(Tone::Faint, &parts.join(" · "));
    }

    fn answer(&mut self, tool_name: &str, result: &ToolResult, duration_ms: Option<u64>) {
        let id = result.call_id.as_str();
        let position = self.open_calls.iter().position(|open| open.id == id);
        let call = match position {
            Some(position) => self.open_calls.remove(position),
            None => OpenCall { id: id.to_owned(), name: safe(tool_name), arguments: String::new() },
        };
        let how = match (duration_ms, result.is_error) {
            (Some(took), false) => paint(Tone::Good, &time(took)),
            (Some(took), true) => paint(Tone::Bad, &format!("failed after {}", time(took))),
            (None, false) => paint(Tone::Good, "done"),
            (None, true) => paint(Tone::Bad, "not executed"),
        };
        self.line(&format!("{}  {how}", call.shown()));
        if self.detail == Detail::Full {
            self.block("    ", &result.text, Some(Tone::Faint));
        } else {
            let lines = result.text.trim_end().lines().count() as u64;
            let first = clip(&safe(result.text.trim().lines().next().unwrap_or_default()), LINE);
            let more =
                if lines > 1 { format!(" (+{})", count(lines - 1, "line")) } else { String::new() };
            let tone = if result.is_error { Tone::Bad } else { Tone::Faint };
            self.line(&format!("    {}", paint(tone, &format!("{first}{more}"))));
        }
        self.images(result);
        for artifact in &result.artifacts {
            let said = format!("  {}: {}", artifact.description, artifact.path);
            self.note(Tone::Faint, &said);
        }
    }

    /// What a call did to files.
    fn changes(&mut self, changes: &[FileChange]) {
        let Some(artifacts) = self.artifacts.clone() else { return };
        let extent = if self.detail == Detail::Full { Extent::Whole } else { Extent::Brief };
        for change in changes {
            if changes.len() > 1 {
                self.note(Tone::Faint, &format!("  {}", one_line(&change.path)));
            }
            for line in diff::of_change(change, &artifacts, extent) {
                self.line(&format!("    {line}"));
            }
        }
    }

    /// That there are images; their bytes are for models.
    fn images(&mut self, result: &ToolResult) {
        for image in &result.images {
            self.note(Tone::Faint, &format!("  [{}]", image.media_type));
        }
    }

    fn end(&mut self, ending: &Ending) {
        let tone = if ending.status == Status::Goal { Tone::Good } else { Tone::Bad };
        let mut said = paint(tone, ending.status.as_str());
        if let Some(saved_from) = ending.recovered_from {
            let saved = format!(" (in a last chance after {})", saved_from.as_str());
            said.push_str(&paint(Tone::Warning, &saved));
        }
        let outcome = self.replay.as_ref().and_then(|replay| replay.run().outcome());
        if let Some(outcome) = outcome {
            said = format!("{said}: {}", totals(&outcome));
        }
        self.line(&format!("\n{said}"));
        if let Some(error) = &ending.error {
            self.line(&paint(Tone::Bad, &safe(error)));
        }
        if ending.partial && !ending.result.is_empty() {
            self.line(&paint(Tone::Warning, "unfinished work:"));
        }
        if !ending.result.is_empty() {
            self.line("");
            self.block("", &ending.result, None);
        }
    }
}

fn totals(outcome: &Outcome) -> String {
    let mut parts = vec![
        count(u64::from(outcome.turns_used), "turn"),
        time(outcome.duration_ms),
        count(u64::from(outcome.tool_uses), "call"),
        count(outcome.usage.total_tokens(), "token"),
    ];
    parts.extend(outcome.cost_usd.map(|usd| format!("${usd:.4}")));
    parts.join(", ")
}

/// `3 old results cut down, 12.0 KB freed`.
fn room_made(compaction: &Compaction) -> String {
    let (what, freed_bytes) = match compaction {
        Compaction::Trimmed { call_ids, freed_bytes } => {
            (format!("{} cut down", count(call_ids.len() as u64, "old result")), freed_bytes)
        }
        Compaction::Summarised { messages_replaced, freed_bytes, .. } => {
            (format!("the summary replaces {}", count(*messages_replaced, "message")), freed_bytes)
        }
        Compaction::Dropped { turns_dropped, freed_bytes } => {
            (format!("{} dropped", count(*turns_dropped, "old turn")), freed_bytes)
        }
    };
    format!("{what}, {} freed", size(*freed_bytes))
}

fn decided(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::ApprovedOnce => "approved once",
        ApprovalDecision::ApprovedForSession => "approved for the session",
        ApprovalDecision::Denied => "denied",
        ApprovalDecision::Aborted => "denied, and the run was ended",
    }
}

/// How a state is coloured.
pub(crate) fn state_tone(state: RunState) -> Tone {
    match state {
        RunState::Completed => Tone::Good,
        RunState::Failed => Tone::Bad,
        RunState::Interrupted => Tone::Warning,
        RunState::Queued | RunState::Running => Tone::Name,
    }
}

/// A timestamp for people: date and time in UTC.
fn moment(ts: &str) -> String {
    let ts = safe(ts);
    match ts.split_once('T') {
        Some((day, clock)) if clock.ends_with('Z') => {
            let clock = clock.split(['.', 'Z']).next().unwrap_or_default();
            format!("{day} {clock} UTC")
        }
        _ => ts,
    }
}

/// Somebody else's text, made visible.
fn safe(text: &str) -> String {
    visible(text).into_owned()
}
