//! A run under way: driven to its end, with what it holds until then; its parent learns of the end first.

use std::{
    borrow::Cow,
    convert::Infallible,
    sync::{Arc, Weak},
};

use attache_kernel::{
    id::RunId,
    run::{
        assignment::{Assignment, BackgroundWork},
        letter::Letter,
        outcome::{Changes, RunResult, Status, Surroundings},
    },
};
use tracing::{Instrument as _, Span, field::Empty};

use super::{
    LiveRun, NewsItem, RunHandle,
    run_changes::{changes_in_worktree, written_files},
};
use crate::{
    agents::used::UsedAgents,
    bridge::{self, Seat},
    executor::{Broken, Execution, drive},
    store::{Mail, MailKind, Mailbox, ResumeClaim, Secrets, StoreError},
    telemetry::{CONTENT, content},
    worktree::Worktree,
};

/// A run that goes on, with what it holds until it ends.
pub(super) struct Going {
    pub(super) live: Arc<LiveRun>,
    pub(super) transcript: String,
    pub(super) worktree: Option<Worktree>,
    pub(super) claim: Option<ResumeClaim>,
    pub(super) secrets: Secrets,
    pub(super) mailbox: Arc<dyn Mailbox>,
    /// The instance that is to drive it.
    pub(super) seat: Option<Seat>,
}

impl Going {
    /// Drives a run to its end, and tells its parent.
    pub(super) async fn see_through(self, execution: Box<Execution>, span: Span) -> RunResult {
        let Self { live, transcript, worktree, claim, secrets, mailbox, seat } = self;
        let _closed = live.events.closed_on_drop();
        let _tree_closed = live.parent.is_none().then(|| live.tree.closed_on_drop());
        let counted = count_use(used_agents(&execution), &live.run);
        let carried_out =
            carry_out((execution, seat), &live, transcript, worktree).instrument(span.clone());
        let result = tokio::select! {
            biased;
            result = carried_out => masked(&secrets, result),
            never = collect_mail(&*mailbox, &live) => match never {},
            never = counted => match never {},
        };
        tell(&span, &result);
        tell_content(&span, &secrets.mask(&live.run.task), &result);
        drop((span, claim));
        if let Some(parent) = live.parent.as_ref().and_then(Weak::upgrade) {
            // The parent knows of the end before anybody has the result.
            let result = Arc::new(result.clone());
            parent.add_child(&result);
            parent.children.ended(&result);
            parent.news.tell(NewsItem::Ended(result));
        }
        result
    }
}

/// Where it is counted how often agents are used.
fn used_agents(execution: &Execution) -> Option<Arc<UsedAgents>> {
    let delegate = execution.context.delegate.as_ref();
    delegate.map(|delegate| Arc::clone(&delegate.host().used))
}

/// Counts the use of an agent, off the threads that drive runs. The main agent is not one to choose.
async fn count_use(used: Option<Arc<UsedAgents>>, run: &Assignment) -> Infallible {
    let key = run.definition.agent_type.key().to_string();
    if let Some(used) = used.filter(|used| run.depth > 0 && !used.has_counted(&key)) {
        tokio::task::spawn_blocking(move || used.count(&key)).await.unwrap_or_default();
    }
    std::future::pending().await
}

/// Brings what other processes leave for a run to its inbox, and stops it when one says so.
async fn collect_mail(mailbox: &dyn Mailbox, live: &LiveRun) -> Infallible {
    loop {
        for mail in mailbox.next().await {
            if mail.kind == MailKind::Stop {
                mailbox.remove(std::slice::from_ref(&mail.id)).await.unwrap_or_default();
                live.cancel.cancel();
            }
            if let Some(letter) = into_letter(mail) {
                live.inbox.put(letter);
            }
        }
    }
}

/// What an agent reads of a letter, if it is for the agent.
pub(super) fn into_letter(mail: Mail) -> Option<Letter> {
    match mail.kind {
        MailKind::Message { text } => Some(Letter { id: Some(mail.id), ..Letter::new(text) }),
        MailKind::Stop => None,
    }
}

