//! `attache usage`: what was spent, by day, agent and model.

mod moment;
mod sums;

use std::path::PathBuf;

use attache_kernel::path_text;
use attache_runtime::internal::{clock, store::StoreError};
use clap::{Args, ValueEnum};
use serde::Serialize;

use self::{
    moment::{Moment, Span},
    sums::{Row, Sums},
};
use crate::{
    environment,
    failure::{Exit, Failure},
    print::{
        self, harmless,
        number::{count, grouped, money},
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
    transcripts,
};

/// How many things are named one by one in a notice.
const NAMED: usize = 5;

/// Add up the tokens and the cost of all runs, by day, agent and model.
///
/// Every answer of a model counts on the local day it came. Runs that are still running, were interrupted, or
/// were removed by `attache clean` count too. A cost is what was recorded at the time. `–` is a cost
/// nobody knows, because the model had no price; `≥` marks one of which only a part is known.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache usage                            every day, agent and model
  attache usage --by agent                 one line an agent
  attache usage --by model,day             one line a model and day
  attache usage --since 7d                 today and the seven days before
  attache usage --since 2026-11-01 --until 2026-11-30
  attache usage --by model --json | jq '.rows[] | {model, cost_usd}'

Prices are set with [model_prices.<model>] in the settings, and hold for runs from then on.")]
pub(crate) struct UsageArgs {
    /// Group by these; several make one row for each combination.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "day|agent|model")]
    by: Vec<By>,
    /// Start: a day (2026-11-01, today, yesterday), or an age (7d, 2w, 12h, 90m).
    #[arg(long, value_name = "DAY|AGE", value_parser = moment::parse)]
    since: Option<Moment>,
    /// End, inclusive: a day or an age, as for --since.
    #[arg(long, value_name = "DAY|AGE", value_parser = moment::parse)]
    until: Option<Moment>,
}

/// What a line of the table stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// A local day.
    Day,
    /// An agent.
    Agent,
    /// A model of a provider.
    Model,
}

#[derive(Serialize)]
struct Report<'a> {
    rows: &'a [Row],
    total: &'a Row,
    skipped: &'a [Skipped],
}

/// A transcript that could not be counted.
#[derive(Debug, Serialize)]
struct Skipped {
    #[serde(serialize_with = "path_text::path")]
    path: PathBuf,
    problem: String,
}

impl Skipped {
    fn because_of(error: &StoreError) -> Self {
        let cause = std::error::Error::source(error);
        let cause = cause.map(|cause| format!(": {cause}")).unwrap_or_default();
        Self {
            path: error.path().map(PathBuf::from).unwrap_or_default(),
            problem: format!("{error}{cause}"),
        }
    }
}

pub(crate) fn run(args: &UsageArgs, setup: &Setup) -> Result<Exit, Failure> {
    let now = clock::now().to_zoned(environment::time_zone());
    let span = Span::new(args.since, args.until, &now)?;
    let by = columns(&args.by);
    let mut sums = Sums::new(&by, span, now.time_zone().clone());
    let mut skipped = Vec::new();
    let store = transcripts::store(setup);
    for run in store.spending().map_err(|error| transcripts::failure(&error))? {
        match run {
            // What is played again was paid for the first time.
            Ok(run) if run.model.provider == "replay" => {}
            Ok(run) => sums.add(&run),
            Err(error) => skipped.push(Skipped::because_of(&error)),
        }
    }
    let (rows, total) = (sums.rows(), sums.total());
    match setup.format {
        OutputFormat::Json => {
            print::json(&Report { rows: &rows, total: &total, skipped: &skipped })?;
        }
        OutputFormat::Text if rows.is_empty() => print::out(&format!("{}\n", nothing(args)))?,
        OutputFormat::Text => print::out(&format!("{}\n", table(&by, &rows, &total)))?,
    }
    if !setup.quiet {
        tell_skipped(&skipped);
        if setup.format == OutputFormat::Text {
            tell_unpriced(sums.unpriced());
            tell_lost(sums.answers_lost());
        }
    }
    Ok(Exit::Success)
}

