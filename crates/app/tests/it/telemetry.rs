//! Telemetry: the spans of the real program, as a collector on loopback gets them.

use std::collections::BTreeMap;

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Answer, Gate, ScriptedServer, WireApi, text, tool_call},
};
use serde_json::{Value, json};

use crate::{
    exec::delegating,
    providers::{KEY, completes, lab, looks},
};

const API: WireApi = WireApi::Chat;
const AGENTS: &str = r#"{
    "worker": {"description": "Works.", "prompt": "You work.", "tools": ["Read", "LS"]},
    "far": {"description": "Far.", "prompt": "You work far away.", "tools": ["LS"], "executionMode": "full_codex"}
}"#;
const TRACES: &str = "/v1/traces";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A span as it arrived.
#[derive(Debug, Clone)]
struct Span {
    name: String,
    id: String,
    parent: Option<String>,
    trace: String,
    kind: u64,
    start: u64,
    end: u64,
    is_error: bool,
    says: BTreeMap<String, Value>,
}

fn collector() -> ScriptedServer {
    let collector = ScriptedServer::start();
    collector.always_on(TRACES, Answer::new().json(&json!({})));
    collector
}

/// The project with its spans sent as JSON.
fn observed(project: TestProject, collector: &ScriptedServer) -> TestProject {
    project
        .with_env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.base_url())
        .with_env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
}

fn attributes(list: &Value) -> BTreeMap<String, Value> {
    let read = |value: &Value| match value {
        value if value["intValue"].is_string() => {
            json!(value["intValue"].as_str().unwrap().parse::<i64>().unwrap())
        }
        value if value["arrayValue"].is_object() => value["arrayValue"]["values"].clone(),
        value => value["stringValue"].clone(),
    };
    let list = list.as_array().unwrap().iter();
    list.map(|one| (one["key"].as_str().unwrap().to_owned(), read(&one["value"]))).collect()
}

fn spans(collector: &ScriptedServer) -> Vec<Span> {
    let number = |value: &Value| value.as_str().unwrap().parse().unwrap();
    let mut found = Vec::new();
    for request in collector.requests() {
        let body = request.json();
        let scope = &body["resourceSpans"][0]["scopeSpans"][0];
        assert_eq!(scope["scope"]["name"], "attache");
        for span in scope["spans"].as_array().unwrap() {
            found.push(Span {
                name: span["name"].as_str().unwrap().to_owned(),
                id: span["spanId"].as_str().unwrap().to_owned(),
                parent: span["parentSpanId"].as_str().map(str::to_owned),
                trace: span["traceId"].as_str().unwrap().to_owned(),
                kind: span["kind"].as_u64().unwrap(),
                start: number(&span["startTimeUnixNano"]),
                end: number(&span["endTimeUnixNano"]),
                is_error: span["status"]["code"] == 2,
                says: attributes(&span["attributes"]),
            });
        }
    }
    found
}

/// The spans below one, each as `parent > child`, in the order of their beginnings.
fn tree(spans: &[Span], of: &Span) -> Vec<String> {
    let mut below: Vec<&Span> =
        spans.iter().filter(|span| span.parent.as_deref() == Some(of.id.as_str())).collect();
    below.sort_by_key(|span| span.start);
    let lines = below.into_iter().flat_map(|span| {
        let line = format!("{} > {}", of.name, span.name);
        std::iter::once(line).chain(tree(spans, span))
    });
    lines.collect()
}

fn root<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name && span.parent.is_none()).unwrap()
}

fn exec(project: &TestProject) -> Ran {
    project.run(&["exec", "look for the tangerine", "--agents", AGENTS, "--json"])
}

