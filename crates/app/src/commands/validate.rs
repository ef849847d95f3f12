//! `attache validate`: what is wrong with agent files, where, and what to do.

use std::path::{Path, PathBuf};

use attache_kernel::{
    agent::{
        definition::{Definition, Diagnostic, Dialect, Severity, reading::FileStatus},
        registry::{DiscoveryEvent, DiscoveryKind},
    },
    path_text,
};
use attache_runtime::discovery::{Discovery, NamedFile, list_path, read_paths};
use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, diagnostics,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// Check agent files, and say what is wrong, where, and what to do.
///
/// Without PATH, every agent file that `attache list` would look at is checked. A folder is walked.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache validate
  attache validate .claude/agents/reviewer.md
  attache validate --strict .              in CI: warnings fail, too
  attache validate --json agents/ | jq '.[] | select(.status == \"invalid\") | .path'

Exit code 0: no errors. 1: a file has errors (with --strict, also warnings). 2: wrong usage.")]
pub(crate) struct ValidateArgs {
    /// Files and folders to check.
    paths: Vec<PathBuf>,
    /// Let warnings fail, too.
    #[arg(long)]
    strict: bool,
    /// Show notes as well.
    #[arg(long)]
    notes: bool,
}

/// What is printed of a file.
#[derive(Serialize)]
struct FileReport<'a> {
    #[serde(serialize_with = "path_text::path")]
    path: &'a Path,
    dialect: Dialect,
    status: FileStatus,
    recovered: bool,
    definition: Option<&'a Definition>,
    diagnostics: &'a [Diagnostic],
}

pub(crate) fn run(args: &ValidateArgs, setup: &Setup) -> Result<Exit, Failure> {
    let mut events = Vec::new();
    let checked = if args.paths.is_empty() {
        discovered(setup, &mut events)?
    } else {
        named(args, setup, &mut events)?
    };
    let has = |severity: Severity| {
        checked.iter().any(|file| {
            file.reading.diagnostics.iter().any(|diagnostic| diagnostic.severity == severity)
        })
    };
    let unreadable = events.iter().any(|event| event.kind == DiscoveryKind::Unreadable);
    let failed = has(Severity::Error) || (args.strict && (has(Severity::Warning) || unreadable));
    match setup.format {
        OutputFormat::Json => {
            print::json(&checked.iter().map(FileReport::of).collect::<Vec<_>>())?;
        }
        OutputFormat::Text => print(args, &checked, setup)?,
    }
    for event in events.iter().filter(|event| event.kind == DiscoveryKind::Unreadable) {
        print::aside(&format!("{} {}", paint(Tone::Warning, "notice:"), event.message));
    }
    Ok(if failed { Exit::Unsuccessful } else { Exit::Success })
}

impl<'a> FileReport<'a> {
    fn of(file: &'a NamedFile) -> Self {
        Self {
            path: &file.path,
            dialect: file.dialect,
            status: file.reading.status,
            recovered: file.reading.recovered,
            definition: file.reading.definition.as_deref(),
            diagnostics: &file.reading.diagnostics,
        }
    }
}

/// Every file the usual places hold, whether or not its agent won.
fn discovered(setup: &Setup, events: &mut Vec<DiscoveryEvent>) -> Result<Vec<NamedFile>, Failure> {
    let mut discovery: Discovery = setup.discovery()?;
    let found = discovery.look(&setup.trust);
    events.extend(found.events);
    let mut checked: Vec<NamedFile> = found
        .candidates
        .into_iter()
        .filter_map(|candidate| {
            Some(NamedFile {
                path: candidate.path?,
                dialect: candidate.dialect,
                reading: (*candidate.reading).clone(),
            })
        })
        .collect();
    checked.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(checked)
}

fn named(
    args: &ValidateArgs,
    setup: &Setup,
    events: &mut Vec<DiscoveryEvent>,
) -> Result<Vec<NamedFile>, Failure> {
    let mut files = Vec::new();
    for path in &args.paths {
        let path =
            if setup.moved.is_some() { setup.working_directory.join(path) } else { path.clone() };
        if path.symlink_metadata().is_err() {
            return Err(Failure::usage(format!("there is no file or folder {}", path.display()))
                .hint("check the path"));
        }
        files.extend(list_path(&path, events));
    }
    Ok(read_paths(files, &setup.places(), &setup.rules()))
}

fn print(args: &ValidateArgs, checked: &[NamedFile], setup: &Setup) -> Result<(), Failure> {
    let mut shown = String::new();
    let (mut errors, mut warnings, mut sound, mut others) = (0, 0, 0, 0);
    for file in checked {
        match file.reading.status {
            FileStatus::NotADefinition => others += 1,
            FileStatus::Invalid => errors += 1,
            FileStatus::Active if file.reading.has(Severity::Warning) => warnings += 1,
            FileStatus::Active => sound += 1,
        }
        let least = if args.notes { Severity::Note } else { Severity::Warning };
        let wanted: Vec<&Diagnostic> = file
            .reading
            .diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.severity >= least)
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let text = print::source_text(&file.path);
        for diagnostic in wanted {
            shown.push_str(&diagnostics::render(
                diagnostic,
                &setup.shown(&file.path),
                text.as_deref(),
            ));
            shown.push_str("\n\n");
        }
    }
    let mut parts = vec![format!("{} checked", counted(checked.len() - others, "definition"))];
    parts.push(paint(Tone::Good, &format!("{sound} sound")));
    if warnings > 0 {
        parts.push(paint(Tone::Warning, &format!("{warnings} with warnings")));
    }
    if errors > 0 {
        parts.push(paint(Tone::Bad, &format!("{errors} with errors")));
    }
    if others > 0 {
        parts.push(paint(Tone::Faint, &format!("{} no definition", counted(others, "file"))));
    }
    shown.push_str(&parts.join(", "));
    shown.push('\n');
    print::out(&shown)
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
