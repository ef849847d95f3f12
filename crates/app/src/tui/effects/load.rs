//! What full screens show, read from the store and the inventory.

use std::{collections::BTreeSet, path::Path};

use attache_kernel::{
    agent::{
        definition::Trust,
        registry::{Record, Status},
    },
    id::RunId,
    run::{event::Event, file_change},
};
use attache_runtime::internal::{
    changes::{
        place::below_repository,
        run_patch::{Direction, RunPatch},
    },
    clock,
    runtime::Runtime,
    store::{Advance, FileStore, RunState, Store as _, StoreError, Summary, Transcript},
};

use crate::{
    print::{
        diagnostics, diff,
        number::count,
        palette::{Tone, paint},
        transcript::{Detail, Place, TranscriptPage, state_tone},
    },
    tui::{
        replay,
        state::page::{Cell, ListKind, ListPage, Page, Row, TextPage},
    },
};

/// How many runs a list shows.
const MOST_RUNS: usize = 200;

/// The runs there are, the newest first.
pub(super) fn runs(
    kind: ListKind,
    store: &FileStore,
    runtime: &Runtime,
) -> Result<Page, StoreError> {
    let now = clock::now();
    let all = store.list()?;
    // A conversation is one row: its latest message, which goes on from the others.
    let earlier: BTreeSet<RunId> = all.iter().filter_map(|run| run.resumed_from.clone()).collect();
    let is_latest = |run: &Summary| !earlier.contains(&run.agent_id);
    let wanted =
        |run: &Summary| kind == ListKind::Tasks || (replay::is_conversation(run) && is_latest(run));
    let mut found: Vec<_> = all.into_iter().filter(wanted).collect();
    found.sort_by_key(|run| !is_open(run.state));
    let rows = found.into_iter().take(MOST_RUNS).map(|run| {
        let advance = store.advance(&run);
        let age = run.started_at.parse().map(|began| now.duration_since(began).as_secs().max(0));
        let age = age.map(shown_age).unwrap_or_default();
        row(&run, age, place(&run, runtime), advance)
    });
    Ok(Page::List(ListPage::new(kind, rows.collect())))
}

/// Where a run goes on.
fn place(run: &Summary, runtime: &Runtime) -> &'static str {
    match (is_open(run.state), runtime.handle(&run.agent_id)) {
        (true, Some(_)) => "here",
        (true, None) => "elsewhere",
        (false, _) => "",
    }
}

fn row(run: &Summary, age: String, place: &str, advance: Advance) -> Row {
    let mark = match run.state {
        RunState::Running => "●",
        RunState::Queued => "○",
        RunState::Completed => "✓",
        RunState::Failed | RunState::Interrupted => "✗",
    };
    let tokens = advance.total_tokens;
    let short_place = if place == "elsewhere" { "else" } else { place };
    let short_id: String = run.agent_id.as_str().chars().take(14).collect();
    let task = run.description.lines().next().unwrap_or_default();
    let cells = vec![
        Cell::new(state_tone(run.state), format!("{:<11}", run.state.as_str()), mark),
        Cell::same(Tone::Name, run.agent_type.as_str()),
        Cell::same(None, task),
        Cell::same(Tone::Faint, age),
        Cell::new(Tone::Faint, place, short_place),
        Cell::new(Tone::Faint, count(advance.turns.into(), "turn"), format!("{}t", advance.turns)),
        Cell::new(Tone::Faint, count(tokens, "token"), format!("{}k", tokens.div_ceil(1000))),
        Cell::same(Tone::Faint, short_id),
    ];
    Row { id: run.agent_id.to_string(), cells, state: Some(run.state), turns: advance.turns }
}

fn is_open(state: RunState) -> bool {
    matches!(state, RunState::Running | RunState::Queued)
}

