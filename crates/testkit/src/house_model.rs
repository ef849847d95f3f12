//! A model of the house, in the place of a language model: it calls the first tool it is offered for
//! the file the task names, and hands in what came back.

use attache_kernel::run::message::Message;
use attache_runtime::prelude::*;
use serde_json::{Value, json};

/// Calls a tool once, then completes.
#[derive(Debug)]
pub struct HouseModel;

impl Model for HouseModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, _: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(async move { Ok(answer(call)) })
    }
}

fn answer(call: ModelCall<'_>) -> Reply {
    let request = call.request;
    let results = request.messages.messages().iter().rev().find_map(|message| match &**message {
        Message::Tool { results } => Some(results.clone()),
        _ => None,
    });
    let task = call.run.map(|run| run.task.clone()).unwrap_or_default();
    let named = task.split_whitespace().find(|word| word.contains('.')).unwrap_or("notes.txt");
    let path = named.trim_end_matches(['?', '.', ',']);
    let (tool, arguments) = match results {
        Some(results) => {
            let text = results.iter().map(|result| result.text.as_str()).collect::<String>();
            ("complete_task".to_owned(), completion(&request.tools, &text))
        }
        None => match request.tools.iter().find(|tool| tool.name.to_string() != "complete_task") {
            Some(tool) => (tool.name.to_string(), json!({ "path": path })),
            None => ("complete_task".to_owned(), completion(&request.tools, "nothing to call")),
        },
    };
    let call = ToolCall::new(ToolCallId::new("call-1"), tool, arguments.to_string());
    Reply {
        content: vec![AssistantPart::ToolCall { call }],
        stop: StopReason::ToolUse,
        usage: Usage { input_tokens: 100, output_tokens: 20, ..Usage::default() },
        cost_usd: None,
    }
}

/// Fills the one parameter of `complete_task`, under any name.
fn completion(tools: &[ToolSpec], text: &str) -> Value {
    let spec = tools.iter().find(|tool| tool.name.to_string() == "complete_task");
    let properties = spec.and_then(|spec| spec.parameters.get("properties")?.as_object());
    let name = properties.and_then(|properties| properties.keys().next());
    match name.map(String::as_str) {
        Some("result") | None => json!({ "result": text }),
        Some(name) => {
            let lines = text.lines().count();
            json!({ name: { "lines": lines, "summary": text.lines().next().unwrap_or_default() } })
        }
    }
}
