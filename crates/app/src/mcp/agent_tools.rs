//! A tool for each agent: `--tool-per-agent`.
//!
//! Invariant: a call of such a tool is a call of `Task`, with the same answer. No agent takes the name of
//! another tool.

use std::borrow::Cow;

use attache_kernel::{
    agent::{
        definition::{Definition, InputConfig},
        registry::{Inventory, Record, Status},
    },
    rights::tool_name::BuiltinTool,
};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::tools::{object, running, task_answer};

/// The argument that holds the task.
const PROMPT: &str = "prompt";
/// The tools that are there anyway.
const TAKEN: [BuiltinTool; 6] = [
    BuiltinTool::Task,
    BuiltinTool::TaskOutput,
    BuiltinTool::TaskStop,
    BuiltinTool::SubagentList,
    BuiltinTool::SubagentDescribe,
    BuiltinTool::SubagentRun,
];

/// The tools of the agents that can be run.
pub(super) fn tools(agents: &Inventory) -> impl Iterator<Item = Tool> {
    runnable(agents).map(|(name, record, definition)| {
        let description = definition.when_to_use.clone().unwrap_or_default();
        Tool::new(Cow::Owned(name), Cow::Owned(description), object(parameters(definition)))
            .with_title(record.name.clone())
            .with_annotations(running())
            .with_raw_output_schema(object(task_answer()))
    })
}

/// A call of an agent's tool as the arguments of `Task`; none if no agent has such a tool.
pub(super) fn as_task(tool: &str, arguments: Value, agents: &Inventory) -> Option<Value> {
    let (_, record, definition) = runnable(agents).find(|(name, ..)| name == tool)?;
    let mut inputs = match arguments {
        Value::Object(arguments) => arguments,
        _ => Map::new(),
    };
    let is_input = inputs_of(definition).is_some_and(|config| config.inputs.contains_key(PROMPT));
    let prompt = if is_input { None } else { inputs.remove(PROMPT) };
    let prompt = prompt.unwrap_or_else(|| json!(""));
    let words = prompt.as_str().unwrap_or_default().split_whitespace().take(5);
    let description = words.collect::<Vec<_>>().join(" ");
    let mut task =
        json!({"subagent_type": record.name, "prompt": prompt, "description": description});
    if !inputs.is_empty() {
        task["inputs"] = Value::Object(inputs);
    }
    Some(task)
}

/// The agents that can be run, each with the name of its tool.
fn runnable(agents: &Inventory) -> impl Iterator<Item = (String, &Record, &Definition)> {
    agents.records.iter().filter(|record| record.status == Status::Active).filter_map(|record| {
        let definition = record.definition.as_deref()?;
        let key = definition.agent_type.key().to_string();
        // Models take names of ASCII letters, digits, `_` and `-` alone.
        let key = key.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let is_taken = TAKEN.iter().any(|tool| tool.as_str().eq_ignore_ascii_case(&key));
        let name = if is_taken { format!("agent-{key}") } else { key };
        Some((name, record, definition))
    })
}

fn inputs_of(definition: &Definition) -> Option<&InputConfig> {
    definition.input_config.as_ref().filter(|config| !config.inputs.is_empty())
}

/// The typed inputs, or else the task.
fn parameters(definition: &Definition) -> Value {
    let task = json!({"type": "string", "description": "The task, complete in itself"});
    let Some(config) = inputs_of(definition) else {
        return json!({
            "type": "object",
            "properties": {PROMPT: task},
            "required": [PROMPT],
            "additionalProperties": false,
        });
    };
    let mut schema = config.to_json_schema();
    schema["additionalProperties"] = json!(false);
    if !config.inputs.contains_key(PROMPT) {
        schema["properties"][PROMPT] = task;
    }
    schema
}
