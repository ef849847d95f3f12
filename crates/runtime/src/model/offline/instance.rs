//! Instances: a report put into the shape an output schema asks for.
//!
//! Only what a search can tell is filled in: texts, paths, lines, and how much was found. Invariant: what
//! would take judgement (a choice, a yes or no, a score) is never made up; where such a field is required
//! there is no instance, and its name is told. Depth is bounded, so that a schema that refers to itself
//! ends.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{
    report::{Finding, Report},
    words::subwords,
};

const DEEPEST: usize = 12;
const MOST_ITEMS: usize = 20;

/// Stands for a finding where there is none, to see whether one could be told.
static SAMPLE: Finding = Finding { path: String::new(), line: 1, text: String::new() };

/// How much is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filling {
    /// Whatever the report has something for.
    Full,
    /// What is required, and no more.
    Least,
}

/// The required fields that take judgement, such as `verdict` or `issues[].severity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfillable(Vec<String>);

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
pub(super) fn arguments(
    parameters: &Value,
    report: &Report,
    filling: Filling,
) -> Result<Value, Unfillable> {
    let filler = Filler { root: parameters, report, filling };
    filler.value(parameters, Place { name: "", list: "", finding: None, depth: 0, lists: 0 })
}

impl Unfillable {
    fn here() -> Self {
        Self(vec![String::new()])
    }

    /// The same seen from a field or a list above.
    fn below(self, name: &str) -> Self {
        let join = |inner: String| match inner.chars().next() {
            None | Some('[') => format!("{name}{inner}"),
            Some(_) => format!("{name}.{inner}"),
        };
        Self(self.0.into_iter().map(join).collect())
    }

    /// The fields as a sentence has them; the argument that holds them all goes without saying.
    pub(super) fn named(&self) -> String {
        let names = self.0.iter().map(|name| {
            let short = name.split_once('.').map_or(name.as_str(), |(_, short)| short);
            format!("`{short}`")
        });
        names.collect::<Vec<_>>().join(", ")
    }
}

/// Where in the instance a value goes.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    name: &'a str,
    /// The name of the list it is an item of.
    list: &'a str,
    finding: Option<&'a Finding>,
    depth: usize,
    /// How many lists it lies in.
    lists: usize,
}

struct Filler<'a> {
    root: &'a Value,
    report: &'a Report,
    filling: Filling,
}

