//! Reports in the shape of an output schema: the kernel's own check accepts them.

use attache_kernel::run::outcome::Status;
use attache_offline::OfflineModel;
use attache_testkit::driving::{Done, Task};
use serde_json::{Value, json};

use super::rings;

fn done(schema: Value) -> Done {
    let folder = rings();
    let task = Task::new(folder.path(), "where is the ring buffer implemented?");
    task.with_output(schema).done_by(&OfflineModel)
}

fn output(schema: Value) -> Value {
    let shown = schema.to_string();
    let done = done(schema);
    assert_eq!(done.outcome.ending.status, Status::Goal, "{shown}: {:?}", done.outcome);
    done.outcome.ending.output.unwrap()
}

#[test]
fn findings_go_where_their_names_say() {
    let output = output(json!({
        "type": "object",
        "properties": {
            "summary": {"type": "string"},
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "locations": {"type": "array", "items": {"type": "string"}},
            "kind": {"const": "search"},
            "safe": {"type": ["boolean", "null"]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "found": {"type": "boolean"},
            "status": {"enum": ["unknown", "done"]},
        },
        "required": ["summary", "findings", "locations", "kind", "safe"],
        "additionalProperties": false,
        "$defs": {"finding": {
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
                "description": {"type": "string"},
                "severity": {"type": "string", "enum": ["info", "high"]},
            },
            "required": ["file", "line", "description"],
        }},
    }));
    assert!(output["summary"].as_str().unwrap().contains("ring_buffer.c"), "{output}");
    assert!(output["summary"].as_str().unwrap().contains("no language model"), "{output}");
    assert_eq!(output["findings"][0]["file"], "src/ring_buffer.c");
    assert!(output["findings"][0]["line"].as_u64().unwrap() > 1, "{output}");
    assert!(output["findings"][0]["description"].as_str().unwrap().contains("ring_push"));
    let findings = output["findings"].as_array().unwrap();
    assert_eq!((&output["kind"], &output["safe"]), (&json!("search"), &Value::Null));
    for judged in ["confidence", "found", "status"] {
        assert_eq!(output.get(judged), None, "{output}");
    }
    assert_eq!(findings[0].get("severity"), None, "{output}");
    let place = output["locations"][0].as_str().unwrap();
    assert!(place.starts_with("src/ring_buffer.c:"), "{place}");
}

#[test]
fn ordinary_schemas_are_met() {
    for schema in [
        json!({"type": "string"}),
        json!({"type": "string", "maxLength": 40}),
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}),
        json!({"type": "array"}),
        json!({"const": 7}),
        json!({"anyOf": [{"type": "null"}, {"type": "integer"}]}),
        json!({"type": ["string", "null"]}),
        json!({"type": "object", "required": ["anything"]}),
        json!({"type": "object", "properties": {"lines": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}}, "required": ["lines"]}),
        json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}}, "required": ["b"]}}, "required": ["a"]}),
        json!({}),
    ] {
        output(schema);
    }
}

#[test]
fn a_schema_that_refers_to_itself_ends() {
    output(json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["name"],
        }},
    }));
}

/// What takes judgement is not made up: the run ends without an answer, and tells the report and the
/// fields that nobody could fill.
#[test]
fn what_takes_judgement_is_never_made_up() {
    let object = |properties: Value| {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "properties": properties, "required": required})
    };
    let variant = |word: &str| json!({"type": "object", "properties": {"kind": {"const": word}}, "required": ["kind"]});
    let severity = object(json!({"file": {"type": "string"}, "severity": {"enum": ["a", "b"]}}));
    for (schema, named) in [
        (
            object(json!({
                "verdict": {"enum": ["approve", "reject"]},
                "score": {"type": "integer", "minimum": 1},
                "safe": {"type": "boolean", "default": true},
                "issues": {"type": "array", "items": severity},
                "summary": {"type": "string"},
            })),
            "`verdict`, `score`, `safe`, `issues[].severity`",
        ),
        (object(json!({"a": object(json!({"ok": {"type": "boolean"}}))})), "`a.ok`"),
        (object(json!({"scores": {"type": "array", "items": {"type": "integer"}}})), "`scores[]`"),
        (object(json!({"bug_count": {"type": "integer"}})), "`bug_count`"),
        (object(json!({"deadline": {"type": "integer"}})), "`deadline`"),
        (object(json!({"when": {"type": "string", "format": "date-time"}})), "`when`"),
        (object(json!({"what": {"anyOf": [variant("good"), variant("bad")]}})), "`what`"),
        (json!({"type": "boolean"}), "`output`"),
    ] {
        let shown = schema.to_string();
        let done = done(schema);
        let ending = done.outcome.ending;
        assert_eq!(ending.status, Status::ErrorNoCompleteTaskCall, "{shown}");
        let says = format!("it must have {named}, which takes judgement");
        assert!(ending.result.contains(&says), "{shown}: {}", ending.result);
        assert!(ending.result.contains("no language model"), "{shown}: {}", ending.result);
        assert!(ending.result.contains("ring_buffer.c"), "{shown}: {}", ending.result);
        assert_eq!(ending.output, None, "{shown}");
    }
}

/// What no search can fill is not forced: the run ends, and keeps the report.
#[test]
fn a_schema_that_cannot_be_met_ends_the_run_with_the_report() {
    let schema = json!({"type": "string", "pattern": "^[0-9]{7}$"});
    let done = done(schema);
    assert_ne!(done.outcome.ending.status, Status::Goal);
    assert!(done.outcome.ending.result.contains("ring_buffer.c"), "{:?}", done.outcome.ending);
    assert!(done.outcome.turns_used < 10);
}
