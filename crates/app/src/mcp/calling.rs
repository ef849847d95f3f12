//! What becomes of a call: it is waited for, it is a task, or it goes on in rounds of questions.
//!
//! Invariant: a call that nobody waits for any more is dropped, and with it the run it waits for, unless the
//! client can ask for it again.

use std::sync::{Arc, OnceLock, PoisonError};

use attache_kernel::rights::tool_name::BuiltinTool;
use attache_runtime::internal::tasks::{Client, new_session_id};
use hyper::http::request::Parts;
use rmcp::{
    RoleServer,
    model::{
        CallToolResponse, CallToolResult, ClientCapabilities, InputRequiredResult, InputResponses,
        ProtocolVersion,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    answer,
    calls::{LongCall, QUESTION_PATIENCE, Work},
    elicitation::{self, ClientApprover, Wording},
    http::ClientGone,
    progress::{self, Told},
    server::Server,
    tasks::{self, Begun},
};

/// A call as it arrives.
pub(super) struct Called {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

impl Called {
    /// Whether it waits for an agent.
    fn waits(&self) -> bool {
        let runs = [BuiltinTool::Task, BuiltinTool::SubagentRun];
        let is_background = self.arguments.get("run_in_background") == Some(&Value::Bool(true));
        !is_background && runs.iter().any(|tool| tool.as_str() == self.tool)
    }
}

/// Whether questions are part of results: requests of the server are gone from these versions.
fn asks_in_results(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

impl Server {
    /// Calls a tool; none if there is no such tool.
    pub(super) async fn called(
        &self,
        called: Called,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResponse> {
        let capabilities = context.client_capabilities();
        let has_tasks = capabilities.as_ref().is_some_and(ClientCapabilities::supports_tasks);
        let can_ask = elicitation::is_offered(capabilities.as_ref());
        let in_results = asks_in_results(context.protocol_version().as_ref());
        if called.waits() && has_tasks {
            let call = self.begin(called, can_ask).await;
            return match tasks::begun(call, &self.shared.calls).await {
                Begun::Ended(result) => Some((*result).into()),
                Begun::Task(task) => Some((*task).into()),
            };
        }
        if called.waits() && can_ask && in_results {
            let call = self.begin(called, true).await;
            return self.round(new_session_id().to_string(), call, context).await;
        }
        let can_ask = can_ask && !in_results;
        self.waited_for(called, can_ask, context).await.map(Into::into)
    }

    /// Goes on with a call whose questions the client has answered; none if there is no such call.
    pub(super) async fn continued(
        &self,
        state: &str,
        answers: &InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResponse> {
        let call = self.shared.calls.find(state, &self.session.id)?;
        call.answer(answers);
        self.round(state.to_owned(), call, context).await
    }

    /// Begins a call that goes on by itself.
    async fn begin(&self, called: Called, can_ask: bool) -> Arc<LongCall> {
        let (started, runs) = mpsc::unbounded_channel();
        let (approver, asked) = ClientApprover::new(Some(QUESTION_PATIENCE));
        let client = Client {
            started: Some(started),
            approver: can_ask.then(|| Arc::new(approver) as _),
            ..self.client().await
        };
        let desk = self.shared.runtime.desk(client);
        let Called { tool, arguments } = called;
        LongCall::begin(self.session.id.clone(), Work { desk, tool, arguments, runs, asked })
    }

    /// Waits until a call has ended or has a question, which the client then answers in the next round.
    async fn round(
        &self,
        state: String,
        call: Arc<LongCall>,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResponse> {
        self.shared.calls.keep(state.clone(), Arc::clone(&call));
        let hung_up = hung_up(context);
        let ended = tokio::select! {
            biased;
            reason = self.nobody_waits(context, &hung_up) => {
                Some(answer::broken_off(reason, call.state().run.as_ref()))
            }
            now = call.until(|now| now.ended.is_some() || (now.open > 0 && !call.questions().is_empty())) => now.ended,
        };
        if let Some(result) = ended {
            self.shared.calls.forget(&state);
            return Some(result.into());
        }
        let required = InputRequiredResult::new(Some(call.questions()), Some(state));
        Some(required.into())
    }

    /// Calls a tool, waits for it, and tells the client of the run that the call starts.
    async fn waited_for(
        &self,
        called: Called,
        can_ask: bool,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let (started, runs) = mpsc::unbounded_channel();
        let (approver, questions) = ClientApprover::new(None);
        let client = Client {
            started: Some(started),
            approver: can_ask.then(|| Arc::new(approver) as _),
            ..self.client().await
        };
        let desk = self.shared.runtime.desk(client);
        let told = Told {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            level: *self.level.lock().unwrap_or_else(PoisonError::into_inner),
            run: OnceLock::new(),
        };
        let wording = Wording::for_version(context.protocol_version().as_ref());
        let hung_up = hung_up(context);
        let Called { tool, arguments } = called;
        tokio::select! {
            biased;
            reason = self.nobody_waits(context, &hung_up) => {
                Some(answer::broken_off(reason, told.run.get()))
            }
            output = desk.call(&tool, arguments) => output.map(answer::result),
            () = progress::tell(&told, runs) => None,
            () = elicitation::ask_all(&context.peer, wording, questions) => None,
        }
    }

    /// Ends when nobody waits for the answer any more, with the reason.
    async fn nobody_waits(
        &self,
        context: &RequestContext<RoleServer>,
        hung_up: &CancellationToken,
    ) -> &'static str {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => "the request was cancelled",
            () = self.gone().cancelled() => "the server ends, or its client has gone",
            () = hung_up.cancelled() => "the client has gone",
        }
    }
}

/// Cancelled when the client hangs up.
fn hung_up(context: &RequestContext<RoleServer>) -> CancellationToken {
    let parts = context.extensions.get::<Parts>();
    let gone = parts.and_then(|parts| parts.extensions.get::<ClientGone>()).cloned();
    gone.unwrap_or_default().0
}
