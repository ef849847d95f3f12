//! Delegation: the tools by which an agent hands work to other agents.
//!
//! Invariants: an agent that is started here is prepared by the front door like any other, below the run
//! that asks; a call reaches only agents of its own session; a call that is dropped stops the agent it
//! waits for, and a background agent is stopped with its parent.

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

use std::sync::Arc;

pub(crate) use self::{earlier::what_became_of, report::announcement};
use self::{
    subagent_describe::SubagentDescribe, subagent_list::SubagentList, subagent_run::SubagentRun,
    task::Task, task_output::TaskOutput, task_stop::TaskStop,
};
use crate::tool::{Tool, ToolContext, ToolOutput};

/// The tools by which agents delegate.
pub(crate) fn delegation_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Task::new()),
        Arc::new(TaskOutput::new()),
        Arc::new(TaskStop::new()),
        Arc::new(SubagentList::new()),
        Arc::new(SubagentDescribe::new()),
        Arc::new(SubagentRun::new()),
    ]
}

/// What a call is answered where nobody can be started.
const NOT_ENABLED: &str = "Sub-agents are not enabled in this nested context";

/// What a call delegates through, or the answer that it cannot.
fn delegate(context: &ToolContext) -> Result<&crate::tasks::Delegate, ToolOutput> {
    context.delegate.as_ref().ok_or_else(|| ToolOutput::error(NOT_ENABLED))
}
