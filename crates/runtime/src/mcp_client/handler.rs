//! What a server may ask of this program: nothing but to be told that it may not, and to show progress.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

#[expect(
    deprecated,
    reason = "servers of older protocol versions ask for it, and are refused"
)]
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult};
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ErrorCode,
        Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    },
    service::{NotificationContext, RequestContext},
};

use super::clean_text::clean_line;
use crate::tool::output::OutputSink;

/// The longest line that is shown of a call's progress.
const LONGEST_PROGRESS: usize = 200;

/// Answers the requests and notifications of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Handler {
    heard: Arc<Heard>,
}

/// What a server said besides its answers.
#[derive(Debug, Default)]
struct Heard {
    tools_changed: AtomicBool,
    calls: Mutex<HashMap<ProgressToken, OutputSink>>,
}

impl Handler {
    /// Whether the server's tools have changed since this was asked last.
    pub(super) fn tools_have_changed(&self) -> bool {
        self.heard.tools_changed.swap(false, Ordering::AcqRel)
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, OutputSink>> {
        self.heard.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the progress of a call there until the value is dropped.
    pub(super) fn show_progress(&self, token: ProgressToken, sink: OutputSink) -> ShownProgress {
        self.calls().insert(token.clone(), sink);
        ShownProgress { handler: self.clone(), token }
    }
}

/// A call whose progress is shown.
pub(super) struct ShownProgress {
    handler: Handler,
    token: ProgressToken,
}

impl Drop for ShownProgress {
    fn drop(&mut self) {
        self.handler.calls().remove(&self.token);
    }
}

fn refusal(what: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("this client does not answer {what}"), None)
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("attache", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    #[expect(deprecated, reason = "servers of older protocol versions ask for it, and are refused")]
    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refusal("sampling requests"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refusal("elicitation requests: nobody is there to be asked"))
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let sink = self.calls().get(&progress.progress_token).cloned();
        let Some(sink) = sink else { return };
        let message = progress.message.as_deref().unwrap_or_default();
        let message = clean_line(message, LONGEST_PROGRESS);
        let amount = match progress.total {
            Some(total) => format!("{} of {total}", progress.progress),
            None => progress.progress.to_string(),
        };
        let separator = if message.is_empty() { "" } else { ": " };
        sink.send(format!("{amount}{separator}{message}\n"));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.heard.tools_changed.store(true, Ordering::Release);
    }
}
