//! The exporter: a bounded queue of spans, and the thread that sends them.
//!
//! The thread is started by the first span. It is not waited for longer than [`Exporter::finish`] is told, so a
//! collector that is silent delays nothing but the end of the process, and that only briefly.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use reqwest::{
    Client, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::ExposeSecret as _;

use super::{
    Protocol, TelemetryError, TelemetrySetup,
    otlp::{Attribute, Span},
};
use crate::model::http::HttpClient;

/// The number of spans that may wait to be sent.
const MOST_WAITING: usize = 4096;
/// The number of spans in one request.
const MOST_IN_BATCH: usize = 512;
/// How long spans wait for others to be sent with.
const GATHERING: Duration = Duration::from_secs(1);

/// Takes spans and sends them.
#[derive(Debug)]
pub(super) struct Exporter {
    target: Arc<Target>,
    started: Mutex<Option<Started>>,
    tally: Arc<Tally>,
}

/// Where spans go.
#[derive(Debug)]
struct Target {
    endpoint: Url,
    protocol: Protocol,
    headers: HeaderMap,
    timeout: Duration,
    resource: Vec<Attribute>,
    http: HttpClient,
}

/// The thread that sends.
#[derive(Debug)]
struct Started {
    queue: SyncSender<Box<Span>>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

/// What became of the spans.
#[derive(Debug, Default)]
struct Tally {
    taken: AtomicU64,
    sent: AtomicU64,
    /// Why some were not sent: the first reason.
    problem: Mutex<Option<String>>,
}

impl Exporter {
    pub(super) fn new(setup: TelemetrySetup) -> Result<Self, TelemetryError> {
        let TelemetrySetup { endpoint, protocol, headers, timeout, resource, http, .. } = setup;
        let wrong = |problem: String| TelemetryError { endpoint: endpoint.clone(), problem };
        let url = Url::parse(&endpoint).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
        }
        let mut sent = HeaderMap::new();
        sent.insert(CONTENT_TYPE, HeaderValue::from_static(protocol.content_type()));
        for (name, value) in &headers {
            let named = HeaderName::from_bytes(name.as_bytes());
            let mut valued = HeaderValue::from_str(value.expose_secret());
            if let Ok(value) = &mut valued {
                value.set_sensitive(true);
            }
            let (Ok(name), Ok(value)) = (named, valued) else {
                return Err(wrong(format!("the header `{name}` cannot be sent")));
            };
            sent.insert(name, value);
        }
        let resource = resource.into_iter().map(|(key, value)| (key, value.as_str().into()));
        let resource = resource.collect();
        let target = Target { endpoint: url, protocol, headers: sent, timeout, resource, http };
        let (target, tally) = (Arc::new(target), Arc::default());
        Ok(Self { target, started: Mutex::new(None), tally })
    }

    /// Takes a span. It never waits: a span for which there is no room is dropped and counted.
    pub(super) fn take(&self, span: Span) {
        self.tally.taken.fetch_add(1, Ordering::Relaxed);
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if started.is_none() {
            *started = self.start();
        }
        let queue = started.as_ref().map(|started| started.queue.clone());
        drop(started);
        if queue.is_none_or(|queue| queue.try_send(Box::new(span)).is_err()) {
            self.tally.failed("they came faster than they could be sent");
        }
    }

    fn start(&self) -> Option<Started> {
        let (queue, waiting) = sync_channel(MOST_WAITING);
        let (ends, ended) = sync_channel::<()>(0);
        let (target, tally) = (Arc::clone(&self.target), Arc::clone(&self.tally));
        let sending = move || {
            send_all(&target, &tally, &waiting);
            drop(ends);
        };
        let thread = thread::Builder::new().name("telemetry".to_owned());
        match thread.spawn(sending) {
            // It ends with the queue, or with the process.
            Ok(_) => Some(Started { queue, ended }),
            Err(error) => {
                self.tally.failed(&error.to_string());
                None
            }
        }
    }

    /// Sends what waits, for at most that long, and says what was not sent.
    pub(super) fn finish(&self, at_most: Duration) -> Option<String> {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Started { queue, ended }) = started {
            // What waits is still sent.
            drop(queue);
            if ended.recv_timeout(at_most) == Err(RecvTimeoutError::Timeout) {
                let seconds = at_most.as_secs_f64();
                self.tally.failed(&format!("the collector did not answer within {seconds} s"));
            }
        }
        let taken = self.tally.taken.load(Ordering::Relaxed);
        let lost = taken.saturating_sub(self.tally.sent.load(Ordering::Relaxed));
        let problem = self.tally.problem.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let place = place(&self.target.endpoint);
        (lost > 0).then(|| format!("{lost} of {taken} spans were not sent to {place}: {problem}"))
    }
}

impl Tally {
    fn failed(&self, problem: &str) {
        let mut first = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            tracing::debug!(problem, "spans were not sent");
            *first = Some(problem.to_owned());
        }
    }
}

/// An address without what may be secret in it.
fn place(endpoint: &Url) -> String {
    let port = endpoint.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = endpoint.host_str().unwrap_or_default();
    format!("{}://{host}{port}{}", endpoint.scheme(), endpoint.path())
}

/// Sends what comes, a batch at a time, until the end.
fn send_all(target: &Target, tally: &Tally, waiting: &Receiver<Box<Span>>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tally.failed(&error.to_string()),
    };
    loop {
        let batch = gathered(waiting);
        if batch.is_empty() {
            return;
        }
        match runtime.block_on(target.send(&batch)) {
            Ok(()) => drop(tally.sent.fetch_add(batch.len() as u64, Ordering::Relaxed)),
            Err(problem) => tally.failed(&problem),
        }
    }
}

/// The spans that are sent together; none if no more come.
fn gathered(waiting: &Receiver<Box<Span>>) -> Vec<Span> {
    let Ok(first) = waiting.recv() else { return Vec::new() };
    let mut batch = vec![*first];
    let until = Instant::now() + GATHERING;
    while batch.len() < MOST_IN_BATCH {
        let Ok(next) = waiting.recv_timeout(until.saturating_duration_since(Instant::now())) else {
            break;
        };
        batch.push(*next);
    }
    batch
}

impl Target {
    async fn send(&self, batch: &[Span]) -> Result<(), String> {
        let body = self.protocol.body(&self.resource, batch);
        let client: Client =
            self.http.for_address(&self.endpoint).map_err(|error| error.to_string())?;
        let request = client.post(self.endpoint.clone()).headers(self.headers.clone()).body(body);
        let answer = tokio::time::timeout(self.timeout, request.send()).await;
        let answer = match answer {
            Err(_) => return Err(format!("no answer within {} s", self.timeout.as_secs_f64())),
            Ok(Err(error)) => return Err(reason(error)),
            Ok(Ok(answer)) => answer,
        };
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("the collector answered {status}")) }
    }
}

/// Why a request failed, without the address, which may hold a key.
fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
