//! Our verdicts compared with those of the `jsonschema` crate, on schemas and values made at random.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Schema;

/// Values from a small stock, so that schemas and values meet.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-6_i32..7).prop_map(|half| json!(f64::from(half) / 2.0)),
        "[abcé]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[abc]", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object(word: &str, value: impl Into<Value>) -> Value {
    Value::Object(Map::from_iter([(word.to_owned(), value.into())]))
}

fn type_name() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["array", "boolean", "integer", "null", "number", "object", "string"])
        .prop_map(Value::from)
}

/// Keywords without schemas in them.
fn leaf() -> BoxedStrategy<Value> {
    let size = prop::sample::select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ]);
    let bound =
        prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        type_name().prop_map(|name| object("type", name)),
        proptest::collection::btree_set(0..7_usize, 1..4).prop_map(|picked| {
            let names = ["array", "boolean", "integer", "null", "number", "object", "string"];
            object("type", picked.into_iter().map(|index| names[index]).collect::<Vec<_>>())
        }),
        (size, 0..4_u32).prop_map(|(word, limit)| object(word, limit)),
        (bound, -4_i32..5).prop_map(|(word, limit)| object(word, f64::from(limit) / 2.0)),
        prop::sample::select(vec![json!(2), json!(0.5), json!(1.5)])
            .prop_map(|of| object("multipleOf", of)),
        prop::sample::select(vec!["^a", "b$", "[ab]{2}", "^\\w*$", "a|c", "."])
            .prop_map(|pattern| object("pattern", pattern)),
        value().prop_map(|value| object("const", value)),
        proptest::collection::vec(value(), 1..4).prop_map(|values| object("enum", values)),
        Just(json!({"uniqueItems": true})),
        proptest::collection::btree_set("[abc]", 0..3)
            .prop_map(|names| object("required", names.into_iter().collect::<Vec<_>>())),
        Just(json!({"dependentRequired": {"a": ["b"]}})),
        prop::sample::select(vec!["#/$defs/one", "#/$defs/two", "#two"]).prop_map(
            |target| json!({"items": {"$ref": target}, "properties": {"a": {"$ref": target}}})
        ),
    ]
    .boxed()
}

/// Schemas without references in place, which may never end.
fn schema() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 1..4);
        let one = prop::sample::select(vec![
            "items",
            "not",
            "propertyNames",
            "contains",
            "additionalProperties",
            "unevaluatedProperties",
            "unevaluatedItems",
        ]);
        let several = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        prop_oneof![
            (one, inner.clone()).prop_map(|(word, schema)| object(word, schema)),
            (several, list).prop_map(|(word, schemas)| object(word, schemas)),
            proptest::collection::vec(("[abc]", inner.clone()), 0..3).prop_map(|named| {
                object("properties", Value::Object(named.into_iter().collect()))
            }),
            (prop::sample::select(vec!["^[ab]$", "c"]), inner.clone())
                .prop_map(|(pattern, schema)| json!({"patternProperties": {pattern: schema}})),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, then, other)| json!({"if": test, "then": then, "else": other})),
            inner.clone().prop_map(|schema| json!({"dependentSchemas": {"a": schema}})),
            (inner.clone(), inner, 0..3_u32, 1..3_u32).prop_map(|(left, right, least, most)| {
                // Several keywords in one schema, as people write them.
                let mut merged = Map::new();
                for part in [left, right] {
                    merged.extend(part.as_object().cloned().unwrap_or_default());
                }
                if merged.contains_key("contains") {
                    merged.insert("minContains".to_owned(), json!(least));
                    merged.insert("maxContains".to_owned(), json!(most));
                }
                Value::Object(merged)
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn verdicts_are_those_of_the_reference(
        root in schema(),
        one in schema(),
        two in leaf(),
        values in proptest::collection::vec(value(), 8),
    ) {
        let mut document = match root {
            Value::Object(members) => members,
            other => Map::from_iter([("allOf".to_owned(), json!([other]))]),
        };
        let mut two = match two {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        two.insert("$anchor".to_owned(), json!("two"));
        document.insert("$defs".to_owned(), json!({"one": one, "two": two}));
        let document = Value::Object(document);
        let ours = Schema::new(&document).unwrap();
        let reference = jsonschema::validator_for(&document).unwrap();
        for value in &values {
            let expected = reference.is_valid(value);
            prop_assert_eq!(ours.accepts(value), Ok(expected), "{} {}", document, value);
            let problems = ours.problems(value, 20).unwrap();
            prop_assert_eq!(problems.found.is_empty(), expected, "{} {} {:?}", document, value, problems);
        }
    }
}
