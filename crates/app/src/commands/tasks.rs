//! `attache tasks`: every run there is, in any process, and what has become of it.

use std::collections::BTreeMap;

use attache_kernel::id::RunId;
use attache_runtime::internal::{
    clock,
    store::{Advance, FileStore, RunState, Summary},
};
use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    print::{
        self, Reader, Stream,
        number::grouped,
        palette::Tone,
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
    transcripts,
};

/// How many ended runs are shown without --all.
const MOST_ENDED: usize = 20;
/// How old they may be.
const MOST_AGE: SignedDuration = SignedDuration::from_hours(24);
/// The letters of an id that are shown at least.
const SHORT_ID: usize = 14;

/// List runs of any process: those that are running, and those that ended recently.
///
/// Shows every running agent, and up to 20 runs that began within the last 24 hours.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache tasks                  what is running, and what ended today
  attache tasks --watch          the same, and again whenever something changes
  attache tasks --all --json | jq '.[] | select(.status == \"interrupted\").agent_id'

Status: queued, running, completed, failed, interrupted (stopped, or its process is gone).")]
pub(crate) struct TasksArgs {
    /// Show all runs.
    #[arg(short, long)]
    all: bool,
    /// Keep running, and show what changes.
    #[arg(short, long)]
    watch: bool,
}

