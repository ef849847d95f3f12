//! A tool as a model is offered it, and what an executor must know to call it.
//!
//! Whether calls may run side by side and whether a call may be made again are two properties: a tool
//! that delegates to subagents runs in parallel and is never repeated. A copy shares its texts: every
//! run holds its tools, and a thousand runs hold the same ones.

mod parameters;

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

pub use self::parameters::Parameters;
use crate::rights::tool_name::ToolName;

/// A tool as a model is offered it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ReadSpec")]
pub struct ToolSpec {
    /// Its name.
    pub name: ToolName,
    /// What it does.
    pub description: Arc<str>,
    /// The JSON Schema of its arguments.
    pub parameters: Parameters,
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
        let description = description.trim_ascii().into();
        let parameters = Parameters::from(parameters);
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
#[derive(Serialize)]
struct WrittenSpec<'a> {
    name: &'a ToolName,
    description: &'a str,
    parameters: &'a Parameters,
    effect: Repeatability,
    #[serde(skip_serializing_if = "Option::is_none")]
    concurrency: Option<Concurrency>,
}

/// The same, read back.
#[derive(Deserialize)]
struct ReadSpec {
    name: ToolName,
    description: Arc<str>,
    parameters: Parameters,
    effect: Repeatability,
    #[serde(default)]
    concurrency: Option<Concurrency>,
}

impl From<ReadSpec> for ToolSpec {
    fn from(read: ReadSpec) -> Self {
        let ReadSpec { name, description, parameters, effect, concurrency } = read;
        let concurrency = concurrency.unwrap_or(effect.usual_concurrency());
        Self { name, description, parameters, concurrency, repetition: effect }
    }
}

impl Serialize for ToolSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { name, description, parameters, concurrency, repetition } = self;
        let is_usual = *concurrency == repetition.usual_concurrency();
        let concurrency = (!is_usual).then_some(*concurrency);
        let effect = *repetition;
        WrittenSpec { name, description, parameters, effect, concurrency }.serialize(serializer)
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
            description: "".into(),
            parameters: json!({}).into(),
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
