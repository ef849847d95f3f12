//! What full screens show, read from the store and the inventory.

use attache_kernel::{
    agent::{
        definition::Trust,
        registry::{Record, Status},
    },
    run::{event::Event, file_change},
};
use attache_runtime::internal::{
    changes::run_patch::{Direction, RunPatch},
    clock,
    runtime::Runtime,
    store::{Advance, FileStore, RunState, Store as _, StoreError, Summary, Transcript},
};

use crate::{
    print::{
        diagnostics, diff,
        number::{count, grouped},
        palette::{Tone, paint},
        transcript::{Detail, Place, TranscriptPage, state_tone},
    },
    tui::{
        replay,
        state::page::{ListKind, ListPage, Page, Row, TextPage},
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
    let wanted = |run: &Summary| kind == ListKind::Tasks || replay::is_conversation(run);
    let mut found: Vec<_> = store.list()?.into_iter().filter(wanted).collect();
    found.sort_by_key(|run| !is_open(run.state));
    let rows = found.into_iter().take(MOST_RUNS).map(|run| {
        let advance = store.advance(&run);
        let age = run.started_at.parse().map(|began| now.duration_since(began).as_secs().max(0));
        let age = age.map(shown_age).unwrap_or_default();
        let place = place(&run, runtime);
        row(&run, &format!("{age:>4} {place:<9}"), advance)
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

fn row(run: &Summary, when: &str, advance: Advance) -> Row {
    let state = run.state.as_str();
    let tone = state_tone(run.state);
    let agent = run.agent_type.as_str();
    let tokens = grouped(advance.total_tokens);
    let short_id: String = run.agent_id.as_str().chars().take(14).collect();
    let task = run.description.lines().next().unwrap_or_default();
    let parts = format!("{when} {:>3} turns {tokens:>9} tokens", advance.turns);
    let text = format!(
        "{} {} {}  {task}  {}",
        paint(tone, &format!("{state:<11}")),
        paint(Tone::Name, &format!("{agent:<10}")),
        paint(Tone::Faint, &parts),
        paint(Tone::Faint, &short_id),
    );
    let mark = match run.state {
        RunState::Running => "●",
        RunState::Queued => "○",
        RunState::Completed => "✓",
        RunState::Failed | RunState::Interrupted => "✗",
    };
    let age = when.split_whitespace().next().unwrap_or_default();
    let short = format!(
        "{} {} {task} {}",
        paint(tone, mark),
        paint(Tone::Name, agent),
        paint(Tone::Faint, age)
    );
    Row { id: run.agent_id.to_string(), text, short, state: Some(run.state), turns: advance.turns }
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
    let patch = RunPatch::from_changes(&all, &artifacts, Direction::Forward);
    Ok(diff::painted(&patch.text).join("\n") + "\n")
}

/// The agents there are.
pub(super) fn agents(runtime: &Runtime) -> Page {
    let rows = runtime.inventory().records.into_iter().map(|record| {
        let (state, tone) = state_of(&record);
        let about = record.definition.as_ref().and_then(|it| it.when_to_use.clone());
        let about = about.unwrap_or_default();
        let about = about.lines().next().unwrap_or_default();
        let mut remarks: Vec<String> = Vec::new();
        let problems = record.diagnostics.len() as u64;
        if problems > 0 {
            remarks.push(paint(Tone::Warning, &count(problems, "problem")));
        }
        if !record.overrides.is_empty() {
            let text = format!("overrides {}", record.overrides.len());
            remarks.push(paint(Tone::Name, &text));
        }
        remarks.push(about.to_owned());
        let remarks = remarks.join(" · ");
        let name = &record.name;
        let text = format!(
            "{} {} {} {remarks}",
            paint(Tone::Name, &format!("{name:<20}")),
            paint(tone, &format!("{state:<18}")),
            paint(Tone::Faint, &format!("{:<8}", record.scope.as_str())),
        );
        let short = format!("{} {} {remarks}", paint(Tone::Name, name), paint(tone, &state));
        Row { id: record.name, text, short, state: None, turns: 0 }
    });
    Page::List(ListPage::new(ListKind::Agents, rows.collect()))
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
