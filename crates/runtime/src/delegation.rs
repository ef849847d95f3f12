//! Delegation: the tools by which an agent, or the client of a server, hands work to other agents.
//!
//! Invariants: an agent that is started here is prepared by the front door like any other, below the run
//! that asks; a call reaches only agents of its own session, or those its client may reach; a call that is
//! dropped stops the agent it waits for, and a background agent is stopped with its parent.

mod desk;
mod earlier;
mod offered;
mod report;
mod request;
mod subagent_describe;
mod subagent_list;
mod subagent_run;
mod task;
mod task_output;
mod task_stop;
mod waiting;

use std::{fmt, sync::Arc, time::Duration};

use attache_kernel::{rights::filter::ToolSet, run::outcome::RunResult};
use serde_json::Value;

pub use self::desk::Desk;
pub(crate) use self::{earlier::what_became_of, report::announcement};
use self::{
    subagent_describe::SubagentDescribe, subagent_list::SubagentList, subagent_run::SubagentRun,
    task::Task, task_output::TaskOutput, task_stop::TaskStop,
};
use crate::{
    host::Host,
    tasks::Delegate,
    tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, artifacts::Artifacts},
};

/// One of the tools, for a run or for a client that is not a run.
trait Delegation: fmt::Debug + Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// The tool as it is described where these agents are.
    fn spec_for(&self, host: &Host) -> Option<ToolSpec> {
        let _ = host;
        None
    }

    /// How long a call may take, where its caller usually allows that much.
    fn time_limit(&self, usual: Duration) -> Duration {
        usual
    }

    /// Does what the arguments ask for. Dropping the future stops it.
    fn answer<'a>(&'a self, arguments: Value, delegate: &'a Delegate) -> ToolFuture<'a>;
}

/// What is told of an agent that was stopped with the call that waited for it.
pub(crate) fn cut_off(result: &RunResult, artifacts: &Artifacts) -> ToolOutput {
    report::bounded(report::ended(result), artifacts)
}

/// Every tool by which agents delegate.
fn delegations() -> [Box<dyn Delegation>; 6] {
    [
        Box::new(Task::new()),
        Box::new(TaskOutput::new()),
        Box::new(TaskStop::new()),
        Box::new(SubagentList::new()),
        Box::new(SubagentDescribe::new()),
        Box::new(SubagentRun::new()),
    ]
}

/// The same as tools of agents.
pub(crate) fn delegation_tools() -> Vec<Arc<dyn Tool>> {
    delegations().into_iter().map(|tool| Arc::new(ToolOfAgent(tool)) as Arc<dyn Tool>).collect()
}

/// What a call is answered where nobody can be started.
const NOT_ENABLED: &str = "Sub-agents are not enabled in this nested context";

/// One of the tools, as an agent calls it.
#[derive(Debug)]
struct ToolOfAgent(Box<dyn Delegation>);

impl Tool for ToolOfAgent {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn spec_for(&self, host: &Host, _: &ToolSet) -> Option<ToolSpec> {
        self.0.spec_for(host)
    }

    fn time_limit(&self, _: &Value, usual: Duration) -> Duration {
        self.0.time_limit(usual)
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        match &context.delegate {
            Some(delegate) => Box::pin(async move {
                let answer = self.0.answer(arguments, delegate).await;
                report::bounded(answer, &context.artifacts)
            }),
            None => Box::pin(std::future::ready(ToolOutput::error(NOT_ENABLED))),
        }
    }
}
