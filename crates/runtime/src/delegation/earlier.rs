//! Agents that were started before: those under way, those that ended, those whose process ended first.
//!
//! Invariant: the main agent reaches only the runs of its own session, a subagent only those below it, and a
//! client only those it may reach.

use std::collections::BTreeMap;

use attache_kernel::{
    id::{AgentName, RunId},
    run::{files_then::FilesThen, transcript::fold},
};

use super::report;
use crate::{
    host::{EarlierRun, OrderError},
    store::{MailKind, Posted, RunState, Store, Transcript},
    tasks::{Child, Delegate, InboxError, RecordedRun, RunHandle},
    tool::ToolOutput,
};

/// An agent that can go on.
pub(super) enum Found {
    /// It works for this run.
    UnderWay(RunHandle),
    /// It goes on, in another process.
    Elsewhere(RunId),
    /// It ended, or was cut off.
    Ended(EarlierRun),
}

/// The agent of that id that a call wants to continue.
pub(super) async fn find(id: &str, delegate: &Delegate) -> Result<Found, ToolOutput> {
    if let Some(Child::UnderWay(handle)) = delegate.child(id.trim()) {
        return Ok(Found::UnderWay(handle));
    }
    let transcript = transcript(id, delegate).await?;
    if matches!(transcript.state, RunState::Queued | RunState::Running) {
        return Ok(Found::Elsewhere(transcript.header.run.agent_id));
    }
    let files = FilesThen::after(u32::MAX, &transcript.header.run, &transcript.entries);
    let run = fold(transcript.into_lines()).map_err(|error| {
        ToolOutput::error(format!("the transcript of that agent cannot be read: {error}"))
    })?;
    Ok(Found::Ended(EarlierRun::new(run).having(files)))
}

/// A run that the caller may reach, as it was written down.
pub(super) async fn transcript(id: &str, delegate: &Delegate) -> Result<Transcript, ToolOutput> {
    let unknown = || {
        let text = serde_json::json!({
            "status": "not_found", "message": format!("No task found with that agent_id: {id}"),
        });
        ToolOutput::error(text.to_string())
    };
    let store = delegate.store().ok_or_else(unknown)?;
    let transcript = store.read(id.trim()).await.map_err(|_| unknown())?;
    if delegate.reaches(&transcript.header.run) { Ok(transcript) } else { Err(unknown()) }
}

/// Leaves a message for an agent that works; `None` if it has just ended, and can be continued.
pub(super) async fn message(
    handle: &RunHandle,
    text: &str,
) -> Result<Option<ToolOutput>, ToolOutput> {
    match handle.inbox().message(text) {
        Ok(()) => Ok(Some(sent(handle.id()))),
        Err(InboxError::Ended) => {
            handle.result().await.map_err(|error| ToolOutput::error(error.to_string()))?;
            Ok(None)
        }
        Err(error @ InboxError::Full) => Err(ToolOutput::error(format!("{error}; try again"))),
    }
}

/// The same for an agent that works in another process.
pub(super) async fn post(
    run: &RunId,
    text: &str,
    delegate: &Delegate,
) -> Result<Option<ToolOutput>, ToolOutput> {
    let Some(store) = delegate.store() else { return Ok(None) };
    let letter = MailKind::Message { text: text.to_owned() };
    match store.post(run.as_str(), letter).await {
        Ok(Posted::Left(_)) => Ok(Some(sent(run))),
        Ok(Posted::Ended(_) | Posted::Abandoned) => Ok(None),
        Err(error) => Err(ToolOutput::error(error.report())),
    }
}

fn sent(run: &RunId) -> ToolOutput {
    let sent = serde_json::json!({
        "status": "message_sent", "agent_id": run,
        "message": "it reads the prompt with its next turn",
    });
    ToolOutput::text(sent.to_string())
}

/// An agent's name that does not fit the run is an error, not a new agent.
pub(super) fn check_name(run: &EarlierRun, named: Option<&str>) -> Result<(), ToolOutput> {
    match named {
        Some(named) if !run.is_named(named) => {
            let assignment = run.run().assignment();
            let error = OrderError::OtherAgent {
                run: assignment.agent_id.clone(),
                agent: assignment.definition.agent_type.to_string(),
                named: named.to_owned(),
            };
            Err(ToolOutput::error(error.to_string()))
        }
        Some(_) | None => Ok(()),
    }
}

/// What became of the agents of a run that is being continued: the text for the agent, and those
/// it is about. One that cannot be read counts as cut off.
pub(crate) async fn what_became_of(
    agents: Vec<RunId>,
    store: &dyn Store,
) -> Option<(String, Vec<RunId>)> {
    if agents.is_empty() {
        return None;
    }
    let continued = continued_by(store).await;
    let mut told = Vec::with_capacity(agents.len());
    for id in &agents {
        let newest = newest(id, &continued);
        told.push(match RecordedRun::read(newest.as_str(), store).await {
            Ok(run) if run.has_ended => report::one(&run.result),
            Ok(run) if matches!(run.state, RunState::Queued | RunState::Running) => {
                report::elsewhere(newest, &run.result.agent_type)
            }
            Ok(run) => report::interrupted(newest, &run.result.agent_type),
            Err(_) => report::interrupted(newest, &AgentName::new("agent")),
        });
    }
    Some((report::left_behind(told.into_iter()), agents))
}

/// The newest run that continues each run which was resumed. A list that cannot be read has none.
async fn continued_by(store: &dyn Store) -> BTreeMap<RunId, RunId> {
    let mut continued = BTreeMap::new();
    for run in store.list().await.unwrap_or_default() {
        if let Some(before) = run.resumed_from.filter(|_| !run.is_branch) {
            // The newest come first.
            continued.entry(before).or_insert(run.agent_id);
        }
    }
    continued
}

/// The last run that goes on with an agent: it may have been moved to another process.
fn newest<'a>(id: &'a RunId, continued: &'a BTreeMap<RunId, RunId>) -> &'a RunId {
    let mut newest = id;
    for _ in 0..continued.len() {
        match continued.get(newest) {
            Some(next) => newest = next,
            None => break,
        }
    }
    newest
}
