//! Telemetry as the environment asks for it: `OTEL_*` and `TRACEPARENT`. See `docs/telemetry.md`.
//!
//! A value that cannot be used switches telemetry off with a notice; it never keeps a run from starting.

use std::{collections::BTreeMap, time::Duration};

use attache_runtime::internal::{
    model::http::HttpClient,
    telemetry::{Protocol, RunsOf, SpanLayer, Telemetry, TelemetrySetup, TraceParent, telemetry},
};

use crate::{
    environment::Environment,
    print::{
        self,
        palette::{Tone, paint},
    },
    setup::providers::proxies,
};

/// How long the end of the program waits for the collector.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long one request may take, unless the environment says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What takes spans in, for the log to pass them on to.
pub(crate) struct Spans {
    pub(crate) layer: SpanLayer,
    /// Whether spans also say what was said.
    pub(crate) content: Content,
}

/// Whether spans also say what was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Withheld,
    Captured,
}

/// The sending end, until the program ends.
pub(crate) struct Sending {
    telemetry: Option<Telemetry>,
}

/// Starts telemetry, if the environment asks for it.
pub(crate) fn start(environment: &Environment, runs: RunsOf) -> (Option<Spans>, Sending) {
    let off = (None, Sending { telemetry: None });
    let made = setup(environment, runs).and_then(|setup| match setup {
        None => Ok(None),
        Some((setup, content)) => {
            let (layer, sending) = telemetry(setup).map_err(|error| error.to_string())?;
            Ok(Some((Spans { layer, content }, sending)))
        }
    });
    match made {
        Ok(None) => off,
        Ok(Some((spans, telemetry))) => (Some(spans), Sending { telemetry: Some(telemetry) }),
        Err(problem) => {
            notice(&format!("telemetry is off: {problem}"));
            off
        }
    }
}

impl Sending {
    /// Sends what is left, and tells what could not be sent.
    pub(crate) fn finish(self) {
        if let Some(problem) = self.telemetry.and_then(|telemetry| telemetry.finish(FAREWELL)) {
            notice(&format!("telemetry: {problem}"));
        }
    }
}

fn notice(text: &str) {
    print::aside(&format!("{} {text}", paint(Tone::Warning, "notice:")));
}

/// The keys in headers for the collector: `Basic KEY`, or the whole value.
pub(crate) fn secrets(environment: &Environment) -> Vec<String> {
    let variables = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
    let written = variables.into_iter().filter_map(|name| environment.get(name));
    let values = written.filter_map(|text| pairs(text).ok()).flatten().map(|(_, value)| value);
    values.filter_map(|value| value.split_whitespace().last().map(str::to_owned)).collect()
}

