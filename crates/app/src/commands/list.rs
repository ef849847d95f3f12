//! `attache list`: every agent there is, in a table a person likes to read.

use std::time::Duration;

use attache_kernel::agent::{
    definition::{Severity, Trust},
    registry::{DiscoveryKind, Inventory, Record, Status},
};
use attache_runtime::discovery::watch::Watch;
use clap::Args;
use comfy_table::Color;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup},
};

/// List every agent: where it comes from, its model, its tools and its state.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache list
  attache list --json | jq '.records[].name'
  attache list --watch                 again whenever a file changes
  attache list -c subagents.discovery=manual --agents-dir ./agents

An agent marked `overrides` took the place of another of the same name; `attache show NAME` says which.")]
pub(crate) struct ListArgs {
    /// Print the list again whenever an agent file changes.
    #[arg(long)]
    watch: bool,
}

pub(crate) fn run(args: &ListArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut discovery = setup.discovery()?;
    setup.tell_session_problems(&discovery);
    print(&setup.take_stock(&mut discovery), setup)?;
    if !args.watch {
        return Ok(Exit::Success);
    }
    let places = discovery.places().clone();
    let mut watch = Watch::new(&places).map_err(|error| {
        Failure::unsuccessful("cannot watch").because(&error).hint("leave --watch out")
    })?;
    loop {
        if watch.wait(Duration::from_hours(1), &places) {
            print(&setup.take_stock(&mut discovery), setup)?;
        }
    }
}

fn print(inventory: &Inventory, setup: &Setup) -> Result<(), Failure> {
    if setup.format == OutputFormat::Json {
        return print::json(inventory);
    }
    let rows = inventory.records.iter().map(row).collect();
    let headings = ["NAME", "SCOPE", "MODEL", "TOOLS", "STATE", "DESCRIPTION"];
    if !inventory.records.is_empty() {
        // On a narrow terminal the name and the state stay readable longest.
        let order = [(5, 16), (3, 10), (2, 12), (4, 20), (1, 8), (0, 16)];
        let table = table::render(&headings, rows, Overflow::Cut { order: &order });
        print::out(&format!("{table}\n"))?;
    }
    for event in &inventory.discovery_events {
        let tone = match event.kind {
            DiscoveryKind::Unreadable
            | DiscoveryKind::Conflict
            | DiscoveryKind::LinkNotFollowed => Tone::Warning,
            DiscoveryKind::Disabled => Tone::Bad,
            DiscoveryKind::Override | DiscoveryKind::NotADefinition => continue,
        };
        print::aside(&format!("{} {}", paint(tone, "notice:"), harmless(&event.message)));
    }
    let broken = inventory.records.iter().filter(|record| record.status == Status::Invalid).count();
    if broken > 0 {
        let word = if broken == 1 { "agent has" } else { "agents have" };
        print::aside(&format!(
            "{} {broken} {word} errors; `attache validate` says what to do",
            paint(Tone::Bad, "error:")
        ));
    }
    Ok(())
}

fn row(record: &Record) -> Vec<Field> {
    let model = record.effective_model.as_ref().map_or_else(
        || "–".to_owned(),
        |choice| format!("{} ({})", choice.model, choice.chosen_by.as_str()),
    );
    let description =
        record.definition.as_ref().and_then(|agent| agent.when_to_use.as_deref()).unwrap_or("–");
    let (state, color) = state(record);
    let mut name = Field::new(&record.name).colored(Color::Cyan);
    let mut state = Field::new(state);
    if let Some(color) = color {
        state = state.colored(color);
        if record.status == Status::Invalid {
            name = name.colored(color);
        }
    }
    let scope = format!("{} · {}", record.scope.as_str(), record.dialect);
    vec![
        name,
        Field::new(scope),
        Field::new(model),
        Field::new(tools(record)),
        state,
        Field::new(description).cut(60),
    ]
}

fn tools(record: &Record) -> String {
    const SHOWN: usize = 3;
    let tools = &record.effective_tools;
    if tools.is_empty() {
        return "none".to_owned();
    }
    let mut text = tools.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if tools.len() > SHOWN {
        text = format!("{text} +{}", tools.len() - SHOWN);
    }
    text
}

fn state(record: &Record) -> (String, Option<Color>) {
    let (mut words, color) = match record.status {
        Status::Invalid => (vec!["invalid".to_owned()], Some(Color::Red)),
        Status::Disabled => (vec!["disabled".to_owned()], Some(Color::DarkGrey)),
        Status::Active => {
            let warned = record
                .diagnostics
                .iter()
                .any(|diagnostic| diagnostic.severity == Severity::Warning);
            (vec!["active".to_owned()], warned.then_some(Color::Yellow))
        }
    };
    if !record.overrides.is_empty() {
        words.push(format!("overrides {}", record.overrides.len()));
    }
    if record.trusted == Trust::Untrusted {
        words.push("untrusted".to_owned());
    }
    (words.join(", "), color)
}
