//! The server as one client sees it: its tools, prompts, resources and tasks.

#![expect(deprecated, reason = "hosts of today send roots and read logs")]

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};

use attache_kernel::{agent::registry::Inventory, rights::tool_name::BuiltinTool};
use attache_runtime::internal::{delegation::Desk, tasks::Client};
use rmcp::{
    ErrorData, Peer, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult,
        ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult,
        Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, LoggingLevel, PaginatedRequestParams, ProtocolVersion,
        ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Session, Shared, agent_tools,
    calling::Called,
    changes, prompts, resources,
    roots::Roots,
    subscriptions::{self, NotSubscribed, Subscriptions},
    tasks, tools,
};
use crate::environment;

/// What a host tells its model about the server.
const INSTRUCTIONS: &str = "Runs subagents: specialists that work in a context of their own and answer with \
one result. subagent_list shows them, Task starts one. Start work that may take minutes with \
run_in_background, and fetch its result with TaskOutput.";

/// The methods whose parameters are read.
const KNOWN_METHODS: [&str; 13] = [
    "initialize",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// The server of one client.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(super) shared: Arc<Shared>,
    pub(super) session: Arc<Session>,
    gone: CancellationToken,
    versions: Versions,
    /// Where the client works; none if that is another machine.
    roots: Option<Arc<Roots>>,
    /// What the client wants to read of the log.
    pub(super) level: Arc<Mutex<LoggingLevel>>,
    /// The resources the client wants to be told of.
    subscriptions: Arc<Subscriptions>,
}

/// Which versions of the protocol are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Versions {
    /// All.
    All,
    /// Those that have sessions: nothing else tells clients without a token apart.
    WithSessions,
}

impl Server {
    pub(super) fn over_stdio(shared: Arc<Shared>, session: Session) -> Self {
        let server = Self::new(shared, session, CancellationToken::new(), Versions::All);
        Self { roots: Some(Arc::default()), ..server }
    }

    pub(super) fn over_http(
        shared: Arc<Shared>,
        session: Session,
        gone: CancellationToken,
        has_token: bool,
    ) -> Self {
        let versions = if has_token { Versions::All } else { Versions::WithSessions };
        Self::new(shared, session, gone, versions)
    }

    fn new(
        shared: Arc<Shared>,
        session: Session,
        gone: CancellationToken,
        versions: Versions,
    ) -> Self {
        let level = Arc::new(Mutex::new(LoggingLevel::Info));
        let (session, subscriptions) = (Arc::new(session), Arc::default());
        Self { shared, session, gone, versions, roots: None, level, subscriptions }
    }

