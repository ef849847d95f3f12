use serde_json::json;

use super::*;

fn schema(schema: &Value) -> Schema {
    Schema::new(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

/// Every value with the verdict it must get.
#[track_caller]
fn check(written: &Value, good: &[Value], bad: &[Value]) {
    let compiled = schema(written);
    for (values, expected) in [(good, true), (bad, false)] {
        for value in values {
            assert_eq!(compiled.accepts(value), Ok(expected), "{written} {value}");
            let problems = compiled.problems(value, 20).unwrap();
            assert_eq!(problems.found.is_empty(), expected, "{written} {value} {problems:?}");
        }
    }
}

#[test]
fn types_and_values() {
    check(&json!(true), &[json!(1), json!(null)], &[]);
    check(&json!(false), &[], &[json!(1)]);
    check(
        &json!({"type": "integer"}),
        &[json!(1), json!(1.0), json!(1e300)],
        &[json!(1.5), json!("1")],
    );
    check(
        &json!({"type": ["string", "null"]}),
        &[json!("a"), json!(null)],
        &[json!(false), json!([])],
    );
    check(
        &json!({"enum": [1, {"a": [2]}]}),
        &[json!(1.0), json!({"a": [2.0]})],
        &[json!(2), json!({"a": []})],
    );
    check(&json!({"enum": []}), &[], &[json!(1)]);
    check(&json!({"const": null}), &[json!(null)], &[json!(0)]);
}

#[test]
fn numbers_and_texts() {
    check(
        &json!({"minimum": 1, "exclusiveMaximum": 3}),
        &[json!(1), json!(2.9), json!("x")],
        &[json!(0.9), json!(3)],
    );
    check(
        &json!({"maximum": 1.5, "exclusiveMinimum": -1}),
        &[json!(1.5), json!(-0.5)],
        &[json!(2), json!(-1)],
    );
    check(&json!({"multipleOf": 0.01}), &[json!(4.02), json!(0)], &[json!(0.001)]);
    check(
        &json!({"minLength": 2, "maxLength": 3.0}),
        &[json!("äö"), json!("abc"), json!(1)],
        &[json!("a"), json!("abcd")],
    );
    check(
        &json!({"pattern": "^\\d+$", "format": "email"}),
        &[json!("12"), json!(1)],
        &[json!("a1")],
    );
}

#[test]
fn arrays() {
    check(
        &json!({"items": {"type": "string"}, "minItems": 1, "maxItems": 2}),
        &[json!(["a"]), json!("a")],
        &[json!([]), json!([1]), json!(["a", "b", "c"])],
    );
    check(
        &json!({"prefixItems": [{"type": "string"}], "items": false}),
        &[json!([]), json!(["a"])],
        &[json!([1]), json!(["a", 1])],
    );
    check(
        &json!({"items": [{"type": "string"}], "additionalItems": {"type": "null"}}),
        &[json!(["a", null])],
        &[json!([null]), json!(["a", 1])],
    );
    check(
        &json!({"uniqueItems": true}),
        &[json!([1, "1", [1], {"a": 1}])],
        &[json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])],
    );
    check(
        &json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 2}),
        &[json!([1, 1, 2])],
        &[json!([1]), json!([1, 1, 1])],
    );
    check(&json!({"contains": {"const": 1}, "minContains": 0}), &[json!([])], &[]);
}

#[test]
fn objects() {
    let written = json!({
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": false,
        "required": ["a"],
    });
    check(
        &written,
        &[json!({"a": "", "x-b": 1}), json!([])],
        &[json!({}), json!({"a": 1}), json!({"a": "", "b": 1}), json!({"a": "", "x-b": "1"})],
    );
    check(
        &json!({"propertyNames": {"maxLength": 2}, "minProperties": 1}),
        &[json!({"ab": 1})],
        &[json!({"abc": 1}), json!({})],
    );
    check(
        &json!({"dependentRequired": {"a": ["b"]}}),
        &[json!({"b": 1}), json!({"a": 1, "b": 1})],
        &[json!({"a": 1})],
    );
    check(
        &json!({"dependentSchemas": {"a": {"maxProperties": 1}}}),
        &[json!({"a": 1})],
        &[json!({"a": 1, "b": 1})],
    );
    check(
        &json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
        &[json!({"a": 1, "b": 1})],
        &[json!({"a": 1}), json!({"c": 1})],
    );
}

#[test]
fn combinations() {
    check(&json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}), &[json!(1)], &[json!(0), json!(3)]);
    check(
        &json!({"anyOf": [{"type": "string"}, {"minimum": 2}]}),
        &[json!("a"), json!(2)],
        &[json!(1)],
    );
    check(&json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]}), &[json!(1)], &[json!(0), json!(2)]);
    check(&json!({"not": {"type": "string"}}), &[json!(1)], &[json!("a")]);
    check(
        &json!({"if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": {"maximum": 2}}),
        &[json!(10), json!(2)],
        &[json!(6), json!(3)],
    );
    check(&json!({"then": false}), &[json!(1)], &[]);
}

