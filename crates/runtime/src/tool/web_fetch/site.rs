//! A site: the connection to a host, made only to an address that was checked.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
};

use reqwest::{
    Client, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

use super::{WebAccess, address::is_public};
use crate::model::http::{self, HttpError, Tls};

/// Connections to all hosts.
#[derive(Debug)]
pub(super) struct Site {
    access: Arc<WebAccess>,
    client: OnceLock<Client>,
}

/// Why a page was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum SiteError {
    #[error(
        "{0} is not on the public network; the user can allow it with `tools.web_fetch_private_hosts`"
    )]
    Private(String),
    #[error("{0}")]
    Client(#[from] HttpError),
    #[error("{}", causes(.0))]
    Request(#[from] reqwest::Error),
}

impl Site {
    pub(super) fn new(access: WebAccess) -> Self {
        Self { access: Arc::new(access), client: OnceLock::new() }
    }

    /// Asks for a page; a redirect is an answer like any other.
    pub(super) async fn get(&self, url: &Url) -> Result<Response, SiteError> {
        let host = url.host_str().unwrap_or_default();
        if !self.access.allows(host) && is_refused(host) {
            return Err(SiteError::Private(host.to_owned()));
        }
        let request = self.client()?.get(url.clone());
        let request = request.header("accept", "text/html, text/*;q=0.9, */*;q=0.5");
        request.send().await.map_err(|error| match private_host(&error) {
            Some(host) => SiteError::Private(host),
            None => error.into(),
        })
    }

    fn client(&self) -> Result<&Client, SiteError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let resolver = PublicHosts { access: Arc::clone(&self.access) };
        let builder = http::builder(&self.access.proxies, Tls::PlatformRoots)?;
        let client = builder.dns_resolver(Arc::new(resolver)).build()?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl WebAccess {
    fn allows(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.');
        self.private_hosts.iter().any(|allowed| allowed.trim().eq_ignore_ascii_case(host))
    }
}

/// Whether a host can be refused by its name: an address that is not public, or a name of this machine.
/// All others are known once they are resolved.
fn is_refused(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.');
    let name = bare.to_ascii_lowercase();
    match bare.parse::<IpAddr>() {
        Ok(address) => !is_public(address),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// Resolves names, and keeps the public addresses.
struct PublicHosts {
    access: Arc<WebAccess>,
}

/// A name that has no public address.
#[derive(Debug, thiserror::Error)]
#[error("{0} has no public address")]
struct NotPublic(String);

impl Resolve for PublicHosts {
    fn resolve(&self, name: Name) -> Resolving {
        let access = Arc::clone(&self.access);
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let is_allowed = access.allows(&host);
            let (usable, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_allowed || is_public(address.ip()));
            match (usable.is_empty(), others.is_empty()) {
                (true, false) => Err(NotPublic(host).into()),
                (true, true) => Err(io::Error::other("the name has no address").into()),
                // A name that is public and private at once is taken for what its public addresses are.
                (false, _) => Ok(Box::new(usable.into_iter()) as Addrs),
            }
        })
    }
}

/// The host that was refused, if that is why a request failed.
fn private_host(error: &reqwest::Error) -> Option<String> {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(NotPublic(host)) = error.downcast_ref() {
            return Some(host.clone());
        }
        cause = error.source();
    }
    None
}

/// The innermost causes, without the address, which stands before.
fn causes(error: &reqwest::Error) -> String {
    let mut told = Vec::new();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        told.push(error.to_string());
        cause = error.source();
    }
    let last = told.pop().unwrap_or_else(|| error.to_string());
    told.into_iter()
        .find(|cause| !last.contains(cause.as_str()))
        .map_or_else(|| last.clone(), |cause| format!("{cause}: {last}"))
}
