//! The tools as the protocol describes them: those that agents have, with the schemas of their answers.

use std::{borrow::Cow, sync::Arc};

use attache_kernel::{
    rights::tool_name::{BuiltinTool, ToolName},
    run::tool_spec::ToolSpec,
};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// A tool of the delegation as the protocol describes it.
pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let builtin = match &spec.name {
        ToolName::Builtin(tool) => Some(*tool),
        _ => None,
    };
    let name = spec.name.to_string();
    let description = Cow::Owned(spec.description.to_string());
    let tool = Tool::new(Cow::Owned(name), description, object(Value::clone(&spec.parameters)));
    match builtin {
        None => tool,
        Some(builtin) => tool
            .with_title(title(builtin))
            .with_annotations(annotations(builtin))
            .with_raw_output_schema(object(answers(builtin))),
    }
}

/// A schema that is an object; another one allows everything.
pub(super) fn object(schema: Value) -> Arc<JsonObject> {
    Arc::new(match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::from_iter([("type".to_owned(), json!("object"))]),
    })
}

fn title(tool: BuiltinTool) -> &'static str {
    match tool {
        BuiltinTool::Task => "Start an agent",
        BuiltinTool::TaskOutput => "Result of an agent",
        BuiltinTool::TaskStop => "Stop an agent",
        BuiltinTool::SubagentList => "List agents",
        BuiltinTool::SubagentDescribe => "Describe an agent",
        _ => "Run an agent",
    }
}

/// What a host may assume of a call. An agent can do whatever its tools can.
fn annotations(tool: BuiltinTool) -> ToolAnnotations {
    let all = ToolAnnotations::new();
    match tool {
        BuiltinTool::TaskOutput | BuiltinTool::SubagentList | BuiltinTool::SubagentDescribe => {
            all.read_only(true).open_world(false)
        }
        BuiltinTool::TaskStop => {
            all.read_only(false).destructive(false).idempotent(true).open_world(false)
        }
        _ => running(),
    }
}

/// What a host may assume of a call that runs an agent.
pub(super) fn running() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true)
}

/// The answer of a call that starts, waits for or stops an agent.
pub(super) fn task_answer() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": {"type": "string", "description": "goal, or how it ended; running, async_launched, message_sent, not_found"},
            "result": {"type": "string"},
            "agent_id": {"type": "string", "description": "for TaskOutput, TaskStop and resume"},
            "description": {"type": "string"},
            "turns_used": {"type": "integer"},
            "duration_seconds": {"type": "number"},
            "total_tool_use_count": {"type": "integer"},
            "total_tokens": {"type": "integer"},
            "recovered_from": {"type": ["string", "null"]},
            "partial": {"type": "boolean"},
            "branch": {"type": "string"},
            "agent_type": {"type": "string"},
            "error": {"type": ["string", "null"]},
            "message": {"type": "string"},
        },
    })
}

/// The schema of a tool's answer.
fn answers(tool: BuiltinTool) -> Value {
    match tool {
        BuiltinTool::SubagentList => json!({
            "type": "object",
            "properties": {
                "agents": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
                        "required": ["name", "description"],
                    },
                },
                "total": {"type": "integer"},
                "message": {"type": "string"},
            },
            "required": ["agents", "total"],
        }),
        BuiltinTool::SubagentDescribe => json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "description": {"type": ["string", "null"]},
                "scope": {"type": "string"},
                "tools": {"type": "array", "items": {"type": "string"}},
                "withheld_tools": {"type": "array"},
                "model": {"type": ["string", "null"]},
                "max_turns": {"type": "integer"},
                "max_time_seconds": {"type": "integer"},
                "background": {"type": "boolean"},
                "instructions": {"type": ["string", "null"]},
            },
            "required": ["name"],
        }),
        BuiltinTool::SubagentRun => json!({
            "type": "object",
            "properties": {
                "agent_name": {"type": "string"},
                "task": {"type": "string"},
                "success": {"type": "boolean"},
                "output": {"type": "string"},
                "error": {"type": ["string", "null"]},
            },
            "required": ["agent_name", "task", "success", "output", "error"],
        }),
        _ => task_answer(),
    }
}