#[test]
fn references_lead_everywhere_in_the_document() {
    let tree = json!({
        "$defs": {"node": {
            "type": "object",
            "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["children"],
        }},
        "$ref": "#/$defs/node",
    });
    check(
        &tree,
        &[json!({"children": [{"children": []}]})],
        &[json!({"children": [{}]}), json!([])],
    );
    check(
        &json!({"properties": {"a/b %": {"type": "null"}, "c": {"$ref": "#/properties/a~1b%20%25"}}}),
        &[json!({"c": null})],
        &[json!({"c": 1})],
    );
    check(
        &json!({"$defs": {"x": {"$anchor": "here", "type": "null"}}, "$ref": "#here"}),
        &[json!(null)],
        &[json!(1)],
    );
    let nested = json!({
        "$id": "https://example.com/root.json",
        "$defs": {"inner": {
            "$id": "inner.json",
            "$defs": {"leaf": {"type": "null"}},
            "properties": {"a": {"$ref": "#/$defs/leaf"}},
        }},
        "properties": {
            "x": {"$ref": "inner.json"},
            "y": {"$ref": "https://example.com/inner.json#/$defs/leaf"},
            "z": {"$ref": "https://example.com/root.json"},
        },
    });
    check(
        &nested,
        &[json!({"x": {"a": null}, "y": null, "z": {}})],
        &[json!({"x": {"a": 1}}), json!({"y": 1}), json!({"z": {"y": 1}})],
    );
}

#[test]
fn what_no_keyword_has_looked_at() {
    let written = json!({
        "properties": {"a": true},
        "allOf": [{"properties": {"b": true}, "required": ["b"]}],
        "anyOf": [{"properties": {"c": {"const": 1}}}, {"properties": {"d": {"const": 1}}, "required": ["d"]}],
        "unevaluatedProperties": false,
    });
    check(
        &written,
        &[json!({"a": 1, "b": 1, "c": 1, "d": 1})],
        &[json!({"b": 1, "e": 1}), json!({"b": 1, "c": 1, "d": 2})],
    );
    check(
        &json!({"prefixItems": [true], "contains": {"type": "string"}, "unevaluatedItems": {"type": "null"}}),
        &[json!([1, "a", null])],
        &[json!([1, "a", 2])],
    );
}

#[test]
fn a_schema_that_cannot_be_used_is_an_error_with_its_place() {
    for (written, path, words) in [
        (json!({"type": "objekt"}), "/type", "not a type"),
        (json!({"properties": []}), "/properties", "mapping"),
        (json!("object"), "", "a schema is"),
        (json!({"items": {"minLength": -1}}), "/items/minLength", "whole number"),
        (json!({"$ref": "https://example.com/x.json"}), "/$ref", "no schema in this document"),
        (json!({"$ref": "#/$defs/none"}), "/$ref", "no schema"),
        (json!({"pattern": "("}), "/pattern", "not a valid pattern"),
        (json!({"pattern": "(?=a)b"}), "/pattern", "look-around"),
        (json!({"exclusiveMinimum": true}), "/exclusiveMinimum", "a number"),
        (json!({"$dynamicRef": "#a"}), "/$dynamicRef", "not supported"),
        (json!({"nullable": true}), "/nullable", "null"),
        (json!({"requird": ["a"]}), "/requird", "did you mean `required`"),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
            "/$schema",
            "not supported",
        ),
        (json!({"$defs": {"a": {"type": 5}}}), "/$defs/a/type", "name of a type"),
        (json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}), "", "refers to itself"),
        (json!({"allOf": []}), "/allOf", "at least one"),
    ] {
        let error = Schema::new(&written).unwrap_err();
        assert_eq!(error.path, path, "{written} {error}");
        assert!(error.message.contains(words), "{written} {error}");
    }
}

#[test]
fn annotations_and_extensions_are_left_alone() {
    check(
        &json!({"title": "t", "x-order": 3, "format": "uri", "example": 1, "internal": {}}),
        &[json!(1)],
        &[],
    );
}

/// What took 15.9 GB and 85 seconds: alternatives that all lead back, and a deeply nested answer.
#[test]
fn recursive_alternatives_with_a_nested_answer_are_cheap() {
    let alternatives: Vec<Value> = (0..8)
        .map(|index| json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}, "b": {"const": index}}, "required": ["b"]}))
        .collect();
    let written = json!({"$defs": {"node": {"anyOf": alternatives}}, "$ref": "#/$defs/node"});
    let mut value = json!({});
    for _ in 0..60 {
        value = json!({"a": value});
    }
    let compiled = schema(&written);
    assert_eq!(compiled.accepts(&value), Ok(false));
    assert_eq!(compiled.problems(&value, 20).unwrap().found.len(), 1);
}

#[test]
fn out_of_steps_is_an_error() {
    let heavy = json!({"items": {"enum": (0..5000).collect::<Vec<_>>()}});
    let values: Vec<i32> = vec![-1; 5000];
    let compiled = schema(&heavy);
    assert_eq!(compiled.problems(&json!(values), 20), Err(TooComplex::Steps));
    // Every level doubles the work, and nothing is shared that could be remembered.
    let mut nested = json!({"type": "null"});
    for _ in 0..60 {
        nested = json!({"properties": {"a": {"anyOf": [nested.clone(), {"type": "null"}]}}, "unevaluatedProperties": false});
    }
    let mut value = json!(1);
    for _ in 0..60 {
        value = json!({"a": value});
    }
    assert_eq!(schema(&nested).accepts(&value), Ok(false));
}

#[test]
fn too_deep_is_an_error() {
    let list = json!({"anyOf": [{"type": "null"}, {"type": "array", "items": {"allOf": [{"allOf": [{"$ref": "#"}]}]}}]});
    let mut value = json!(null);
    for _ in 0..120 {
        value = json!([value]);
    }
    assert_eq!(schema(&list).accepts(&value), Err(TooComplex::Depth));
}

#[test]
fn long_texts_and_large_patterns_are_bounded() {
    let compiled = schema(&json!({"items": {"pattern": "^(a|b|ab){200}c$"}}));
    let value = json!(vec!["ab".repeat(5000); 100]);
    assert_eq!(compiled.accepts(&json!(["x"])), Ok(false));
    assert!(matches!(compiled.problems(&value, 200), Ok(_) | Err(TooComplex::Steps)));
}
