//! Instances: a report put into the shape an output schema asks for.
//!
//! Ordinary schemas are met; the values are as near to the report as their names and types allow.
//! Depth is bounded, so that a schema that refers to itself ends.

use serde_json::{Map, Value, json};

use super::report::{Finding, Report};

const DEEPEST: usize = 12;
const MOST_ITEMS: usize = 20;

/// How much is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// Whatever the report has something for.
    Full,
    /// What is required, and no more.
    Least,
}

/// Whether `complete_task` takes a plain text.
pub(super) fn is_plain(parameters: &Value) -> bool {
    let properties = parameters.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| {
        properties.len() == 1
            && properties.get("result").is_some_and(|result| {
                result.get("type") == Some(&json!("string"))
                    && ["maxLength", "pattern", "enum", "const", "format"]
                        .iter()
                        .all(|key| result.get(key).is_none())
            })
    })
}

/// The arguments of `complete_task` for a report.
pub(super) fn arguments(parameters: &Value, report: &Report, filling: Filling) -> Value {
    let filler = Filler { root: parameters, report, filling };
    filler.value(parameters, Place { name: "", finding: None, depth: 0 })
}

/// Where in the instance a value goes.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    finding: Option<&'a Finding>,
    depth: usize,
}

struct Filler<'a> {
    root: &'a Value,
    report: &'a Report,
    filling: Filling,
}

impl<'a> Filler<'a> {
    fn value(&self, schema: &'a Value, place: Place<'a>) -> Value {
        let schema = self.resolved(schema, place.depth);
        for fixed in ["const", "default"] {
            if let Some(value) = schema.get(fixed) {
                return value.clone();
            }
        }
        if let Some(first) =
            schema.get("enum").and_then(Value::as_array).and_then(|all| all.first())
        {
            return first.clone();
        }
        if place.depth > DEEPEST {
            return Value::Null;
        }
        for choice in ["anyOf", "oneOf"] {
            let choices = schema.get(choice).and_then(Value::as_array);
            let chosen = choices.and_then(|all| {
                let is_null = |one: &&Value| one.get("type") == Some(&json!("null"));
                all.iter().find(|one| !is_null(one)).or(all.first())
            });
            if let Some(chosen) = chosen {
                let place = Place { depth: place.depth + 1, ..place };
                return self.value(chosen, place);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, place),
            "array" => self.array(schema, place),
            "integer" | "number" => number(schema, place),
            "boolean" => json!(false),
            "null" => Value::Null,
            _ => json!(self.text(schema, place)),
        }
    }

