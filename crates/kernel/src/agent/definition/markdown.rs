//! Markdown: a definition written back as a native agent file.
//!
//! Only what differs from the defaults is written, and reading the file again gives the same
//! definition, but for where it comes from.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    ApprovalMode, Definition, ExecutionMode, Isolation, McpServer, ModelConfig, RunConfig,
    ToolAccess,
};

/// The native file of a definition. `defaults` are the limits a file need not state.
pub fn to_markdown(definition: &Definition, defaults: &RunConfig) -> String {
    let mut header = String::new();
    for (key, value) in &members(definition, defaults) {
        write_member(&mut header, key, value, 0);
    }
    let body = definition.prompt_config.system_prompt.as_deref().unwrap_or_default();
    let ending = if body.is_empty() { "" } else { "\n" };
    format!("---\n{header}---\n\n{body}{ending}")
}

fn members(definition: &Definition, defaults: &RunConfig) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| {
        let is_nothing = match &value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
        };
        if !is_nothing {
            all.insert(key.to_owned(), value);
        }
    };
    put("name", json!(definition.agent_type));
    put("displayName", json!(definition.display_name));
    put("description", json!(definition.when_to_use));
    put("keywords", json!(definition.keywords));
    put("color", json!(definition.color));
    put("model", json!(definition.model_config.model));
    put("modelConfig", model_config(&definition.model_config));
    put("disallowedTools", json!(once(&definition.disallowed_tools)));
    put("denyTools", json!(definition.deny_tools));
    put("askTools", json!(definition.ask_tools));
    put("baseDir", json!(definition.base_dir));
    put("forkContext", json!(definition.fork_context));
    put("promptConfig", prompt_config(definition));
    put("runConfig", run_config(&definition.run_config, defaults));
    put("inputConfig", json!(definition.input_config));
    put("outputConfig", json!(definition.output_config));
    put("disabledFeatures", json!(definition.disabled_features));
    if definition.execution_mode != ExecutionMode::default() {
        put("executionMode", json!(definition.execution_mode));
    }
    if definition.approval_mode != ApprovalMode::default() {
        put("approvalMode", json!(definition.approval_mode));
    }
    put("background", json!(definition.background));
    if definition.isolation != Isolation::default() {
        put("isolation", json!(definition.isolation));
    }
    put("permissionMode", json!(definition.permission_mode));
    put("mcpServers", Value::Array(definition.mcp_servers.iter().map(mcp_server).collect()));
    put("skills", json!(definition.skills));
    put("hooks", json!(definition.hooks));
    put("memory", json!(definition.memory));
    put("disabled", json!(definition.disabled));
    // An empty list is not an omitted one.
    if let ToolAccess::List(entries) = &definition.tools {
        all.insert("tools".to_owned(), json!(once(entries)));
    }
    for (key, value) in &definition.extras {
        all.entry(key.clone()).or_insert_with(|| value.clone());
    }
    all
}

/// The entries, each once: a native file may not repeat one.
fn once(entries: &[String]) -> Vec<&str> {
    let mut seen = HashSet::new();
    entries.iter().map(String::as_str).filter(|entry| seen.insert(*entry)).collect()
}

fn model_config(config: &ModelConfig) -> Value {
    let mut value = json!(config);
    if let Value::Object(members) = &mut value {
        members.remove("model");
        members.retain(|_, value| !value.is_null());
        if config.parameters.is_empty() {
            members.remove("parameters");
        }
    }
    value
}

fn prompt_config(definition: &Definition) -> Value {
    let mut members = Map::new();
    if let Some(query) = &definition.prompt_config.query {
        members.insert("query".to_owned(), json!(query));
    }
    if !definition.prompt_config.initial_messages.is_empty() {
        let messages = json!(definition.prompt_config.initial_messages);
        members.insert("initialMessages".to_owned(), messages);
    }
    Value::Object(members)
}

fn run_config(config: &RunConfig, defaults: &RunConfig) -> Value {
    let (mut written, defaults) = (json!(config), json!(defaults));
    if let Value::Object(members) = &mut written {
        members.retain(|key, value| defaults.get(key) != Some(value));
    }
    written
}

fn mcp_server(server: &McpServer) -> Value {
    match &server.config {
        None => json!(server.name),
        Some(config) => json!({ server.name.as_str(): config }),
    }
}

fn write_member(out: &mut String, key: &str, value: &Value, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(&scalar(key, Place::Flow));
    out.push(':');
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push('\n');
            for (key, value) in members {
                write_member(out, key, value, indent + 2);
            }
        }
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<String> = items
                .iter()
                .map(|item| scalar(item.as_str().unwrap_or_default(), Place::Flow))
                .collect();
            out.push_str(" [");
            out.push_str(&words.join(", "));
            out.push_str("]\n");
        }
        Value::String(text) => {
            out.push(' ');
            out.push_str(&scalar(text, Place::Block));
            out.push('\n');
        }
        other => {
            out.push(' ');
            out.push_str(&quoted(other));
            out.push('\n');
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Alone behind its key.
    Block,
    /// Between brackets, or a key.
    Flow,
}

/// A text as a YAML scalar: as it is where that is safe, quoted where not.
fn scalar(text: &str, place: Place) -> String {
    let words = ["true", "false", "yes", "no", "on", "off", "null", "nan", "inf", "y", "n"];
    let reserved = words.iter().any(|word| text.eq_ignore_ascii_case(word));
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let ends = text.ends_with(|last: char| last.is_ascii_alphanumeric() || ".)".contains(last));
    let inside = match place {
        Place::Block => "_-./, ()",
        Place::Flow => "_-./",
    };
    let safe = text.chars().all(|letter| letter.is_ascii_alphanumeric() || inside.contains(letter));
    if begins && ends && safe && !reserved { text.to_owned() } else { quoted(&json!(text)) }
}

/// JSON is YAML, but for characters YAML wants escaped.
fn quoted(value: &Value) -> String {
    let mut escaped = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => escaped.extend(format!("\\u{:04x}", u32::from(letter)).chars()),
            _ => escaped.push(letter),
        }
    }
    escaped
}
