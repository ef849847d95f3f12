//! HTTP: the one pooled client all remote models share, with connections for each thread that drives runs.
//!
//! The system's certificates are read only once a provider needs them: an address without TLS does not.
//! Which proxies there are is an argument; loopback is never reached through one.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, ClientBuilder, NoProxy, Proxy, Url, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};
use rustls_platform_verifier::Verifier;
use tokio::runtime::{self, Handle};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long an unused connection is kept.
const IDLE: Duration = Duration::from_secs(90);

/// The one pooled client. A copy shares its connections.
#[derive(Clone, Default)]
pub struct HttpClient {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    proxies: Proxies,
    plain: Mutex<Vec<Connections>>,
    secure: Mutex<Vec<Connections>>,
}

/// The connections of one of tokio's runtimes: those of another one would wake its thread for every
/// piece of an answer.
struct Connections {
    runtime: Option<runtime::Id>,
    client: Client,
}

/// Through which proxies others are reached, each as it stands in the variable of its name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// `HTTP_PROXY`.
    pub http: Option<String>,
    /// `HTTPS_PROXY`.
    pub https: Option<String>,
    /// `ALL_PROXY`.
    pub all: Option<String>,
    /// `NO_PROXY`.
    pub none_for: Option<String>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// A proxy's address is not valid.
    #[error("the proxy in {variable} is not an address")]
    Proxy {
        /// Where it was written.
        variable: &'static str,
        /// What is wrong with it.
        #[source]
        source: reqwest::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
    /// The client cannot be made.
    #[error("the HTTP client cannot be made")]
    Client(#[source] reqwest::Error),
}

impl HttpClient {
    /// A client with these proxies.
    pub fn new(proxies: Proxies) -> Self {
        Self { inner: Arc::new(Inner { proxies, ..Inner::default() }) }
    }

    /// The connections for an address, of the runtime that asks for them.
    pub(crate) fn for_address(&self, address: &Url) -> Result<Client, HttpError> {
        let Inner { proxies, plain, secure } = &*self.inner;
        let (made, tls) = match address.scheme() {
            "https" => (secure, Tls::PlatformRoots),
            _ => (plain, Tls::NoRoots),
        };
        let runtime = Handle::try_current().ok().map(|handle| handle.id());
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = made.iter().find(|connections| connections.runtime == runtime) {
            return Ok(found.client.clone());
        }
        let client = build(proxies, tls)?;
        made.push(Connections { runtime, client: client.clone() });
        Ok(client)
    }
}

/// Whom to trust with TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Whom the system trusts.
    PlatformRoots,
    /// Nobody: no TLS will be spoken but to a proxy.
    NoRoots,
}

fn build(proxies: &Proxies, tls: Tls) -> Result<Client, HttpError> {
    builder(proxies, tls)?.build().map_err(HttpError::Client)
}

/// A client that follows no redirect, still to be built.
pub(crate) fn builder(proxies: &Proxies, tls: Tls) -> Result<ClientBuilder, HttpError> {
    let mut builder = Client::builder()
        .user_agent(concat!("attache/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        // A key never follows a redirect.
        .redirect(Policy::none())
        .tls_backend_preconfigured(tls_config(tls)?)
        .no_proxy();
    let given = [
        ("HTTP_PROXY", &proxies.http, Proxy::http as fn(String) -> reqwest::Result<Proxy>),
        ("HTTPS_PROXY", &proxies.https, Proxy::https),
        ("ALL_PROXY", &proxies.all, Proxy::all),
    ];
    for (variable, address, proxy) in given {
        let Some(address) = address.as_deref().map(str::trim).filter(|text| !text.is_empty())
        else {
            continue;
        };
        let spelled =
            if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let proxy = proxy(spelled).map_err(|source| HttpError::Proxy { variable, source })?;
        builder = builder.proxy(proxy.no_proxy(exceptions(proxies)));
    }
    Ok(builder)
}

/// Hosts that are reached without a proxy; those of this machine always are.
fn exceptions(proxies: &Proxies) -> Option<NoProxy> {
    let given = proxies.none_for.as_deref().unwrap_or_default();
    NoProxy::from_string(&format!("localhost,127.0.0.0/8,::1,{given}"))
}

fn tls_config(tls: Tls) -> Result<ClientConfig, HttpError> {
    let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let mut config = match tls {
        Tls::PlatformRoots => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
            .with_no_client_auth(),
        Tls::NoRoots => {
            builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(address: &Url) -> bool {
    match address.host_str() {
        None => false,
        Some(host) => {
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare.eq_ignore_ascii_case("localhost")
                || bare.to_ascii_lowercase().ends_with(".localhost")
                || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpClient").field("proxies", &self.inner.proxies).finish()
    }
}

/// Tells which there are; an address may hold a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("all", &self.all.is_some())
            .field("none_for", &self.none_for)
            .finish()
    }
}
