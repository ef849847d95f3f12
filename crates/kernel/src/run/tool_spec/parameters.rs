//! The JSON Schema of a tool's arguments, as a value and as the text that requests and headers repeat.
//!
//! A copy shares both. The text is written once, when it is first needed: every run of an agent offers
//! the same tools.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The JSON Schema of a tool's arguments.
#[derive(Clone)]
pub struct Parameters {
    shared: Arc<Shared>,
}

struct Shared {
    schema: Value,
    /// None if it cannot be written, which no value is known to bring about.
    text: OnceLock<Option<Box<RawValue>>>,
}

impl Parameters {
    /// The schema as JSON.
    pub fn text(&self) -> &str {
        self.raw().map_or("{}", RawValue::get)
    }

    fn raw(&self) -> Option<&RawValue> {
        self.shared.text.get_or_init(|| to_raw_value(&self.shared.schema).ok()).as_deref()
    }
}

impl From<Value> for Parameters {
    fn from(schema: Value) -> Self {
        Self { shared: Arc::new(Shared { schema, text: OnceLock::new() }) }
    }
}

impl Deref for Parameters {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.shared.schema
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.schema.fmt(formatter)
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl PartialEq for Parameters {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared) || self.shared.schema == other.shared.schema
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.raw() {
            Some(raw) => raw.serialize(serializer),
            None => self.shared.schema.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Parameters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_says_what_the_value_says() {
        let schema =
            json!({"type": "object", "properties": {"b": {"enum": ["ä\n", 1.5]}, "a": {}}});
        let parameters = Parameters::from(schema.clone());
        assert_eq!(parameters.text(), schema.to_string());
        assert_eq!(parameters.to_string(), schema.to_string());
        assert_eq!(serde_json::to_string(&parameters).unwrap(), schema.to_string());
        assert_eq!(serde_json::to_value(&parameters).unwrap(), schema);
        let read: Parameters = serde_json::from_str(parameters.text()).unwrap();
        assert_eq!(read, parameters);
        assert_eq!(*read, schema);
    }
}