/// What the environment asks for; none if it asks for nothing.
fn setup(
    environment: &Environment,
    runs: RunsOf,
) -> Result<Option<(TelemetrySetup, Content)>, String> {
    let set = |name: &str| environment.get(name).map(str::trim).filter(|value| !value.is_empty());
    let is_true = |name: &str| set(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    // A value for traces goes before the one for everything.
    let otlp = |name: &str| {
        set(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| set(&format!("OTEL_EXPORTER_OTLP_{name}")))
    };
    let for_traces = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").map(str::to_owned);
    let for_all = || {
        let base = set("OTEL_EXPORTER_OTLP_ENDPOINT")?.trim_end_matches('/');
        Some(format!("{base}/v1/traces"))
    };
    let Some(endpoint) = for_traces.or_else(for_all) else { return Ok(None) };
    if is_true("OTEL_SDK_DISABLED") {
        return Ok(None);
    }
    match set("OTEL_TRACES_EXPORTER") {
        None | Some("otlp") => {}
        Some("none") => return Ok(None),
        Some(other) => {
            return Err(format!("OTEL_TRACES_EXPORTER is `{other}`; use otlp or none"));
        }
    }
    let parent = match set("TRACEPARENT").map(TraceParent::parse) {
        // The program that started this one does not keep its trace.
        Some(Some(parent)) if !parent.is_sampled() => return Ok(None),
        parent => parent.flatten(),
    };
    let protocol = match otlp("PROTOCOL") {
        None | Some("http/protobuf") => Protocol::HttpProtobuf,
        Some("http/json") => Protocol::HttpJson,
        Some(other) => {
            return Err(format!(
                "OTEL_EXPORTER_OTLP_PROTOCOL is `{other}`; use http/protobuf or http/json"
            ));
        }
    };
    let headers = pairs(otlp("HEADERS").unwrap_or_default())
        .map_err(|entry| format!("OTEL_EXPORTER_OTLP_HEADERS: {entry} has no `=`"))?;
    let timeout = match otlp("TIMEOUT") {
        None => TIMEOUT,
        Some(written) => Duration::from_millis(written.parse().map_err(|_| {
            format!("OTEL_EXPORTER_OTLP_TIMEOUT is `{written}`; give milliseconds")
        })?),
    };
    let setup = TelemetrySetup {
        endpoint,
        protocol,
        headers: headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
        timeout,
        resource: resource(set("OTEL_RESOURCE_ATTRIBUTES"), set("OTEL_SERVICE_NAME"))?,
        parent,
        runs,
        http: HttpClient::new(proxies(environment)),
    };
    let captures = is_true("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT");
    Ok(Some((setup, if captures { Content::Captured } else { Content::Withheld })))
}

/// What the program says of itself.
fn resource(
    attributes: Option<&str>,
    service: Option<&str>,
) -> Result<Vec<(String, String)>, String> {
    let written = pairs(attributes.unwrap_or_default())
        .map_err(|entry| format!("OTEL_RESOURCE_ATTRIBUTES: {entry} has no `=`"))?;
    let usual = [
        ("service.name", "attache"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("telemetry.sdk.name", "attache"),
        ("telemetry.sdk.language", "rust"),
    ];
    let usual = usual.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let named = service.map(|name| ("service.name".to_owned(), name.to_owned()));
    // The last value of a key counts.
    let all: BTreeMap<_, _> = usual.into_iter().chain(written).chain(named).collect();
    Ok(all.into_iter().collect())
}

/// `key=value,key=value`, with percent escapes in the values. The error is the place of an entry without `=`, never
/// its text, which may be a key.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let entries = text.split(',').map(str::trim).enumerate().filter(|(_, entry)| !entry.is_empty());
    entries
        .map(|(place, entry)| {
            let (key, value) =
                entry.split_once('=').ok_or_else(|| format!("entry {}", place + 1))?;
            Ok((key.trim().to_owned(), unescaped(value.trim())))
        })
        .collect()
}

/// The text with `%20` and its like as what they stand for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = (first == b'%').then(|| after.get(..2)).flatten();
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let taken = if escaped.is_some() { 2 } else { 0 };
        bytes.push(escaped.unwrap_or(first));
        rest = after.get(taken..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<(TelemetrySetup, Content)>, String> {
        setup(&variables.iter().copied().collect(), RunsOf::ThisProcess)
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://box:4318/");

    #[test]
    fn without_an_address_or_when_switched_off_there_is_none() {
        let unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        for variables in [
            &[][..],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")],
            &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
            &[ENDPOINT, ("TRACEPARENT", unsampled)],
        ] {
            assert!(matches!(read(variables), Ok(None)), "{variables:?}");
        }
    }

    #[test]
    fn a_value_for_traces_goes_before_the_one_for_everything() {
        let (setup, content) = read(&[ENDPOINT]).unwrap().unwrap();
        assert_eq!(setup.endpoint, "http://box:4318/v1/traces");
        assert_eq!((setup.protocol, setup.timeout), (Protocol::HttpProtobuf, TIMEOUT));
        assert_eq!(content, Content::Withheld);
        let (setup, content) = read(&[
            ENDPOINT,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces/in"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "1500"),
            ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "True"),
        ])
        .unwrap()
        .unwrap();
        assert_eq!(setup.endpoint, "https://traces/in");
        assert_eq!(setup.protocol, Protocol::HttpJson);
        assert_eq!((setup.timeout, content), (Duration::from_millis(1500), Content::Captured));
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named_and_no_key_is_shown() {
        for (name, value, part) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "use http/protobuf or http/json"),
            ("OTEL_TRACES_EXPORTER", "console", "use otlp or none"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "give milliseconds"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,sk-secret", "entry 2 has no `=`"),
            ("OTEL_RESOURCE_ATTRIBUTES", "sk-secret", "entry 1 has no `=`"),
        ] {
            let problem = read(&[ENDPOINT, (name, value)]).unwrap_err();
            assert!(problem.contains(name) && problem.contains(part), "{problem}");
            assert!(!problem.contains("sk-secret"), "{problem}");
        }
    }

    #[test]
    fn the_resource_has_a_name_and_what_the_environment_adds() {
        let found = resource(Some("team=a%20b, service.name=other"), Some("mine")).unwrap();
        assert!(found.contains(&("service.name".into(), "mine".into())), "{found:?}");
        assert!(found.contains(&("team".into(), "a b".into())), "{found:?}");
        let unnamed = resource(None, None).unwrap();
        assert!(unnamed.contains(&("service.name".into(), "attache".into())), "{unnamed:?}");
        assert_eq!(unescaped("%41%4é%"), "A%4é%");
    }

    #[test]
    fn the_keys_in_headers_of_the_collector_are_secrets() {
        let environment: Environment =
            [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20abc, x=1")]
                .into_iter()
                .collect();
        assert_eq!(secrets(&environment), ["abc", "1"]);
    }
}
