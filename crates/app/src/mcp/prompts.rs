//! Agents as prompts: a person picks one in the host, and the host's model hands the task to it.

use attache_kernel::agent::{
    definition::Definition,
    registry::{Inventory, Record, Status},
};
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

/// The argument that holds the task.
const TASK: &str = "task";

/// The agents that can be run.
fn runnable(agents: &Inventory) -> impl Iterator<Item = (&Record, &Definition)> {
    let active = agents.records.iter().filter(|record| record.status == Status::Active);
    active.filter_map(|record| Some((record, record.definition.as_deref()?)))
}

/// A prompt for each agent.
pub(super) fn list(agents: &Inventory) -> Vec<Prompt> {
    let prompt = |(record, definition): (&Record, &Definition)| {
        let mut arguments = vec![
            PromptArgument::new(TASK)
                .with_description("What the agent is to do")
                .with_required(definition.input_config.is_none()),
        ];
        for (name, input) in definition.input_config.iter().flat_map(|config| &config.inputs) {
            arguments.push(
                PromptArgument::new(name)
                    .with_description(input.description.clone())
                    .with_required(input.required),
            );
        }
        let description = definition.when_to_use.clone();
        Prompt::new(definition.agent_type.key().to_string(), description, Some(arguments))
            .with_title(record.name.clone())
    };
    runnable(agents).map(prompt).collect()
}

/// The prompt of that name: what the host's model is told.
pub(super) fn get(
    name: &str,
    arguments: &JsonObject,
    agents: &Inventory,
) -> Option<GetPromptResult> {
    let (record, definition) =
        runnable(agents).find(|(_, definition)| definition.agent_type.key().to_string() == name)?;
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let task = arguments.get(TASK).map(text).unwrap_or_default();
    let inputs: JsonObject = arguments
        .iter()
        .filter(|(name, _)| name.as_str() != TASK)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let inputs = if inputs.is_empty() {
        String::new()
    } else {
        format!(" and these inputs: {}", Value::Object(inputs))
    };
    let told = format!(
        "Use the tool `Task` of the MCP server attache with subagent_type \"{}\"{inputs} for the following, and \
         report its result.\n\n{task}",
        record.name
    );
    let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, told)]);
    Some(match &definition.when_to_use {
        Some(description) => result.with_description(description.clone()),
        None => result,
    })
}
