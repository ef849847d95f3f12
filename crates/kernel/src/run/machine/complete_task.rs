//! `complete_task`: the one call that ends a run, and the answer it hands in.
//!
//! Without an output schema it takes one text, `result`; with one it takes the argument the
//! definition names, and nothing that breaks the schema is ever accepted.

use serde_json::{Map, Value, json};

use super::prose;
use crate::{
    agent::definition::OutputConfig,
    rights::tool_name::ToolName,
    run::{
        schema::{Problems, Schema, SchemaError},
        tool_spec::{Concurrency, Repeatability, ToolSpec},
    },
};

/// The name of the call.
pub(crate) const COMPLETE_TASK: &str = "complete_task";

const RESULT: &str = "result";
const MOST_PROBLEMS: usize = 20;
const LONGEST_PROBLEM: usize = 200;

/// The answer a call hands in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The answer as text.
    pub(crate) result: String,
    /// The answer as a value, where there is a schema.
    pub(crate) output: Option<Value>,
}

/// What an answer must be.
#[derive(Debug)]
pub(crate) struct AnswerCheck {
    output: Option<(String, Schema)>,
}

impl AnswerCheck {
    /// The check of a definition's output; an error says what is wrong with the schema itself.
    pub(crate) fn new(config: Option<&OutputConfig>) -> Result<Self, String> {
        let Some(config) = config else {
            return Ok(Self { output: None });
        };
        if config.output_name.trim().is_empty() {
            return Err("the output has no name".to_owned());
        }
        let schema = Schema::new(&config.schema).map_err(|error| error.to_string())?;
        Ok(Self { output: Some((config.output_name.clone(), schema)) })
    }

    /// The answer these arguments hand in, or what is wrong with them, one line for each place.
    pub(crate) fn answer(&self, arguments: &Value) -> Result<Answer, String> {
        let Some((name, schema)) = &self.output else {
            return text_answer(arguments.get(RESULT));
        };
        let Some(given) = arguments.get(name) else {
            return Err(format!("- {name}: the argument is missing"));
        };
        let accepts =
            |value: &Value| schema.accepts(value).map_err(|error| format!("- {name}: {error}"));
        if accepts(given)? {
            return Ok(structured(given.clone()));
        }
        // Models write an object as a JSON string now and then: what counts is what it says.
        let written = given
            .as_str()
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .filter(|value| value.is_object() || value.is_array());
        match written {
            Some(value) if accepts(&value)? => Ok(structured(value)),
            Some(value) => Err(problems(name, schema, &value)),
            None => Err(problems(name, schema, given)),
        }
    }
}

/// Whether a schema can be used to check answers.
pub(crate) fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    Schema::new(schema).map(drop)
}

fn text_answer(given: Option<&Value>) -> Result<Answer, String> {
    let result = match given {
        None | Some(Value::Null) => return Err(format!("- {RESULT}: the argument is missing")),
        Some(Value::String(text)) if text.trim().is_empty() => {
            return Err(format!("- {RESULT}: it is empty"));
        }
        Some(Value::String(text)) => text.clone(),
        Some(value) => pretty(value),
    };
    Ok(Answer { result, output: None })
}

fn structured(output: Value) -> Answer {
    Answer { result: pretty(&output), output: Some(output) }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// One line for each place that does not satisfy the schema.
fn problems(name: &str, schema: &Schema, given: &Value) -> String {
    let Problems { found, has_more } = match schema.problems(given, MOST_PROBLEMS) {
        Ok(problems) => problems,
        Err(error) => return format!("- {name}: {error}"),
    };
    let mut places: Vec<(String, String)> = Vec::new();
    for problem in found {
        let place = format!("{name}{}", problem.path);
        let message: String = problem.message.chars().take(LONGEST_PROBLEM).collect();
        let message = message.replace('\n', " ");
        match places.iter_mut().find(|(known, _)| *known == place) {
            Some((_, said)) if said.len() < LONGEST_PROBLEM => {
                said.push_str("; ");
                said.push_str(&message);
            }
            Some(_) => {}
            None => places.push((place, message)),
        }
    }
    let mut lines: Vec<_> =
        places.into_iter().map(|(place, message)| format!("- {place}: {message}")).collect();
    if has_more {
        lines.push("- and more".to_owned());
    }
    lines.join("\n")
}

/// `complete_task` as the model is offered it.
pub(crate) fn spec(config: Option<&OutputConfig>) -> ToolSpec {
    let parameters = match config {
        None => {
            let result = json!({"type": "string", "description": prose::COMPLETE_TASK_RESULT});
            object(RESULT, &result, Map::new())
        }
        Some(config) => structured_parameters(config),
    };
    ToolSpec {
        name: ToolName::Host(COMPLETE_TASK.to_owned()),
        description: prose::COMPLETE_TASK.into(),
        parameters: parameters.into(),
        concurrency: Concurrency::Parallel,
        repetition: Repeatability::Repeatable,
    }
}

/// The schema becomes that of an argument; what its references point to moves up with the root.
fn structured_parameters(config: &OutputConfig) -> Value {
    let mut schema = config.schema.clone();
    let mut shared = Map::new();
    Moved::into_argument(config).adjust(&mut schema);
    if let Value::Object(members) = &mut schema {
        members.shift_remove("$schema");
        members.shift_remove("$id");
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = members.shift_remove(key) {
                shared.insert(key.to_owned(), definitions);
            }
        }
        if !config.description.trim().is_empty() {
            members
                .entry("description")
                .or_insert_with(|| Value::String(config.description.clone()));
        }
    }
    object(&config.output_name, &schema, shared)
}