/// What was asked for, each once; by default everything there is.
fn columns(asked: &[By]) -> Vec<By> {
    if asked.is_empty() {
        return vec![By::Day, By::Agent, By::Model];
    }
    let mut columns = Vec::new();
    for by in asked {
        if !columns.contains(by) {
            columns.push(*by);
        }
    }
    columns
}

fn nothing(args: &UsageArgs) -> &'static str {
    if args.since.is_some() || args.until.is_some() {
        "nothing was spent in that time"
    } else {
        "nothing was spent yet: `attache run AGENT TASK` is recorded here"
    }
}

fn table(by: &[By], rows: &[Row], total: &Row) -> String {
    let mut headings: Vec<&str> = by
        .iter()
        .map(|by| match by {
            By::Day => "DAY",
            By::Agent => "AGENT",
            By::Model => "MODEL",
        })
        .collect();
    // What matters least comes last: it is left out first where the terminal is narrow.
    headings.extend(["RUNS", "COST", "TOKENS", "INPUT", "OUTPUT", "CACHED", "REASONING"]);
    let mut fields: Vec<Vec<Field>> = rows.iter().map(|row| line(by, row)).collect();
    let mut sum = line(by, total);
    if let Some(first) = sum.first_mut() {
        *first = Field::new("TOTAL");
    }
    fields.push(sum);
    let names = by.iter().enumerate().filter(|(_, by)| **by != By::Day);
    let order: Vec<(usize, usize)> = names.map(|(column, _)| (column, 10)).rev().collect();
    table::render(&headings, &fields, Overflow::Cut { order: &order })
}

fn line(by: &[By], row: &Row) -> Vec<Field> {
    let mut fields: Vec<Field> = by
        .iter()
        .map(|by| match by {
            By::Day => Field::new(row.day.as_deref().unwrap_or_default()),
            By::Agent => Field::new(row.agent.as_deref().unwrap_or_default()).toned(Tone::Name),
            By::Model => Field::new(row.model_and_provider().unwrap_or_default()),
        })
        .collect();
    let numbers = [
        grouped(row.runs),
        cost(row),
        grouped(row.total_tokens),
        grouped(row.input_tokens),
        grouped(row.output_tokens),
        grouped(row.cache_read_input_tokens),
        grouped(row.reasoning_tokens),
    ];
    fields.extend(numbers.map(|number| Field::new(number).right()));
    fields
}

/// The cost as far as it is known, and a mark where that is not all.
fn cost(row: &Row) -> String {
    match row.cost_usd {
        Some(usd) => money(usd),
        None if row.known_cost_usd > 0.0 => format!("≥ ${:.4}", row.known_cost_usd),
        None => "–".to_owned(),
    }
}

fn tell_skipped(skipped: &[Skipped]) {
    for one in skipped.iter().take(NAMED) {
        let problem = harmless(&one.problem);
        print::aside(&format!("{} not counted: {problem}", paint(Tone::Warning, "notice:")));
    }
    if let Some(more) = skipped.len().checked_sub(NAMED).filter(|more| *more > 0) {
        let more = count(more as u64, "more transcript");
        print::aside(&format!("{} not counted: {more}", paint(Tone::Warning, "notice:")));
    }
}

fn tell_lost(answers: usize) {
    if answers > 0 {
        let of_them = if answers == 1 { "one answer" } else { "some answers" };
        print::aside(&format!(
            "{} {of_them} broke off: what was spent on them is not known",
            paint(Tone::Warning, "notice:")
        ));
    }
}

fn tell_unpriced<'a>(models: impl Iterator<Item = &'a str>) {
    let models: Vec<&str> = models.collect();
    if models.is_empty() {
        return;
    }
    let mut named = models.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if models.len() > NAMED {
        named.push_str(", …");
    }
    print::aside(&format!(
        "{} some of this had no price: {} (set [model_prices.<model>]; it holds for runs from then on)",
        paint(Tone::Warning, "notice:"),
        harmless(&named),
    ));
}
