//! The log: spans of runs, turns and calls with names, numbers and times, never what was said.
//!
//! Off unless `ATTACHE_LOG` or `--log-file` asks for it.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::Mutex,
};

use attache_runtime::internal::telemetry::CONTENT;
use tracing::{Level, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer, filter::Targets, fmt::format::FmtSpan, layer::SubscriberExt as _, registry::LookupSpan,
};

use crate::{
    failure::Failure,
    print::{
        self,
        palette::{Tone, paint},
    },
    telemetry::{Content, Spans},
};

/// Where the log goes, and how much of it is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogWanted<'a> {
    /// `--log-file`; none is standard error.
    pub(crate) file: Option<&'a Path>,
    /// `ATTACHE_LOG`.
    pub(crate) level: Option<&'a str>,
}

/// Starts the log and what takes spans for telemetry, if they are wanted. Called once, by `main`.
pub(crate) fn start(wanted: LogWanted<'_>, spans: Option<Spans>) -> Result<(), Failure> {
    let lines = lines(wanted)?;
    if lines.is_none() && spans.is_none() {
        return Ok(());
    }
    let spans = spans.map(|Spans { layer, content }| {
        let content = match content {
            Content::Captured => LevelFilter::TRACE,
            Content::Withheld => LevelFilter::OFF,
        };
        let targets = Targets::new().with_target("attache_runtime", LevelFilter::DEBUG);
        layer.with_filter(targets.with_target(CONTENT, content))
    });
    let subscriber = tracing_subscriber::registry().with(lines).with(spans);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|error| Failure::unsuccessful("cannot start the log").because(&error))
}

/// The lines of the log; none if none is wanted.
fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(
    wanted: LogWanted<'_>,
) -> Result<Option<impl Layer<S>>, Failure> {
    let level = match wanted.level.map(str::trim).filter(|level| !level.is_empty()) {
        Some(written) => level(written)?,
        None if wanted.file.is_some() => LevelFilter::from_level(Level::DEBUG),
        None => return Ok(None),
    };
    let writer: Box<dyn Write + Send> = match wanted.file {
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
            let file = file.map_err(|error| {
                Failure::usage(format!("cannot write the log {}", path.display()))
                    .because(&error)
                    .hint("give --log-file a path in a directory that exists")
            })?;
            Box::new(LogFile { file, path: path.display().to_string(), has_failed: false })
        }
        None => Box::new(io::stderr()),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(Mutex::new(writer))
        .with_filter(Targets::new().with_target("attache", level));
    Ok(Some(lines))
}

/// The log's file. The first line that cannot be written is told, and no further one.
#[derive(Debug)]
struct LogFile {
    file: File,
    path: String,
    has_failed: bool,
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        if let Err(error) = &written
            && error.kind() != io::ErrorKind::Interrupted
            && !self.has_failed
        {
            self.has_failed = true;
            let notice = paint(Tone::Warning, "notice:");
            print::aside(&format!("{notice} cannot write the log {}: {error}", self.path));
        }
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn level(written: &str) -> Result<LevelFilter, Failure> {
    written.parse().map_err(|_| {
        Failure::usage(format!("ATTACHE_LOG is `{written}`, which is not a level"))
            .hint("use off, error, warn, info, debug or trace")
    })
}
