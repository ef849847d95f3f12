//! `Task`: starts an agent, continues an earlier one, or sends a message to one that works.

use std::time::Duration;

use attache_kernel::{
    agent::registry::LookupError,
    model::choice::AskedBy,
    rights::{filter::Schedule, tool_name::BuiltinTool},
    run::tool_spec::{Concurrency, Repeatability},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Delegation,
    earlier::{self, Found},
    offered, report,
    request::{flag, read, words},
    waiting::{Attended, Waited},
};
use crate::{
    host::{EarlierRun, Host, Inputs, Order, OrderError, Subject},
    tasks::{Delegate, DelegateError},
    tool::{ToolFuture, ToolOutput, ToolSpec},
};

/// Longer than any run: an agent's own limits end it.
pub(super) const AS_LONG_AS_IT_TAKES: Duration = Duration::from_hours(24 * 365);

/// Starts an agent.
#[derive(Debug)]
pub(super) struct Task {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default, deserialize_with = "words")]
    subagent_type: Option<String>,
    prompt: String,
    description: String,
    #[serde(default, deserialize_with = "words")]
    model: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    run_in_background: Option<bool>,
    #[serde(default, deserialize_with = "words")]
    resume: Option<String>,
    #[serde(default)]
    inputs: Option<Map<String, Value>>,
}

impl Task {
    pub(super) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "subagent_type": {"type": "string", "description": "The agent"},
                "prompt": {"type": "string", "description": "The task, complete in itself"},
                "description": {"type": "string", "description": "The task in 3 to 5 words"},
                "model": {"type": "string", "description": "Another model than the agent's own"},
                "run_in_background": {"type": "boolean"},
                "resume": {"type": "string", "description": "agent_id of an agent to continue"},
                "inputs": {"type": "object", "description": "The agent's typed inputs"},
            },
            "required": ["subagent_type", "prompt", "description"],
            "additionalProperties": false,
        });
        Self {
            spec: ToolSpec {
                concurrency: Concurrency::Parallel,
                repetition: Repeatability::Once,
                ..ToolSpec::acting(BuiltinTool::Task, include_str!("task.md"), parameters)
            },
        }
    }
}

async fn answer(request: Request, delegate: &Delegate) -> Result<ToolOutput, ToolOutput> {
    let description = request.description.trim().to_owned();
    // The inputs of an agent may say all there is to say.
    let has_inputs = request.inputs.as_ref().is_some_and(|inputs| !inputs.is_empty());
    if request.prompt.trim().is_empty() && !has_inputs {
        return Err(ToolOutput::error("there is no task: `prompt` is empty"));
    }
    let mut is_background = request.run_in_background == Some(true);
    let subject = if let Some(id) = &request.resume {
        match earlier::find(id, delegate).await? {
            Found::UnderWay(handle) => {
                if let Some(sent) = earlier::message(&handle, &request.prompt).await? {
                    return Ok(sent);
                }
                ended(id, &request, delegate).await?
            }
            Found::Elsewhere(run) => {
                if let Some(sent) = earlier::post(&run, &request.prompt, delegate).await? {
                    return Ok(sent);
                }
                ended(id, &request, delegate).await?
            }
            Found::Ended(run) => named(run, &request)?,
        }
    } else {
        let name = request.subagent_type.as_deref().unwrap_or_default();
        let agent = delegate.agent(name).map_err(|error| unknown(&error, delegate))?;
        is_background |= agent.definition().background;
        agent.into()
    };
    let schedule = if is_background { Schedule::Background } else { Schedule::Foreground };
    let order = Order {
        description: Some(description.clone()).filter(|words| !words.is_empty()),
        inputs: Inputs::Typed(request.inputs.unwrap_or_default()),
        model: request.model.filter(|model| !model.eq_ignore_ascii_case("inherit")),
        asked_by: AskedBy::Agent,
        schedule,
        ..Order::new(subject, request.prompt)
    };
    let asked = order.model.clone();
    let (answer, notices) = match schedule {
        Schedule::Background => {
            let started = Box::pin(delegate.start_background(order)).await;
            let (id, notices) = started.map_err(|error| refused(&error))?;
            (report::launched(&id, &description), notices)
        }
        Schedule::Foreground => {
            let started = Box::pin(delegate.start(order)).await;
            let (handle, notices) = started.map_err(|error| refused(&error))?;
            (attend(delegate, Attended::new(handle), &description).await?, notices)
        }
    };
    Ok(report::noting(answer, asked.as_deref(), &notices))
}

