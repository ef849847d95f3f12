//! Reports in the shape of an output schema: the kernel's own check accepts them.

use attache_kernel::outcome::Status;
use attache_runtime::model::offline::OfflineModel;
use serde_json::{Value, json};

use super::rings;
use crate::driving::{Done, Task};

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
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "found": {"type": "boolean"},
            "status": {"enum": ["unknown", "done"]},
        },
        "required": ["summary", "findings", "locations", "confidence", "found", "status"],
        "additionalProperties": false,
        "$defs": {"finding": {
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "line": {"type": "integer", "minimum": 1},
                "description": {"type": "string"},
                "severity": {"type": "string", "enum": ["info", "high"]},
            },
            "required": ["file", "line", "description", "severity"],
        }},
    }));
    assert!(output["summary"].as_str().unwrap().contains("ring_buffer.c"), "{output}");
    assert!(output["summary"].as_str().unwrap().contains("no language model"), "{output}");
    assert_eq!(output["findings"][0]["file"], "src/ring_buffer.c");
    assert!(output["findings"][0]["line"].as_u64().unwrap() > 1, "{output}");
    assert!(output["findings"][0]["description"].as_str().unwrap().contains("ring_push"));
    let place = output["locations"][0].as_str().unwrap();
    assert!(place.starts_with("src/ring_buffer.c:"), "{place}");
}

#[test]
fn ordinary_schemas_are_met() {
    for schema in [
        json!({"type": "string"}),
        json!({"type": "string", "maxLength": 40}),
        json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}),
        json!({"type": "array", "items": {"type": "integer"}, "uniqueItems": true}),
        json!({"type": "array"}),
        json!({"type": "integer", "minimum": 3}),
        json!({"type": "number", "exclusiveMinimum": 0, "maximum": 5}),
        json!({"type": "boolean"}),
        json!({"const": 7}),
        json!({"anyOf": [{"type": "null"}, {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}]}),
        json!({"type": ["string", "null"]}),
        json!({"type": "object", "required": ["anything"]}),
        json!({"type": "object", "properties": {"when": {"type": "string", "format": "date-time"}}, "required": ["when"]}),
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

/// What no search can fill is not forced: the run ends, and keeps the report.
#[test]
fn a_schema_that_cannot_be_met_ends_the_run_with_the_report() {
    let schema = json!({"type": "string", "pattern": "^[0-9]{7}$"});
    let done = done(schema);
    assert_ne!(done.outcome.ending.status, Status::Goal);
    assert!(done.outcome.ending.result.contains("ring_buffer.c"), "{:?}", done.outcome.ending);
    assert!(done.outcome.turns_used < 10);
}
