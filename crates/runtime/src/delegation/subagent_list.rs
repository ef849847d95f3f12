//! `subagent_list`: the agents there are, or those that fit a query.

use attache_kernel::{
    agent::{registry::Record, suggest::suggest},
    rights::tool_name::BuiltinTool,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Delegation, offered,
    request::{read, words},
};
use crate::{
    tasks::Delegate,
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// The maximum number of agents in one answer.
const MOST: usize = 50;

/// Lists agents.
#[derive(Debug)]
pub(super) struct SubagentList {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default, deserialize_with = "words")]
    query: Option<String>,
}

impl SubagentList {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "additionalProperties": false,
        });
        let description = include_str!("subagent_list.md");
        Self { spec: ToolSpec::reading(BuiltinTool::SubagentList, description, parameters) }
    }
}

fn answer(request: &Request, records: &[Record]) -> ToolOutput {
    let runnable = offered::runnable(records);
    let chosen: Vec<&Record> = match &request.query {
        None => runnable.clone(),
        Some(query) => {
            let fitting =
                suggest(query, runnable.iter().filter_map(|record| record.definition.as_deref()));
            let named = |name: &str| runnable.iter().copied().find(|record| record.name == name);
            fitting.iter().filter_map(|suggestion| named(&suggestion.name)).collect()
        }
    };
    let agents: Vec<Value> = chosen
        .iter()
        .take(MOST)
        .map(|record| json!({"name": record.name, "description": offered::short_description(record)}))
        .collect();
    let mut text = json!({"agents": agents, "total": runnable.len()});
    if chosen.len() > MOST {
        text["message"] = json!(format!("the first {MOST} of {}; use a query", chosen.len()));
    }
    ToolOutput::text(text.to_string())
}

impl Delegation for SubagentList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a> {
        Box::pin(async move {
            let listed = |request: Request| answer(&request, &delegate.agents().records);
            read(arguments).map_or_else(|error| error, listed)
        })
    }
}