fn shown_age(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The transcript of a run.
pub(super) fn transcript(id: &str, store: &FileStore) -> Result<Page, StoreError> {
    let transcript = store.read(id)?;
    let run = &transcript.header.run;
    let place = Place {
        path: transcript.path.display().to_string(),
        artifacts: store.artifacts_dir(run).ok(),
    };
    let (mut page, mut text) =
        TranscriptPage::new(Detail::Brief, &transcript.header, transcript.state, place);
    for entry in &transcript.entries {
        text.push_str(&page.entry(entry));
    }
    let is_open = is_open(transcript.state);
    let has_ended =
        transcript.entries.last().is_some_and(|last| matches!(last.event, Event::Ended { .. }));
    if !has_ended && !is_open {
        text.push_str(&page.unfinished(transcript.state));
    }
    let title = format!("Transcript of {} ({})", run.definition.agent_type, run.agent_id);
    let mut page = TextPage::new(title, &text);
    page.run = is_open.then(|| run.agent_id.clone());
    page.follows = is_open;
    Ok(Page::Text(page))
}

/// What a conversation changed, run by run.
pub(super) fn changes(id: Option<&str>, store: &FileStore) -> Result<Page, StoreError> {
    let runs = id.map(|id| replay::transcripts(id, store)).transpose()?.unwrap_or_default();
    let mut text = String::new();
    for transcript in &runs {
        text.push_str(&changes_of(transcript, store)?);
    }
    if text.is_empty() {
        text.push_str("no file was changed by file tools");
    }
    Ok(Page::Text(TextPage::new("Changes", &text)))
}

fn changes_of(transcript: &Transcript, store: &FileStore) -> Result<String, StoreError> {
    let all = transcript.entries.iter().flat_map(|entry| match &entry.event {
        Event::ToolReturned { changes, .. } => changes.as_slice(),
        _ => &[],
    });
    let all = file_change::sum(all);
    if all.is_empty() {
        return Ok(String::new());
    }
    let artifacts = store.artifacts_dir(&transcript.header.run)?;
    let run = &transcript.header.run;
    let below = below_repository(Path::new(&run.environment.cwd), run.worktree.as_ref());
    let patch = RunPatch::from_changes(&all, &artifacts, &below, Direction::Forward);
    Ok(diff::painted(&patch.text).join("\n") + "\n")
}

/// The agents there are.
pub(super) fn agents(runtime: &Runtime) -> Page {
    let rows = runtime.inventory().records.into_iter().map(|record| {
        let (state, tone) = state_of(&record);
        let about = record.definition.as_ref().and_then(|it| it.when_to_use.clone());
        let about = about.unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let counted = |number: usize, noun: &str| match number {
            0 => String::new(),
            number => count(number as u64, noun),
        };
        let problems = record.diagnostics.len();
        let overrides = match record.overrides.len() {
            0 => String::new(),
            number => format!("overrides {number}"),
        };
        let short_state = state.replace("active, untrusted", "untrusted");
        let cells = vec![
            Cell::same(Tone::Name, record.name.as_str()),
            Cell::new(tone, state, short_state),
            Cell::same(Tone::Faint, record.scope.as_str()),
            Cell::new(Tone::Warning, counted(problems, "problem"), marked('!', problems)),
            Cell::new(Tone::Name, overrides, marked('^', record.overrides.len())),
            Cell::same(None, about),
        ];
        Row { id: record.name, cells, state: None, turns: 0 }
    });
    Page::List(ListPage::new(ListKind::Agents, rows.collect()))
}

/// A number behind its mark; nothing for none.
fn marked(mark: char, number: usize) -> String {
    if number == 0 { String::new() } else { format!("{mark}{number}") }
}

fn state_of(record: &Record) -> (String, Tone) {
    let trusted = record.trusted == Trust::Trusted;
    match record.status {
        Status::Active if trusted => ("active".to_owned(), Tone::Good),
        Status::Active => ("active, untrusted".to_owned(), Tone::Warning),
        Status::Invalid => ("invalid".to_owned(), Tone::Bad),
        Status::Disabled => ("disabled".to_owned(), Tone::Faint),
    }
}

/// One agent in full.
pub(super) fn agent(name: &str, runtime: &Runtime) -> Option<Page> {
    let record = runtime.inventory().records.into_iter().find(|record| record.name == name)?;
    let (state, tone) = state_of(&record);
    let mut lines = vec![format!("{} {}", paint(tone, &state), record.scope.as_str())];
    if record.trusted != Trust::Trusted {
        let text = format!("it may not write or run commands; trust it: attache trust {name}");
        lines.push(paint(Tone::Warning, &text));
    }
    if let Some(path) = &record.source_path {
        lines.push(format!("file    {}", path.display()));
        let text = crate::print::source_text(path);
        for problem in &record.diagnostics {
            lines.push(diagnostics::render(problem, path, text.as_deref()));
        }
    }
    for lost in &record.overrides {
        if let Some(path) = &lost.source_path {
            let scope = lost.scope.as_str();
            lines.push(format!("overrides {} ({scope})", path.display()));
        }
    }
    if let Some(model) = &record.effective_model {
        lines.push(format!("model   {} ({})", model.model, model.provider));
    }
    lines.push(format!("tools   {}", record.effective_tools.join(", ")));
    for withheld in &record.withheld_tools {
        lines
            .push(paint(Tone::Warning, &format!("without {}: {}", withheld.tool, withheld.reason)));
    }
    if let Some(definition) = &record.definition {
        lines.push(String::new());
        lines.extend(definition.when_to_use.clone());
        lines.push(String::new());
        lines.extend(definition.prompt_config.system_prompt.clone());
    }
    let text = lines.join("\n");
    let page = TextPage::new(format!("Agent {name}"), &text);
    Some(Page::Text(TextPage { agent: Some(name.to_owned()), ..page }))
}