#[test]
fn the_spans_of_a_tree_lie_in_the_calls_that_started_them() {
    let (server, collector) = (ScriptedServer::start(), collector());
    let project = observed(delegating(&server), &collector)
        .with_env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=a%20b")
        .with_env("OTEL_SERVICE_NAME", "desk")
        .with_env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=lab");
    let ran = exec(&project);
    assert_eq!((ran.code, ran.stderr.contains("telemetry")), (Some(0), false), "{ran:?}");
    let result: Value = serde_json::from_str(&ran.stdout).unwrap();
    let request = &collector.requests()[0];
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", TRACES));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-team"), Some("a b"));
    let resource = attributes(&request.json()["resourceSpans"][0]["resource"]["attributes"]);
    assert_eq!(resource["service.name"], "desk");
    assert_eq!(resource["deployment.environment.name"], "lab");

    let spans = spans(&collector);
    let main = root(&spans, "invoke_agent attache");
    assert_eq!(
        tree(&spans, main),
        [
            "invoke_agent attache > chat lab-1",
            "invoke_agent attache > execute_tool Task",
            "execute_tool Task > invoke_agent worker",
            "invoke_agent worker > chat lab-1",
            "invoke_agent attache > execute_tool Task",
            "execute_tool Task > invoke_agent worker",
            "invoke_agent worker > chat lab-1",
            "invoke_agent attache > chat lab-1",
        ]
    );
    assert_eq!(spans.len(), 9, "{spans:#?}");
    assert!(spans.iter().all(|span| span.trace == main.trace && span.start <= span.end));
    assert_eq!(main.trace, result["session_id"].as_str().unwrap().replace('-', ""));
    let session = &result["session_id"];
    let said = |span: &Span, key: &str| span.says.get(key).cloned().unwrap_or_default();
    assert_eq!(said(main, "gen_ai.operation.name"), "invoke_agent");
    assert_eq!(said(main, "gen_ai.agent.id"), result["agent_id"]);
    assert_eq!(said(main, "gen_ai.conversation.id"), *session);
    assert_eq!(said(main, "gen_ai.usage.input_tokens"), 3000);
    assert_eq!((main.kind, main.is_error), (1, false));
    let chat = spans.iter().find(|span| span.name == "chat lab-1").unwrap();
    assert_eq!((chat.kind, said(chat, "gen_ai.operation.name")), (3, json!("chat")));
    assert_eq!(said(chat, "gen_ai.provider.name"), "lab");
    assert_eq!(said(chat, "gen_ai.request.model"), "lab-1");
    assert_eq!(said(chat, "gen_ai.usage.output_tokens"), 10);
    let call = spans.iter().find(|span| span.name == "execute_tool Task").unwrap();
    assert_eq!(said(call, "gen_ai.operation.name"), "execute_tool");
    assert_eq!(said(call, "gen_ai.tool.name"), "Task");
    assert_eq!(said(call, "gen_ai.agent.name"), "attache");
}

