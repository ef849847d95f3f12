//! The tree of a run: the run, those it started, and those that continue them, on one time line.
//!
//! Invariant: every run is read once, and what is kept of it are its figures and spans, so the cost is
//! linear in the transcripts. A run that still goes on is shown as far as it came.

use std::collections::{BTreeMap, BTreeSet};

use attache_kernel::{
    id::RunId,
    model::usage::{Cost, Usage},
    run::{event::Event, outcome::Status, transcript::Entry},
};
use attache_runtime::internal::store::{FileStore, RunState, StoreError, Transcript};
use jiff::Timestamp;
use serde::Serialize;

/// A run with all that belong to it, in the order they are shown.
#[derive(Debug, Serialize)]
pub(crate) struct RunTree {
    /// The run that was asked for.
    pub(crate) agent_id: String,
    /// When the first of them began.
    pub(crate) started_at: String,
    /// From the beginning of the first to the end of the last.
    pub(crate) duration_ms: u64,
    /// How many runs.
    pub(crate) agents: usize,
    /// Their tokens.
    pub(crate) total_tokens: u64,
    /// Their cost; none if any of it is not known.
    pub(crate) cost_usd: Option<f64>,
    /// The runs: each is followed by those it started, then by those that continue it.
    pub(crate) runs: Vec<Branch>,
    /// Runs of the same session that cannot be read, with the reason.
    pub(crate) unreadable: Vec<String>,
}

/// One run of a tree.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Branch {
    pub(crate) agent_id: String,
    pub(crate) parent_id: Option<String>,
    pub(crate) resumed_from: Option<String>,
    pub(crate) agent_type: String,
    pub(crate) description: String,
    pub(crate) model: String,
    /// How it ended; of a run that has not ended, its state.
    pub(crate) status: String,
    pub(crate) error: Option<String>,
    pub(crate) started_at: String,
    /// How far below the run that was asked for.
    pub(crate) level: usize,
    /// When it was made, from the beginning of the tree.
    pub(crate) begin_ms: u64,
    /// When it began to work: until then it was queued.
    pub(crate) work_ms: u64,
    /// When it ended, or what is known of it ends.
    pub(crate) end_ms: u64,
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
    pub(crate) total_tokens: u64,
    pub(crate) cost_usd: Option<f64>,
    /// When its model answered and its tools worked.
    pub(crate) spans: Vec<Span>,
}

/// A part of a run's time.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Span {
    pub(crate) kind: SpanKind,
    /// The turn, or the tool.
    pub(crate) name: String,
    pub(crate) begin_ms: u64,
    pub(crate) end_ms: u64,
    pub(crate) ok: bool,
}

/// What a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SpanKind {
    /// The model answers.
    Turn,
    /// A tool works.
    Call,
}

impl Branch {
    /// Whether it goes on, or waits to.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "running" | "queued")
    }

    /// Whether it reached its goal.
    pub(crate) fn is_good(&self) -> bool {
        self.status == Status::Goal.as_str()
    }

    /// From its making to its end.
    pub(crate) fn duration_ms(&self) -> u64 {
        self.end_ms.saturating_sub(self.begin_ms)
    }
}

/// Reads the tree of a run. `each` gets every transcript that may belong to it, once.
pub(crate) fn read(
    root: &Transcript,
    store: &FileStore,
    now: Timestamp,
    mut each: impl FnMut(&Transcript),
) -> Result<RunTree, StoreError> {
    let mut found = Found::default();
    for transcript in store.session(&root.header.run.session_id)? {
        match transcript {
            Ok(transcript) => {
                each(&transcript);
                found.add(&transcript, now);
            }
            // It is only just beginning, or was removed meanwhile.
            Err(StoreError::NoHeader { .. } | StoreError::Unknown { .. }) => {}
            Err(error) => found.unreadable.push(error.to_string()),
        }
    }
    Ok(found.below(root.header.run.agent_id.as_str()))
}

/// What was read of a session; times are those of the clock.
#[derive(Default)]
struct Found {
    runs: BTreeMap<String, Branch>,
    /// What a run started whose transcript may be gone.
    started: Vec<Branch>,
    unreadable: Vec<String>,
}