/// Where a schema went: what pointed to its root points to the argument now.
struct Moved {
    /// What the schema called itself.
    id: Option<String>,
    /// The pointer to the argument.
    root: String,
}

impl Moved {
    fn into_argument(config: &OutputConfig) -> Self {
        let id = config.schema.get("$id").and_then(Value::as_str);
        let id = id.map(|id| id.trim_end_matches('#').to_owned()).filter(|id| !id.is_empty());
        Self { id, root: format!("#/properties/{}", pointer_part(&config.output_name)) }
    }

    /// Adjusts the references of a schema and of all schemas in it.
    fn adjust(&self, schema: &mut Value) {
        match schema {
            Value::Array(schemas) => schemas.iter_mut().for_each(|inner| self.adjust(inner)),
            Value::Object(members) => self.repair_members(members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn repair_members(&self, members: &mut Map<String, Value>) {
        for (key, value) in members {
            match (key.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    *reference = self.reference(reference);
                }
                // Values, not schemas.
                ("const" | "enum" | "default" | "examples", _) => {}
                (
                    "properties" | "patternProperties" | "dependentSchemas" | "$defs"
                    | "definitions",
                    Value::Object(schemas),
                ) => {
                    for (_, inner) in schemas.iter_mut().filter(|(_, inner)| !has_own_root(inner)) {
                        self.adjust(inner);
                    }
                }
                (_, inner) if !has_own_root(inner) => self.adjust(inner),
                _ => {}
            }
        }
    }

    fn reference(&self, written: &str) -> String {
        let own = self.id.as_deref().and_then(|id| written.strip_prefix(id));
        let local = match own {
            Some("") => "#",
            Some(fragment) if fragment.starts_with('#') => fragment,
            _ => written,
        };
        match local.strip_prefix('#') {
            Some("" | "/") => self.root.clone(),
            // These move up to the root of the parameters.
            Some(path) if path.starts_with("/$defs/") || path.starts_with("/definitions/") => {
                local.to_owned()
            }
            Some(path) if path.starts_with('/') => format!("{}{path}", self.root),
            // A name, which is the same everywhere, or another document.
            _ => local.to_owned(),
        }
    }
}

/// Whether references in a schema are about that schema.
fn has_own_root(schema: &Value) -> bool {
    schema.get("$id").is_some_and(Value::is_string)
}

/// A name as a part of a pointer in a reference.
fn pointer_part(name: &str) -> String {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let letters = escaped.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    letters.collect()
}

fn object(name: &str, schema: &Value, shared: Map<String, Value>) -> Value {
    let mut parameters = Map::new();
    parameters.insert("type".to_owned(), json!("object"));
    parameters.insert("properties".to_owned(), json!({ name: schema }));
    parameters.insert("required".to_owned(), json!([name]));
    parameters.insert("additionalProperties".to_owned(), json!(false));
    parameters.extend(shared);
    Value::Object(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(schema: Value) -> OutputConfig {
        OutputConfig {
            output_name: "report".to_owned(),
            description: "What was found".to_owned(),
            schema,
        }
    }

    fn findings() -> OutputConfig {
        config(json!({
            "type": "object",
            "properties": {
                "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
                "score": {"type": "integer", "minimum": 0},
            },
            "required": ["findings"],
            "$defs": {"finding": {
                "type": "object",
                "properties": {"severity": {"enum": ["low", "high"]}, "line": {"type": "integer"}},
                "required": ["severity"],
            }},
        }))
    }

    fn check(config: Option<&OutputConfig>, arguments: &Value, expected: Result<Value, &str>) {
        let answer = AnswerCheck::new(config).unwrap().answer(arguments);
        let got = answer.map(|answer| match answer.output {
            Some(output) => {
                assert_eq!(answer.result, serde_json::to_string_pretty(&output).unwrap());
                output
            }
            None => json!(answer.result),
        });
        assert_eq!(got, expected.map_err(str::to_owned), "{arguments}");
    }

    #[test]
    fn a_text_answer_must_say_something() {
        check(None, &json!({"result": "done"}), Ok(json!("done")));
        check(None, &json!({"result": [1]}), Ok(json!("[\n  1\n]")));
        let missing = Err("- result: the argument is missing");
        check(None, &json!({}), missing.clone());
        check(None, &json!({"result": null}), missing);
        check(None, &json!({"result": " "}), Err("- result: it is empty"));
    }

    #[test]
    fn an_output_is_taken_if_it_fits_even_as_a_string() {
        let good = json!({"findings": [{"severity": "low"}]});
        check(Some(&findings()), &json!({"report": good}), Ok(good.clone()));
        check(Some(&findings()), &json!({"report": good.to_string(), "extra": 1}), Ok(good));
        let text = config(json!({"type": "string"}));
        check(Some(&text), &json!({"report": "{}"}), Ok(json!("{}")));
    }

    #[test]
    fn every_place_that_does_not_fit_has_one_line() {
        let bad =
            json!({"findings": [{"severity": "mid", "line": "3"}, {"line": 1}], "score": -0.5});
        let lines = "- report/findings/0/line: \"3\" is not of type \"integer\"\n\
             - report/findings/0/severity: \"mid\" is not one of \"low\" or \"high\"\n\
             - report/findings/1: \"severity\" is a required property\n\
             - report/score: -0.5 is not of type \"integer\"; -0.5 is less than the minimum of 0";
        let sorted = |text: String| {
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines.join("\n")
        };
        let check_of = AnswerCheck::new(Some(&findings())).unwrap();
        for report in [bad.clone(), json!(bad.to_string())] {
            let arguments = json!({"report": report});
            let error = check_of.answer(&arguments).unwrap_err();
            assert_eq!(sorted(error), lines);
        }
        check(
            Some(&findings()),
            &json!({"findings": []}),
            Err("- report: the argument is missing"),
        );
        check(
            Some(&findings()),
            &json!({"report": "no json"}),
            Err("- report: \"no json\" is not of type \"object\""),
        );
    }

    /// A check that cannot be finished is not a pass, and the model is told why.
    #[test]
    fn an_answer_that_cannot_be_checked_is_refused() {
        let heavy = config(json!({"items": {"enum": (0..5000).collect::<Vec<_>>()}}));
        let check_of = AnswerCheck::new(Some(&heavy)).unwrap();
        let error = check_of.answer(&json!({"report": vec![4999; 5000]})).unwrap_err();
        assert!(error.starts_with("- report: the schema is too complex to check"), "{error}");
    }

    #[test]
    fn problems_are_bounded() {
        let items: Vec<_> = (0..1000).map(|_| json!({"severity": "x".repeat(500)})).collect();
        let arguments = json!({"report": {"findings": items}});
        let error = AnswerCheck::new(Some(&findings())).unwrap().answer(&arguments).unwrap_err();
        assert_eq!(error.lines().count(), MOST_PROBLEMS + 1);
        assert!(error.len() < 21 * 300, "{error}");
    }

    #[test]
    fn an_invalid_schema_is_an_error() {
        for schema in [
            json!({"type": "objekt"}),
            json!({"properties": []}),
            json!("object"),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"$ref": "#/$defs/none"}),
            json!({"type": "string", "pattern": "("}),
        ] {
            assert!(AnswerCheck::new(Some(&config(schema.clone()))).is_err(), "{schema}");
        }
    }

    #[test]
    fn references_point_where_the_schema_went() {
        let node = json!({
            "$id": "https://example.com/node.json",
            "type": "object",
            "properties": {
                "name": {"type": "string", "const": "$ref"},
                "first": {"$ref": "#/properties/name"},
                "kind": {"$ref": "#/$defs/kind"},
                "children": {"type": "array", "items": {"$ref": "#"}},
                "others": {"prefixItems": [{"$ref": "https://example.com/node.json"}]},
                "example": {"default": {"$ref": "#"}},
            },
            "required": ["name"],
            "$defs": {"kind": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        });
        let config = OutputConfig { output_name: "a/b c".to_owned(), ..config(node) };
        let parameters = spec(Some(&config)).parameters;
        let moved = &parameters["properties"]["a/b c"]["properties"];
        let root = "#/properties/a~1b%20c";
        assert_eq!(moved["children"]["items"]["$ref"], root);
        assert_eq!(moved["others"]["prefixItems"][0]["$ref"], root);
        assert_eq!(moved["first"]["$ref"], format!("{root}/properties/name"));
        assert_eq!(moved["kind"]["$ref"], "#/$defs/kind");
        assert_eq!(moved["example"]["default"]["$ref"], "#");
        assert_eq!(parameters["$defs"]["kind"]["anyOf"][0]["$ref"], root);
        let schema = Schema::new(&parameters).unwrap();
        let child = |name: Value| json!({"a/b c": {"name": "$ref", "children": [{"name": name}]}});
        assert_eq!(schema.accepts(&child(json!("$ref"))), Ok(true));
        assert_eq!(schema.accepts(&child(json!(5))), Ok(false));
    }

    #[test]
    fn the_offer_asks_for_one_argument() {
        assert_eq!(
            *spec(None).parameters,
            json!({"type": "object",
                "properties": {"result": {"type": "string", "description": prose::COMPLETE_TASK_RESULT}},
                "required": ["result"], "additionalProperties": false})
        );
        let parameters = spec(Some(&findings())).parameters;
        assert_eq!(parameters["required"], json!(["report"]));
        assert_eq!(parameters["properties"]["report"]["description"], "What was found");
        assert_eq!(parameters["properties"]["report"].get("$defs"), None);
        assert!(Schema::new(&parameters).is_ok());
    }
}