pub(crate) fn run(args: &TasksArgs, setup: &Setup) -> Result<Exit, Failure> {
    let store = transcripts::store(setup);
    if args.watch {
        return watch(args, &store, setup);
    }
    let (shown, left_out) = chosen(&store, args.all)?;
    if setup.format == OutputFormat::Json {
        print::json(&shown.iter().map(object).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    print::out(&page(&shown))?;
    if left_out > 0 && !setup.quiet {
        print::aside(&format!("{left_out} more ended earlier: --all shows them"));
    }
    Ok(Exit::Success)
}

/// A run, and how far it has come.
struct Task {
    run: Summary,
    advance: Advance,
    /// The newest run that goes on with it.
    continued_by: Option<RunId>,
    /// The task in a few words, its own or that of the run it goes on with.
    description: String,
}

/// What runs have to do with each other.
struct Chains {
    continued_by: BTreeMap<RunId, RunId>,
    earlier: BTreeMap<RunId, (Option<RunId>, String)>,
}

impl Chains {
    /// Runs come newest first.
    fn among(runs: &[Summary]) -> Self {
        let mut continued_by = BTreeMap::new();
        let mut earlier = BTreeMap::new();
        for run in runs {
            if let Some(before) = run.resumed_from.as_ref().filter(|_| !run.is_branch) {
                continued_by.entry(before.clone()).or_insert_with(|| run.agent_id.clone());
            }
            let own = (run.resumed_from.clone(), run.description.clone());
            earlier.insert(run.agent_id.clone(), own);
        }
        Self { continued_by, earlier }
    }

    fn description(&self, run: &Summary) -> String {
        let mut at = Some(&run.agent_id);
        for _ in 0..self.earlier.len() {
            match at.and_then(|id| self.earlier.get(id)) {
                Some((before, words)) if words.is_empty() => at = before.as_ref(),
                Some((_, words)) => return words.clone(),
                None => break,
            }
        }
        String::new()
    }
}

fn is_open(run: &Summary) -> bool {
    matches!(run.state, RunState::Queued | RunState::Running)
}

/// The runs to be shown, and how many are left out.
fn chosen(store: &FileStore, all: bool) -> Result<(Vec<Task>, usize), Failure> {
    let runs = store.list().map_err(|error| transcripts::failure(&error))?;
    let total = runs.len();
    let chains = Chains::among(&runs);
    let now = clock::now();
    let mut ended = 0;
    let shown: Vec<_> = runs
        .into_iter()
        .filter(|run| {
            if all || is_open(run) {
                return true;
            }
            ended += 1;
            ended <= MOST_ENDED && age(run, now).is_some_and(|age| age <= MOST_AGE)
        })
        .map(|run| Task {
            advance: store.advance(&run),
            continued_by: chains.continued_by.get(&run.agent_id).cloned(),
            description: chains.description(&run),
            run,
        })
        .collect();
    let left_out = total - shown.len();
    Ok((shown, left_out))
}

fn age(run: &Summary, now: Timestamp) -> Option<SignedDuration> {
    Some(now.duration_since(run.started_at.parse().ok()?))
}

/// A run as JSON.
fn object(task: &Task) -> Value {
    let Task { run, advance, continued_by, description } = task;
    json!({
        "agent_id": run.agent_id,
        "agent_type": run.agent_type,
        "status": run.state,
        "description": description,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "ended_as": run.status,
        "turns": advance.turns,
        "total_tokens": advance.total_tokens,
        "model": run.model,
        "parent_id": run.parent_id,
        "resumed_from": run.resumed_from,
        "continued_by": continued_by,
        "session_id": run.session_id,
        "cwd": run.cwd,
        "unread_messages": advance.unread_messages,
        "transcript": run.path,
    })
}

fn tone(state: RunState) -> Tone {
    match state {
        RunState::Queued => Tone::Faint,
        RunState::Running | RunState::Completed => Tone::Good,
        RunState::Failed => Tone::Bad,
        RunState::Interrupted => Tone::Warning,
    }
}

/// The beginnings of ids, as long as it takes to tell them apart.
fn short_ids(tasks: &[Task]) -> Vec<String> {
    let mut length = SHORT_ID;
    loop {
        let short: Vec<String> = tasks
            .iter()
            .map(|task| task.run.agent_id.as_str().chars().take(length).collect())
            .collect();
        let mut apart = short.clone();
        apart.sort();
        apart.dedup();
        let is_whole = tasks.iter().all(|task| task.run.agent_id.as_str().len() <= length);
        if apart.len() == tasks.len() || is_whole {
            return short;
        }
        length += 4;
    }
}

fn page(tasks: &[Task]) -> String {
    if tasks.is_empty() {
        return "no runs\n".to_owned();
    }
    let now = clock::now();
    let ids = short_ids(tasks);
    let rows: Vec<_> = tasks.iter().zip(&ids).map(|(task, id)| row(task, id, now)).collect();
    let headings = ["ID", "AGENT", "STATUS", "AGE", "TURNS", "TOKENS", "TASK"];
    // On a narrow terminal ids and states stay whole, and tasks wrap.
    let order = [(5, 0), (4, 0), (6, 24), (1, 10), (3, 0), (1, 0), (6, 11)];
    let table = table::render(&headings, &rows, Overflow::Cut { order: &order });
    format!("{table}\n")
}

fn row(task: &Task, id: &str, now: Timestamp) -> Vec<Field> {
    let Task { run, advance, continued_by, description } = task;
    let mut task = match (run.state, continued_by) {
        (RunState::Interrupted, None) => format!("attache run --resume {id}: {description}"),
        (RunState::Interrupted, Some(next)) => {
            let next: String = next.as_str().chars().take(id.chars().count()).collect();
            format!("continued by {next}: {description}")
        }
        _ => description.clone(),
    };
    if advance.unread_messages > 0 {
        task = format!("({} unread) {task}", advance.unread_messages);
    }
    vec![
        Field::new(id),
        Field::new(run.agent_type.as_str()),
        Field::new(run.state.as_str()).toned(tone(run.state)),
        Field::new(age(run, now).map(shown_age).unwrap_or_default()).right(),
        Field::new(advance.turns.to_string()).right(),
        Field::new(grouped(advance.total_tokens)).right(),
        Field::new(task),
    ]
}

fn shown_age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// On a terminal the whole table, again and again; elsewhere a line for each run that changed.
fn watch(args: &TasksArgs, store: &FileStore, setup: &Setup) -> Result<Exit, Failure> {
    let mut changes = store.watch();
    let mut before: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        let (shown, _) = chosen(store, args.all)?;
        let as_table = Stream::Out.is_terminal() && setup.format == OutputFormat::Text;
        let objects: Vec<Value> = shown.iter().map(object).collect();
        let changed: Vec<_> = shown
            .iter()
            .zip(&objects)
            .filter(|(task, object)| before.get(task.run.agent_id.as_str()) != Some(object))
            .collect();
        let text = match (as_table, setup.format) {
            (true, _) if changed.is_empty() && !before.is_empty() => String::new(),
            (true, _) => page(&shown),
            (false, OutputFormat::Json) => {
                let lines = changed.iter().map(|(_, object)| object.to_string() + "\n");
                lines.collect()
            }
            (false, OutputFormat::Text) => changed.iter().map(|(task, _)| line(task)).collect(),
        };
        if as_table && !text.is_empty() {
            print::clear_screen()?;
        }
        if print::piece(&text)? == Reader::Gone {
            return Ok(Exit::Success);
        }
        before = shown
            .iter()
            .zip(objects)
            .map(|(task, object)| (task.run.agent_id.as_str().to_owned(), object))
            .collect();
        let open = shown.iter().map(|task| &task.run).filter(|run| is_open(run));
        changes.wait(open.map(|run| run.path.as_path()));
    }
}

fn line(task: &Task) -> String {
    let Task { run, advance, description, .. } = task;
    format!(
        "{} {} {} turns={} tokens={} {}\n",
        run.agent_id,
        run.state.as_str(),
        run.agent_type,
        advance.turns,
        advance.total_tokens,
        description
    )
}
