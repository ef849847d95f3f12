//! What a run learns about its subagents: written down at once, told to the agent with its next turn.
//!
//! Invariant: the result of a background agent is told once. That it was told is in the journal with the
//! message that tells it.

use std::sync::Arc;

use attache_kernel::{
    id::RunId,
    run::{
        assignment::BackgroundWork,
        outcome::{RunResult, Status},
        subagent::SubagentNote,
    },
};

use super::Driver;
use crate::{
    delegation::announcement,
    store::StoreError,
    tasks::{Letters, NewsItem, RunHandle},
};

/// What the agent has not been told yet.
#[derive(Debug, Default)]
pub(super) struct Untold {
    /// Subagents that have ended.
    ended: Vec<Arc<RunResult>>,
    /// What became of background agents of the run that this one continues.
    earlier: Vec<(String, Vec<RunId>)>,
}

impl Driver {
    pub(super) fn has_news(&self) -> bool {
        !self.untold.ended.is_empty()
            || !self.untold.earlier.is_empty()
            || !self.links.news.is_empty()
    }

    /// Writes down what happened to subagents, and keeps what the agent is to be told.
    pub(super) async fn note_news(&mut self) -> Result<(), StoreError> {
        while let Some(item) = self.links.news.take() {
            let note = match item {
                NewsItem::Earlier { text, delivers } => {
                    self.untold.earlier.push((text, delivers));
                    continue;
                }
                NewsItem::Note(note) => note,
                NewsItem::Ended(result) => {
                    let note = SubagentNote::Ended {
                        agent_id: result.agent_id.clone(),
                        name: result.agent_type.clone(),
                        success: result.status == Status::Goal,
                    };
                    self.untold.ended.push(result);
                    note
                }
            };
            self.feed(|run, now| run.subagent(note, now)).await?;
        }
        Ok(())
    }

    /// Tells the agent of background agents that have ended, in one message. What it has from a call
    /// already is not told again.
    pub(super) async fn tell_news(&mut self) -> Result<(), StoreError> {
        self.note_news().await?;
        for (text, delivers) in std::mem::take(&mut self.untold.earlier) {
            self.feed(|run, now| run.announce_results(&text, delivers, now)).await?;
        }
        let mut ended = std::mem::take(&mut self.untold.ended);
        ended.retain(|result| self.run.background().any(|id| *id == result.agent_id));
        if ended.is_empty() {
            return Ok(());
        }
        let text = announcement(&ended);
        let delivers = ended.iter().map(|result| result.agent_id.clone()).collect();
        self.feed(|run, now| run.announce_results(&text, delivers, now)).await
    }

    /// The time of the run bounds that of the agents it waits for.
    pub(super) fn stop_children(&self) {
        let parent = self.context.delegate.as_ref().and_then(|delegate| delegate.parent());
        let Some(parent) = parent else { return };
        if self.run.assignment().background_work == BackgroundWork::Awaited {
            parent.live().children.under_way().iter().for_each(RunHandle::cancel);
        }
    }

    /// Subagents that were stopped have ended before the run goes on, and their ends are in its
    /// transcript.
    pub(super) async fn await_stopped_children(&mut self) -> Result<(), StoreError> {
        let parent = self.context.delegate.as_ref().and_then(|delegate| delegate.parent());
        let Some(parent) = parent else { return Ok(()) };
        let children = parent.live().children.under_way();
        for child in children.iter().filter(|child| child.is_cancelled()) {
            // Dropped with the runtime, there is nothing to wait for.
            drop(child.result().await);
        }
        self.note_news().await
    }

    /// Waits for something to tell the agent.
    pub(super) async fn await_news(&mut self) -> Result<(), StoreError> {
        if self.has_letters() {
            return self.read_letters().await;
        }
        let interruption = self.interruption();
        let news = self.links.news.clone();
        let written = Letters::arrived_in(self.links.letters.as_ref());
        tokio::select! {
            biased;
            interruption = interruption => self.interrupted(interruption).await,
            () = news.arrived() => self.read_letters().await,
            () = written => self.read_letters().await,
        }
    }
}
