//! `attache validate`: what is wrong with agent files, where, and what to do.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use attache_kernel::{
    agent::{
        definition::{
            Code, Definition, Diagnostic, Dialect, Position, Scope, Severity, reading::FileStatus,
        },
        registry::{DiscoveryEvent, DiscoveryKind},
    },
    path_text,
};
use attache_runtime::internal::agents::discovery::{Discovery, NamedFile, list_path, read_paths};
use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Exit, Failure},
    no_effect,
    print::{
        self, diagnostics, harmless,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup},
};

/// Check agent files, and say what is wrong, where, and what to do.
///
/// Without PATH, every agent file that `attache list` would look at is checked. A folder is walked. A finding that
/// several files share is shown once, with the other places.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache validate
  attache validate .claude/agents/reviewer.md
  attache validate --strict .              in CI: fail on warnings, too
  attache validate --json agents/ | jq '.[] | select(.status == \"invalid\") | .path'

Exit code 0: no errors. 1: a file has errors, or was named and is not an agent (with --strict, also warnings). 2: wrong usage.")]
pub(crate) struct ValidateArgs {
    /// Files and folders to check.
    paths: Vec<PathBuf>,
    /// Fail on warnings as well.
    #[arg(long)]
    strict: bool,
    /// Show all notes; those about what an agent may do are always shown.
    #[arg(long)]
    notes: bool,
}

/// A file that was checked.
struct Checked {
    file: NamedFile,
    /// Whether the user named this very file.
    is_named: bool,
}

impl Checked {
    /// Whether the user named it as an agent and it is not one.
    fn lacks_an_agent(&self) -> bool {
        self.is_named && self.file.reading.status == FileStatus::NotADefinition
    }

    /// The diagnostics that are shown.
    fn shown(&self, all_notes: bool) -> impl Iterator<Item = &Diagnostic> {
        let all = all_notes || self.lacks_an_agent();
        self.file.reading.diagnostics.iter().filter(move |diagnostic| {
            all || diagnostic.severity >= Severity::Warning || diagnostic.changes_rights()
        })
    }
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
    let mut checked = if args.paths.is_empty() {
        discovered(setup, &mut events)?
    } else {
        named(args, setup, &mut events)?
    };
    mark_conflicts(&mut checked);
    let misnamed = checked.iter().any(Checked::lacks_an_agent);
    let has = |severity: Severity| {
        checked.iter().any(|checked| {
            checked
                .file
                .reading
                .diagnostics
                .iter()
                .any(|diagnostic| diagnostic.severity == severity)
        })
    };
    let unreadable = events.iter().any(|event| event.kind == DiscoveryKind::Unreadable);
    let failed =
        has(Severity::Error) || misnamed || (args.strict && (has(Severity::Warning) || unreadable));
    match setup.format {
        OutputFormat::Json => {
            print::json(
                &checked.iter().map(|checked| FileReport::new(&checked.file)).collect::<Vec<_>>(),
            )?;
        }
        OutputFormat::Text => print(args, &checked, setup)?,
    }
    let told = [DiscoveryKind::Unreadable, DiscoveryKind::LinkNotFollowed];
    for event in events.iter().filter(|event| told.contains(&event.kind)) {
        print::aside(&format!("{} {}", paint(Tone::Warning, "notice:"), harmless(&event.message)));
    }
    Ok(if failed { Exit::Unsuccessful } else { Exit::Success })
}

impl<'a> FileReport<'a> {
    fn new(file: &'a NamedFile) -> Self {
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

/// Every file the usual places hold, whether or not its agent won, and the agents of the command line.
fn discovered(setup: &Setup, events: &mut Vec<DiscoveryEvent>) -> Result<Vec<Checked>, Failure> {
    let mut discovery: Discovery = setup.discovery()?;
    let found = discovery.look(&setup.trust);
    events.extend(found.events);
    let mut checked: Vec<Checked> = found
        .candidates
        .into_iter()
        .filter_map(|candidate| {
            let path = match (&candidate.path, candidate.scope) {
                (Some(path), _) => path.clone(),
                (None, Scope::Session) => PathBuf::from(format!("--agents:{}", candidate.name())),
                (None, _) => return None,
            };
            let reading = (*candidate.reading).clone();
            let file = NamedFile { path, dialect: candidate.dialect, reading };
            Some(Checked { file, is_named: false })
        })
        .collect();
    checked.sort_by(|left, right| left.file.path.cmp(&right.file.path));
    Ok(checked)
}

fn named(
    args: &ValidateArgs,
    setup: &Setup,
    events: &mut Vec<DiscoveryEvent>,
) -> Result<Vec<Checked>, Failure> {
    let mut files = Vec::new();
    let mut is_named = Vec::new();
    let places = setup.places();
    for path in &args.paths {
        let path =
            if setup.moved.is_some() { setup.working_directory.join(path) } else { path.clone() };
        if path.symlink_metadata().is_err() {
            return Err(Failure::usage(format!("there is no file or folder {}", path.display()))
                .hint("check the path"));
        }
        files.extend(list_path(&path, &places, events));
        is_named.resize(files.len(), !path.is_dir());
    }
    let read = read_paths(files, &places, &setup.rules()).into_iter().zip(is_named);
    Ok(read.map(|(file, is_named)| Checked { file, is_named }).collect())
}

/// Warns about files of one folder and dialect that have one name: only one of them is used.
fn mark_conflicts(checked: &mut [Checked]) {
    let mut named: HashMap<(PathBuf, Dialect, String), Vec<usize>> = HashMap::new();
    for (index, Checked { file, .. }) in checked.iter().enumerate() {
        let folder = file.path.parent().map(Path::to_path_buf);
        if let (Some(folder), Some(definition)) = (folder, &file.reading.definition) {
            let key = definition.agent_type.key().to_string();
            named.entry((folder, file.dialect, key)).or_default().push(index);
        }
    }
    for ((.., name), indices) in named.into_iter().filter(|(_, indices)| indices.len() > 1) {
        let files: Vec<_> = indices
            .iter()
            .filter_map(|index| Some(checked.get(*index)?.file.path.file_name()?.to_owned()))
            .collect();
        for index in indices {
            let Some(Checked { file, .. }) = checked.get_mut(index) else { continue };
            let other = files.iter().find(|other| file.path.file_name() != Some(other));
            let other = other.map(|other| other.display().to_string()).unwrap_or_default();
            let message =
                format!("`{name}` is also the name of the agent in {other}; one of them is used");
            let warning = Diagnostic::warning(Code::Conflict, Position::START, message);
            file.reading.diagnostics.push(warning.with_hint("rename one of them"));
        }
    }
}

/// A finding, and every place it holds for.
struct Finding<'a> {
    diagnostic: &'a Diagnostic,
    file: &'a NamedFile,
    others: Vec<String>,
}

/// The findings in the order of the files; what is said of several places is one finding.
fn findings<'a>(checked: &'a [Checked], all_notes: bool, setup: &Setup) -> Vec<Finding<'a>> {
    let mut findings: Vec<Finding<'a>> = Vec::new();
    let mut known: HashMap<(&str, &str, Option<&str>), usize> = HashMap::new();
    for checked in checked {
        for diagnostic in checked.shown(all_notes) {
            let hint = diagnostic.hint.as_deref();
            let key = (diagnostic.code.as_str(), diagnostic.message.as_str(), hint);
            let finding = known.get(&key).and_then(|index| findings.get_mut(*index));
            if let Some(finding) = finding {
                let place = diagnostics::place(diagnostic, &setup.shown(&checked.file.path));
                finding.others.push(place);
                continue;
            }
            known.insert(key, findings.len());
            findings.push(Finding { diagnostic, file: &checked.file, others: Vec::new() });
        }
    }
    findings
}

