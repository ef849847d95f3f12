//! A front that speaks TLS before a scripted server, with an authority of its own.
//!
//! What it is asked over HTTP/1.1 or HTTP/2, whichever was agreed on, it asks the server behind it in
//! plain HTTP/1.1, and hands the answer on as it comes. Dropping it ends its threads.

use std::{
    convert::Infallible,
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::{
    Request, Response, Version,
    body::{Bytes, Incoming},
    header::{CONNECTION, HOST, TRANSFER_ENCODING},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use tokio_rustls::{TlsAcceptor, rustls};

type Answer = Response<BoxBody<Bytes, hyper::Error>>;

/// An authority that signs certificates for servers on this machine.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A front that speaks TLS.
pub struct SecureFront {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a front was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many connections were made, those that failed included.
    pub connections: usize,
    /// The version of each request.
    pub versions: Vec<Version>,
}

impl Authority {
    /// A new authority.
    ///
    /// # Panics
    /// If no key can be made.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names are valid names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key can be made");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("it can sign itself");
        Self { issuer }
    }

    /// Its certificate, as files hold it.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl SecureFront {
    /// A front before that address, with a certificate for `localhost`, that agrees on one of these
    /// protocols.
    ///
    /// # Panics
    /// If it cannot be set up.
    pub fn start(behind: SocketAddr, authority: &Authority, protocols: &[&str]) -> Self {
        let acceptor = acceptor(authority, protocols);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let listener = runtime
            .block_on(TcpListener::bind(("127.0.0.1", 0)))
            .expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let (stop, stopped) = oneshot::channel();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(&listener, &acceptor, behind, &shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, seen, stop: Some(stop), thread: Some(thread) }
    }

    /// Its address as `https://localhost:PORT`.
    pub fn base_url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SecureFront {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_default();
        }
    }
}

fn acceptor(authority: &Authority, protocols: &[&str]) -> TlsAcceptor {
    let names = vec!["localhost".to_owned()];
    let params = CertificateParams::new(names).expect("localhost is a name");
    let key = KeyPair::generate().expect("a key can be made");
    let certificate = params.signed_by(&key, &authority.issuer).expect("the authority can sign it");
    let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions are known")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("the key is the certificate's");
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

async fn accept(
    listener: &TcpListener,
    acceptor: &TlsAcceptor,
    behind: SocketAddr,
    seen: &Arc<Mutex<Seen>>,
) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        seen.lock().unwrap_or_else(PoisonError::into_inner).connections += 1;
        connections.spawn(connected(stream, acceptor.clone(), behind, Arc::clone(seen)));
    }
}

async fn connected(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    behind: SocketAddr,
    seen: Arc<Mutex<Seen>>,
) {
    // A client that does not trust the certificate hangs up.
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        seen.lock().unwrap_or_else(PoisonError::into_inner).versions.push(request.version());
        hand_on(request, behind)
    });
    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    // A client that hangs up is not a failure.
    server.serve_connection(TokioIo::new(stream), service).await.unwrap_or_default();
}

async fn hand_on(request: Request<Incoming>, behind: SocketAddr) -> Result<Answer, Infallible> {
    let answer = ask(request, behind).await.unwrap_or_else(|error| {
        let body = Full::new(Bytes::from(error.to_string())).map_err(|never| match never {});
        let mut answer = Response::new(body.boxed());
        *answer.status_mut() = hyper::StatusCode::BAD_GATEWAY;
        answer
    });
    Ok(answer)
}

async fn ask(
    request: Request<Incoming>,
    behind: SocketAddr,
) -> Result<Answer, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TokioIo::new(TcpStream::connect(behind).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let connection = tokio::spawn(connection);
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let body = Full::new(body.collect().await?.to_bytes());
    head.uri = path.parse()?;
    head.version = Version::HTTP_11;
    head.headers.insert(HOST, behind.to_string().parse()?);
    let (mut head, body) = sender.send_request(Request::from_parts(head, body)).await?.into_parts();
    // These are of the connection behind, not of the one in front.
    for name in [CONNECTION, TRANSFER_ENCODING] {
        head.headers.remove(name);
    }
    head.version = Version::default();
    drop(connection);
    Ok(Response::from_parts(head, body.boxed()))
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl fmt::Debug for SecureFront {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SecureFront")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
