//! Sums: what the runs spent, added up by the key of a table row.
//!
//! A turn counts on its own local day, so a run over midnight is in two lines; in each of them, and in
//! the total, it is one run. A cost is known only if every turn had a price.

use std::collections::{BTreeMap, BTreeSet};

use attache_kernel::model::usage::{Cost, Usage};
use attache_runtime::internal::store::files::{RunSpending, TurnSpending};
use jiff::{civil::Date, tz::TimeZone};
use serde::Serialize;

use super::{By, moment::Span};

/// What the runs spent.
#[derive(Debug)]
pub(super) struct Sums<'a> {
    by: &'a [By],
    span: Span,
    zone: TimeZone,
    lines: BTreeMap<Vec<Part>, Sum>,
    total: Sum,
    unpriced: BTreeSet<String>,
    answers_lost: usize,
}

/// A part of what makes a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Day(Date),
    Agent(String),
    Model { model: String, provider: String },
}

#[derive(Debug, Clone, Default)]
struct Sum {
    runs: u64,
    usage: Usage,
    cost: Cost,
}

/// A line, as it is printed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(super) struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<String>,
    pub(super) runs: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) reasoning_tokens: u64,
    pub(super) total_tokens: u64,
    /// None if any part of it had no price.
    pub(super) cost_usd: Option<f64>,
    /// The part that had one.
    pub(super) known_cost_usd: f64,
}

impl<'a> Sums<'a> {
    pub(super) fn new(by: &'a [By], span: Span, zone: TimeZone) -> Self {
        let (lines, unpriced) = (BTreeMap::new(), BTreeSet::new());
        Self { by, span, zone, lines, total: Sum::default(), unpriced, answers_lost: 0 }
    }

    /// Adds what a run spent in the span.
    pub(super) fn add(&mut self, run: &RunSpending) {
        // The lines this run is in already.
        let mut seen = BTreeSet::new();
        for turn in &run.turns {
            let day = self.zone.to_datetime(turn.at).date();
            if !self.span.holds(turn.at, day) {
                continue;
            }
            let line = self.line(run, day);
            let sum = self.lines.entry(line.clone()).or_default();
            sum.add(turn);
            self.total.add(turn);
            if turn.spent.answer_lost {
                self.answers_lost += 1;
            } else if turn.spent.cost_usd.is_none() {
                self.unpriced.insert(run.model.id.clone());
            }
            if seen.is_empty() {
                self.total.runs += 1;
            }
            if seen.insert(line) {
                sum.runs += 1;
            }
        }
    }

    fn line(&self, run: &RunSpending, day: Date) -> Vec<Part> {
        let part = |by: &By| match by {
            By::Day => Part::Day(day),
            By::Agent => Part::Agent(run.agent_type.as_str().to_owned()),
            By::Model => {
                Part::Model { model: run.model.id.clone(), provider: run.model.provider.clone() }
            }
        };
        self.by.iter().map(part).collect()
    }

    /// The lines, in the order of what they are made of.
    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |(parts, sum): (&Vec<Part>, &Sum)| {
            let mut row = sum.row();
            for part in parts {
                match part {
                    Part::Day(day) => row.day = Some(day.to_string()),
                    Part::Agent(agent) => row.agent = Some(agent.clone()),
                    Part::Model { model, provider } => {
                        row.model = Some(model.clone());
                        row.provider = Some(provider.clone());
                    }
                }
            }
            row
        };
        self.lines.iter().map(row).collect()
    }

    /// All of them together.
    pub(super) fn total(&self) -> Row {
        self.total.row()
    }

    /// How many answers broke off: of these nobody knows what they cost.
    pub(super) fn answers_lost(&self) -> usize {
        self.answers_lost
    }

    /// The models that something was spent on without a price.
    pub(super) fn unpriced(&self) -> impl Iterator<Item = &str> {
        self.unpriced.iter().map(String::as_str)
    }
}

impl Sum {
    fn add(&mut self, turn: &TurnSpending) {
        self.usage.add(&turn.spent.usage);
        self.cost.add(turn.spent.cost_usd);
    }

    fn row(&self) -> Row {
        Row {
            runs: self.runs,
            input_tokens: self.usage.input_tokens,
            output_tokens: self.usage.output_tokens,
            cache_read_input_tokens: self.usage.cache_read_input_tokens,
            cache_creation_input_tokens: self.usage.cache_creation_input_tokens,
            reasoning_tokens: self.usage.reasoning_tokens,
            total_tokens: self.usage.total_tokens(),
            cost_usd: self.cost.usd(),
            known_cost_usd: self.cost.at_least_usd(),
            ..Row::default()
        }
    }
}

impl Row {
    /// `gpt-5 on openai`; the name alone where it says both.
    pub(super) fn model_and_provider(&self) -> Option<String> {
        let (model, provider) = (self.model.as_ref()?, self.provider.as_ref()?);
        Some(if model == provider { model.clone() } else { format!("{model} on {provider}") })
    }
}
