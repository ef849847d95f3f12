//! The arguments of the delegation tools, read with patience: models write `"true"` and `"300"`.

use serde::{
    Deserialize as _, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::Value;

use crate::tool::ToolOutput;

/// The arguments of a call, or the answer that they cannot be read.
pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolOutput> {
    let arguments = match arguments {
        // Some models encode the object twice.
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        Value::Null => Value::Object(serde_json::Map::new()),
        other => other,
    };
    serde_json::from_value(arguments)
        .map_err(|error| ToolOutput::error(format!("failed to parse function arguments: {error}")))
}

/// A flag, also as a word.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag)),
        Value::String(word) if word.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Value::String(word) if word.eq_ignore_ascii_case("false") => Ok(Some(false)),
        other => Err(D::Error::custom(format!("{other} is not true or false"))),
    }
}

/// A number of seconds, also as a text.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    let number = number.filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    number.map(Some).ok_or_else(|| D::Error::custom(format!("{value} is not a number of seconds")))
}

/// A text that may be left out; an empty one counts as left out.
pub(super) fn words<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let words = Option::<String>::deserialize(deserializer)?;
    Ok(words.filter(|words| !words.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Request {
        #[serde(deserialize_with = "flag")]
        flag: Option<bool>,
        #[serde(deserialize_with = "seconds")]
        seconds: Option<f64>,
        #[serde(deserialize_with = "words")]
        words: Option<String>,
    }

    #[test]
    fn what_models_write_is_understood_and_the_rest_is_named() {
        let request = |arguments: Value| read::<Request>(arguments).map_err(|answer| answer.text);
        assert_eq!(request(Value::Null), Ok(Request::default()));
        assert_eq!(request(json!({"flag": null, "words": " "})), Ok(Request::default()));
        let full = Request { flag: Some(true), seconds: Some(2.5), words: Some("w".into()) };
        assert_eq!(request(json!({"flag": "True", "seconds": "2.5", "words": "w"})), Ok(full));
        let twice = Value::String(r#"{"flag": false}"#.into());
        assert_eq!(request(twice).unwrap().flag, Some(false));
        for (wrong, said) in [
            (json!({"flag": "yes"}), "\"yes\" is not true or false"),
            (json!({"seconds": -1}), "-1 is not a number of seconds"),
            (json!({"wrds": "w"}), "unknown field `wrds`"),
            (json!([1]), "expected struct Request"),
        ] {
            let answer = request(wrong).unwrap_err();
            assert!(answer.starts_with("failed to parse function arguments: "), "{answer}");
            assert!(answer.contains(said) || said.contains("Request"), "{answer}");
        }
    }
}
