//! The log: spans of runs, turns and calls with names, numbers and times, never what was said.
//!
//! Off unless `ATTACHE_LOG` or `--log-file` asks for it.

use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt as _, path::Path, sync::Mutex};

use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer as _, filter::Targets, fmt::format::FmtSpan, layer::SubscriberExt as _,
};

use crate::failure::Failure;

/// Where the log goes, and how much of it is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogWanted<'a> {
    /// `--log-file`; none is standard error.
    pub(crate) file: Option<&'a Path>,
    /// `ATTACHE_LOG`.
    pub(crate) level: Option<&'a str>,
}

/// Starts the log, if one is wanted. Called once, by `main`.
pub(crate) fn start(wanted: LogWanted<'_>) -> Result<(), Failure> {
    let level = match wanted.level.map(str::trim).filter(|level| !level.is_empty()) {
        Some(written) => level(written)?,
        None if wanted.file.is_some() => LevelFilter::from_level(Level::DEBUG),
        None => return Ok(()),
    };
    let writer: Box<dyn io::Write + Send> = match wanted.file {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            Box::new(file.map_err(|error| {
                Failure::usage(format!("cannot write the log {}", path.display()))
                    .because(&error)
                    .hint("give --log-file a path in a directory that exists")
            })?)
        }
        None => Box::new(io::stderr()),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(Mutex::new(writer))
        .with_filter(Targets::new().with_target("attache", level));
    let subscriber = tracing_subscriber::registry().with(lines);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|error| Failure::unsuccessful("cannot start the log").because(&error))
}

fn level(written: &str) -> Result<LevelFilter, Failure> {
    written.parse().map_err(|_| {
        Failure::usage(format!("ATTACHE_LOG is `{written}`, which is not a level"))
            .hint("use off, error, warn, info, debug or trace")
    })
}
