//! `attache trust`: the user trusts agents, or the project's settings, as they are now.

use std::path::{Path, PathBuf};

use attache_kernel::{
    agent::{
        definition::{Definition, McpServer, ToolAccess, Trust},
        registry::{Inventory, Record, Status},
    },
    path_text,
    rights::{rule::ToolRule, tool_name::BuiltinTool},
};
use attache_runtime::internal::agents::{
    discovery::content_hash,
    trust::{self, ContentHash, TrustedFile},
};
use clap::Args;
use serde::Serialize;
use serde_json::Value;

use crate::{
    failure::{Exit, Failure},
    print::{
        self, harmless,
        palette::{Tone, paint},
    },
    settings::{Entry, Settings},
    setup::{OutputFormat, Setup, trust_failure},
};

/// Trust agents, so that they may write files and run commands as their files say.
///
/// An agent that is not part of the program may not use the shell or change files until you trust it.
/// Trust holds for the file as it is now, and for the directory that its baseDir leads to: after a
/// change of either the agent must be trusted again. It is recorded under $ATTACHE_HOME, never in the
/// project.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache trust reviewer
  attache trust --all                  all agents, listed first
  attache trust --project              the project's settings and MCP servers
  attache trust --list                 what is trusted
  attache trust reviewer --yes         off a terminal")]
pub(crate) struct TrustArgs {
    /// The agents to trust.
    #[arg(add = super::completions::agents())]
    names: Vec<String>,
    /// All agents.
    #[arg(long)]
    all: bool,
    /// The settings files of the project.
    #[arg(long)]
    project: bool,
    /// Only list what is trusted.
    #[arg(long)]
    list: bool,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

/// A file that is to be trusted.
#[derive(Debug, Serialize)]
struct Subject {
    name: String,
    #[serde(serialize_with = "path_text::path")]
    path: PathBuf,
    /// What trust gives it.
    gains: Vec<String>,
    #[serde(skip)]
    trusted: TrustedFile,
}

/// What is printed of a file.
#[derive(Serialize)]
struct ListedFile<'a> {
    #[serde(serialize_with = "path_text::path")]
    path: &'a Path,
    sha256: &'a str,
    /// Whether the file is still what was trusted.
    unchanged: bool,
}

pub(crate) fn run(args: &TrustArgs, mut setup: Setup) -> Result<Exit, Failure> {
    if args.list {
        return list(&setup);
    }
    let subjects = subjects(args, &setup)?;
    if subjects.is_empty() {
        print::aside(&format!("there is nothing to trust: {}", nothing(args)));
        if setup.format == OutputFormat::Json {
            print::json(&subjects)?;
        }
        return Ok(Exit::Success);
    }
    if setup.format == OutputFormat::Text || !args.yes {
        for subject in &subjects {
            print::aside(&describe(subject, &setup));
        }
    }
    confirm(args.yes, subjects.len())?;
    let changes: Vec<_> = subjects
        .iter()
        .map(|subject| (subject.path.clone(), Some(subject.trusted.clone())))
        .collect();
    setup.trust.record(changes).map_err(|error| trust_failure(&error))?;
    match setup.format {
        OutputFormat::Json => print::json(&subjects)?,
        OutputFormat::Text => {
            for subject in &subjects {
                print::out(&format!(
                    "{} {}\n",
                    paint(Tone::Good, "trusted"),
                    harmless(&subject.name)
                ))?;
            }
        }
    }
    Ok(Exit::Success)
}

fn list(setup: &Setup) -> Result<Exit, Failure> {
    let files: Vec<ListedFile<'_>> = setup
        .trust
        .files()
        .map(|(path, trusted)| ListedFile {
            path,
            sha256: trusted.sha256.as_str(),
            unchanged: content_hash(path).is_ok_and(|now| now == trusted.sha256),
        })
        .collect();
    if setup.format == OutputFormat::Json {
        print::json(&files)?;
        return Ok(Exit::Success);
    }
    for file in &files {
        let state = if file.unchanged {
            paint(Tone::Good, "trusted")
        } else {
            paint(Tone::Warning, "changed, and so not trusted")
        };
        print::out(&format!("{} {state}\n", setup.shown(file.path).display()))?;
    }
    Ok(Exit::Success)
}

fn subjects(args: &TrustArgs, setup: &Setup) -> Result<Vec<Subject>, Failure> {
    if args.names.is_empty() && !args.all && !args.project {
        return Err(Failure::usage("say what to trust")
            .hint("attache trust NAME, attache trust --all, or attache trust --project"));
    }
    let mut subjects = Vec::new();
    if args.project {
        subjects.extend(project_files(setup)?);
    }
    if args.names.is_empty() && !args.all {
        return Ok(subjects);
    }
    setup.require_enabled()?;
    let inventory = setup.inventory()?;
    for record in chosen(args, setup, &inventory)? {
        let Some(path) = &record.source_path else { continue };
        subjects.push(Subject {
            name: record.name.clone(),
            path: path.clone(),
            gains: gains(record, setup),
            trusted: TrustedFile { sha256: hash_of(path)?, base_dir: base_dir(record, setup) },
        });
    }
    Ok(subjects)
}

