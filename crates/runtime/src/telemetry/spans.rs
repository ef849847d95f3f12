//! Spans: what the runtime tells of its runs through `tracing`, taken in until each span ends.
//!
//! A run lies in the call that started it, although it may go on after that call: the call is told as its cause
//! (`follows_from`). The ids of a run's span and of a trace come from the ids of the run and of its session, so
//! processes that work on the same tree agree on them.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};
use uuid::Uuid;

use super::{
    RunsOf, TraceParent,
    conventions::{self, Fields, Told, What},
    exporter::Exporter,
    otlp::{Span, Value},
};

/// The longest text of an attribute, in bytes.
const MOST_TEXT: usize = 32 * 1024;

/// Takes in the spans of runs, turns and calls.
#[derive(Debug)]
pub struct SpanLayer {
    exporter: Arc<Exporter>,
    parent: Option<TraceParent>,
    runs: RunsOf,
}

/// A span that has not ended.
#[derive(Debug)]
struct Open {
    what: What,
    place: Place,
    start: u64,
    fields: Fields,
    /// What its run told when it began, in a turn or a call.
    run: Option<Arc<Fields>>,
    is_told: bool,
}

/// Where a span lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    parent: Option<[u8; 8]>,
}

impl SpanLayer {
    pub(super) fn new(exporter: Arc<Exporter>, parent: Option<TraceParent>, runs: RunsOf) -> Self {
        Self { exporter, parent, runs }
    }

    /// A run that nothing here started; [`Layer::on_follows_from`] moves one that something did.
    fn root(&self, run: &Fields) -> Place {
        let session = conventions::text(run, "session");
        let trace_id = match self.parent {
            Some(parent) => parent.trace_id,
            None => Uuid::parse_str(session).map_or_else(|_| digest(session), Uuid::into_bytes),
        };
        let span_id = digest(conventions::text(run, "id"));
        Place { trace_id, span_id, parent: self.parent.map(|parent| parent.span_id) }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(what) = What::named(attributes.metadata().name()) else { return };
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::new();
        attributes.record(&mut Reading(&mut fields));
        let (place, run, is_told) = match what {
            What::Run => {
                let is_first = context.current_span().id().is_none();
                let is_told = !(is_first && self.runs == RunsOf::AnotherProcess);
                (self.root(&fields), None, is_told)
            }
            What::Turn | What::Call => {
                let Some((above, run)) = above(&span) else { return };
                let span_id = random();
                (Place { span_id, parent: Some(above.span_id), ..above }, Some(run), true)
            }
        };
        span.extensions_mut().insert(Open { what, place, start: now(), fields, run, is_told });
    }

    fn on_follows_from(&self, id: &Id, cause: &Id, context: Context<'_, S>) {
        let Some(cause) = context.span(cause) else { return };
        let Some(place) = cause.extensions().get::<Open>().map(|open| open.place) else { return };
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            open.place.trace_id = place.trace_id;
            open.place.parent = Some(place.span_id);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut Reading(&mut open.fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != super::CONTENT {
            return;
        }
        let Some(span) = context.event_span(event) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            event.record(&mut Reading(&mut open.fields));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(open) = span.extensions_mut().remove::<Open>() else { return };
        if !open.is_told {
            return;
        }
        let Open { what, place, start, fields, run, .. } = open;
        let Told { name, kind, attributes, is_error } =
            conventions::told(what, &fields, run.as_deref().unwrap_or(&fields));
        let Place { trace_id, span_id: id, parent } = place;
        let end = now().max(start);
        self.exporter.take(Span {
            trace_id,
            id,
            parent,
            name,
            kind,
            start,
            end,
            attributes,
            is_error,
        });
    }
}

/// The run that a span lies in, and what it told when it began.
fn above<S: for<'a> LookupSpan<'a>>(span: &SpanRef<'_, S>) -> Option<(Place, Arc<Fields>)> {
    let run = span.scope().skip(1).find(|outer| What::named(outer.name()) == Some(What::Run))?;
    let mut extensions = run.extensions_mut();
    let open = extensions.get_mut::<Open>()?;
    let told = match &open.run {
        Some(told) => Arc::clone(told),
        None => Arc::clone(open.run.insert(Arc::new(open.fields.clone()))),
    };
    Some((open.place, told))
}

/// Reads fields into a map.
struct Reading<'f>(&'f mut Fields);

impl Visit for Reading<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let text = if value.len() > MOST_TEXT {
            let end = value.floor_char_boundary(MOST_TEXT);
            format!("{}…", value.get(..end).unwrap_or_default())
        } else {
            value.to_owned()
        };
        self.0.insert(field.name(), Value::Text(text));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name(), Value::Number(value));
    }
}

/// The beginning of a text's hash.
fn digest<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let hash = Sha256::digest(text);
    bytes.iter_mut().zip(hash).for_each(|(byte, from)| *byte = from);
    bytes
}

/// An id that no other span has.
fn random() -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(Uuid::new_v4().into_bytes()).for_each(|(byte, from)| *byte = from);
    bytes
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
