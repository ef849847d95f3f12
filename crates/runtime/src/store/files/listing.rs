//! Listing: the summary of each run, taken from the two ends of its file.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use attache_kernel::{
    id::{AgentName, RunId, SessionId},
    run::{
        assignment::{SessionSource, TemplateFacts},
        event::{Event, Progress, spent::SpentLine},
        outcome::{ModelUsed, Status},
        transcript::FORMAT,
    },
};
use memchr::{memchr, memrchr};
use serde::Deserialize;

use super::{lock, mail, names::Place, open_to_read};
use crate::store::{Advance, RunState, Summary};

/// How much is read at once; most headers and last lines are shorter.
const PIECE: usize = 8 * 1024;
/// How far from the end of a file the last finished turn is looked for.
const TURN_WITHIN: u64 = 256 * 1024;
/// What a list shows of a task that nobody described.
const DESCRIBED_BY: usize = 80;

/// What a list needs of a header; the rest is passed over.
#[derive(Deserialize)]
struct Head {
    format: u32,
    ts: String,
    run: HeadRun,
}

#[derive(Deserialize)]
struct HeadRun {
    agent_id: RunId,
    session_id: SessionId,
    parent_id: Option<RunId>,
    resumed_from: Option<RunId>,
    #[serde(default)]
    at_turn: Option<u32>,
    definition: HeadDefinition,
    task: String,
    #[serde(default)]
    description: Option<String>,
    model: ModelUsed,
    source: SessionSource,
    environment: TemplateFacts,
}

#[derive(Deserialize)]
struct HeadDefinition {
    #[serde(rename = "agentType")]
    agent_type: AgentName,
}

/// What a list needs of a last line.
#[derive(Deserialize)]
struct Tail {
    ts: String,
    event: TailEvent,
}

impl Tail {
    fn status(&self) -> Option<Status> {
        self.event.ending.as_ref().map(|ending| ending.status)
    }
}

#[derive(Deserialize)]
struct TailEvent {
    #[serde(rename = "type")]
    kind: String,
    ending: Option<TailEnding>,
}

#[derive(Deserialize)]
struct TailEnding {
    status: Status,
}

/// What is known of a run that has not ended.
#[derive(Clone, Copy)]
struct OpenLife {
    is_held: bool,
    is_queued: bool,
}

/// What has become of a run that ended in that way, or else of one that somebody writes or not.
fn state_of(status: Option<Status>, life: OpenLife) -> RunState {
    match status {
        Some(Status::Goal) => RunState::Completed,
        Some(Status::Aborted) => RunState::Interrupted,
        Some(
            Status::Timeout
            | Status::MaxTurns
            | Status::Budget
            | Status::Error
            | Status::ErrorNoCompleteTaskCall,
        ) => RunState::Failed,
        None if !life.is_held => RunState::Interrupted,
        None if life.is_queued => RunState::Queued,
        None => RunState::Running,
    }
}

/// What has become of a run whose last event that is.
pub(super) fn state(last: Option<&Event>, is_held: bool) -> RunState {
    let status = match last {
        Some(Event::Ended { ending }) => Some(ending.status),
        Some(_) | None => None,
    };
    let is_queued = matches!(last, Some(Event::Queued { .. }));
    state_of(status, OpenLife { is_held, is_queued })
}

/// The summary of a transcript; none if it has no header that can be read.
pub(super) fn summarise(place: &Place) -> Option<Summary> {
    let file = open_to_read(&place.path).ok()?;
    let head: Head = serde_json::from_slice(&first_line(&file).ok()??).ok()?;
    if head.format > FORMAT {
        return None;
    }
    let mut tail = tail_of(&file);
    let mut is_held = false;
    if tail.as_ref().is_none_or(|tail| tail.status().is_none()) {
        is_held = lock::is_held(&file, &place.folder);
        // It may have ended just before it was asked about.
        tail = if is_held { tail } else { tail_of(&file) };
    }
    let status = tail.as_ref().and_then(Tail::status);
    let is_queued = tail.as_ref().is_some_and(|tail| tail.event.kind == "queued");
    let state = state_of(status, OpenLife { is_held, is_queued });
    let HeadRun { description, task, .. } = head.run;
    Some(Summary {
        agent_id: head.run.agent_id,
        agent_type: head.run.definition.agent_type,
        session_id: head.run.session_id,
        parent_id: head.run.parent_id,
        resumed_from: head.run.resumed_from,
        is_branch: head.run.at_turn.is_some(),
        description: description.unwrap_or_else(|| in_a_few_words(&task)),
        model: head.run.model,
        source: head.run.source,
        started_at: head.ts,
        ended_at: tail.filter(|_| status.is_some()).map(|tail| tail.ts),
        state,
        status,
        cwd: head.run.environment.cwd,
        path: place.path.clone(),
    })
}

