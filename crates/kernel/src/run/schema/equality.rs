//! Equality of JSON values, by value and at a known cost.

use std::fmt::Write as _;

use serde_json::Value;

use super::number;

/// A text that two values share exactly if they are equal: keys sorted, numbers by value.
pub(super) fn fingerprint(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => match number::integer(number) {
            Some(whole) => write!(text, "{whole}").unwrap_or_default(),
            None => write!(text, "{number}").unwrap_or_default(),
        },
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_value(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (key, value) in members {
                write!(text, "{key:?}:").unwrap_or_default();
                write_value(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::String(words) => write!(text, "{words:?}").unwrap_or_default(),
        Value::Null | Value::Bool(_) => write!(text, "{value}").unwrap_or_default(),
    }
}

/// Whether two values are equal. It never looks at more of `value` than `wanted` is large.
pub(super) fn is_equal(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::Number(left), Value::Number(right)) => number::compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| is_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, inner)| right.get(key).is_some_and(|other| is_equal(inner, other)))
        }
        _ => wanted == value,
    }
}

/// How many values a value holds, itself included.
pub(super) fn size(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<u64>(),
        Value::String(text) => 1 + u64::try_from(text.len() / 64).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_equal_by_value() {
        for (left, right, expected) in [
            (json!({"a": 1, "b": [2.0]}), json!({"b": [2], "a": 1.0}), true),
            (json!([1]), json!(["1"]), false),
            (json!({"a": null}), json!({"b": null}), false),
            (json!(0.5), json!(0.5), true),
            (json!(true), json!(1), false),
            (json!("a\",\"b"), json!("a"), false),
        ] {
            assert_eq!(is_equal(&left, &right), expected, "{left} {right}");
            assert_eq!(fingerprint(&left) == fingerprint(&right), expected, "{left} {right}");
        }
    }
}
