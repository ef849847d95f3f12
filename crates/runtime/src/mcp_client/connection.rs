//! A live connection to a server: the handshake, its tools, its calls.
//!
//! Invariant: dropping it closes the connection and ends the server's process with everything that one
//! started. A call is sent once; if the connection ends meanwhile, its outcome is unknown.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientLifecycleMode, ClientServiceExt as _, ErrorData, Peer, RoleClient, ServiceError,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotification,
        CancelledNotificationParam, ClientRequest, ErrorCode, InputRequest, InputRequests,
        InputResponses, PaginatedRequestParams, ProtocolVersion, RequestId, ServerResult,
    },
    service::{ClientInitializeError, PeerRequestOptions, RunningService},
    transport::async_rw::AsyncRwTransport,
};
use secrecy::ExposeSecret as _;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    McpSetup,
    asking::{CallUnderWay, Listed},
    bounded_reader::{BoundedReader, LONGEST_MESSAGE},
    clean_text::clean_line,
    entry::{EntryError, ServerEntry, Transport},
    error_output::ErrorOutput,
    handler::Handler,
    remote::{Access, Remote, TooLong, remote},
    server_tool::ServerTool,
    start_error::StartError,
    transport_words::plain_words,
};
use crate::process::{Service, ServiceLaunch, ServiceLife};

/// The most pages of tools that are read, and the most tools.
const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 2000;
/// How often a server may ask for input during one call.
const MOST_ROUNDS: usize = 10;
/// How long a server has to end by itself when its input is closed.
const TO_END: Duration = Duration::from_millis(500);
/// How long what a server wrote last is waited for when it has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// The longest message of a server in an error.
const LONGEST_PROBLEM: usize = 400;

type Client = RunningService<RoleClient, Handler>;

/// A live connection.
#[derive(Debug)]
pub(super) struct Connection {
    client: Client,
    tools: Mutex<Arc<[ServerTool]>>,
    way: Way,
    limit: Duration,
    /// Since when there is the connection.
    pub(super) since: Instant,
}

/// How the server is reached.
#[derive(Debug)]
enum Way {
    Process(ServerProcess),
    Network(Network),
}

/// The process of a server.
#[derive(Debug)]
struct ServerProcess {
    life: ServiceLife,
    errors: ErrorOutput,
    was_too_long: Arc<AtomicBool>,
}

/// A server on the network.
#[derive(Debug)]
struct Network {
    name: String,
    access: Arc<Access>,
    was_too_long: Arc<AtomicBool>,
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The server says so.
    #[error("{0}")]
    Refused(String),
    /// The connection ended.
    #[error("{0}")]
    Lost(String),
    /// The answer is not one.
    #[error("{0}")]
    NotAnAnswer(&'static str),
}

/// Why one way to begin did not work.
enum Refused {
    /// Another way may.
    Lifecycle(StartError),
    Otherwise(StartError),
}

impl Connection {
    /// Connects, and asks for the tools.
    pub(super) async fn open(
        name: &str,
        entry: &ServerEntry,
        setup: &McpSetup,
    ) -> Result<Self, StartError> {
        let transport = entry.transport.as_ref().map_err(Clone::clone)?;
        let limit = entry.startup_timeout;
        let handler = || Handler::new(name, &setup.working_directory);
        let begin = |lifecycle| begin(name, transport, setup, limit, (handler(), lifecycle));
        // Servers that know no handshake are new; those that know nothing else are most.
        let handshake = ClientLifecycleMode::Initialize;
        let refusal = match begin(handshake).await {
            Ok(connection) => return Ok(connection),
            Err(Refused::Otherwise(error)) => return Err(error),
            Err(Refused::Lifecycle(error)) => error,
        };
        let preferred_versions = vec![ProtocolVersion::LATEST];
        let discovery = ClientLifecycleMode::Discover { preferred_versions };
        begin(discovery).await.map_err(|_| refusal)
    }