impl<'a> Filler<'a> {
    fn value(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let schema = self.resolved(schema, place.depth);
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
            Some([only]) => return Ok(only.clone()),
            Some(choices) if choices.contains(&Value::Null) => return Ok(Value::Null),
            Some(_) => return Err(Unfillable::here()),
            None => {}
        }
        if place.depth > DEEPEST {
            return Err(Unfillable::here());
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
                return self.choice(choices, place);
            }
        }
        let filled = match kind(schema) {
            "object" => self.object(schema, place),
            "array" => self.array(schema, place),
            "integer" | "number" => self.number(schema, place).ok_or_else(Unfillable::here),
            "boolean" => Err(Unfillable::here()),
            "null" => Ok(Value::Null),
            _ if asks_for_a_format(schema) => Err(Unfillable::here()),
            _ => Ok(json!(self.text(schema, place))),
        };
        // Where nothing may be said, that is said.
        filled.or_else(
            |unfillable| if takes_null(schema) { Ok(Value::Null) } else { Err(unfillable) },
        )
    }

    /// The first of several shapes that can be filled. A shape that says by a fixed word what it means
    /// is a choice as well.
    fn choice(&self, choices: &'a [Value], place: Place<'a>) -> Result<Value, Unfillable> {
        let place = Place { depth: place.depth + 1, ..place };
        let is_null = |shape: &'a Value| kind(self.resolved(shape, place.depth)) == "null";
        let shapes = choices.iter().filter(|shape| !is_null(shape));
        let is_choice = shapes.clone().count() > 1;
        let mut failure = Unfillable::here();
        for shape in shapes {
            if is_choice && self.is_labelled(shape, place.depth) {
                continue;
            }
            match self.value(shape, place) {
                Ok(value) => return Ok(value),
                Err(unfillable) => failure = unfillable,
            }
        }
        if choices.iter().any(is_null) { Ok(Value::Null) } else { Err(failure) }
    }

    fn is_labelled(&self, shape: &'a Value, depth: usize) -> bool {
        let is_fixed =
            |schema: &Value| schema.get("const").is_some() || schema.get("enum").is_some();
        let shape = self.resolved(shape, depth);
        let properties = shape.get("properties").and_then(Value::as_object);
        is_fixed(shape)
            || properties
                .into_iter()
                .flatten()
                .any(|(_, inner)| is_fixed(self.resolved(inner, depth)))
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

    fn object(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut object = Map::new();
        let mut missing = Vec::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, inner) in properties.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            let is_wanted = is_required
                || (self.filling == Filling::Full
                    && place.depth < 3
                    && self.has_more_for(inner, place));
            if !is_wanted {
                continue;
            }
            let below = Place { name, list: "", depth: place.depth + 1, ..place };
            match self.value(inner, below) {
                Ok(value) => {
                    object.insert(name.clone(), value);
                }
                Err(unfillable) if is_required => missing.extend(unfillable.below(name).0),
                Err(_) => {}
            }
        }
        if !missing.is_empty() {
            return Err(Unfillable(missing));
        }
        for name in required {
            if !object.contains_key(name) {
                object.insert(name.to_owned(), json!(self.report.headline));
            }
        }
        Ok(Value::Object(object))
    }

    /// Whether the report has something to say where nothing need be said.
    fn has_more_for(&self, schema: &'a Value, place: Place<'_>) -> bool {
        let schema = self.resolved(schema, place.depth);
        match kind(schema) {
            "array" => !self.report.findings.is_empty(),
            "string" => {
                ["enum", "format", "pattern", "const"].iter().all(|key| schema.get(key).is_none())
            }
            "integer" | "number" => true,
            _ => false,
        }
    }

    fn array(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let bound = |key: &str| {
            let number = schema.get(key).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let least = bound("minItems").unwrap_or(0).min(1000);
        let most = bound("maxItems").unwrap_or(MOST_ITEMS).min(MOST_ITEMS).max(least);
        // A list within a list is about the one finding it stands with.
        let findings: Vec<&Finding> = match (place.lists, place.finding) {
            (0, _) => self.report.findings.iter().collect(),
            (1, Some(finding)) => vec![finding],
            _ => Vec::new(),
        };
        let items = schema.get("items").or_else(|| schema.get("prefixItems")?.get(0));
        let items = items.filter(|items| !items.is_boolean());
        let fill = |finding: Option<&'a Finding>| {
            let below = Place {
                name: "",
                list: if place.name.is_empty() { place.list } else { place.name },
                finding,
                depth: place.depth + 1,
                lists: place.lists + 1,
            };
            let filled = match items {
                Some(items) => self.value(items, below),
                None => Ok(json!(finding.map(line_of).unwrap_or_default())),
            };
            filled.map_err(|unfillable| unfillable.below("[]"))
        };
        let unique = schema.get("uniqueItems") == Some(&json!(true));
        let mut filled: Vec<Value> = Vec::new();
        for index in 0..findings.len().clamp(least, most) {
            let value = fill(findings.get(index).copied())?;
            if !(unique && filled.contains(&value)) {
                filled.push(value);
            }
        }
        if filled.is_empty() && place.lists == 0 {
            // An empty list says that there is nothing of the kind: only a search for it can tell.
            fill(Some(&SAMPLE))?;
        }
        Ok(Value::Array(filled))
    }

    /// A line, or how much was found, if that is what is asked for and it is within the bounds.
    fn number(&self, schema: &Value, place: Place<'_>) -> Option<Value> {
        let name = if place.name.is_empty() { place.list } else { place.name };
        let number = match place.finding {
            Some(finding) if is_line(name) => finding.line,
            Some(_) => return None,
            None => self.counted(name)?,
        };
        let number = u32::try_from(number).ok()?;
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let value = f64::from(number);
        let fits = bound("minimum").is_none_or(|least| value >= least)
            && bound("maximum").is_none_or(|most| value <= most)
            && bound("exclusiveMinimum").is_none_or(|below| value > below)
            && bound("exclusiveMaximum").is_none_or(|above| value < above);
        fits.then(|| json!(number))
    }

    /// How much was found, where a name asks for that and for nothing that a search cannot tell.
    fn counted(&self, name: &str) -> Option<usize> {
        const PLACES: &[&str] = &[
            "count",
            "finding",
            "findings",
            "found",
            "hit",
            "hits",
            "location",
            "locations",
            "match",
            "matches",
            "num",
            "number",
            "occurrence",
            "occurrences",
            "of",
            "place",
            "places",
            "result",
            "results",
            "total",
        ];
        let words = subwords(name);
        let is_of = |others: &[&str]| {
            words
                .iter()
                .map(String::as_str)
                .all(|word| PLACES.contains(&word) || others.contains(&word))
        };
        if words.is_empty() {
            return None;
        }
        if is_of(&[]) {
            return Some(self.report.findings.len());
        }
        is_of(&["file", "files"]).then(|| {
            let paths: BTreeSet<&str> =
                self.report.findings.iter().map(|finding| finding.path.as_str()).collect();
            paths.len()
        })
    }

    fn text(&self, schema: &Value, place: Place<'_>) -> String {
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

/// Whether a name asks for the line of a place.
fn is_line(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "at", "begin", "end", "first", "from", "last", "line", "lineno", "lines", "no", "num",
        "number", "numbers", "start", "to",
    ];
    let words = subwords(name);
    words.iter().any(|word| word.starts_with("line"))
        && words.iter().all(|word| WORDS.contains(&word.as_str()))
}

/// Whether a text must be of a kind that a search does not come upon.
fn asks_for_a_format(schema: &Value) -> bool {
    let format = schema.get("format").and_then(Value::as_str);
    format.is_some_and(|format| {
        matches!(
            format,
            "date-time"
                | "date"
                | "time"
                | "duration"
                | "email"
                | "uri"
                | "url"
                | "uuid"
                | "uri-reference"
                | "hostname"
                | "ipv4"
                | "ipv6"
        )
    })
}

fn takes_null(schema: &Value) -> bool {
    let kinds = schema.get("type").and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.contains(&json!("null")))
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
