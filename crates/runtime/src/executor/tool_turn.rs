//! A tool turn: calls that change nothing run side by side, all others one after another, in order.

use std::time::Duration;

use attache_kernel::run::{
    PendingCall, ToolOutput as Answer, assignment::Effect, message::Artifact,
};
use futures_util::{StreamExt as _, stream::FuturesUnordered};

use super::{Driver, Interruption};
use crate::{
    journal::JournalError,
    tool::{ToolContext, ToolOutput},
};

impl Driver {
    /// Makes the first calls that may run together; the run asks again for the rest.
    pub(super) async fn tool_turn(
        &mut self,
        mut calls: Vec<PendingCall>,
    ) -> Result<(), JournalError> {
        let together = calls.iter().take_while(|call| call.effect == Effect::ReadOnly).count();
        calls.truncate(together.max(1));
        for call in calls.iter().filter(|call| !call.started) {
            self.feed(|run, now| run.tool_started(&call.id, now)).await?;
        }
        // Whatever is left behind when this turn is interrupted is told to stop.
        let stop = self.cancel.child_token();
        let _stopped = stop.clone().drop_guard();
        let context = ToolContext { cancel: stop, ..self.context.clone() };
        let mut under_way: FuturesUnordered<_> =
            calls.into_iter().map(|call| self.answer(call, context.clone())).collect();
        loop {
            let interruption = self.interruption();
            let finished = tokio::select! {
                biased;
                interruption = interruption => Err(interruption),
                finished = under_way.next() => Ok(finished),
            };
            match finished {
                Ok(Some((id, answer))) => {
                    self.feed(|run, now| run.tool_returned(&id, answer, now)).await?;
                }
                Ok(None) => return Ok(()),
                Err(interruption @ (Interruption::TimeUp | Interruption::Cancelled)) => {
                    drop(under_way);
                    return self.interrupted(interruption).await;
                }
            }
        }
    }

    fn answer(
        &self,
        call: PendingCall,
        context: ToolContext,
    ) -> impl Future<Output = (attache_kernel::id::ToolCallId, Answer)> + Send + use<> {
        let tool = self.tools.get(&call.tool).cloned();
        let patience = self.patience.tool;
        async move {
            let name = call.tool.to_string();
            let output = match tool {
                None => ToolOutput::error(format!("{name} is not available here")),
                Some(tool) => {
                    let answer = tool.call(call.arguments, &context);
                    tokio::time::timeout(patience, answer)
                        .await
                        .unwrap_or_else(|_| timed_out(&name, patience))
                }
            };
            (call.id, into_answer(&name, output))
        }
    }
}

fn timed_out(name: &str, patience: Duration) -> ToolOutput {
    let seconds = patience.as_secs();
    ToolOutput::error(format!("{name} did not finish within {seconds} s and was stopped"))
}

fn into_answer(name: &str, output: ToolOutput) -> Answer {
    let artifacts = output
        .artifacts
        .iter()
        .map(|path| Artifact {
            path: path.display().to_string(),
            description: format!("the whole output of {name}"),
        })
        .collect();
    Answer { text: output.text, is_error: output.is_error, images: output.images, artifacts }
}