    /// Whether it has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed() || self.client.is_transport_closed()
    }

    /// The server's tools; they are asked for again after the server has said that they changed.
    pub(super) async fn tools(&self) -> Arc<[ServerTool]> {
        if self.client.service().tools_have_changed()
            && let Ok(Ok(tools)) = timeout(self.limit, list(&self.client)).await
        {
            *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools.into();
        }
        self.known_tools()
    }

    /// The server's tools, as far as they are known.
    pub(super) fn known_tools(&self) -> Arc<[ServerTool]> {
        Arc::clone(&self.tools.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls a tool. Dropping the future tells the server to give it up.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        call: CallUnderWay,
    ) -> Result<CallToolResult, CallError> {
        let handler = self.client.service();
        let listed = handler.begin(call);
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..MOST_ROUNDS {
            let (requests, state) = match self.round(params.clone(), &listed).await? {
                ServerResult::CallToolResult(result) => return Ok(result),
                ServerResult::InputRequiredResult(required) => {
                    (required.input_requests.unwrap_or_default(), required.request_state)
                }
                ServerResult::CreateTaskResult(_) => {
                    return Err(CallError::NotAnAnswer(
                        "the server answers with a task, which was not asked for",
                    ));
                }
                _ => {
                    let why = "the server's answer is not the result of a tool";
                    return Err(CallError::NotAnAnswer(why));
                }
            };
            params.input_responses = Some(input(handler, requests).await?);
            params.request_state = state;
        }
        Err(CallError::NotAnAnswer("the server asks for input again and again"))
    }

    /// Sends a call, and waits for its answer.
    async fn round(
        &self,
        params: CallToolRequestParams,
        listed: &Listed,
    ) -> Result<ServerResult, CallError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let peer = self.client.peer();
        let sent = peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| self.call_error(&error))?;
        listed.has_token(handle.progress_token.clone());
        let mut unfinished = Unfinished { peer: peer.clone(), id: Some(handle.id.clone()) };
        let answer = handle.await_response().await;
        unfinished.id = None;
        answer.map_err(|error| self.call_error(&error))
    }

    fn call_error(&self, error: &ServiceError) -> CallError {
        match (error, &self.way) {
            (ServiceError::McpError(error), _) => {
                CallError::Refused(clean_line(&error.message, LONGEST_PROBLEM))
            }
            (_, Way::Process(process)) => CallError::Lost(why_lost(process)),
            (error, Way::Network(network)) => network.call_error(error),
        }
    }

    /// Closes the connection and gives the server a moment to end by itself.
    pub(super) async fn close(&self) {
        self.client.cancellation_token().cancel();
        if let Way::Process(process) = &self.way {
            // Whatever is left then is killed.
            timeout(TO_END, process.life.ended()).await.unwrap_or_default();
        }
    }
}

impl Network {
    fn call_error(&self, error: &ServiceError) -> CallError {
        let lost = |why: String| CallError::Lost(clean_line(&why, LONGEST_PROBLEM));
        match (self.access.problem(), error) {
            (Some(problem), _) => CallError::Refused(problem.told(&self.name)),
            (None, ServiceError::TransportSend(error)) => lost(plain_words(error)),
            (None, ServiceError::TransportClosed)
                if self.was_too_long.swap(false, Ordering::Relaxed) =>
            {
                lost(TooLong.to_string())
            }
            (None, ServiceError::TransportClosed) => {
                lost("the server ended its answer before the result".to_owned())
            }
            (None, error) => lost(error.to_string()),
        }
    }
}

fn why_lost(process: &ServerProcess) -> String {
    if process.was_too_long.load(Ordering::Relaxed) {
        return TooLong.to_string();
    }
    let last = process.errors.last();
    if last.is_empty() {
        return "the server ended".to_owned();
    }
    format!("the server ended; it wrote: {}", clean_line(&last, LONGEST_PROBLEM))
}

