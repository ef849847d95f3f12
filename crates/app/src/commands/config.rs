//! `attache config`: the settings in force, and where each value comes from.

use clap::Args;
use comfy_table::{Cell, Color};
use serde_json::Value;

use crate::{
    failure::{Exit, Failure},
    print::{self, table},
    settings::Entry,
    setup::{OutputFormat, Setup},
};

/// Show the settings in force, and where each value comes from.
///
/// Later layers win: built-in, ~/.codex/config.toml, $ATTACHE_HOME/config.toml, the project's
/// .attache/config.toml and .mcp.json (harmful keys only once trusted), environment, -c, flags.
/// Secrets are masked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache config
  attache config subagents             only keys that begin so
  attache config -c subagents.max_depth=2
  attache config --json | jq '.[] | select(.origin != \"built-in\")'")]
pub(crate) struct ConfigArgs {
    /// Only keys that begin with this.
    key: Option<String>,
}

pub(crate) fn run(args: &ConfigArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut entries: Vec<Entry> = setup.settings.entries();
    if let Some(prefix) = &args.key {
        entries.retain(|entry| entry.key.starts_with(prefix.as_str()));
        if entries.is_empty() {
            return Err(Failure::usage(format!("there is no setting `{prefix}`"))
                .hint("`attache config` shows all of them"));
        }
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
            let rows = entries.iter().map(row).collect();
            print::out(&format!("{}\n", table::render(&["KEY", "VALUE", "ORIGIN"], rows, &[0])))?;
        }
    }
    Ok(Exit::Success)
}

fn row(entry: &Entry) -> Vec<Cell> {
    let value = match &entry.value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let origin = entry.origin.to_string();
    let mut origin_cell = Cell::new(&origin);
    if origin == "built-in" {
        origin_cell = origin_cell.fg(Color::DarkGrey);
    }
    vec![Cell::new(&entry.key).fg(Color::Cyan), Cell::new(value), origin_cell]
}
