//! `attache config`: the effective settings, and where each value comes from.

pub(crate) mod edit;

use attache_kernel::id::nearest;
use clap::Args;
use serde_json::Value;

use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
        table::{self, Field, Overflow},
    },
    settings::{Entry, key_words},
    setup::{OutputFormat, Setup},
};

/// Show the effective settings and where each value comes from, or change your settings file.
///
/// Later layers override earlier ones: built-in, ~/.codex/config.toml, $ATTACHE_HOME/config.toml, the project's
/// .attache/config.toml and .mcp.json (some keys only if trusted), environment, -c, flags.
/// Secrets are masked.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  attache config
  attache config set model gpt-5       change $ATTACHE_HOME/config.toml
  attache config edit                  the same in your editor
  attache config subagents             only that table
  attache config subagents.max_depth   only that key
  attache config -c subagents.max_depth=2
  attache config --json | jq '.[] | select(.origin != \"built-in\")'"
)]
pub(crate) struct ConfigArgs {
    /// Show only this key, or the keys of this table.
    #[arg(add = super::completions::settings())]
    key: Option<String>,
    /// A change of the settings file.
    #[command(subcommand)]
    pub(crate) change: Option<edit::Change>,
}

pub(crate) fn run(args: &ConfigArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut entries: Vec<Entry> = setup.settings.entries();
    if let Some(prefix) = &args.key {
        let below = format!("{prefix}.");
        entries.retain(|entry| entry.key == *prefix || entry.key.starts_with(&below));
        if entries.is_empty() {
            let failure = Failure::usage(format!("there is no setting `{prefix}`"));
            let known = key_words();
            return Err(match nearest(prefix, known.iter().map(|known| known.key.as_str())) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint("`attache config` shows all of them"),
            });
        }
    }
    for slip in &setup.slips {
        let hint = slip.hint().map(|hint| format!(" ({hint})"));
        let notice = paint(Tone::Warning, "notice:");
        let hint = hint.unwrap_or_default();
        print::aside(&format!("{notice} {slip}{hint}; no agent runs until it is corrected"));
    }
    match setup.format {
        OutputFormat::Json => {
            let entries: Vec<Value> = entries
                .iter()
                .map(|entry| {
                    serde_json::json!({
                        "key": entry.key,
                        "value": entry.value,
                        "origin": entry.origin.to_string(),
                    })
                })
                .collect();
            print::json(&entries)?;
        }
        OutputFormat::Text => {
            let rows: Vec<_> = entries.iter().map(row).collect();
            let headings = ["KEY", "VALUE", "ORIGIN"];
            let overflow = Overflow::Wrap { whole: &[0] };
            print::out(&format!("{}\n", table::render(&headings, &rows, overflow)))?;
        }
    }
    Ok(Exit::Success)
}

fn row(entry: &Entry) -> Vec<Field> {
    let value = match &entry.value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let origin = entry.origin.to_string();
    let mut shown = Field::new(&origin);
    if origin == "built-in" {
        shown = shown.toned(Tone::Faint);
    }
    vec![Field::new(&entry.key).toned(Tone::Name), Field::new(value), shown]
}