/// Answers what a server of the newest version asks for in its result.
async fn input(handler: &Handler, requests: InputRequests) -> Result<InputResponses, CallError> {
    let mut answers = InputResponses::new();
    for (name, request) in requests {
        let refused =
            |error: ErrorData| CallError::Refused(clean_line(&error.message, LONGEST_PROBLEM));
        let answer = match request {
            InputRequest::Elicitation(request) => {
                let answer = handler.elicited(request.params).await.map_err(refused)?;
                serde_json::to_value(answer)
            }
            InputRequest::CreateMessage(request) => {
                let cancel = CancellationToken::new();
                let answer = handler.sampled(request.params, cancel).await.map_err(refused)?;
                serde_json::to_value(answer)
            }
            InputRequest::ListRoots(_) => serde_json::to_value(handler.roots()),
            _ => {
                return Err(CallError::NotAnAnswer(
                    "the server asks for what nobody can give here",
                ));
            }
        };
        answers.insert(name, answer.unwrap_or_default());
    }
    Ok(answers)
}

/// A call that has no answer yet: dropped, it is given up.
struct Unfinished {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let reason = Some("the call was given up".to_owned());
        let given_up =
            CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        // It ends when the message is sent, or with the connection.
        drop(runtime.spawn(async move {
            peer.send_notification(given_up.into()).await.unwrap_or_default();
        }));
    }
}

async fn begin(
    name: &str,
    transport: &Transport,
    setup: &McpSetup,
    limit: Duration,
    (handler, lifecycle): (Handler, ClientLifecycleMode),
) -> Result<Connection, Refused> {
    match transport {
        Transport::Process { .. } => {
            begin_process(transport, setup, limit, (handler, lifecycle)).await
        }
        Transport::Http { .. } => {
            let Remote { transport, access, was_too_long } =
                remote(transport, setup).map_err(Refused::Otherwise)?;
            let began = timeout(limit, shake_hands(handler, transport, lifecycle)).await;
            let silent = || StartError::Silent { limit, errors: String::new() };
            let began = began.map_err(|_| Refused::Otherwise(silent()))?;
            let (client, tools) = began.map_err(|failure| match access.problem() {
                Some(problem) => Refused::Otherwise(StartError::no_access(name, &problem)),
                None if was_too_long.load(Ordering::Relaxed) => {
                    let (problem, errors) = (TooLong.to_string(), String::new());
                    Refused::Otherwise(StartError::Handshake { problem, errors })
                }
                None => failure.refused(String::new()),
            })?;
            let network = Network { name: name.to_owned(), access, was_too_long };
            Ok(connected(client, tools, Way::Network(network), limit))
        }
    }
}

fn connected(client: Client, tools: Vec<ServerTool>, way: Way, limit: Duration) -> Connection {
    let tools = Mutex::new(tools.into());
    Connection { client, tools, way, limit, since: Instant::now() }
}

async fn begin_process(
    transport: &Transport,
    setup: &McpSetup,
    limit: Duration,
    (handler, lifecycle): (Handler, ClientLifecycleMode),
) -> Result<Connection, Refused> {
    let otherwise = Refused::Otherwise;
    let launch = launch(transport, setup).map_err(|error| otherwise(error.into()))?;
    let commands = Arc::clone(&setup.commands);
    let started = tokio::task::spawn_blocking(move || commands.serve(launch)).await;
    let Service { input, output, errors, life } = started
        .map_err(|error| otherwise(StartError::Launch(error.to_string())))?
        .map_err(|error| otherwise(error.into()))?;
    let mut errors = ErrorOutput::read(errors);
    let was_too_long = Arc::new(AtomicBool::new(false));
    let output = BoundedReader::new(output, Arc::clone(&was_too_long));
    let stream = AsyncRwTransport::new_client(output, input)
        .with_max_line_length(LONGEST_MESSAGE.saturating_mul(2));
    match timeout(limit, shake_hands(handler, stream, lifecycle)).await {
        Ok(Ok((client, tools))) => {
            let process = ServerProcess { life, errors, was_too_long };
            Ok(connected(client, tools, Way::Process(process), limit))
        }
        Ok(Err(failure)) => {
            errors.finish(LAST_WORDS).await;
            Err(failure.refused(errors.last()))
        }
        Err(_) => Err(otherwise(StartError::Silent { limit, errors: errors.last() })),
    }
}