    /// Cancelled when the client has gone.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    fn agents(&self) -> Inventory {
        self.shared.runtime.inventory()
    }

    /// The client as the front door knows it.
    pub(super) async fn client(&self) -> Client {
        let today = environment::today();
        let working_directory = match &self.roots {
            Some(roots) => roots.workspace().await,
            None => None,
        };
        // Another process has no host to ask.
        let is_detachable = self.shared.host_model.is_none();
        Client {
            today: Some(today),
            working_directory,
            model: self.shared.options.model.clone(),
            launcher: is_detachable.then(|| Arc::clone(&self.shared.launcher) as _),
            ..Client::new(self.session.id.clone(), self.session.reach)
        }
    }

    async fn desk(&self) -> Desk {
        self.shared.runtime.desk(self.client().await)
    }

    /// Tells the client of changes of its resources from now on.
    async fn subscribed(&self, uri: String, peer: &Peer<RoleServer>) -> Result<(), ErrorData> {
        let (desk, runtime) = (self.desk().await, &self.shared.runtime);
        let added = self.subscriptions.add(uri, &desk, runtime, peer).await;
        added.map_err(|error| match error {
            NotSubscribed::NoSuchRun => ErrorData::resource_not_found(error.to_string(), None),
            NotSubscribed::TooMany => ErrorData::invalid_request(error.to_string(), None),
        })
    }

    /// Tells the client whenever what its tools and prompts say has changed.
    async fn tell_changes(&self, context: NotificationContext<RoleServer>) {
        let mut followed = self.shared.changes.follow();
        let mut told = changes::told(&self.agents());
        while !context.peer.is_transport_closed() {
            tokio::select! {
                () = self.gone.cancelled() => return,
                changed = followed.changed() => if changed.is_err() { return },
            }
            let now = changes::told(&self.agents());
            if now == told {
                continue;
            }
            told = now;
            let tools = context.peer.notify_tool_list_changed().await;
            if tools.is_err() || context.peer.notify_prompt_list_changed().await.is_err() {
                return;
            }
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tasks()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("attache", env!("CARGO_PKG_VERSION")).with_title("Attaché"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(match self.versions {
            Versions::All => ProtocolVersion::KNOWN_VERSIONS,
            Versions::WithSessions => {
                ProtocolVersion::known_up_to(&ProtocolVersion::LATEST_WITH_INITIALIZE)
            }
        })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let info = context.peer.peer_info();
        let capabilities = info.as_ref().map(|info| &info.capabilities);
        if let Some(model) = &self.shared.host_model {
            model.connected(self.session.id.clone(), context.peer.clone(), capabilities);
        }
        let has_roots = capabilities.is_some_and(|capabilities| capabilities.roots.is_some());
        if let Some(roots) = self.roots.as_ref().filter(|_| has_roots) {
            roots.expect();
            roots.ask(&context.peer, &self.shared.working_directory).await;
        }
        self.tell_changes(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        if let Some(roots) = &self.roots {
            roots.expect();
            roots.ask(&context.peer, &self.shared.working_directory).await;
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut followed = self.shared.changes.follow();
        let mut told = changes::told(&self.agents());
        let desk = self.desk().await;
        let resources = subscriptions::tell(&context, &desk, &self.shared.runtime);
        tokio::pin!(resources);
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.gone.cancelled() => return Ok(()),
                () = &mut resources => return Ok(()),
                changed = followed.changed() => if changed.is_err() { return Ok(()) },
            }
            let now = changes::told(&self.agents());
            if now != told {
                told = now;
                // What the client did not ask for is not sent.
                drop(context.sink().notify_tool_list_changed().await);
                drop(context.sink().notify_prompt_list_changed().await);
            }
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed(request.uri, &context.peer).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let store = self.shared.runtime.store();
        let (session, calls) = (&self.session.id, &self.shared.calls);
        tasks::get(&request.task_id, session, calls, &self.desk().await, &**store).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let call = self.shared.calls.find(&request.task_id, &self.session.id);
        // A task of an earlier server has no questions.
        if let Some(call) = call {
            call.answer(&request.input_responses);
        }
        Ok(())
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(&request.task_id, &self.desk().await).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
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
        let mut tools: Vec<_> = self.desk().await.specs().iter().map(tools::tool).collect();
        if self.shared.options.tool_per_agent {
            tools.extend(agent_tools::tools(&self.agents()));
        }
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(state) = &request.request_state {
            let answers = request.input_responses.unwrap_or_default();
            let response = self.continued(state, &answers, &context).await;
            return response.ok_or_else(|| {
                let message = "there is no call with this requestState: it has ended, or was made by somebody else";
                ErrorData::invalid_params(message, None)
            });
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let mut called = (request.name.to_string(), arguments);
        if self.shared.options.tool_per_agent {
            let (name, arguments) = &called;
            let agents = self.agents();
            if let Some(task) = agent_tools::as_task(name, arguments.clone(), &agents) {
                called = (BuiltinTool::Task.as_str().to_owned(), task);
            }
        }
        let (tool, arguments) = called;
        let response = self.called(Called { tool, arguments }, &context).await;
        response.ok_or_else(|| {
            let message = format!("there is no tool `{}`; tools/list names them", request.name);
            ErrorData::invalid_params(message, None)
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list(&self.agents())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        match prompts::get(&request.name, &arguments, &self.agents()) {
            Some(prompt) => Ok(prompt.into()),
            None => Err(ErrorData::invalid_params(
                format!("there is no prompt `{}`; prompts/list names them", request.name),
                None,
            )),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = resources::list(&self.session, &**self.shared.runtime.store()).await;
        Ok(ListResourcesResult::with_all_items(listed))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let store = self.shared.runtime.store();
        Ok(resources::read(&request.uri, &self.desk().await, &**store).await?.into())
    }
}
