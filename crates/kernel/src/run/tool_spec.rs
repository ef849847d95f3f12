//! A tool as a model is offered it, and what an executor must know to call it.
//!
//! Whether calls may run side by side and whether a call may be made again are two properties: a tool
//! that delegates to subagents runs in parallel and is never repeated.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::rights::tool_name::ToolName;

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenSpec", into = "WrittenSpec")]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Whether its calls may run side by side. Not for the model.
    pub concurrency: Concurrency,
    /// Whether a call that was cut off may be made again. Not for the model.
    pub repetition: Repeatability,
}

impl ToolSpec {
    /// A tool that changes nothing: its calls run side by side and may be made again.
    pub fn reading(name: impl Into<ToolName>, description: &str, parameters: Value) -> Self {
        Self::of_kind(name.into(), description, parameters, Repeatability::Repeatable)
    }

    /// A tool that changes something: its calls run one after another, each once.
    pub fn acting(name: impl Into<ToolName>, description: &str, parameters: Value) -> Self {
        Self::of_kind(name.into(), description, parameters, Repeatability::Once)
    }

    fn of_kind(
        name: ToolName,
        description: &str,
        parameters: Value,
        repetition: Repeatability,
    ) -> Self {
        let description = description.trim_ascii().to_owned();
        let concurrency = repetition.usual_concurrency();
        Self { name, description, parameters, concurrency, repetition }
    }
}

/// Whether calls may run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// Beside other parallel calls of the same turn.
    Parallel,
    /// Alone, after every call before it and before every call after it.
    Exclusive,
}

/// Whether a call that had begun when its run was cut off may be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Repeatability {
    /// Making it again does no harm.
    #[serde(rename = "read_only")]
    Repeatable,
    /// Making it again is not the same as making it once.
    #[serde(rename = "mutating")]
    Once,
}

impl Repeatability {
    /// How calls run where nothing else is said: what may be repeated may run in parallel.
    fn usual_concurrency(self) -> Concurrency {
        match self {
            Self::Repeatable => Concurrency::Parallel,
            Self::Once => Concurrency::Exclusive,
        }
    }
}

/// A tool in a transcript's header. `effect` came first and says both properties; `concurrency` is
/// written only where it is not the usual one.
#[derive(Serialize, Deserialize)]
struct WrittenSpec {
    name: ToolName,
    description: String,
    parameters: Value,
    effect: Repeatability,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    concurrency: Option<Concurrency>,
}

impl From<WrittenSpec> for ToolSpec {
    fn from(written: WrittenSpec) -> Self {
        let WrittenSpec { name, description, parameters, effect, concurrency } = written;
        let concurrency = concurrency.unwrap_or(effect.usual_concurrency());
        Self { name, description, parameters, concurrency, repetition: effect }
    }
}

impl From<ToolSpec> for WrittenSpec {
    fn from(spec: ToolSpec) -> Self {
        let ToolSpec { name, description, parameters, concurrency, repetition } = spec;
        let is_usual = concurrency == repetition.usual_concurrency();
        let concurrency = (!is_usual).then_some(concurrency);
        Self { name, description, parameters, effect: repetition, concurrency }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rights::tool_name::BuiltinTool;

    #[test]
    fn an_old_header_says_both_properties_with_one_word() {
        let written = |effect: &str| json!({"name": "Task", "description": "", "parameters": {}, "effect": effect});
        let read = |written: Value| {
            let spec: ToolSpec = serde_json::from_value(written).unwrap();
            (spec.concurrency, spec.repetition)
        };
        let both = (Concurrency::Parallel, Repeatability::Repeatable);
        assert_eq!(read(written("read_only")), both);
        let neither = (Concurrency::Exclusive, Repeatability::Once);
        assert_eq!(read(written("mutating")), neither);
    }

    #[test]
    fn a_tool_may_run_in_parallel_and_not_be_repeated() {
        let spec = ToolSpec {
            name: BuiltinTool::Task.into(),
            description: String::new(),
            parameters: json!({}),
            concurrency: Concurrency::Parallel,
            repetition: Repeatability::Once,
        };
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(
            (&written["effect"], &written["concurrency"]),
            (&json!("mutating"), &json!("parallel"))
        );
        assert_eq!(serde_json::from_value::<ToolSpec>(written).unwrap(), spec);
    }
}
