//! `attache untrust`: takes trust back.

use std::path::PathBuf;

use attache_kernel::path_text;
use clap::Args;
use serde::Serialize;

use crate::{
    failure::{Exit, Failure},
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::{OutputFormat, Setup, trust_failure},
};

/// Withdraw trust from agents, or from the project's settings.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  attache untrust reviewer
  attache untrust --all                all agents and projects
  attache untrust --project")]
pub(crate) struct UntrustArgs {
    /// The agents to withdraw trust from.
    #[arg(add = super::completions::agents())]
    names: Vec<String>,
    /// All agents and projects that are trusted.
    #[arg(long)]
    all: bool,
    /// The settings files of the project.
    #[arg(long)]
    project: bool,
}

/// What is printed.
#[derive(Serialize)]
struct Untrusted<'a> {
    #[serde(serialize_with = "path_text::list")]
    untrusted: &'a [PathBuf],
}

pub(crate) fn run(args: &UntrustArgs, mut setup: Setup) -> Result<Exit, Failure> {
    let (files, strangers): (Vec<_>, Vec<_>) =
        files(args, &setup)?.into_iter().partition(|path| setup.trust.knows(path));
    if !setup.quiet {
        for path in &strangers {
            print::aside(&format!("{} was not trusted", setup.shown(path).display()));
        }
    }
    if files.is_empty() && strangers.is_empty() && !setup.quiet {
        print::aside("nothing here was trusted");
    }
    setup
        .trust
        .record(files.iter().map(|path| (path.clone(), None)))
        .map_err(|error| trust_failure(&error))?;
    match setup.format {
        OutputFormat::Json => print::json(&Untrusted { untrusted: &files })?,
        OutputFormat::Text => {
            for path in &files {
                let shown = setup.shown(path);
                print::out(&format!(
                    "{} {}\n",
                    paint(Tone::Warning, "untrusted"),
                    shown.display()
                ))?;
            }
        }
    }
    Ok(Exit::Success)
}

fn files(args: &UntrustArgs, setup: &Setup) -> Result<Vec<PathBuf>, Failure> {
    if args.names.is_empty() && !args.all && !args.project {
        return Err(Failure::usage("name the agents to withdraw trust from")
            .hint("attache untrust NAME, attache untrust --all, or attache untrust --project"));
    }
    if args.all {
        return Ok(setup.trust.files().map(|(path, _)| path.to_path_buf()).collect());
    }
    let mut files = Vec::new();
    if args.project {
        files.extend(setup.project.files.iter().map(|file| file.path.clone()));
        files.retain(|path| setup.trust.knows(path));
    }
    if args.names.is_empty() {
        return Ok(files);
    }
    let inventory = setup.inventory()?;
    for name in &args.names {
        let record = setup.record(&inventory, name)?;
        let path = record.source_path.clone().ok_or_else(|| {
            Failure::usage(format!("the agent `{}` has no file", record.name))
                .hint("it comes with the program or this session")
        })?;
        files.push(path);
    }
    Ok(files)
}
