//! An answer of the scripted server: a head, and steps that are played one after the other.
//!
//! The head goes out with the first piece of the body, so a step before it (a gate, a reset) is met before the headers.

use serde_json::Value;

use super::gate::Gate;

/// An answer. A body alone has a `content-length`; a stream is sent in chunks.
#[derive(Debug, Clone)]
#[must_use]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
    pub(super) chunked: bool,
    pub(super) end: End,
}

/// One step of an answer.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Head,
    Bytes(Vec<u8>),
    /// These bytes, repeated; `None` repeats until the client hangs up.
    Repeat(Vec<u8>, Option<u64>),
    Wait(Gate),
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// As it should; the connection is kept.
    Whole,
    /// The connection is closed before the body is whole.
    Early,
    /// The connection is closed; a head that is not out stays unsent.
    Refused,
    /// The connection is reset.
    Reset,
}

impl Default for Answer {
    fn default() -> Self {
        let (headers, steps) = (Vec::new(), Vec::new());
        Self { status: 200, headers, steps, chunked: false, end: End::Whole }
    }
}

impl Answer {
    /// An empty answer with status 200.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with another status.
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same with this header, instead of any of that name.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with this body, of a length that is told.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Bytes(bytes.into()));
        self
    }

    /// The same with this JSON for a body.
    pub fn json(self, value: &Value) -> Self {
        self.header("content-type", "application/json").body(value.to_string())
    }

    /// The same with this page for a body.
    pub fn html(self, page: &str) -> Self {
        self.header("content-type", "text/html; charset=utf-8").body(page)
    }

    /// The same with these bytes as one chunk; they may end anywhere, in the middle of a character too.
    pub fn chunk(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.chunked = true;
        self.body(bytes)
    }

    /// The same with these named events, a chunk each.
    pub fn sse<N: AsRef<str>, D: ToString>(self, events: impl IntoIterator<Item = (N, D)>) -> Self {
        events.into_iter().fold(self.event_stream(), |answer, (name, data)| {
            answer.chunk(format!("event: {}\ndata: {}\n\n", name.as_ref(), data.to_string()))
        })
    }

    /// The same with these events without names, a chunk each.
    pub fn data<D: ToString>(self, events: impl IntoIterator<Item = D>) -> Self {
        events.into_iter().fold(self.event_stream(), |answer, data| {
            answer.chunk(format!("data: {}\n\n", data.to_string()))
        })
    }

    /// The same with these bytes repeated, made as they are sent.
    pub fn repeat(mut self, bytes: impl Into<Vec<u8>>, times: u64) -> Self {
        self.chunked = true;
        self.steps.push(Step::Repeat(bytes.into(), Some(times)));
        self
    }

    /// The same with these bytes again and again, until the client hangs up.
    pub fn endless(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.chunked = true;
        self.steps.push(Step::Repeat(bytes.into(), None));
        self
    }

    /// The same, going on once this gate lets it.
    pub fn wait_for(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// The same with this gate before every event after the first `sent`, so that the test lets them out one by one.
    pub fn gated(mut self, gate: &Gate, sent: usize) -> Self {
        let mut steps = Vec::new();
        let mut seen = 0;
        for step in self.steps {
            if matches!(step, Step::Bytes(_)) {
                if seen >= sent {
                    steps.push(Step::Wait(gate.clone()));
                }
                seen += 1;
            }
            steps.push(step);
        }
        self.steps = steps;
        self
    }

    /// The same body in chunks of that many bytes, cut anywhere.
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.chunked = true;
        let whole = self.steps.iter().filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        let whole = whole.collect::<Vec<_>>().concat();
        self.steps.retain(|step| !matches!(step, Step::Bytes(_)));
        self.steps.extend(whole.chunks(bytes.max(1)).map(|piece| Step::Bytes(piece.to_vec())));
        self
    }

    /// The same with these bytes before every piece of its body, such as a comment or an unknown event.
    pub fn between(mut self, bytes: &str) -> Self {
        let mut steps = Vec::new();
        for step in self.steps {
            if matches!(step, Step::Bytes(_)) {
                steps.push(Step::Bytes(bytes.as_bytes().to_vec()));
            }
            steps.push(step);
        }
        self.steps = steps;
        self
    }

    /// The same with lines that end in `\r\n`.
    pub fn crlf(mut self) -> Self {
        for step in &mut self.steps {
            if let Step::Bytes(bytes) = step {
                let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
                *bytes = lines.join(b"\r\n".as_slice());
            }
        }
        self
    }

    /// The same with only its first pieces: the events after them are never sent.
    pub fn keep(mut self, pieces: usize) -> Self {
        let mut seen = 0;
        self.steps.retain(|step| {
            seen += usize::from(matches!(step, Step::Bytes(_)));
            seen <= pieces
        });
        self
    }

    /// The pieces of its body.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.steps.iter().filter_map(|step| match step {
            Step::Bytes(bytes) => Some(bytes.as_slice()),
            Step::Head | Step::Repeat(..) | Step::Wait(_) => None,
        })
    }

    /// The same, with its head sent here, before anything of its body.
    pub fn head(mut self) -> Self {
        self.steps.push(Step::Head);
        self
    }

    /// The same, ending in a reset; before the headers, if nothing of the body stands before it.
    pub fn reset(self) -> Self {
        self.ending(End::Reset)
    }

    /// The same, closed without its last chunk, or before all of its length.
    pub fn close_early(self) -> Self {
        self.ending(End::Early)
    }

    /// The same, closed without its headers.
    pub fn refuse(mut self) -> Self {
        self.steps.retain(|step| matches!(step, Step::Wait(_)));
        self.ending(End::Refused)
    }

    fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    fn event_stream(mut self) -> Self {
        self.chunked = true;
        let typed = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if typed { self } else { self.header("content-type", "text/event-stream") }
    }

    /// The status line and the headers.
    pub(super) fn head_bytes(&self) -> Vec<u8> {
        let mut lines = vec![format!("HTTP/1.1 {} {}", self.status, reason(self.status))];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.chunked {
            lines.push("transfer-encoding: chunked".to_owned());
        } else {
            let sent = self.steps.iter().map(|step| match step {
                Step::Bytes(bytes) => bytes.len(),
                _ => 0,
            });
            // What closes early has promised more than it sends.
            let length = sent.sum::<usize>() + usize::from(self.end != End::Whole);
            lines.push(format!("content-length: {length}"));
        }
        format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes()
    }

    /// Whether the client is told that the connection ends with this answer.
    pub(super) fn says_close(&self) -> bool {
        self.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
        })
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