/// How far a run has come.
pub(super) fn advance(place: &Place) -> Advance {
    let unread_messages = mail::waiting(&place.folder, &place.id);
    let done = open_to_read(&place.path).and_then(|file| last_turn(&file));
    Advance { unread_messages, ..done.unwrap_or_default() }
}

/// What a list needs of the end of a turn.
#[derive(Deserialize)]
struct TurnLine {
    event: TurnEvent,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TurnEvent {
    TurnCompleted { progress: Progress, total_tokens: u64 },
}

/// The last turn that is over, found from the end, and what was spent since.
fn last_turn(file: &File) -> io::Result<Advance> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TURN_WITHIN);
    let near_end = text_from(file, from, length)?;
    match over(&near_end)? {
        Some((over, rest)) => Ok(since(over, rest)),
        None if from == 0 => Ok(since(Advance::default(), &near_end)),
        // The turn under way is longer than that.
        None => {
            let all = text_from(file, 0, length)?;
            let (over, rest) = over(&all)?.unwrap_or((Advance::default(), all.as_slice()));
            Ok(since(over, rest))
        }
    }
}

fn text_from(file: &File, from: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or_default()];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}

/// How far the run was at the end of its last turn that is over, and the lines after that.
fn over(bytes: &[u8]) -> io::Result<Option<(Advance, &[u8])>> {
    const MARK: &[u8] = b"\"type\":\"turn_completed\"";
    let Some(at) = memchr::memmem::rfind(bytes, MARK) else { return Ok(None) };
    let (before, after) = bytes.split_at(at);
    let start = memrchr(b'\n', before).map_or(0, |end| end + 1);
    let end = memchr(b'\n', after).map_or(bytes.len(), |end| at + end);
    let line = serde_json::from_slice(bytes.get(start..end).unwrap_or_default());
    let TurnLine { event: TurnEvent::TurnCompleted { progress, total_tokens } } =
        line.map_err(io::Error::other)?;
    let over = Advance { turns: progress.turns_completed, total_tokens, unread_messages: 0 };
    Ok(Some((over, bytes.get(end..).unwrap_or_default())))
}

/// With what the turn under way has spent; the turn itself counts once the model has answered.
fn since(mut advance: Advance, lines: &[u8]) -> Advance {
    let mut is_summary = false;
    let completed = advance.turns;
    for line in lines.split(|byte| *byte == b'\n') {
        let has = |mark: &str| memchr::memmem::find(line, mark.as_bytes()).is_some();
        if has("\"type\":\"summary_requested\"") {
            is_summary = true;
        }
        if !SpentLine::MARKS.iter().any(|mark| has(mark)) {
            continue;
        }
        // A line that is being written is counted the next time.
        let Ok(Some(SpentLine { spent, .. })) = SpentLine::parse(line) else { continue };
        advance.total_tokens += spent.usage.total_tokens();
        if has("\"type\":\"replied\"") && !std::mem::take(&mut is_summary) {
            advance.turns = completed + 1;
        }
    }
    advance
}

/// How a run ended, if its last line says so.
pub(super) fn end_of(file: &File) -> Option<Status> {
    tail_of(file).as_ref().and_then(Tail::status)
}

fn tail_of(file: &File) -> Option<Tail> {
    let line = last_line(file).ok()??;
    serde_json::from_slice(&line).ok()
}

fn in_a_few_words(task: &str) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= DESCRIBED_BY {
        return line.to_owned();
    }
    let mut words: String = line.chars().take(DESCRIBED_BY - 1).collect();
    words.push('…');
    words
}

/// The first line, if it has an end.
fn first_line(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut piece = [0; PIECE];
    loop {
        let got = file.read_at(&mut piece, line.len() as u64)?;
        let got = piece.get(..got).unwrap_or_default();
        match memchr(b'\n', got) {
            Some(end) => {
                line.extend_from_slice(got.get(..end).unwrap_or_default());
                return Ok(Some(line));
            }
            None if got.is_empty() => return Ok(None),
            None => line.extend_from_slice(got),
        }
    }
}

/// The last line that has an end, unless it is the first.
fn last_line(file: &File) -> io::Result<Option<Vec<u8>>> {
    let length = file.metadata()?.len();
    let mut size = PIECE as u64;
    loop {
        let from = length.saturating_sub(size);
        let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, from)?;
        let line = memrchr(b'\n', &bytes).and_then(|end| bytes.get(..end)).and_then(|before| {
            let start = memrchr(b'\n', before)?;
            before.get(start + 1..)
        });
        match line {
            Some(line) => return Ok(Some(line.to_vec())),
            None if from == 0 => return Ok(None),
            None => size = size.saturating_mul(4),
        }
    }
}
