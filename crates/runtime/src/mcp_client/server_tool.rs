//! A tool as its server describes it, cleaned and bounded before anyone sees it.

use rmcp::model::Tool as WireTool;
use serde_json::{Value, json};

use super::clean_text::clean;

/// The longest description.
const LONGEST_DESCRIPTION: usize = 2048;
/// The longest schema of arguments, as JSON.
const LONGEST_SCHEMA: usize = 16 << 10;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ServerTool {
    /// Its name as the server spells it.
    pub(super) name: String,
    /// What it does.
    pub(super) description: String,
    /// The JSON Schema of its arguments.
    pub(super) parameters: Value,
    /// Whether the server says that it only reads.
    pub(super) says_it_only_reads: bool,
}

impl From<WireTool> for ServerTool {
    fn from(tool: WireTool) -> Self {
        let annotations = tool.annotations.as_ref();
        let title = tool.title.as_deref().or(annotations.and_then(|it| it.title.as_deref()));
        let described = tool.description.as_deref().filter(|text| !text.trim().is_empty());
        let mut description = clean(described.or(title).unwrap_or_default()).trim().to_owned();
        if description.len() > LONGEST_DESCRIPTION {
            description.truncate(description.floor_char_boundary(LONGEST_DESCRIPTION));
            description.push_str(" […]");
        }
        let mut parameters = Value::Object(tool.input_schema.as_ref().clone());
        if parameters.to_string().len() > LONGEST_SCHEMA {
            parameters = json!({"type": "object"});
            description.push_str(" (Its schema is too long to be shown.)");
        }
        clean_texts(&mut parameters);
        if let Some(schema) = parameters.as_object_mut() {
            schema.entry("type").or_insert_with(|| json!("object"));
        }
        Self {
            name: tool.name.into_owned(),
            description,
            parameters,
            says_it_only_reads: annotations.and_then(|it| it.read_only_hint) == Some(true),
        }
    }
}

/// Cleans every text in a value, names of keys aside.
fn clean_texts(value: &mut Value) {
    match value {
        Value::String(text) => {
            if text.contains(|letter: char| letter.is_control() || !letter.is_ascii()) {
                *text = clean(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean_texts),
        Value::Object(members) => members.values_mut().for_each(clean_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: Value) -> ServerTool {
        ServerTool::from(serde_json::from_value::<WireTool>(written).unwrap())
    }

    #[test]
    fn what_a_server_says_is_cleaned_and_bounded() {
        let tool = read(json!({
            "name": "t", "description": format!("\u{1b}[31mA\u{202e}{}", "b".repeat(9000)),
            "inputSchema": {"properties": {"x": {"description": "\u{1b}]0;t\u{7}ok"}}},
            "annotations": {"readOnlyHint": true}
        }));
        assert!(tool.description.starts_with("Abbb") && tool.description.ends_with("b […]"));
        assert!(tool.description.len() < LONGEST_DESCRIPTION + 10 && tool.says_it_only_reads);
        assert_eq!(
            tool.parameters,
            json!({"properties": {"x": {"description": "ok"}}, "type": "object"})
        );
    }

    #[test]
    fn a_giant_schema_is_not_passed_on() {
        let tool = read(json!({
            "name": "t", "title": "Does it",
            "inputSchema": {"type": "object", "description": "x".repeat(LONGEST_SCHEMA)}
        }));
        assert_eq!(tool.parameters, json!({"type": "object"}));
        assert_eq!(tool.description, "Does it (Its schema is too long to be shown.)");
        assert!(!tool.says_it_only_reads);
    }
}
