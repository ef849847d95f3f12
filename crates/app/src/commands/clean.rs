//! `attache clean`: removes the transcripts of runs that ended long ago.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use attache_runtime::internal::{
    process::{LeftoverDirectory, leftovers},
    store::{FileStore, StoreError, files::Cleaned},
    worktree::WorktreeError,
};
use clap::Args;
use serde_json::json;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        number::{count, size},
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
    transcripts,
};

/// What is old where neither the command line nor the settings say.
const DEFAULT_DAYS: u32 = 30;

/// Remove the transcripts and artifacts of old runs.
///
/// A run that is running, or is being resumed, is never removed. Worktrees of runs without a transcript are removed as well; changes in them stay on their
/// branches. So are temporary directories of programs that were killed. What the removed runs spent stays in `attache usage`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache clean                          what is older than `retention_days`, or 30 days
  attache clean --older-than 12h
  attache clean --older-than 7d --dry-run")]
pub(crate) struct CleanArgs {
    /// Minimum age since the last write: 30d, 12h, 90m, 2w.
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
    let mut swept = sweep(&cleaned, setup, &store, args.dry_run)?;
    for left in leftovers(&setup.temporary_root()) {
        swept.remove_temporary(left, args.dry_run);
    }
    match setup.format {
        OutputFormat::Json => print::json(&as_json(&cleaned, &swept, args.dry_run))?,
        OutputFormat::Text => print_text(&cleaned, &swept, args.dry_run)?,
    }
    let is_clean =
        cleaned.failed.is_empty() && swept.failed.is_empty() && swept.not_removed.is_empty();
    Ok(if is_clean { Exit::Success } else { Exit::Unsuccessful })
}

/// What became of the worktrees and temporary directories that no run has any more.
#[derive(Debug, Default)]
struct Swept {
    removed: Vec<PathBuf>,
    failed: Vec<(PathBuf, WorktreeError)>,
    temporary: Vec<PathBuf>,
    not_removed: Vec<(PathBuf, std::io::Error)>,
}

impl Swept {
    /// Removes a directory that a program which was killed left behind.
    fn remove_temporary(&mut self, left: LeftoverDirectory, dry_run: bool) {
        let path = left.path.clone();
        match if dry_run { Ok(()) } else { left.remove() } {
            Ok(()) => self.temporary.push(path),
            Err(error) => self.not_removed.push((path, error)),
        }
    }
}

/// Removes the worktrees of runs whose transcripts are gone.
fn sweep(
    cleaned: &Cleaned,
    setup: &Setup,
    store: &FileStore,
    dry_run: bool,
) -> Result<Swept, Failure> {
    let worktrees = setup.worktrees();
    let mut swept = Swept::default();
    let gone: BTreeSet<_> = cleaned.removed.iter().map(|removed| &removed.agent_id).collect();
    let is_known = |run: &str| {
        !gone.contains(&run.to_owned())
            && !matches!(store.follow(run), Err(StoreError::Unknown { .. }))
    };
    let leftovers = worktrees.leftovers(is_known);
    if dry_run || leftovers.is_empty() {
        swept.removed.extend(leftovers.into_iter().map(|leftover| leftover.directory));
        return Ok(swept);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unsuccessful("cannot start").because(&error))?;
    runtime.block_on(async {
        for leftover in leftovers {
            match worktrees.remove_leftover(&leftover).await {
                Ok(true) => swept.removed.push(leftover.directory),
                Ok(false) => {}
                Err(error) => swept.failed.push((leftover.directory, error)),
            }
        }
    });
    Ok(swept)
}

fn as_json(cleaned: &Cleaned, swept: &Swept, dry_run: bool) -> serde_json::Value {
    let of_worktrees = swept.failed.iter();
    let of_worktrees =
        of_worktrees.map(|(path, problem)| json!({"path": path, "problem": problem.to_string()}));
    let failed: Vec<_> = cleaned
        .failed
        .iter()
        .map(|(path, problem)| json!({"path": path, "problem": problem.to_string()}))
        .chain(of_worktrees)
        .chain(
            swept
                .not_removed
                .iter()
                .map(|(path, problem)| json!({"path": path, "problem": problem.to_string()})),
        )
        .collect();
    json!({
        "removed": cleaned.removed,
        "worktrees": swept.removed,
        "temporary": swept.temporary,
        "kept": cleaned.kept,
        "running": cleaned.running,
        "unread": cleaned.unread,
        "bytes": cleaned.bytes,
        "dry_run": dry_run,
        "failed": failed,
    })
}

fn print_text(cleaned: &Cleaned, swept: &Swept, dry_run: bool) -> Result<(), Failure> {
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
    for directory in &swept.removed {
        let directory = directory.display().to_string();
        let verb = paint(Tone::Warning, verb);
        let line = format!("{verb} the worktree {}\n", harmless(&directory));
        text.push_str(&line);
    }
    for directory in &swept.temporary {
        let directory = directory.display().to_string();
        let verb = paint(Tone::Warning, verb);
        let line = format!("{verb} the temporary directory {}\n", harmless(&directory));
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
    for (path, problem) in &swept.failed {
        let problem = format!("cannot remove the worktree {}: {problem}", path.display());
        print::aside(&format!("{} {}", paint(Tone::Bad, "error:"), harmless(&problem)));
    }
    for (path, problem) in &swept.not_removed {
        let problem = format!("cannot remove {}: {problem}", path.display());
        print::aside(&format!("{} {}", paint(Tone::Bad, "error:"), harmless(&problem)));
    }
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
