//! `attache clean`: removes the transcripts of runs that ended long ago.

use std::time::{Duration, SystemTime};

use attache_runtime::store::files::Cleaned;
use clap::Args;
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        number::{count, size},
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
    transcripts,
};

/// What is old where neither the command line nor the settings say.
const DEFAULT_DAYS: u32 = 30;

/// Remove the transcripts and artifacts of old runs. A run that goes on, or is being resumed, is never
/// removed. What the removed runs spent stays in `attache usage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache clean                          what is older than `retention_days`, or 30 days
  attache clean --older-than 12h
  attache clean --older-than 7d --dry-run")]
pub(crate) struct CleanArgs {
    /// How long nothing was written: 30d, 12h, 90m, 2w.
    #[arg(long, value_name = "AGE", value_parser = crate::duration::age)]
    older_than: Option<Duration>,
    /// Only say what would be removed.
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &CleanArgs, setup: &Setup) -> Result<Exit, Failure> {
    let days = setup.settings.retention_days.unwrap_or(DEFAULT_DAYS);
    let older_than = args.older_than.unwrap_or_else(|| Duration::from_hours(u64::from(days) * 24));
    let store = transcripts::store(setup);
    let now = SystemTime::now();
    let cleaned = if args.dry_run {
        store.would_clean(older_than, now)
    } else {
        store.clean(older_than, now)
    }
    .map_err(|error| transcripts::failure(&error))?;
    match setup.format {
        OutputFormat::Json => print::json(&as_json(&cleaned, args.dry_run))?,
        OutputFormat::Text => print_text(&cleaned, args.dry_run)?,
    }
    Ok(if cleaned.failed.is_empty() { Exit::Success } else { Exit::Unsuccessful })
}

fn as_json(cleaned: &Cleaned, dry_run: bool) -> serde_json::Value {
    let failed: Vec<_> = cleaned
        .failed
        .iter()
        .map(|(path, problem)| json!({"path": path, "problem": problem.to_string()}))
        .collect();
    json!({
        "removed": cleaned.removed,
        "kept": cleaned.kept,
        "running": cleaned.running,
        "unread": cleaned.unread,
        "bytes": cleaned.bytes,
        "dry_run": dry_run,
        "failed": failed,
    })
}

fn print_text(cleaned: &Cleaned, dry_run: bool) -> Result<(), Failure> {
    let verb = if dry_run { "would remove" } else { "removed" };
    let mut text = String::new();
    for removed in &cleaned.removed {
        let line = format!(
            "{} {} ({})\n",
            paint(Tone::Warning, verb),
            removed.agent_id,
            size(removed.bytes)
        );
        text.push_str(&line);
    }
    let kept = match cleaned.running {
        0 => format!("{} kept", cleaned.kept),
        running => format!("{} kept, {running} of them because they still run", cleaned.kept),
    };
    let sum = if cleaned.removed.is_empty() {
        format!("nothing is that old; {kept}\n")
    } else {
        let transcripts = count(cleaned.removed.len() as u64, "transcript");
        format!("{verb} {transcripts}, {}; {kept}\n", size(cleaned.bytes))
    };
    text.push_str(&sum);
    print::out(&text)?;
    for (path, problem) in &cleaned.failed {
        print::aside(&format!(
            "{} cannot remove {}: {problem}",
            paint(Tone::Bad, "error:"),
            path.display()
        ));
    }
    if let Some(error) = &cleaned.not_kept {
        print::aside(&format!(
            "{} `attache usage` forgets what these runs spent: {}",
            paint(Tone::Warning, "notice:"),
            error.report()
        ));
    }
    Ok(())
}
