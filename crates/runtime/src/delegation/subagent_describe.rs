//! `subagent_describe`: everything about one agent.

use attache_kernel::rights::tool_name::BuiltinTool;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Delegation, request::read, task::lookup_reason};
use crate::{
    tasks::Delegate,
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// Describes an agent.
#[derive(Debug)]
pub(super) struct SubagentDescribe {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    name: String,
}

impl SubagentDescribe {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": false,
        });
        let description = include_str!("subagent_describe.md");
        Self { spec: ToolSpec::reading(BuiltinTool::SubagentDescribe, description, parameters) }
    }
}

fn answer(request: &Request, delegate: &Delegate) -> ToolOutput {
    let inventory = delegate.host().inventory();
    let record = match inventory.find(&request.name) {
        Ok(record) => record,
        Err(error) => {
            let why = lookup_reason(&error.into(), delegate);
            return ToolOutput::error(format!("Sub-agent execution failed: {why}"));
        }
    };
    let Some(definition) = record.definition.as_deref() else {
        return ToolOutput::error(format!("nothing could be read of `{}`", record.name));
    };
    let model = record.effective_model.as_ref().map(|model| &model.model);
    let text = json!({
        "name": record.name,
        "description": definition.when_to_use,
        "scope": record.scope,
        "tools": record.effective_tools,
        "withheld_tools": record.withheld_tools,
        "model": model,
        "max_turns": definition.run_config.max_turns,
        "max_time_seconds": definition.run_config.max_time_seconds,
        "inputs": definition.input_config,
        "output": definition.output_config,
        "background": definition.background,
        "instructions": definition.prompt_config.system_prompt,
    });
    ToolOutput::text(text.to_string())
}

impl Delegation for SubagentDescribe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a> {
        Box::pin(async move {
            read(arguments).map_or_else(|error| error, |request| answer(&request, delegate))
        })
    }
}
