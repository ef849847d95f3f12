//! What a server may ask of this program: to show progress, to ask the user for values, and for an answer of the
//! run's model. The last two go to the people of the run whose call the server works on; nobody there is a no.

#![expect(deprecated, reason = "servers of older protocol versions ask for samples and roots")]

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use reqwest::Url;

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode,
        FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam,
        ProtocolVersion, Root, RootsCapabilities, SamplingCapability,
    },
    service::{NotificationContext, RequestContext},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    asking::{CallUnderWay, CallsUnderWay, Listed},
    clean_text::clean_line,
    sampling,
};
use crate::approvals::{Form, FormAnswer};

/// The longest line that is shown of a call's progress.
const LONGEST_PROGRESS: usize = 200;

/// Answers the requests and notifications of one server.
#[derive(Debug, Clone)]
pub(super) struct Handler {
    server: Arc<str>,
    /// The workspace, as roots name it.
    root: Arc<str>,
    heard: Arc<Heard>,
}

/// What a server said besides its answers.
#[derive(Debug, Default)]
struct Heard {
    tools_changed: AtomicBool,
    calls: Arc<CallsUnderWay>,
}

impl Handler {
    pub(super) fn new(server: &str, workspace: &Path) -> Self {
        let root = Url::from_file_path(workspace).map(String::from).unwrap_or_default();
        Self { server: server.into(), root: root.into(), heard: Arc::default() }
    }

    /// The workspace is the only root; none if it has no address.
    pub(super) fn roots(&self) -> ListRootsResult {
        let root = Some(&self.root).filter(|root| !root.is_empty());
        ListRootsResult::new(
            root.map(|root| Root::new(&**root).with_name("workspace")).into_iter().collect(),
        )
    }

    /// Whether the server's tools have changed since this was asked last.
    pub(super) fn tools_have_changed(&self) -> bool {
        self.heard.tools_changed.swap(false, Ordering::AcqRel)
    }

    /// A call is under way until the value is dropped.
    pub(super) fn begin(&self, call: CallUnderWay) -> Listed {
        self.heard.calls.begin(call)
    }

    /// Asks the user for values.
    pub(super) async fn elicited(
        &self,
        params: ElicitRequestParams,
    ) -> Result<ElicitResult, ErrorData> {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = params
        else {
            let message = "this client opens no addresses for a server; ask with a form";
            return Err(ErrorData::invalid_params(message, None));
        };
        let Ok((call, caller)) = self.heard.calls.asked() else {
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        };
        let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
        let run = (caller.run.agent_id.clone(), caller.run.definition.agent_type.clone());
        let form = Form::new(run, &self.server, &message, schema);
        let _asking = call.clock.ask();
        let _question = caller.ask(&self.server);
        Ok(match caller.approvals.fill_in(form).await {
            FormAnswer::Filled(values) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
            }
            FormAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
            FormAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
        })
    }

    /// Answers with the run's model.
    pub(super) async fn sampled(
        &self,
        params: CreateMessageRequestParams,
        cancel: CancellationToken,
    ) -> Result<CreateMessageResult, ErrorData> {
        let asked = self.heard.calls.asked();
        let (call, caller) =
            asked.map_err(|error| ErrorData::new(ErrorCode(-1), error.to_string(), None))?;
        let _asking = call.clock.ask();
        sampling::answered(params, &self.server, &caller, cancel).await
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("attache", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.elicitation =
            Some(ElicitationCapability::default().with_form(FormElicitationCapability::default()));
        ClientConfig::new(capabilities, implementation)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.sampled(params, context.ct).await
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        tokio::select! {
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
            answer = self.elicited(params) => answer,
        }
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(sink) = self.heard.calls.output(&progress.progress_token) else { return };
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
