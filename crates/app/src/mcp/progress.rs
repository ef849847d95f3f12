//! What a client is told while its request is under way: progress of the run, and a log of its beginning and
//! its end.
//!
//! Invariant: the numbers of one request's progress only grow.

#![expect(deprecated, reason = "hosts of today read logs")]

use std::sync::OnceLock;

use attache_kernel::{id::RunId, run::event::Event};
use attache_runtime::internal::{events::Events, tasks::RunHandle};
use rmcp::{
    Peer, RoleServer,
    model::{
        LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    },
};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

/// Who is told, and of which request.
pub(super) struct Told {
    pub(super) peer: Peer<RoleServer>,
    /// None if the client wants no progress.
    pub(super) token: Option<ProgressToken>,
    /// The least that it wants to read of the log.
    pub(super) level: LoggingLevel,
    /// The run that the request started.
    pub(super) run: OnceLock<RunId>,
}

/// Tells of the runs that a request starts. It never ends by itself.
pub(super) async fn tell(told: &Told, mut started: UnboundedReceiver<RunHandle>) {
    let mut number = 0;
    while let Some(run) = started.recv().await {
        told.run.get_or_init(|| run.id().clone());
        let name = &run.assignment().definition.agent_type;
        told.log(json!({"agent_id": run.id(), "agent_type": name, "event": "started"})).await;
        if let Some(token) = &told.token {
            told.follow(token, &run, &mut number).await;
        }
    }
    std::future::pending::<()>().await;
}

impl Told {
    async fn log(&self, data: Value) {
        if self.level as u8 > LoggingLevel::Info as u8 {
            return;
        }
        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, data);
        // A client that does not read it loses only that.
        drop(self.peer.notify_logging_message(message.with_logger("attache")).await);
    }

    async fn follow(&self, token: &ProgressToken, run: &RunHandle, number: &mut u32) {
        let mut steps = Steps::of_run(run);
        while let Some(message) = steps.next().await {
            *number += 1;
            let progress = ProgressNotificationParam::new(token.clone(), f64::from(*number));
            if self.peer.notify_progress(progress.with_message(message)).await.is_err() {
                return;
            }
        }
    }
}

/// The steps of a run, in words.
pub(super) struct Steps {
    run: RunHandle,
    events: Events,
    turn: u32,
}

impl Steps {
    /// All steps of a run, from its first on.
    pub(super) fn of_run(run: &RunHandle) -> Self {
        Self { run: run.clone(), events: run.events(1), turn: 0 }
    }

    /// The next step; none when the run has ended.
    pub(super) async fn next(&mut self) -> Option<String> {
        let name = self.run.assignment().definition.agent_type.to_string();
        let max_turns = self.run.assignment().limits.max_turns;
        while let Some(event) = self.events.next().await {
            let turn = self.turn;
            return Some(match &event.event {
                Event::Queued { ahead } => format!("{name} waits in the queue behind {ahead}"),
                Event::Started => format!("{name} began as {}", self.run.id()),
                Event::TurnStarted { turn, .. } => {
                    self.turn = *turn;
                    format!("{name}: turn {turn} of {max_turns}")
                }
                Event::ToolStarted { tool_name, .. } => {
                    format!("{name}: turn {turn}, {tool_name}")
                }
                Event::ApprovalRequested { tool_name, .. } => {
                    format!("{name}: turn {turn}, asks to call {tool_name}")
                }
                Event::Retrying { reason, .. } => {
                    format!("{name}: turn {turn}, again: {reason}")
                }
                _ => continue,
            });
        }
        None
    }
}