fn print(args: &ValidateArgs, checked: &[Checked], setup: &Setup) -> Result<(), Failure> {
    let mut shown = String::new();
    for finding in findings(checked, args.notes, setup) {
        let text = print::source_text(&finding.file.path);
        shown.push_str(&diagnostics::render_repeated(
            finding.diagnostic,
            &setup.shown(&finding.file.path),
            text.as_deref(),
            &finding.others,
        ));
        shown.push_str("\n\n");
    }
    shown.push_str(&counts(args, checked));
    shown.push_str(&summary(checked));
    print::out(&shown)?;
    if !setup.quiet {
        tell_what_is_not_shown(args, checked);
    }
    Ok(())
}

/// Tells which keys have no effect yet, and how many notes were left out.
fn tell_what_is_not_shown(args: &ValidateArgs, checked: &[Checked]) {
    let definitions = checked.iter().filter_map(|checked| checked.file.reading.definition.as_ref());
    let mut without_effect: BTreeMap<String, usize> = BTreeMap::new();
    for notice in definitions.flat_map(|definition| no_effect::of_definition(definition)) {
        *without_effect.entry(notice).or_default() += 1;
    }
    for (notice, files) in without_effect {
        let files = counted(files, "file");
        print::aside(&format!("{} {notice} ({files})", paint(Tone::Warning, "notice:")));
    }
    let hidden = checked.iter().flat_map(|checked| &checked.file.reading.diagnostics).count()
        - checked.iter().flat_map(|checked| checked.shown(args.notes)).count();
    if hidden > 0 {
        let notes = counted(hidden, "note");
        print::aside(&format!("{} {notes} not shown: use --notes", paint(Tone::Faint, "notice:")));
    }
}

/// How often each rule was broken, where there is more than a screen of findings.
fn counts(args: &ValidateArgs, checked: &[Checked]) -> String {
    const WORTH_COUNTING: usize = 5;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for diagnostic in checked.iter().flat_map(|checked| checked.shown(args.notes)) {
        *counts.entry(diagnostic.code.as_str()).or_default() += 1;
    }
    if counts.values().sum::<usize>() < WORTH_COUNTING {
        return String::new();
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let parts: Vec<String> =
        counts.into_iter().map(|(code, count)| format!("{code} {count}")).collect();
    format!("findings: {}\n", parts.join(", "))
}

fn summary(checked: &[Checked]) -> String {
    let (mut errors, mut warnings, mut sound, mut others) = (0, 0, 0, 0);
    for Checked { file, .. } in checked {
        match file.reading.status {
            FileStatus::NotADefinition => others += 1,
            FileStatus::Invalid => errors += 1,
            FileStatus::Active if file.reading.has(Severity::Warning) => warnings += 1,
            FileStatus::Active => sound += 1,
        }
    }
    let mut parts = vec![format!("{} checked", counted(checked.len() - others, "definition"))];
    parts.push(paint(Tone::Good, &format!("{sound} ok")));
    if warnings > 0 {
        parts.push(paint(Tone::Warning, &format!("{warnings} with warnings")));
    }
    if errors > 0 {
        parts.push(paint(Tone::Bad, &format!("{errors} with errors")));
    }
    if others > 0 {
        let files = if others == 1 {
            "1 file is not an agent".to_owned()
        } else {
            format!("{others} files are not agents")
        };
        parts.push(paint(Tone::Faint, &files));
    }
    format!("{}\n", parts.join(", "))
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}
