//! Many clients over streamable HTTP, at the path `/mcp`.
//!
//! Invariants: a server that others can reach has a token; a page in a browser reaches none, by whatever name
//! it calls the server. A run whose client hangs up ends. Clients see each other's runs only if they have the
//! same token. When the server ends, those who wait are told which run was stopped.

mod attended;
mod guard;
mod rate;

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use attache_kernel::id::SessionId;
use attache_runtime::internal::tasks::{ClientReach, new_session_id};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE},
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService,
    session::local::{LocalSessionManager, SessionConfig},
};
use sha2::{Digest as _, Sha256};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    attended::Attended,
    guard::{Guard, Refusal},
    rate::Rates,
};
use super::{Session, Shared, server::Server, stdio::told_to_end};
use crate::{
    failure::{Exit, Failure},
    print,
};

/// The path of the server.
const PATH: &str = "/mcp";
/// The maximum number of connections, of sessions, and of bytes in a request.
const MOST_CONNECTIONS: usize = 256;
const MOST_SESSIONS: usize = 256;
const LARGEST_BODY: usize = 4 << 20;
/// How long a session may be silent, and how long a client may take to send the head of a request.
const SILENCE: Duration = Duration::from_hours(1);
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long the end of the server waits for its answers, and then for its connections.
const CLOSING: Duration = Duration::from_secs(2);

/// Where the server listens, and who may use it.
#[derive(Debug)]
pub(super) struct Door {
    pub(super) address: SocketAddr,
    guard: Guard,
}

pub(super) use self::{attended::ClientGone, guard::Token};

impl Door {
    /// A door at that address. One that others can reach needs a token.
    pub(super) fn new(
        address: SocketAddr,
        token: Option<Token>,
        hosts: Vec<String>,
    ) -> Result<Self, Failure> {
        if token.is_none() && !address.ip().is_loopback() {
            return Err(Failure::usage(format!("others can reach {address}: a token is required"))
                .hint("set ATTACHE_MCP_TOKEN or --token-file, or listen on 127.0.0.1"));
        }
        Ok(Self { address, guard: Guard::new(token, hosts) })
    }
}

type Service = StreamableHttpService<Server, LocalSessionManager>;

/// What every connection works with.
struct Serving {
    service: Service,
    sessions: Arc<LocalSessionManager>,
    guard: Guard,
    rates: Rates,
    /// The requests that an answer is owed to.
    calls: TaskTracker,
}

/// Serves until a signal ends it.
pub(super) async fn serve(door: Door, shared: Arc<Shared>) -> Result<Exit, Failure> {
    let Door { address, guard } = door;
    let cannot = |error: std::io::Error| {
        Failure::unsuccessful(format!("cannot listen on {address}"))
            .because(&error)
            .hint("give another address, for example 127.0.0.1:0 for a free port")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    print::aside(&format!("listening on http://{address}{PATH}"));
    let stopping = CancellationToken::new();
    let mut sessions = LocalSessionManager::default();
    let mut config = SessionConfig::default();
    config.keep_alive = Some(SILENCE);
    sessions.session_config = config;
    let sessions = Arc::new(sessions);
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_cancellation_token(stopping.clone())
        .with_max_request_body_bytes(LARGEST_BODY);
    let of_token = guard.token().map(session_of);
    let ending = CancellationToken::new();
    let gone = ending.clone();
    let server = move || {
        let id = of_token.clone().unwrap_or_else(new_session_id);
        let session = Session { id, reach: ClientReach::Session };
        Ok(Server::over_http(Arc::clone(&shared), session, gone.clone(), of_token.is_some()))
    };
    let service = StreamableHttpService::new(server, Arc::clone(&sessions), config);
    let (rates, calls) = (Rates::default(), TaskTracker::new());
    let serving = Arc::new(Serving { service, sessions, guard, rates, calls: calls.clone() });
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let accepting = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let connection = connection(stream, peer, Arc::clone(&serving), place);
                    let stopped = stopping.clone();
                    connections.spawn(async move {
                        tokio::select! {
                            () = connection => {}
                            () = ended(stopped) => {}
                        }
                    });
                }
                // The client has gone already, or there are no descriptors: others may end.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = told_to_end() => {}
    }
    drop(listener);
    ending.cancel();
    calls.close();
    drop(tokio::time::timeout(CLOSING, calls.wait()).await);
    stopping.cancel();
    connections.close();
    drop(tokio::time::timeout(CLOSING, connections.wait()).await);
    Ok(Exit::Success)
}

/// Waits until the server is stopped and its answers had the time to go out.
async fn ended(stopping: CancellationToken) {
    stopping.cancelled().await;
    tokio::time::sleep(CLOSING).await;
}

/// The session of everybody who has that token: the same one tomorrow.
fn session_of(token: &Token) -> SessionId {
    let digest = Sha256::new().chain_update(b"attache mcp session\0").chain_update(token.digest());
    let bytes: [u8; 32] = digest.finalize().into();
    let (name, _) = bytes.split_at(16);
    let number = name.iter().fold(0_u128, |number, byte| (number << 8) | u128::from(*byte));
    SessionId::new(format!("mcp-{number:032x}"))
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    serving: Arc<Serving>,
    place: OwnedSemaphorePermit,
) {
    let _place = place;
    let service = service_fn(move |request| {
        let serving = Arc::clone(&serving);
        async move { Ok::<_, Infallible>(answer(request, peer, &serving).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    // A connection that breaks has nobody to be told.
    drop(http.serve_connection(TokioIo::new(stream), service).await);
}

async fn answer(
    mut request: Request<Incoming>,
    peer: SocketAddr,
    serving: &Serving,
) -> Response<Attended> {
    // First, so that tokens cannot be tried out quickly.
    let refusal = if !serving.rates.admit(peer.ip()) {
        Some(Refusal::TooOften)
    } else if request.uri().path() != PATH {
        Some(Refusal::NoSuchPath)
    } else if let Err(refusal) = serving.guard.check(request.headers()) {
        Some(refusal)
    } else {
        is_full(&request, serving).await.then_some(Refusal::TooManySessions)
    };
    if let Some(refusal) = refusal {
        return refused(refusal).map(Attended::whole);
    }
    let gone = ClientGone::default();
    request.extensions_mut().insert(gone.clone());
    // Other requests are for news, which come for ever.
    let awaited = (request.method() == Method::POST).then(|| serving.calls.token());
    serving.service.handle(request).await.map(|body| Attended::new(body, gone, awaited))
}

/// Whether a request would begin a session too many.
async fn is_full(request: &Request<Incoming>, serving: &Serving) -> bool {
    !request.headers().contains_key("mcp-session-id")
        && serving.sessions.sessions.read().await.len() >= MOST_SESSIONS
}

fn refused(refusal: Refusal) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from(refusal.to_string())).boxed());
    *response.status_mut() = match refusal {
        Refusal::NoSuchPath => StatusCode::NOT_FOUND,
        Refusal::Host | Refusal::Origin => StatusCode::FORBIDDEN,
        Refusal::Token => StatusCode::UNAUTHORIZED,
        Refusal::TooOften => StatusCode::TOO_MANY_REQUESTS,
        Refusal::TooManySessions => StatusCode::SERVICE_UNAVAILABLE,
    };
    let (name, value) = match refusal {
        Refusal::Token => (WWW_AUTHENTICATE, "Bearer"),
        Refusal::TooOften | Refusal::TooManySessions => (RETRY_AFTER, "1"),
        _ => return response,
    };
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}
