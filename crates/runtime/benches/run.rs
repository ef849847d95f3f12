//! What the loop costs: the time of a turn with an in-process model, journal included, as runs get
//! longer; what a log adds to a turn; and what a run that waits costs in memory.
//!
//! `cargo bench -p attache-runtime --bench run`. Compare the ratios; times depend on the machine.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints and may fail")]

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use attache_kernel::{
    agent::definition::Definition,
    id::{AgentName, RunId, SessionId, ToolCallId},
    model::usage::Usage,
    rights::{
        filter::ToolSet,
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        Reply, Run,
        assignment::{Assignment, RunRequest},
        event::StopReason,
        message::{AssistantPart, Message, ToolCall},
        outcome::Status,
        tool_spec::{Concurrency, Repeatability, ToolSpec},
        transcript::{Entry, Header},
    },
};
use attache_runtime::internal::{
    approvals::Approvals,
    events::EventLog,
    executor::{Execution, Patience, drive},
    model::{Chunks, Model, ModelCall, ModelFuture},
    store::{FileStore, JournalWriter, Options, StoreFuture},
    tasks::Links,
    tool::{
        FileGuard, Tool, ToolContext, ToolFuture, ToolOutput, artifacts::Artifacts,
        workspace::Workspace,
    },
};
use attache_testkit::assignment::assignment_of;
use serde_json::{Value, json};
use tempfile::TempDir;
use tracing_subscriber::{fmt::format::FmtSpan, layer::SubscriberExt as _};

/// Calls a tool each turn, with other arguments each time, and completes in the last of `turns`.
#[derive(Debug)]
struct Counting {
    turns: usize,
}

impl Model for Counting {
    fn call<'a>(&'a self, call: ModelCall<'a>, _chunks: Chunks<'a>) -> ModelFuture<'a> {
        let messages = call.request.messages.messages();
        let said = messages
            .iter()
            .filter(|message| matches!(***message, Message::Assistant { .. }))
            .count();
        let id = ToolCallId::new(format!("call-{said}"));
        let call = if said + 1 < self.turns {
            ToolCall::new(id, "read_file", format!("{{\"path\":\"file-{said}\"}}"))
        } else {
            ToolCall::new(id, "complete_task", "{\"result\":\"done\"}")
        };
        let reply = Reply {
            content: vec![AssistantPart::ToolCall { call }],
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            cost_usd: Some(0.0),
        };
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// Answers at once with a kilobyte.
#[derive(Debug)]
struct Kilobyte {
    spec: ToolSpec,
}

impl Tool for Kilobyte {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _arguments: Value, _context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(std::future::ready(ToolOutput::text("x".repeat(1024))))
    }
}

/// Forgets everything.
#[derive(Debug)]
struct Nowhere;

impl JournalWriter for Nowhere {
    fn append<'a>(&'a mut self, _entries: &'a [Entry]) -> StoreFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn location(&self) -> String {
        "nowhere".to_owned()
    }
}

struct World {
    folder: TempDir,
    tool: Arc<dyn Tool>,
}

impl World {
    fn new() -> Self {
        let spec = ToolSpec {
            name: BuiltinTool::ReadFile.into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object"}).into(),
            concurrency: Concurrency::Parallel,
            repetition: Repeatability::Repeatable,
        };
        Self { folder: TempDir::new().unwrap(), tool: Arc::new(Kilobyte { spec }) }
    }

    fn assignment(&self, number: usize) -> Assignment {
        let mut definition = Definition::named(AgentName::new("bench"));
        definition.prompt_config.system_prompt = Some("You measure.".to_owned());
        definition.run_config.max_turns = 1_000_000;
        definition.run_config.max_time_seconds = 100_000;
        Assignment {
            agent_id: RunId::new(format!("agent-{number}")),
            session_id: SessionId::new("bench"),
            ..assignment_of(definition, "measure").with_tools(vec![self.tool.spec().clone()])
        }
    }