    /// The schema a reference points to, within the parameters.
    fn resolved(&self, schema: &'a Value, depth: usize) -> &'a Value {
        let mut schema = schema;
        for _ in depth..=DEEPEST {
            let target = schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|reference| reference.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer));
            match target {
                Some(target) => schema = target,
                None => break,
            }
        }
        match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) if schema.get("properties").is_none() && depth <= DEEPEST => {
                self.resolved(only, depth + 1)
            }
            _ => schema,
        }
    }

    fn object(&self, schema: &'a Value, place: Place<'a>) -> Value {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut object = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, inner) in properties.into_iter().flatten() {
            let is_wanted = required.contains(&name.as_str())
                || (self.filling == Filling::Full
                    && place.depth < 3
                    && self.has_more_for(inner, place));
            if is_wanted {
                let place = Place { name, depth: place.depth + 1, ..place };
                object.insert(name.clone(), self.value(inner, place));
            }
        }
        for name in required {
            if !object.contains_key(name) {
                object.insert(name.to_owned(), json!(self.report.headline));
            }
        }
        Value::Object(object)
    }

    /// Whether the report has something to say where nothing need be said.
    fn has_more_for(&self, schema: &'a Value, place: Place<'_>) -> bool {
        let schema = self.resolved(schema, place.depth);
        match kind(schema) {
            "array" => !self.report.findings.is_empty(),
            "string" => {
                ["enum", "format", "pattern", "const"].iter().all(|key| schema.get(key).is_none())
            }
            "integer" | "number" => place.finding.is_some(),
            _ => false,
        }
    }

    fn array(&self, schema: &'a Value, place: Place<'a>) -> Value {
        let bound = |key: &str| {
            let number = schema.get(key).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let (least, most) =
            (bound("minItems").unwrap_or(0), bound("maxItems").unwrap_or(MOST_ITEMS));
        let Some(items) = schema.get("items").or_else(|| schema.get("prefixItems")?.get(0)) else {
            let texts = self.report.findings.iter().take(most.min(MOST_ITEMS)).map(line_of);
            let mut texts: Vec<Value> = texts.map(Value::String).collect();
            texts.resize(texts.len().max(least.min(MOST_ITEMS)), json!(""));
            return Value::Array(texts);
        };
        let items = if items.is_boolean() { None } else { Some(items) };
        let wanted = match self.filling {
            Filling::Full => self.report.findings.len().clamp(least, most.max(least)),
            Filling::Least => least,
        };
        let unique = schema.get("uniqueItems") == Some(&json!(true));
        let mut filled: Vec<Value> = Vec::new();
        for index in 0..wanted.min(MOST_ITEMS.max(least)).min(1000) {
            let finding = self.report.findings.get(index);
            let place = Place { name: "", finding, depth: place.depth + 1 };
            let value = match items {
                Some(items) => self.value(items, place),
                None => Value::String(finding.map(line_of).unwrap_or_default()),
            };
            if !(unique && filled.contains(&value)) {
                filled.push(value);
            }
        }
        Value::Array(filled)
    }

    fn text(&self, schema: &Value, place: Place<'_>) -> String {
        if let Some(text) = schema.get("format").and_then(Value::as_str).and_then(formatted) {
            return text.to_owned();
        }
        let name = place.name.to_lowercase();
        let named = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let text = match place.finding {
            Some(finding) if named(&["path", "file", "location", "where", "module"]) => {
                finding.path.clone()
            }
            Some(finding) if named(&["line"]) => finding.line.to_string(),
            Some(finding)
                if named(&[
                    "snippet", "code", "text", "descr", "detail", "message", "evidence", "reason",
                    "summary", "title", "name", "issue", "content",
                ]) =>
            {
                finding.text.clone()
            }
            Some(finding) => line_of(finding),
            None if named(&["title", "headline", "short", "summary", "answer", "verdict"]) => {
                format!("{} (search report; no language model was used)", self.report.headline)
            }
            None => self.report.markdown.clone(),
        };
        fitted(text, schema)
    }
}

fn line_of(finding: &Finding) -> String {
    format!("{}:{} {}", finding.path, finding.line, finding.text)
}

/// A text within the lengths a schema allows.
fn fitted(text: String, schema: &Value) -> String {
    let bound = |key: &str| {
        schema.get(key).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok())
    };
    let mut text = match bound("maxLength") {
        Some(most) if text.chars().count() > most => text.chars().take(most).collect(),
        Some(_) | None => text,
    };
    if let Some(least) = bound("minLength") {
        let missing = least.min(100_000).saturating_sub(text.chars().count());
        text.extend(std::iter::repeat_n('.', missing));
    }
    text
}

/// A text of a format that schemas commonly ask for.
fn formatted(format: &str) -> Option<&'static str> {
    match format {
        "date-time" => Some("1970-01-01T00:00:00Z"),
        "date" => Some("1970-01-01"),
        "time" => Some("00:00:00Z"),
        "email" => Some("nobody@example.com"),
        "uri" | "url" | "uri-reference" => Some("about:blank"),
        "uuid" => Some("00000000-0000-0000-0000-000000000000"),
        _ => None,
    }
}

fn number(schema: &Value, place: Place<'_>) -> Value {
    let is_line = place.name.to_lowercase().contains("line");
    let line = place.finding.filter(|_| is_line).map(|finding| finding.line);
    let wanted = line.and_then(|line| i64::try_from(line).ok()).unwrap_or(0);
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let above = bound("exclusiveMinimum")
        .map(|bound| bound.floor() + 1.0)
        .or(bound("minimum").map(f64::ceil));
    let below = bound("exclusiveMaximum")
        .map(|bound| bound.ceil() - 1.0)
        .or(bound("maximum").map(f64::floor));
    let whole = |bound: f64| format!("{bound:.0}").parse::<i64>().ok();
    let mut number = wanted;
    if let Some(below) = below.and_then(whole) {
        number = number.min(below);
    }
    if let Some(above) = above.and_then(whole) {
        number = number.max(above);
    }
    json!(number)
}

/// What a schema asks for; a list of types means its first that is not null.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}
