//! What a model is told of agents that ended, and of those that still work.

use std::sync::Arc;

use attache_kernel::{
    id::{AgentName, RunId},
    run::outcome::{RunResult, Status},
};
use serde_json::{Value, json};

use crate::{
    host::Notice,
    tasks::Delegate,
    tool::{
        ToolOutput,
        artifacts::{Artifacts, Bound},
    },
};

/// How much of one result stands in the answer to an agent's call; the whole is kept as an artifact.
const LONGEST_ANSWERED: Bound = Bound { bytes: 64 * 1024, lines: usize::MAX };

/// How much of one result stands in an announcement; the whole can be asked for.
const LONGEST_ANNOUNCED: usize = 8 * 1024;

/// The result of an agent, as the call that waited for it answers.
pub(super) fn ended(result: &RunResult) -> ToolOutput {
    let is_error = result.status != Status::Goal;
    let delivers = vec![result.agent_id.clone()];
    ToolOutput { is_error, delivers, ..ToolOutput::text(answer(result).to_string()) }
}

/// The same answer, no longer than an agent's context bears.
pub(super) fn bounded(answer: ToolOutput, artifacts: &Artifacts) -> ToolOutput {
    if answer.text.len() <= LONGEST_ANSWERED.bytes {
        return answer;
    }
    let Ok(mut told) = serde_json::from_str::<Value>(&answer.text) else { return answer };
    let mut kept = Vec::new();
    for field in ["result", "output"] {
        if let Some(Value::String(text)) = told.get_mut(field) {
            let bounded = LONGEST_ANSWERED.apply(std::mem::take(text), field, artifacts);
            *text = bounded.text;
            kept.extend(bounded.artifacts);
        }
    }
    ToolOutput { text: told.to_string(), artifacts: kept, ..answer }
}

/// The part of a result that a model needs; with the branch where its changes are.
fn answer(result: &RunResult) -> Value {
    let mut answer = serde_json::to_value(result.for_delegator()).unwrap_or_default();
    if let Some(branch) = result.changes.as_ref().and_then(|changes| changes.branch.as_ref()) {
        answer["branch"] = json!(branch);
    }
    answer
}

/// An agent works in the background.
pub(super) fn launched(agent_id: &RunId, description: &str) -> ToolOutput {
    let text =
        json!({"status": "async_launched", "agent_id": agent_id, "description": description});
    ToolOutput::text(text.to_string())
}

/// The same answer with what became of the model that the call asked for, if it got another one.
pub(super) fn noting(answer: ToolOutput, asked: Option<&str>, notices: &[Notice]) -> ToolOutput {
    let notice = notices.iter().find(|notice| notice.is_about_alias(asked));
    let told = notice.zip(serde_json::from_str::<Value>(&answer.text).ok());
    let Some((notice, mut told)) = told else { return answer };
    told["notice"] = json!(notice.to_string());
    ToolOutput { text: told.to_string(), ..answer }
}

/// An agent still works.
pub(super) fn still_runs(agent_id: &RunId, delegate: &Delegate) -> ToolOutput {
    let message = match delegate.parent() {
        Some(_) => "it still runs; ask again later, or go on: you are told when it ends",
        None => "it still runs; ask again later",
    };
    let text = json!({"status": "running", "agent_id": agent_id, "message": message});
    ToolOutput::text(text.to_string())
}

/// The results of background agents, in one message.
pub(crate) fn announcement(ended: &[Arc<RunResult>]) -> String {
    let opening = match ended {
        [_] => "A background agent has ended:",
        _ => "Background agents have ended:",
    };
    told(opening, ended.iter().map(|result| one(result)))
}

/// One of them.
pub(super) fn one(result: &RunResult) -> String {
    let mut told = json!({"agent_type": result.agent_type});
    if let (Value::Object(told), Value::Object(answer)) = (&mut told, answer(result)) {
        told.extend(answer);
    }
    shortened(&mut told);
    told.to_string()
}

/// What became of agents whose parent was cut off.
pub(super) fn left_behind(results: impl Iterator<Item = String>) -> String {
    told("What became of the agents you had started:", results)
}

fn told(opening: &str, results: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = std::iter::once(opening.to_owned()).chain(results).collect();
    lines.join("\n")
}

/// An agent whose process ended before it did.
pub(super) fn interrupted(agent_id: &RunId, agent_type: &AgentName) -> String {
    let message = "its process ended before it did; continue it with Task and resume";
    json!({
        "agent_type": agent_type, "agent_id": agent_id, "status": "interrupted", "error": message,
    })
    .to_string()
}

/// An agent that goes on in another process.
pub(super) fn elsewhere(agent_id: &RunId, agent_type: &AgentName) -> String {
    let message = "it goes on in another process; TaskOutput returns its result";
    json!({
        "agent_type": agent_type, "agent_id": agent_id, "status": "running", "message": message,
    })
    .to_string()
}

fn shortened(told: &mut Value) {
    let Some(Value::String(result)) = told.get_mut("result") else { return };
    if result.len() <= LONGEST_ANNOUNCED {
        return;
    }
    let end = (0..=LONGEST_ANNOUNCED).rev().find(|end| result.is_char_boundary(*end));
    let left = result.len() - end.unwrap_or_default();
    result.truncate(end.unwrap_or_default());
    *result = format!("{result}\n[{left} more bytes; TaskOutput returns the whole]");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_shortened_between_letters_and_says_so() {
        let mut told = json!({"result": "ü".repeat(LONGEST_ANNOUNCED)});
        shortened(&mut told);
        let result = told["result"].as_str().unwrap();
        assert!(result.len() < LONGEST_ANNOUNCED + 100, "{}", result.len());
        assert!(result.ends_with("TaskOutput returns the whole]"), "{result}");
        let mut short = json!({"result": "done"});
        shortened(&mut short);
        assert_eq!(short, json!({"result": "done"}));
    }
}
