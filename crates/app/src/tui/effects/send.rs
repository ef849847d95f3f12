//! Sending a message: an offer of an agent that fits, or a run that begins.

use std::sync::Arc;

use attache_kernel::run::assignment::{BackgroundWork, SessionSource};
use attache_runtime::internal::{
    host::{Order, Prepared, Subject},
    runtime::Runtime,
    tasks::RunHandle,
};

use tokio_util::sync::CancellationToken;

use super::Conversation;
use crate::{
    commands::run::{fitting, start_failure},
    environment,
    failure::Failure,
    setup::Setup,
    tui::{approver::ScreenApprover, state::Offer, update::Route},
};

/// A message on its way.
pub(super) struct Sending<'a> {
    pub(super) setup: &'a Setup,
    pub(super) runtime: Runtime,
    pub(super) approver: ScreenApprover,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    pub(super) after: Option<String>,
    pub(super) at: Option<u32>,
    /// The run before, which may still be putting things away.
    pub(super) before: Option<RunHandle>,
    /// Says that the run is not wanted any more.
    pub(super) unwanted: CancellationToken,
}

/// What became of a message.
pub(super) enum Outcome {
    Started(Box<Conversation>, Vec<String>),
    Offered(Offer),
    /// It was stopped before a run began.
    Unwanted,
}

impl Sending<'_> {
    pub(super) async fn start(self, text: String, route: Route) -> Result<Outcome, Failure> {
        let mut notices = Vec::new();
        let mut task = text.clone();
        let through = match route {
            Route::Main => None,
            Route::Through(agent) => Some(agent),
            Route::Offer => match self.fitting(&text) {
                Some(offer) if self.setup.settings.subagents.auto_route => {
                    let keyword = &offer.keyword;
                    notices.push(format!(
                        "`{}` gets this: its keyword `{keyword}` is in it",
                        offer.agent
                    ));
                    Some(offer.agent)
                }
                Some(offer) => return Ok(Outcome::Offered(offer)),
                None => None,
            },
        };
        if let Some(agent) = through {
            task = format!("{text}\n\nUse the agent `{agent}` for this.");
        }
        let (runtime, unwanted) = (self.runtime.clone(), self.unwanted.clone());
        // Servers that are slow to begin are not waited for once nobody wants the run.
        let prepared = tokio::select! {
            prepared = self.prepared(task) => prepared?,
            () = unwanted.cancelled() => return Ok(Outcome::Unwanted),
        };
        notices.extend(prepared.notices.iter().map(ToString::to_string));
        let started = runtime.start_watched(prepared).await;
        let (handle, events) = started.map_err(|error| start_failure(&error))?;
        Ok(Outcome::Started(Box::new(Conversation { handle, events }), notices))
    }

    /// The run that is to get the task.
    async fn prepared(self, task: String) -> Result<Prepared, Failure> {
        if let Some(before) = &self.before {
            // The runtime lives as long as the conversation.
            drop(before.result().await);
        }
        let subject = match &self.after {
            None => Subject::Main,
            Some(id) => {
                let earlier = match self.at {
                    Some(turn) => self.runtime.earlier_at(id, turn).await,
                    None => self.runtime.earlier(id).await,
                };
                earlier.map_err(|error| self.setup.order_failure(&error))?.into()
            }
        };
        let order = Order {
            model: self.model,
            provider: self.provider,
            background_work: BackgroundWork::Awaited,
            source: Some(SessionSource::Interactive),
            today: Some(environment::today()),
            auto_approval: self.approver.how().without_question(),
            approver: Some(Arc::new(self.approver)),
            ..Order::new(subject, task)
        };
        let prepared = self.runtime.prepare(order).await;
        prepared.map_err(|error| self.setup.order_failure(&error))
    }

    /// The agent that a message is for.
    fn fitting(&self, text: &str) -> Option<Offer> {
        let (agent, keyword) = fitting(text, &self.runtime)?;
        Some(Offer { agent, keyword, text: text.to_owned() })
    }
}
