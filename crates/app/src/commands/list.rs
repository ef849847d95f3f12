//! `attache list`: all agents, as a table or as JSON.

use std::time::Duration;

use attache_kernel::{
    agent::{
        definition::{Dialect, Scope, Severity, Trust},
        registry::{DiscoveryKind, Inventory, LookupError, Record, Status},
    },
    id::AgentName,
};
use attache_runtime::internal::agents::discovery::watch::Watch;
use clap::{Args, ValueEnum};

use super::show::lacks_provider;
use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    setup::{OutputFormat, Setup, lookup_failure},
};

/// List all agents: where each one comes from, its model, its tools and its state.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache list
  attache list --json | jq '.records[].name'
  attache list reviewer planner        only these agents
  attache list --scope project --invalid
  attache list --watch                 print again whenever a file changes
  attache list -c subagents.discovery=manual --agents-dir ./agents

An agent marked `overrides` replaces another agent of the same name; `attache show NAME` names it.")]
pub(crate) struct ListArgs {
    /// Only these agents, in any spelling.
    #[arg(value_name = "NAME", add = super::completions::agents())]
    names: Vec<String>,
    /// Only agents of this scope.
    #[arg(long, value_enum, value_name = "SCOPE")]
    scope: Option<ScopeFilter>,
    /// Only agents of this dialect: attache, claude, codex, gemini and so on.
    #[arg(long, value_name = "DIALECT", add = super::completions::dialects())]
    dialect: Option<String>,
    /// Only agents with errors.
    #[arg(long)]
    invalid: bool,
    /// Only agents that are not trusted.
    #[arg(long)]
    untrusted: bool,
    /// Print the list again whenever an agent file changes.
    #[arg(long)]
    watch: bool,
}

/// The scopes an agent can be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeFilter {
    Builtin,
    User,
    Project,
}

impl ListArgs {
    /// Leaves only the records that are asked for.
    fn narrow(&self, inventory: &mut Inventory) -> Result<(), Failure> {
        for name in &self.names {
            if let Err(error @ LookupError::Unknown { .. }) = inventory.record(name) {
                return Err(lookup_failure(&error));
            }
        }
        if let Some(dialect) = &self.dialect {
            check_dialect(dialect)?;
        }
        let key = |name: &str| AgentName::new(name).key();
        let is_named = |record: &Record| {
            self.names.is_empty()
                || self
                    .names
                    .iter()
                    .any(|name| *name == record.name || key(name) == key(&record.name))
        };
        let is_of_scope = |scope: ScopeFilter, record: &Record| match scope {
            ScopeFilter::Builtin => record.scope == Scope::Builtin,
            ScopeFilter::User => matches!(record.scope, Scope::User | Scope::Session),
            ScopeFilter::Project => record.scope == Scope::Project,
        };
        inventory.records.retain(|record| {
            is_named(record)
                && self.scope.is_none_or(|scope| is_of_scope(scope, record))
                && self
                    .dialect
                    .as_ref()
                    .is_none_or(|wanted| record.dialect.to_string().eq_ignore_ascii_case(wanted))
                && (!self.invalid || record.status == Status::Invalid)
                && (!self.untrusted || record.trusted == Trust::Untrusted)
        });
        Ok(())
    }
}

fn check_dialect(wanted: &str) -> Result<(), Failure> {
    let known: Vec<String> = Dialect::ALL.iter().map(ToString::to_string).collect();
    if known.iter().any(|known| known.eq_ignore_ascii_case(wanted)) {
        return Ok(());
    }
    let failure = Failure::usage(format!("there is no dialect `{wanted}`"));
    Err(failure.hint(format!("there are: {}", known.join(", "))))
}

pub(crate) fn run(args: &ListArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut discovery = setup.discovery()?;
    setup.tell_session_problems(&discovery, Severity::Error);
    show(args, &setup.take_stock(&mut discovery), setup)?;
    if !args.watch {
        return Ok(Exit::Success);
    }
    let places = discovery.places().clone();
    let mut watch = Watch::new(&places).map_err(|error| {
        Failure::unsuccessful("cannot watch").because(&error).hint("leave --watch out")
    })?;
    loop {
        if watch.wait(Duration::from_hours(1), &places) {
            show(args, &setup.take_stock(&mut discovery), setup)?;
        }
    }
}

fn show(args: &ListArgs, inventory: &Inventory, setup: &Setup) -> Result<(), Failure> {
    let mut inventory = inventory.clone();
    args.narrow(&mut inventory)?;
    print(&inventory, setup)
}

fn print(inventory: &Inventory, setup: &Setup) -> Result<(), Failure> {
    if setup.format == OutputFormat::Json {
        return print::json(inventory);
    }
    let rows: Vec<_> = inventory.records.iter().map(row).collect();
    let headings = ["NAME", "SCOPE", "MODEL", "TOOLS", "STATE", "DESCRIPTION"];
    if inventory.records.is_empty() && setup.settings.subagents.enabled {
        print::out("no agents\n")?;
    }
    if !inventory.records.is_empty() {
        // On a narrow terminal names and states stay whole, and descriptions wrap.
        let order = [(3, 0), (1, 0), (5, 24), (2, 0), (4, 10), (0, 16)];
        let table = table::render(&headings, &rows, Overflow::Cut { order: &order });
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

/// The columns that a name may have.
const MOST_NAME: usize = 64;

fn row(record: &Record) -> Vec<Field> {
    let model = match &record.effective_model {
        None => "–".to_owned(),
        Some(choice) if lacks_provider(record, choice) => "none".to_owned(),
        Some(choice) => format!("{} ({})", choice.model, choice.chosen_by.as_str()),
    };
    let description =
        record.definition.as_ref().and_then(|agent| agent.when_to_use.as_deref()).unwrap_or("–");
    let (state, color) = state(record);
    // A name that is too long makes its agent invalid, and must not make the table wide.
    let mut name = Field::new(&record.name).cut(MOST_NAME).toned(Tone::Name);
    let mut state = Field::new(state);
    if let Some(color) = color {
        state = state.toned(color);
        if record.status == Status::Invalid {
            name = name.toned(color);
        }
    }
    let scope = format!("{} · {}", record.scope.as_str(), record.dialect);
    vec![
        name,
        Field::new(scope),
        Field::new(model),
        Field::new(tools(record)),
        state,
        Field::new(description).cut(120),
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

fn state(record: &Record) -> (String, Option<Tone>) {
    let (mut words, color) = match record.status {
        Status::Invalid => (vec!["invalid".to_owned()], Some(Tone::Bad)),
        Status::Disabled => (vec!["disabled".to_owned()], Some(Tone::Faint)),
        Status::Active => {
            let warned = record
                .diagnostics
                .iter()
                .any(|diagnostic| diagnostic.severity == Severity::Warning);
            (vec!["active".to_owned()], warned.then_some(Tone::Warning))
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