/// An agent that has just ended, to be continued.
async fn ended(id: &str, request: &Request, delegate: &Delegate) -> Result<Subject, ToolOutput> {
    match earlier::find(id, delegate).await? {
        Found::Ended(run) => named(run, request),
        Found::UnderWay(_) | Found::Elsewhere(_) => {
            Err(ToolOutput::error("the agent is about to end; try again"))
        }
    }
}

/// The run to continue, if it is one of the agent that the call names.
fn named(run: EarlierRun, request: &Request) -> Result<Subject, ToolOutput> {
    earlier::check_name(&run, request.subagent_type.as_deref())?;
    Ok(Subject::Earlier(run))
}

/// Waits for an agent, and answers with its result.
async fn attend(
    delegate: &Delegate,
    agent: Attended,
    description: &str,
) -> Result<ToolOutput, ToolOutput> {
    let waited = agent.wait().await.map_err(|error| ToolOutput::error(error.to_string()))?;
    match waited {
        Waited::Ended(result) => {
            delegate.forget(&result.agent_id);
            Ok(report::ended(&result))
        }
        Waited::Detached(handle) => {
            delegate.detached(&handle);
            Ok(report::launched(handle.id(), description))
        }
    }
}

/// Why an agent was not started, with what to do about it.
pub(super) fn reason(error: &DelegateError) -> String {
    let hint = match error {
        DelegateError::Order(error) => error.hint(),
        DelegateError::Start(_) | DelegateError::Launch(_) | DelegateError::ShutDown => None,
    };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        let said = deeper.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = deeper.source();
    }
    match hint {
        Some(hint) => format!("{text} ({hint})"),
        None => text,
    }
}

/// The same for an agent that was looked up: with the nearest names and those there are.
fn unknown(error: &OrderError, delegate: &Delegate) -> ToolOutput {
    ToolOutput::error(lookup_reason(error, delegate))
}

/// Why there is no such agent, and which there are.
pub(super) fn lookup_reason(error: &OrderError, delegate: &Delegate) -> String {
    match error {
        OrderError::Agent(LookupError::Unknown { name, meant, .. }) => {
            let agents = delegate.agents();
            let meant =
                meant.as_ref().map_or(String::new(), |name| format!(" Did you mean `{name}`?"));
            let names = offered::names(&agents.records);
            format!("Unknown subagent type '{name}'.{meant} Available: {names}")
        }
        OrderError::Agent(LookupError::Invalid { diagnostics, .. }) => {
            let first = diagnostics.first().map(|diagnostic| diagnostic.message.as_str());
            format!("{error}: {}", first.unwrap_or("see `attache validate`"))
        }
        _ => match error.hint() {
            Some(hint) => format!("{error} ({hint})"),
            None => error.to_string(),
        },
    }
}

fn refused(error: &DelegateError) -> ToolOutput {
    ToolOutput::error(reason(error))
}

impl Delegation for Task {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn spec_for(&self, host: &Host) -> Option<ToolSpec> {
        let agents = offered::list(&host.agents().records, || host.used.counts());
        let description = format!("{}\n\nAgents:\n{agents}", self.spec.description);
        Some(ToolSpec { description: description.into(), ..self.spec.clone() })
    }

    fn time_limit(&self, _: Duration) -> Duration {
        AS_LONG_AS_IT_TAKES
    }

    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a> {
        Box::pin(async move {
            let answer = async { answer(read(arguments)?, delegate).await };
            answer.await.unwrap_or_else(|error| error)
        })
    }
}
