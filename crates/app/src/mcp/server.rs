//! The server as one client sees it: its tools, and what becomes of a call.
//!
//! Invariant: a call that nobody waits for any more is dropped, and with it the run it waits for.

use std::sync::Arc;

use attache_kernel::rights::tool_name::BuiltinTool;
use attache_runtime::{clock, delegation::Desk, tasks::Client};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
        ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    Session, Shared, agent_tools, answer,
    progress::{self, Told},
    tools,
};

/// What a host tells its model about the server.
const INSTRUCTIONS: &str = "Runs subagents: specialists that work in a context of their own and answer with \
one result. subagent_list shows them, Task starts one. Start work that may take minutes with \
run_in_background, and fetch its result with TaskOutput.";

/// The methods whose parameters are read.
const KNOWN_METHODS: [&str; 7] = [
    "initialize",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
];

/// The server of one client.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
    session: Arc<Session>,
    gone: CancellationToken,
}

impl Server {
    pub(super) fn new(shared: Arc<Shared>, session: Session) -> Self {
        Self { shared, session: Arc::new(session), gone: CancellationToken::new() }
    }

    /// Cancelled when the client has gone.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// The client as the front door knows it.
    fn client(&self) -> Client {
        let today = clock::now().to_zoned(jiff::tz::TimeZone::system()).date().to_string();
        Client {
            today: Some(today),
            launcher: Some(Arc::clone(&self.shared.launcher) as _),
            ..Client::new(self.session.id.clone(), self.session.reach)
        }
    }

    fn desk(&self) -> Desk {
        self.shared.runtime.desk(self.client())
    }

    /// Calls a tool, and tells the client of the run that the call starts.
    async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let (started, runs) = mpsc::unbounded_channel();
        let client = Client { started: Some(started), ..self.client() };
        let desk = self.shared.runtime.desk(client);
        let told = Told { peer: context.peer.clone(), token: context.meta.get_progress_token() };
        tokio::select! {
            biased;
            () = context.ct.cancelled() => Some(answer::failure("the request was cancelled")),
            () = self.gone.cancelled() => Some(answer::failure("the client has gone")),
            output = desk.call(name, arguments) => output.map(answer::result),
            () = progress::tell(&told, runs) => None,
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("attache", env!("CARGO_PKG_VERSION")).with_title("Attaché"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = &request.method;
        // A request of a known method is one only if its parameters fit.
        Err(if KNOWN_METHODS.contains(&method.as_str()) {
            ErrorData::invalid_params(format!("the parameters of {method} do not fit"), None)
        } else {
            let message = format!("there is no method {method}");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
        })
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools: Vec<_> = self.desk().specs().iter().map(tools::tool).collect();
        if self.shared.options.tool_per_agent {
            tools.extend(agent_tools::tools(&self.shared.runtime.inventory()));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut called = (request.name.to_string(), arguments);
        if self.shared.options.tool_per_agent {
            let (name, arguments) = &called;
            let agents = self.shared.runtime.inventory();
            if let Some(task) = agent_tools::as_task(name, arguments.clone(), &agents) {
                called = (BuiltinTool::Task.as_str().to_owned(), task);
            }
        }
        let (name, arguments) = called;
        match self.call(&name, arguments, &context).await {
            Some(result) => Ok(result.into()),
            None => Err(ErrorData::invalid_params(
                format!("there is no tool `{}`; tools/list names them", request.name),
                None,
            )),
        }
    }
}
