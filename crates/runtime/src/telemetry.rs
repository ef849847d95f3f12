//! Telemetry: spans of runs, turns and calls, for an OpenTelemetry collector.
//!
//! Invariants: a run never waits for it and never fails because of it. A span that has ended goes into a bounded
//! queue, which a thread of its own sends; what does not fit is dropped and counted. Without content being asked for, a
//! span has names, numbers and times.

pub(crate) mod content;
mod conventions;
mod exporter;
mod otlp;
mod spans;
mod trace_parent;

use std::{sync::Arc, time::Duration};

use secrecy::SecretString;

use self::exporter::Exporter;
pub use self::{spans::SpanLayer, trace_parent::TraceParent};
use crate::model::http::HttpClient;

/// The target of events that carry what was said; they are for telemetry alone.
pub const CONTENT: &str = "gen_ai.content";

/// Where spans go, and what they say.
#[derive(Debug)]
pub struct TelemetrySetup {
    /// The address that takes traces.
    pub endpoint: String,
    /// How they are written.
    pub protocol: Protocol,
    /// Headers of every request.
    pub headers: Vec<(String, SecretString)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// What the program says of itself.
    pub resource: Vec<(String, String)>,
    /// The span that the program was started in.
    pub parent: Option<TraceParent>,
    /// Whose runs these are.
    pub runs: RunsOf,
    /// How the collector is reached.
    pub http: HttpClient,
}

/// How spans are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP as protocol buffers over HTTP.
    HttpProtobuf,
    /// OTLP as JSON over HTTP.
    HttpJson,
}

/// Whose runs a process drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunsOf {
    /// Its own.
    ThisProcess,
    /// One of the process that started it, which tells of that run itself.
    AnotherProcess,
}

/// Why no spans can be sent.
#[derive(Debug, thiserror::Error)]
#[error("`{endpoint}` is not an address of a collector: {problem}")]
pub struct TelemetryError {
    endpoint: String,
    problem: String,
}

/// The sending end, until [`Telemetry::finish`].
#[derive(Debug)]
pub struct Telemetry {
    exporter: Arc<Exporter>,
}

/// What takes spans in, and what sends them. Nothing is started before the first span has ended.
pub fn telemetry(setup: TelemetrySetup) -> Result<(SpanLayer, Telemetry), TelemetryError> {
    let (parent, runs) = (setup.parent, setup.runs);
    let exporter = Arc::new(Exporter::new(setup)?);
    let layer = SpanLayer::new(Arc::clone(&exporter), parent, runs);
    Ok((layer, Telemetry { exporter }))
}

impl Telemetry {
    /// Sends what is left, for at most that long; the last thing to do before the process ends. Returns what went
    /// wrong, if something did.
    pub fn finish(self, at_most: Duration) -> Option<String> {
        self.exporter.finish(at_most)
    }
}
