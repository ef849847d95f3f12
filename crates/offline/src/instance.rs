//! Instances: a report put into the shape an output schema asks for.
//!
//! Of an object its required fields are filled in, with what a search can tell: texts, paths, lines.
//! Invariant: what would take judgement (a choice, a yes or no, a number) is never made up; where such a
//! field is required there is no instance, and its name is told. Depth is bounded, so that a schema that
//! refers to itself ends.

use serde_json::{Map, Value, json};

use crate::report::{Finding, Report};

const MAX_DEPTH: usize = 12;
const MAX_ITEMS: usize = 20;

/// Stands for a finding where there is none, to see whether one could be told.
static SAMPLE: Finding = Finding { path: String::new(), line: 1, text: String::new() };

/// The required fields that take judgement, such as `verdict` or `issues[].severity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfillable(Vec<String>);

/// The arguments of `complete_task` for a report.
pub(crate) fn arguments(parameters: &Value, report: &Report) -> Result<Value, Unfillable> {
    let filler = Filler { root: parameters, report };
    filler.value(parameters, Place { name: "", finding: None, depth: 0 })
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
    pub(crate) fn named(&self) -> String {
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
    /// The field's name; for an item of a list, the list's.
    name: &'a str,
    finding: Option<&'a Finding>,
    depth: usize,
}

struct Filler<'a> {
    root: &'a Value,
    report: &'a Report,
}

impl<'a> Filler<'a> {
    fn value(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let schema = self.resolved(schema);
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        let place = Place { depth: place.depth + 1, ..place };
        let takes_judgement = ["enum", "anyOf", "oneOf", "pattern", "format"]
            .iter()
            .any(|key| schema.get(key).is_some());
        let (kind, takes_null) = kind(schema);
        let shapes = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
        let takes_null = takes_null
            || shapes.into_iter().flatten().any(|shape| shape.get("type") == Some(&json!("null")));
        let filled = match kind {
            _ if takes_judgement || place.depth > MAX_DEPTH => Err(Unfillable::here()),
            "object" => self.object(schema, place),
            "array" => self.array(schema, place),
            "string" => Ok(json!(self.text(schema, place))),
            "integer" => match place.finding {
                Some(finding) if is_line(place.name) => Ok(json!(finding.line)),
                Some(_) | None => Err(Unfillable::here()),
            },
            _ => Err(Unfillable::here()),
        };
        // Where nothing may be said, null says that.
        filled.or_else(|unfillable| if takes_null { Ok(Value::Null) } else { Err(unfillable) })
    }

    /// The schema that a reference points to, within the parameters.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let pointer = reference.and_then(|reference| reference.strip_prefix('#'));
            let Some(target) = pointer.and_then(|pointer| self.root.pointer(pointer)) else {
                break;
            };
            schema = target;
        }
        schema
    }

    fn object(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let mut object = Map::new();
        let mut missing = Vec::new();
        for name in required {
            let filled = match schema.get("properties").and_then(|inner| inner.get(name)) {
                Some(inner) => self.value(inner, Place { name, ..place }),
                None => Ok(json!(self.report.headline)),
            };
            match filled {
                Ok(value) => drop(object.insert(name.to_owned(), value)),
                Err(unfillable) => missing.extend(unfillable.below(name).0),
            }
        }
        if missing.is_empty() { Ok(Value::Object(object)) } else { Err(Unfillable(missing)) }
    }

    fn array(&self, schema: &'a Value, place: Place<'a>) -> Result<Value, Unfillable> {
        let most = bound(schema, "maxItems").unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
        // A list within a list is about the one finding it stands with.
        let findings: Vec<&Finding> = match place.finding {
            None => self.report.findings.iter().take(most).collect(),
            Some(finding) => vec![finding],
        };
        let fill = |finding: &'a Finding| {
            let below = Place { finding: Some(finding), ..place };
            match schema.get("items") {
                Some(items) => self.value(items, below).map_err(|inner| inner.below("[]")),
                None => Ok(json!(line_of(finding))),
            }
        };
        // An empty list says that there is nothing of the kind: only a search for it can tell.
        fill(&SAMPLE)?;
        let mut filled = findings.into_iter().map(fill).collect::<Result<Vec<_>, _>>()?;
        if schema.get("uniqueItems") == Some(&json!(true)) {
            let mut seen = Vec::new();
            filled.retain(|value| {
                !seen.contains(value) && {
                    seen.push(value.clone());
                    true
                }
            });
        }
        let least = bound(schema, "minItems").unwrap_or(0);
        if filled.len() < least { Err(Unfillable::here()) } else { Ok(Value::Array(filled)) }
    }

    fn text(&self, schema: &Value, place: Place<'_>) -> String {
        let name = place.name.to_lowercase();
        let named = |words: &[&str]| words.iter().any(|word| name.contains(word));
        let text = match place.finding {
            Some(finding) if named(&["path", "file", "module"]) => finding.path.clone(),
            Some(finding) if is_line(&name) => finding.line.to_string(),
            Some(finding) if named(&["text", "code", "descr", "detail", "message", "summary"]) => {
                finding.text.clone()
            }
            Some(finding) => line_of(finding),
            None if named(&["title", "headline", "summary", "answer"]) => {
                format!("{} (search report; no language model was used)", self.report.headline)
            }
            None => self.report.markdown.clone(),
        };
        text.chars().take(bound(schema, "maxLength").unwrap_or(usize::MAX)).collect()
    }
}

fn line_of(finding: &Finding) -> String {
    format!("{}:{} {}", finding.path, finding.line, finding.text)
}

fn is_line(name: &str) -> bool {
    matches!(name, "line" | "lines" | "line_number" | "lineNumber" | "start_line" | "startLine")
}

fn bound(schema: &Value, key: &str) -> Option<usize> {
    schema.get(key).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok())
}

/// What a schema asks for, and whether null will do.
fn kind(schema: &Value) -> (&str, bool) {
    match schema.get("type") {
        Some(Value::String(kind)) => (kind, kind == "null"),
        Some(Value::Array(kinds)) => {
            let names = || kinds.iter().filter_map(Value::as_str);
            let first = names().find(|kind| *kind != "null").unwrap_or("null");
            (first, names().any(|kind| kind == "null"))
        }
        _ if schema.get("properties").is_some() => ("object", false),
        _ if schema.get("items").is_some() => ("array", false),
        _ => ("string", false),
    }
}