impl Found {
    fn add(&mut self, transcript: &Transcript, now: Timestamp) {
        let run = &transcript.header.run;
        let begin = clock(&transcript.header.ts);
        let last = transcript.entries.last().map_or(begin, |entry| clock(&entry.ts));
        let is_open = matches!(transcript.state, RunState::Running | RunState::Queued);
        let described = run.description.as_deref().unwrap_or(&run.task);
        let mut branch = Branch {
            agent_id: run.agent_id.to_string(),
            parent_id: run.parent_id.as_ref().map(RunId::to_string),
            resumed_from: run.resumed_from.as_ref().map(RunId::to_string),
            agent_type: run.definition.agent_type.to_string(),
            description: first_line(described),
            model: run.model.id.clone(),
            status: transcript.state.as_str().to_owned(),
            error: None,
            started_at: transcript.header.ts.clone(),
            level: 0,
            begin_ms: begin,
            work_ms: if is_open { now_ms(now) } else { last },
            end_ms: if is_open { last.max(now_ms(now)) } else { last },
            turns: 0,
            tool_uses: 0,
            total_tokens: 0,
            cost_usd: None,
            spans: Vec::new(),
        };
        let mut reading = Reading { branch: &mut branch, turn: None, calls: BTreeMap::new() };
        let (mut usage, mut cost) = (Usage::default(), Cost::default());
        for entry in &transcript.entries {
            reading.entry(entry);
            if let Some(spent) = entry.event.spent() {
                usage.add(&spent.usage);
                cost.add(spent.cost_usd.filter(|_| !spent.answer_lost));
            }
            if let Event::SubAgentStart { agent_id, name, description, .. } = &entry.event {
                self.started.push(gone(&run.agent_id, agent_id, name, description, entry));
            }
        }
        reading.finish();
        branch.total_tokens = usage.total_tokens();
        branch.cost_usd = cost.usd();
        self.runs.insert(branch.agent_id.clone(), branch);
    }

    /// The tree below a run. Who was read once is shown once.
    fn below(mut self, root: &str) -> RunTree {
        for started in std::mem::take(&mut self.started) {
            self.runs.entry(started.agent_id.clone()).or_insert(started);
        }
        let mut children: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        let mut later: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        for (id, run) in &self.runs {
            let earlier =
                run.resumed_from.as_ref().filter(|earlier| self.runs.contains_key(*earlier));
            let (map, above) = match (earlier, &run.parent_id) {
                (Some(earlier), _) => (&mut later, earlier),
                (None, Some(parent)) => (&mut children, parent),
                (None, None) => continue,
            };
            map.entry(above.clone()).or_default().push((run.begin_ms, id.clone()));
        }
        children.values_mut().chain(later.values_mut()).for_each(|runs| runs.sort());
        let mut runs = Vec::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(root.to_owned(), 0)];
        while let Some((id, level)) = open.pop() {
            let Some(run) = self.runs.remove(&id).filter(|_| seen.insert(id.clone())) else {
                continue;
            };
            // The last that is put there is the next that is shown.
            let after = later.remove(&id).unwrap_or_default().into_iter().rev();
            open.extend(after.map(|(_, id)| (id, level)));
            let below = children.remove(&id).unwrap_or_default().into_iter().rev();
            open.extend(below.map(|(_, id)| (id, level + 1)));
            runs.push(Branch { level, ..run });
        }
        RunTree::of_runs(root, runs, self.unreadable)
    }
}

impl RunTree {
    fn of_runs(root: &str, mut runs: Vec<Branch>, unreadable: Vec<String>) -> Self {
        let begin = runs.iter().map(|run| run.begin_ms).min().unwrap_or_default();
        let mut cost = Cost::default();
        for run in &mut runs {
            for time in [&mut run.begin_ms, &mut run.work_ms, &mut run.end_ms] {
                *time = time.saturating_sub(begin);
            }
            run.work_ms = run.work_ms.clamp(run.begin_ms, run.end_ms.max(run.begin_ms));
            for span in &mut run.spans {
                span.begin_ms = span.begin_ms.saturating_sub(begin);
                span.end_ms = span.end_ms.saturating_sub(begin);
            }
            cost.add(run.cost_usd);
        }
        let first = runs.iter().min_by_key(|run| run.begin_ms);
        Self {
            agent_id: root.to_owned(),
            started_at: first.map(|run| run.started_at.clone()).unwrap_or_default(),
            duration_ms: runs.iter().map(|run| run.end_ms).max().unwrap_or_default(),
            agents: runs.len(),
            total_tokens: runs.iter().map(|run| run.total_tokens).sum(),
            cost_usd: cost.usd(),
            runs,
            unreadable,
        }
    }
}