/// A result without the keys that are in no other place either.
fn masked(secrets: &Secrets, mut result: RunResult) -> RunResult {
    let mask = |text: &mut String| {
        if let Cow::Owned(masked) = secrets.mask(text) {
            *text = masked;
        }
    };
    mask(&mut result.result);
    result.error.iter_mut().for_each(mask);
    result.output = result.output.map(|output| secrets.mask_json(output));
    result
}

/// The span of a run: names and numbers, never content. What starts it is its cause, which it outlives.
pub(super) fn span(run: &Assignment) -> Span {
    let span = tracing::info_span!(
        parent: None,
        "subagent.run",
        id = %run.agent_id,
        name = %run.definition.agent_type,
        session = %run.session_id,
        parent = run.parent_id.as_ref().map(RunId::as_str),
        model = run.model.id,
        provider = run.model.provider,
        tools = run.tools.len(),
        status = Empty,
        turns = Empty,
        tokens = Empty,
        input_tokens = Empty,
        output_tokens = Empty,
        duration_ms = Empty,
    );
    span.follows_from(Span::current());
    span
}

fn tell(span: &Span, result: &RunResult) {
    span.record("status", result.status.as_str());
    span.record("turns", result.turns_used);
    span.record("tokens", result.total_tokens);
    span.record("input_tokens", result.usage.input_tokens);
    span.record("output_tokens", result.usage.output_tokens);
    span.record("duration_ms", result.total_duration_ms);
}

/// Tells what the run was to do and what it answered, if somebody asks for that.
fn tell_content(span: &Span, task: &str, result: &RunResult) {
    if content::is_wanted() {
        let (asked, answered) =
            (content::message("user", task), content::message("assistant", &result.result));
        tracing::trace!(
            target: CONTENT,
            parent: span,
            input_messages = %asked,
            output_messages = %answered,
        );
    }
}

/// Drives a run to its end.
async fn carry_out(
    (execution, seat): (Box<Execution>, Option<Seat>),
    live: &LiveRun,
    transcript: String,
    worktree: Option<Worktree>,
) -> RunResult {
    let mut transcript = Some(transcript);
    let artifacts = Arc::clone(&execution.context.artifacts);
    let workspace = execution.context.workspace.root().to_owned();
    let driven = match seat {
        None => drive(execution).await,
        Some(seat) => bridge::drive(*execution, seat).await,
    };
    let (run, outcome) = driven.unwrap_or_else(|Broken { run, error }| {
        if matches!(error, StoreError::Removed { .. }) {
            transcript = None;
        }
        let outcome = run.broken_off(error.report());
        (*run, outcome)
    });
    // Nothing below a run outlives it: what it no longer waits for is stopped.
    let below = live.children.under_way();
    let goes_on = run.assignment().background_work == BackgroundWork::LeftRunning
        && outcome.ending.status == Status::Goal;
    if !goes_on {
        below.iter().for_each(RunHandle::cancel);
    }
    for child in below {
        // Dropped with the runtime, there is nothing to wait for.
        drop(child.result().await);
    }
    live.events.close();
    let mut left = None;
    let is_kept = worktree.is_some();
    let files = Arc::clone(&artifacts);
    let changes = match worktree {
        None => written_files(outcome.changes.clone(), (workspace, None), artifacts).await,
        Some(worktree) => {
            let facts = worktree.facts().clone();
            match worktree.settle().await {
                Ok(settled) => changes_in_worktree(settled, &outcome.changes, artifacts).await,
                Err(error) => {
                    left = Some(format!("the worktree stays as it is: {error}"));
                    let branch = Some(facts.branch.clone());
                    let place = (workspace, Some(facts));
                    let changes = written_files(outcome.changes.clone(), place, artifacts).await;
                    changes.map(|changes| Changes { branch, ..changes })
                }
            }
        }
    };
    if is_kept || changes.is_some() {
        let changes = changes.clone();
        let kept = tokio::task::spawn_blocking(move || files.keep_changes(changes.as_ref())).await;
        if !matches!(kept, Ok(Ok(()))) {
            tracing::warn!("what the run changed could not be kept beside its transcript");
        }
    }
    let surroundings = Surroundings { transcript, descendants: live.descendants(), changes };
    let mut result = outcome.into_result(&run.assignment().result_of(), surroundings);
    result.error = match (result.error.take(), left) {
        (Some(error), Some(left)) => Some(format!("{error}; {left}")),
        (error, left) => error.or(left),
    };
    result
}