fn chosen<'a>(
    args: &TrustArgs,
    setup: &Setup,
    inventory: &'a Inventory,
) -> Result<Vec<&'a Record>, Failure> {
    if args.all {
        // Of what cannot be run there is nothing to trust.
        let untrusted =
            |record: &&Record| record.trusted == Trust::Untrusted && !has_errors(record);
        return Ok(inventory.records.iter().filter(untrusted).collect());
    }
    args.names
        .iter()
        .map(|name| {
            let record = setup.record(inventory, name)?;
            if record.source_path.is_none() {
                return Err(Failure::usage(format!(
                    "the agent `{}` has no file to trust",
                    record.name
                ))
                .hint("it comes with the program or this session, and is trusted as it is"));
            }
            if has_errors(record) {
                return Err(Failure::usage(format!(
                    "the agent `{}` has errors, so nobody can say what it would get",
                    harmless(&record.name)
                ))
                .hint("`attache validate` shows them; trust it once they are corrected"));
            }
            Ok(record)
        })
        .collect()
}

fn has_errors(record: &Record) -> bool {
    record.status == Status::Invalid || record.definition.is_none()
}

fn project_files(setup: &Setup) -> Result<Vec<Subject>, Failure> {
    // Once trusted, what is broken in them would stop every command.
    let trusted = setup.settings_if_trusted()?;
    let files = setup.project.files.iter().filter(|file| file.path.is_file());
    files
        .map(|file| {
            Ok(Subject {
                name: setup.shown(&file.path).display().to_string(),
                path: file.path.clone(),
                gains: settings_gained(&file.path, &trusted, setup),
                trusted: TrustedFile::new(hash_of(&file.path)?),
            })
        })
        .collect()
}

/// The settings of a file that do not count yet.
fn settings_gained(file: &Path, trusted: &Settings, setup: &Setup) -> Vec<String> {
    let now = setup.settings.entries();
    let of_file = |entry: &Entry| entry.origin.place().is_some_and(|place| *place.path == *file);
    let entries =
        trusted.entries().into_iter().filter(|entry| of_file(entry) && !now.contains(entry));
    entries.map(|entry| format!("{} = {}", entry.key, entry.value)).collect()
}

fn hash_of(path: &Path) -> Result<ContentHash, Failure> {
    content_hash(path).map_err(|error| {
        Failure::unsuccessful(format!("cannot read {}", path.display())).because(&error)
    })
}

/// What a definition would be given if it were trusted.
fn gains(record: &Record, setup: &Setup) -> Vec<String> {
    let Some(definition) = &record.definition else { return Vec::new() };
    let mut gains = setup.tools_if_trusted(definition);
    gains.retain(|tool| !record.effective_tools.contains(tool));
    if gains.iter().any(|tool| tool == "shell") {
        gains.extend(commands(definition).map(|entry| format!("only for {entry}")));
    }
    if record.trusted == Trust::Untrusted {
        let endpoint = definition.model_config.endpoint.as_ref();
        gains.extend(endpoint.map(|address| format!("the endpoint {address}")));
        let outside = base_dir(record, setup).filter(|folder| !setup.is_in_workspace(folder));
        gains.extend(outside.map(|folder| format!("the folder {}", folder.display())));
        gains.extend(definition.mcp_servers.iter().map(mcp_server));
    }
    gains
}

/// The entries of the tools that limit which commands are run.
fn commands(definition: &Definition) -> impl Iterator<Item = &str> {
    let entries = match &definition.tools {
        ToolAccess::List(entries) => entries.as_slice(),
        ToolAccess::All => &[],
    };
    entries.iter().map(String::as_str).filter(|entry| {
        let rule = ToolRule::parse(entry);
        rule.is_ok_and(|rule| {
            !rule.is_unrestricted() && rule.tools().covers(&BuiltinTool::Shell.into())
        })
    })
}

/// An MCP server that a definition wants, with what would be started or called.
fn mcp_server(server: &McpServer) -> String {
    let text = |key: &str| server.config.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let arguments = server.config.as_ref().and_then(|config| config.get("args")?.as_array());
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    let command = text("command").map(|command| {
        let words = std::iter::once(command).chain(arguments.map(str::to_owned));
        let words: Vec<String> = words.collect();
        words.join(" ")
    });
    match command.or_else(|| text("url")) {
        Some(what) => format!("the MCP server {} ({what})", server.name),
        None => format!("the MCP server {} of your settings", server.name),
    }
}

/// Where the agent's base directory leads.
fn base_dir(record: &Record, setup: &Setup) -> Option<PathBuf> {
    let base = record.definition.as_ref()?.base_dir.as_ref()?;
    trust::resolved_base_dir(base, &setup.working_directory)
}

fn nothing(args: &TrustArgs) -> &'static str {
    match (args.project, args.all) {
        (true, false) => "this project has no settings files",
        (true, true) => "this project has no settings files, and every agent is trusted already",
        (false, _) => "every agent is trusted already",
    }
}

fn describe(subject: &Subject, setup: &Setup) -> String {
    let gains = if subject.gains.is_empty() {
        "nothing it lacks now".to_owned()
    } else {
        harmless(&subject.gains.join(", ")).into_owned()
    };
    format!(
        "{} ({}) gets: {gains}",
        paint(Tone::Name, &harmless(&subject.name)),
        harmless(&setup.shown(&subject.path).display().to_string())
    )
}

fn confirm(yes: bool, count: usize) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !print::is_interactive() {
        return Err(
            Failure::usage("trust must be given by a person").hint("off a terminal, say --yes")
        );
    }
    let these = if count == 1 {
        "this file as it is".to_owned()
    } else {
        format!("these {count} files as they are")
    };
    match print::ask(&format!("Trust {these} now? [y/N] ")).as_deref() {
        Some("y" | "Y" | "yes" | "Yes") => Ok(()),
        _ => Err(Failure::unsuccessful("nothing was trusted")),
    }
}