#[test]
fn what_was_said_is_sent_only_if_it_is_asked_for_and_a_key_never() {
    for asked in [false, true] {
        let (server, collector) = (ScriptedServer::start(), collector());
        server.answer(API.answer(&looks(100)));
        server.answer(API.answer(&completes(&format!("The key is {KEY}, the fruit purple."))));
        let mut project = observed(lab(&server, API, ""), &collector);
        if asked {
            let variable = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
            project = project.with_env(variable, "true");
        }
        project.file("tangerine.txt", "orange\n");
        let ran = project.run(&["run", "Explore", "find the tangerine", "-q"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let sent: Vec<Vec<u8>> = collector.requests().into_iter().map(|it| it.body).collect();
        let sent = String::from_utf8(sent.concat()).unwrap();
        assert!(sent.contains("execute_tool list_dir"), "{sent}");
        for said in ["find the tangerine", "tangerine.txt", "purple"] {
            assert_eq!(sent.contains(said), asked, "{said}: {sent}");
        }
        assert!(!sent.contains(KEY), "{sent}");
    }
}

#[test]
fn protocol_buffers_are_sent_unless_json_is_asked_for() {
    let (server, collector) = (ScriptedServer::start(), collector());
    server.answer(API.answer(&completes("Found.")));
    let project = lab(&server, API, "").with_env(
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        &format!("{}{TRACES}", collector.base_url()),
    );
    let ran = project.run(&["run", "Explore", "where?", "-q"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let request = collector.wait_for_request(1);
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    let holds = |text: &str| request.body.windows(text.len()).any(|part| part == text.as_bytes());
    assert_eq!(request.body[0], 0x0a);
    assert!(holds("invoke_agent Explore") && holds("gen_ai.agent.name") && holds("chat lab-1"));
}

#[test]
fn a_run_lies_in_the_span_that_the_program_was_started_in() {
    let (server, collector) = (ScriptedServer::start(), collector());
    server.answer(API.answer(&completes("Found.")));
    let project = observed(lab(&server, API, ""), &collector).with_env("TRACEPARENT", PARENT);
    assert_eq!(project.run(&["run", "Explore", "where?", "-q"]).code, Some(0));
    let spans = spans(&collector);
    let run = spans.iter().find(|span| span.name == "invoke_agent Explore").unwrap();
    assert_eq!(run.parent.as_deref(), Some("00f067aa0ba902b7"));
    assert!(spans.iter().all(|span| span.trace == "4bf92f3577b34da6a3ce929d0e0e4736"));
}

#[test]
fn an_agent_in_an_instance_of_its_own_is_one_run_with_its_turns() {
    let (server, collector) = (ScriptedServer::start(), collector());
    server.answer(API.answer(&looks(100)));
    server.answer(API.answer(&completes("Seen.")));
    let project = observed(lab(&server, API, ""), &collector)
        .with_env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20c2VjcmV0LWtleQ==");
    let ran = project.run(&["run", "far", "look around", "--agents", AGENTS, "-q"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    collector.wait_for_request(2);
    let spans = spans(&collector);
    let run = root(&spans, "invoke_agent far");
    assert_eq!(
        tree(&spans, run),
        [
            "invoke_agent far > chat lab-1",
            "invoke_agent far > execute_tool list_dir",
            "invoke_agent far > chat lab-1",
        ]
    );
    for request in collector.requests() {
        assert_eq!(request.header("authorization"), Some("Basic c2VjcmV0LWtleQ=="));
    }
}

#[test]
fn what_failed_says_so() {
    let (server, collector) = (ScriptedServer::start(), collector());
    let missing = tool_call("call_1", "read_file", &json!({ "path": "no-such-file" }));
    server.answer(API.answer(&missing));
    server.answer(API.error(401, "invalid_request_error", "no"));
    let project = observed(lab(&server, API, ""), &collector);
    assert_eq!(project.run(&["run", "Explore", "where?", "-q"]).code, Some(1));
    let spans = spans(&collector);
    let errors: BTreeMap<&str, &Value> = spans
        .iter()
        .filter(|span| span.is_error)
        .map(|span| (span.name.as_str(), &span.says["error.type"]))
        .collect();
    let expected = [
        ("chat lab-1", &json!("fatal")),
        ("execute_tool read_file", &json!("tool_error")),
        ("invoke_agent Explore", &json!("error")),
    ];
    assert_eq!(errors, BTreeMap::from(expected));
}

#[test]
fn a_collector_that_refuses_or_is_away_fails_no_run_and_is_told_once() {
    let away = ScriptedServer::start();
    let nowhere = away.base_url();
    drop(away);
    let refusing = ScriptedServer::start();
    refusing.always_on(TRACES, Answer::new().status(503).body("sk-private"));
    for (endpoint, part) in [(nowhere, "refused"), (refusing.base_url(), "answered 503")] {
        let server = ScriptedServer::start();
        let project = delegating(&server)
            .with_env("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)
            .with_env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sk-collector");
        let ran = exec(&project);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("Both found it."), "{ran:?}");
        let told: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("spans")).collect();
        assert_eq!(told.len(), 1, "{ran:?}");
        assert!(told[0].contains("9 of 9 spans were not sent to http://"), "{ran:?}");
        assert!(told[0].contains(part), "{ran:?}");
        assert!(!ran.stderr.contains("sk-"), "{ran:?}");
    }
}

#[test]
fn a_collector_that_is_silent_holds_up_the_end_only_briefly() {
    let (server, collector) = (ScriptedServer::start(), ScriptedServer::start());
    // It is never opened: the collector takes the request and says nothing.
    collector.always_on(TRACES, Answer::new().wait_for(&Gate::new()).json(&json!({})));
    let project = observed(delegating(&server), &collector);
    let ran = exec(&project);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("Both found it."), "{ran:?}");
    assert!(ran.stderr.contains("the collector did not answer within 2 s"), "{ran:?}");
}

#[test]
fn what_cannot_be_used_switches_telemetry_off_with_a_notice() {
    for (variable, value, part) in [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "use http/protobuf or http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "http:// or https://"),
    ] {
        let (server, collector) = (ScriptedServer::start(), collector());
        server.answer(API.answer(&completes("Found.")));
        let project = observed(lab(&server, API, ""), &collector).with_env(variable, value);
        let ran = project.run(&["run", "Explore", "where?", "-q"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("telemetry is off"), "{ran:?}");
        assert!(ran.stderr.contains(part), "{ran:?}");
        assert_eq!(collector.requests().len(), 0);
        // Commands that run no agent do not speak of it.
        assert_eq!(project.run(&["list"]).stderr, "");
    }
}

#[test]
fn commands_of_agents_do_not_see_the_headers_of_the_collector() {
    let (server, collector) = (ScriptedServer::start(), collector());
    let shows = tool_call("call_1", "shell", &json!({ "command": "env" }));
    server.answer(API.answer(&shows));
    server.answer(API.answer(&text(["Done."])));
    let project = observed(lab(&server, API, ""), &collector)
        .with_env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=tangerine");
    let ran = project.run(&["exec", "show the environment", "--approve", "all", "-q"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let second = String::from_utf8(server.requests()[1].body.clone()).unwrap();
    assert!(second.contains("PATH="), "{second}");
    assert!(!second.contains("tangerine"), "{second}");
}