    fn execution(&self, number: usize, model: Arc<dyn Model>, on_disk: bool) -> Execution {
        let assignment = self.assignment(number);
        let header = Header::new("now", assignment.clone());
        let name: ToolName = BuiltinTool::ReadFile.into();
        let guard = Arc::new(ToolSet::of_host([name.clone()]));
        let (run, opening) = Run::new(RunRequest { assignment, fork: None, guard }).unwrap();
        let journal: Box<dyn JournalWriter> = if on_disk {
            let store = FileStore::new(self.folder.path().join("sessions"), Options::default());
            Box::new(store.create(&header).unwrap())
        } else {
            Box::new(Nowhere)
        };
        Execution {
            run,
            opening,
            next_seq: 1,
            model,
            tools: Arc::new(BTreeMap::from([(name, Arc::clone(&self.tool))])),
            approvals: Approvals::default(),
            context: ToolContext::new(
                Workspace::new(self.folder.path()).unwrap(),
                Artifacts::new(self.folder.path().join("artifacts")),
                FileGuard::unrestricted(),
            ),
            journal,
            events: EventLog::default(),
            links: Links::default(),
            patience: Patience::default(),
        }
    }
}

/// The number of runs that wait at once.
const WAITING: usize = 1000;

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn call<'a>(&'a self, _call: ModelCall<'a>, _chunks: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(std::future::pending())
    }
}

/// Where a run is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    None,
    Disk,
}

/// The median time of a turn over several runs of this many turns.
fn turn_time(runtime: &tokio::runtime::Runtime, turns: usize, journal: Journal) -> Duration {
    let rounds = (2000 / turns).max(5);
    let mut times: Vec<Duration> = (0..rounds)
        .map(|number| {
            let world = World::new();
            let model = Arc::new(Counting { turns });
            let execution = world.execution(number, model, journal == Journal::Disk);
            let start = Instant::now();
            let (_, outcome) = runtime.block_on(drive(execution)).unwrap();
            let elapsed = start.elapsed();
            assert_eq!(outcome.ending.status, Status::Goal);
            elapsed / u32::try_from(turns).unwrap()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// A log as `--log-file` writes it, into nothing.
fn log() -> impl tracing::Subscriber + Send + Sync {
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(std::io::sink);
    tracing_subscriber::registry().with(lines)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut base = None;
    println!("turns   journal   a turn        ratio to 10 turns without a journal");
    for turns in [10, 100, 1000] {
        for journal in [Journal::None, Journal::Disk] {
            let median = turn_time(&runtime, turns, journal);
            let base = *base.get_or_insert(median);
            let where_to = if journal == Journal::Disk { "disk" } else { "none" };
            println!(
                "{turns:>5}   {where_to:<7}   {median:>9.2?}   {:.2}",
                median.as_secs_f64() / base.as_secs_f64()
            );
        }
    }
    // Without a subscriber first: once one was set, spans are never as cheap again in this process.
    for journal in [Journal::None, Journal::Disk] {
        let off = [(); 2].map(|()| turn_time(&runtime, 100, journal));
        let on = tracing::subscriber::with_default(log(), || turn_time(&runtime, 100, journal));
        let after = turn_time(&runtime, 100, journal);
        let ratio = |time: Duration| time.as_secs_f64() / off[0].as_secs_f64();
        println!(
            "a turn, journal {journal:?}: no log {:.2?}; again {:.2}; with a log {:.2}; after it {:.2}",
            off[0],
            ratio(off[1]),
            ratio(on),
            ratio(after),
        );
    }
    let world = World::new();
    let before = resident();
    let model: Arc<dyn Model> = Arc::new(Silent);
    runtime.block_on(async {
        let executions: Vec<_> = (0..WAITING)
            .map(|index| {
                tokio::spawn(drive(world.execution(1_000_000 + index, Arc::clone(&model), true)))
            })
            .collect();
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let each = resident().saturating_sub(before) / u64::try_from(WAITING).unwrap();
        println!("{WAITING} runs that wait for their model: {} KB each", each / 1024);
        executions.iter().for_each(tokio::task::JoinHandle::abort);
    });
}