/// The process of an entry, with its variables filled in.
fn launch(transport: &Transport, setup: &McpSetup) -> Result<ServiceLaunch, EntryError> {
    let Transport::Process { command, args, env, cwd } = transport else {
        return Err(EntryError::NoTransport);
    };
    let fill_in = |text: &str| setup.variables.fill_in(text);
    let arguments = args.iter().map(|argument| fill_in(argument)).collect::<Result<_, _>>()?;
    let variables =
        env.iter().map(|(name, value)| Ok((name.clone(), fill_in(value.expose_secret())?)));
    let directory = match cwd {
        Some(directory) => setup.working_directory.join(fill_in(&directory.to_string_lossy())?),
        None => setup.working_directory.clone(),
    };
    Ok(ServiceLaunch {
        program: fill_in(command)?,
        arguments,
        directory,
        variables: variables.collect::<Result<_, EntryError>>()?,
    })
}

/// Why the handshake failed.
enum Handshake {
    Initialize(Box<ClientInitializeError>),
    Tools(ServiceError),
}

impl Handshake {
    fn refused(self, errors: String) -> Refused {
        let problem = match &self {
            Self::Initialize(error) => match &**error {
                ClientInitializeError::ConnectionClosed(_) => {
                    "it ended before it answered".to_owned()
                }
                ClientInitializeError::JsonRpcError(error) => {
                    format!("it refused to begin: {}", error.message)
                }
                error if error.is_authorization_required() => WANTS_AUTHORIZATION.to_owned(),
                ClientInitializeError::TransportError { error, .. } => plain_words(error),
                error => format!("it does not answer as an MCP server does: {error}"),
            },
            Self::Tools(ServiceError::TransportSend(error)) => {
                format!("its tools cannot be listed: {}", plain_words(error))
            }
            Self::Tools(error) => format!("its tools cannot be listed: {error}"),
        };
        let problem = clean_line(&problem, LONGEST_PROBLEM);
        let error = StartError::Handshake { problem, errors };
        let is_new = matches!(&self, Self::Initialize(error) if matches!(&**error,
            ClientInitializeError::JsonRpcError(error) if [
                ErrorCode::METHOD_NOT_FOUND,
                ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            ].contains(&error.code)));
        if is_new { Refused::Lifecycle(error) } else { Refused::Otherwise(error) }
    }
}

/// What to do about a server that lets in only those it knows.
const WANTS_AUTHORIZATION: &str = "it refuses the token of its entry (401): check the variable of `bearer_token_env_var` or the \
`http_headers`; without them, `attache mcp login` is used";

async fn shake_hands<T, E, A>(
    handler: Handler,
    transport: T,
    lifecycle: ClientLifecycleMode,
) -> Result<(Client, Vec<ServerTool>), Handshake>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let begun = handler.serve_with_lifecycle(transport, lifecycle).await;
    let client = begun.map_err(|error| Handshake::Initialize(Box::new(error)))?;
    let tools = list(&client).await.map_err(Handshake::Tools)?;
    Ok((client, tools))
}

/// The tools of a server. One that has none may not know the question.
async fn list(client: &Client) -> Result<Vec<ServerTool>, ServiceError> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = match client.list_tools(Some(params)).await {
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                break;
            }
            page => page?,
        };
        tools.extend(page.tools.into_iter().map(ServerTool::from));
        cursor = page.next_cursor;
        if cursor.is_none() || tools.len() >= MOST_TOOLS {
            break;
        }
    }
    tools.truncate(MOST_TOOLS);
    Ok(tools)
}
