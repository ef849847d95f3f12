//! How many events a second a journal takes, for each promise it can keep, as ratios within one run.
//!
//! `cargo bench -p attache-runtime --bench journal [-- TURNS ROUNDS]`

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{
    error::Error,
    fs::File,
    io::Write as _,
    time::{Duration, Instant},
};

use attache_kernel::{
    id::{RunId, ToolCallId},
    run::{
        event::{Event, Progress},
        message::ToolResult,
        transcript::{Entry, Header, Line},
    },
};
use attache_runtime::internal::store::{
    Durability, FileStore, JournalWriter as _, Options, Secrets, files::FileWriter,
};

const GOLDEN: &str = include_str!("../../kernel/tests/it/golden/transcript.jsonl");
const TURNS: usize = 2_000;
const ROUNDS: usize = 5;
/// What a common answer of a tool is long.
const ANSWER: usize = 1_000;

/// A way to write, and what it promises.
struct Mode {
    name: &'static str,
    durability: Durability,
    sync: Sync,
    secrets: usize,
    /// A part of the turns is enough where each waits for the disk.
    share: usize,
    promise: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sync {
    Never,
    /// After each turn's end, on another thread.
    Beside,
    /// At each turn's end, and waited for.
    Waited,
}

const MODES: [Mode; 4] = [
    Mode {
        name: "process, never synced",
        durability: Durability::Process,
        sync: Sync::Never,
        secrets: 0,
        share: 1,
        promise: "survives a kill; of a power cut, what the system had written by itself",
    },
    Mode {
        name: "the same with 8 secrets to mask",
        durability: Durability::Process,
        sync: Sync::Never,
        secrets: 8,
        share: 1,
        promise: "the same",
    },
    Mode {
        name: "process, fdatasync beside each turn",
        durability: Durability::Process,
        sync: Sync::Beside,
        secrets: 8,
        share: 1,
        promise: "survives a kill; of a power cut, all but the last moments",
    },
    Mode {
        name: "machine, fdatasync awaited",
        durability: Durability::Machine,
        sync: Sync::Waited,
        secrets: 8,
        share: 10,
        promise: "survives a kill, and a power cut up to the last finished turn",
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let turns = numbers.first().copied().unwrap_or(TURNS);
    let rounds = numbers.get(1).copied().unwrap_or(ROUNDS);
    // On a disk, not in memory as a temporary folder may be.
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let header = header()?;
    let turn = turn();
    let bytes: usize = turn.iter().filter_map(|entry| written(entry).ok()).sum();
    println!("{turns} turns of {} events, {bytes} bytes a turn; medians of {rounds}", turn.len());
    println!("{:<38}{:>12}{:>10}{:>8}", "", "events/s", "µs/event", "ratio");
    let floor = median(rounds, |_| floor(scratch.path(), turns, &turn))?;
    let per_event = row("write_all of the same lines", floor, turns * turn.len(), None);
    for (index, mode) in MODES.iter().enumerate() {
        let turns = turns / mode.share;
        let took = median(rounds, |round| {
            let folder = scratch.path().join(format!("{index}-{round}"));
            let secrets = (0..mode.secrets).map(|n| format!("sk-{n:032}"));
            let options = Options {
                durability: mode.durability,
                secrets: Secrets::new(secrets),
                ..Options::default()
            };
            let journal = FileStore::new(folder, options).create(&header)?;
            write(journal, mode.sync, turns, &turn)
        })?;
        row(mode.name, took, turns * turn.len(), Some(per_event));
        println!("    {}", mode.promise);
    }
    Ok(())
}

fn header() -> Result<Header, Box<dyn Error>> {
    match Line::parse(GOLDEN.lines().next().unwrap_or_default())? {
        Line::Header(mut header) => {
            header.run.agent_id = RunId::new("agent-1");
            Ok(*header)
        }
        Line::Event(_) => Err("the golden file begins with its header".into()),
    }
}

/// The events of a turn with two calls.
fn turn() -> Vec<Entry> {
    let of_golden = GOLDEN.lines().filter_map(|text| match Line::parse(text) {
        Ok(Line::Event(entry)) => Some(entry),
        Ok(Line::Header(_)) | Err(_) => None,
    });
    let mut entries: Vec<_> =
        of_golden.filter(|entry| matches!(entry.event, Event::Replied { .. })).take(1).collect();
    let progress =
        Progress { turns_completed: 1, max_turns: 30, elapsed_seconds: 1, max_seconds: 120 };
    let mut add = |event| {
        entries.push(Entry::new(1, "2026-11-05T10:00:00.000Z", Duration::ZERO, event));
    };
    add(Event::TurnStarted { turn: 1, grace: false, progress });
    for call in ["call_1", "call_2"] {
        let tool_name = "grep_files".to_owned();
        add(Event::ToolStarted { call_id: ToolCallId::new(call), tool_name: tool_name.clone() });
        let result = ToolResult {
            call_id: ToolCallId::new(call),
            text: "src/tool_filter.rs:12: x\n".repeat(ANSWER / 25),
            is_error: false,
            images: Vec::new(),
            artifacts: Vec::new(),
            data: None,
        };
        add(Event::ToolReturned {
            tool_name,
            result,
            duration_ms: Some(3),
            changes: Vec::new(),
            delivers: Vec::new(),
        });
    }
    add(Event::TurnCompleted { turn: 1, progress, total_tokens: 1000 });
    entries
}

fn written(entry: &Entry) -> Result<usize, serde_json::Error> {
    Ok(Line::Event(entry.clone()).to_json()?.len() + 1)
}

fn write(
    mut journal: FileWriter,
    sync: Sync,
    turns: usize,
    turn: &[Entry],
) -> Result<Duration, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let started = Instant::now();
        for _ in 0..turns {
            for entry in turn {
                match sync {
                    Sync::Never => journal.write(entry)?,
                    Sync::Beside | Sync::Waited => {
                        journal.append(std::slice::from_ref(entry)).await?;
                    }
                }
            }
        }
        Ok(started.elapsed())
    })
}

/// The bare cost of handing the same bytes to the system, line by line.
fn floor(
    folder: &std::path::Path,
    turns: usize,
    turn: &[Entry],
) -> Result<Duration, Box<dyn Error>> {
    let mut lines = Vec::new();
    for entry in turn {
        lines.push(Line::Event(entry.clone()).to_json()? + "\n");
    }
    let mut file = File::create(folder.join("floor"))?;
    let started = Instant::now();
    for _ in 0..turns {
        for line in &lines {
            file.write_all(line.as_bytes())?;
        }
    }
    Ok(started.elapsed())
}

fn median(
    rounds: usize,
    mut measure: impl FnMut(usize) -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::new();
    for round in 0..rounds {
        times.push(measure(round)?);
    }
    times.sort();
    times.get(times.len() / 2).copied().ok_or_else(|| "no rounds".into())
}

#[expect(clippy::cast_precision_loss, reason = "a table shows three figures")]
fn row(name: &str, took: Duration, events: usize, floor: Option<f64>) -> f64 {
    let per_event = took.as_secs_f64() / events.max(1) as f64;
    let ratio = per_event / floor.unwrap_or(per_event);
    println!("{name:<38}{:>12.0}{:>10.1}{ratio:>8.1}", per_event.recip(), per_event * 1e6);
    per_event
}