/// A run being read, entry by entry.
struct Reading<'b> {
    branch: &'b mut Branch,
    /// The turn whose answer is awaited, and since when.
    turn: Option<(u32, u64)>,
    /// The calls that work: their tool, and since when.
    calls: BTreeMap<String, (String, u64)>,
}

impl Reading<'_> {
    fn entry(&mut self, entry: &Entry) {
        let at = clock(&entry.ts);
        match &entry.event {
            Event::Started => self.branch.work_ms = at,
            Event::TurnStarted { turn, .. } => self.turn = Some((*turn, at)),
            Event::Replied { .. } | Event::ReplyCutOff { .. } => self.answered(at, true),
            Event::Failed { .. } | Event::TimeUp { .. } | Event::Cancelled { .. } => {
                self.answered(at, false);
            }
            Event::TurnCompleted { turn, .. } => self.branch.turns = self.branch.turns.max(*turn),
            Event::ToolStarted { call_id, tool_name } => {
                self.calls.insert(call_id.to_string(), (tool_name.clone(), at));
            }
            Event::ToolReturned { result, .. } => {
                let started = self.calls.remove(result.call_id.as_str());
                if let Some((name, begin_ms)) = started {
                    self.branch.tool_uses += 1;
                    let end_ms = begin_ms.max(at);
                    let (kind, ok) = (SpanKind::Call, !result.is_error);
                    self.branch.spans.push(Span { kind, name, begin_ms, end_ms, ok });
                }
            }
            Event::Ended { ending } => {
                ending.status.as_str().clone_into(&mut self.branch.status);
                self.branch.error.clone_from(&ending.error);
                self.answered(at, false);
            }
            _ => {}
        }
    }

    /// The end of a model's answer, if one was awaited.
    fn answered(&mut self, at: u64, ok: bool) {
        if let Some((turn, begin_ms)) = self.turn.take() {
            self.branch.turns = self.branch.turns.max(turn);
            let (kind, name) = (SpanKind::Turn, turn.to_string());
            self.branch.spans.push(Span { kind, name, begin_ms, end_ms: at.max(begin_ms), ok });
        }
    }

    /// What has no end yet lasts until what is known of the run ends.
    fn finish(mut self) {
        let end_ms = self.branch.end_ms;
        let ok = self.branch.is_open();
        self.answered(end_ms, ok);
        for (_, (name, begin_ms)) in std::mem::take(&mut self.calls) {
            let end_ms = end_ms.max(begin_ms);
            self.branch.spans.push(Span { kind: SpanKind::Call, name, begin_ms, end_ms, ok });
        }
    }
}

/// A run of which only its parent tells.
fn gone(parent: &RunId, id: &RunId, name: &str, description: &str, entry: &Entry) -> Branch {
    let at = clock(&entry.ts);
    Branch {
        agent_id: id.to_string(),
        parent_id: Some(parent.to_string()),
        resumed_from: None,
        agent_type: name.to_owned(),
        description: first_line(description),
        model: String::new(),
        status: "gone".to_owned(),
        error: None,
        started_at: entry.ts.clone(),
        level: 0,
        begin_ms: at,
        work_ms: at,
        end_ms: at,
        turns: 0,
        tool_uses: 0,
        total_tokens: 0,
        cost_usd: None,
        spans: Vec::new(),
    }
}

fn first_line(text: &str) -> String {
    const LONGEST: usize = 200;
    text.trim().lines().next().unwrap_or_default().chars().take(LONGEST).collect()
}

/// A moment in milliseconds; one that cannot be read is the beginning of time.
pub(crate) fn clock(ts: &str) -> u64 {
    ts.parse().map_or(0, now_ms)
}

fn now_ms(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or_default()
}
