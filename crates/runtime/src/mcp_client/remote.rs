//! A server on the network: its address, its headers, and who may use it.

mod answer;
mod authorized;

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicBool},
};

use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderName, HeaderValue},
};
use rmcp::transport::{
    StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
};
use secrecy::ExposeSecret as _;

use self::authorized::{Authorized, RESERVED};
pub(super) use self::{answer::TooLong, authorized::Access};
use super::{
    McpSetup,
    clean_text::clean_line,
    entry::{EntryError, Transport},
    oauth::Bearer,
    start_error::StartError,
};

/// The transport of a server on the network, and what is known of its access.
pub(super) struct Remote {
    pub(super) transport: StreamableHttpClientTransport<Authorized>,
    pub(super) access: Arc<Access>,
    /// Set when an event of the server is too long.
    pub(super) was_too_long: Arc<AtomicBool>,
}

/// The transport of an entry with an address, with its variables filled in.
pub(super) fn remote(transport: &Transport, setup: &McpSetup) -> Result<Remote, StartError> {
    let Transport::Http { headers, env_headers, bearer_token_env_var, .. } = transport else {
        return Err(EntryError::NoTransport.into());
    };
    let address = address(transport, setup)?;
    let mut sent = HashMap::new();
    let mut add = |name: &str, value: String| {
        let bad = || EntryError::BadHeader(name.to_owned());
        let header = HeaderName::try_from(name).map_err(|_| bad())?;
        if RESERVED.contains(&header.as_str()) {
            return Err(bad());
        }
        let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        sent.insert(header, value);
        Ok::<_, EntryError>(())
    };
    for (name, value) in headers {
        add(name, setup.variables.fill_in(value.expose_secret())?)?;
    }
    for (name, variable) in env_headers {
        add(name, setup.variables.get(variable)?)?;
    }
    let has_own_token = bearer_token_env_var.is_some() || sent.contains_key(&AUTHORIZATION);
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(address.as_str()).custom_headers(sent);
    if let Some(variable) = bearer_token_env_var {
        config = config.auth_header(setup.variables.get(variable)?);
    }
    let client = setup.http.for_address(&address)?;
    let access = Arc::new(match &setup.logins {
        Some(logins) if !has_own_token => {
            Access::Login(Box::new(Bearer::new(address, logins.clone(), setup.http.clone())))
        }
        _ => Access::OwnToken,
    });
    let was_too_long = Arc::new(AtomicBool::new(false));
    let client = Authorized::new(client, Arc::clone(&access), Arc::clone(&was_too_long));
    let transport = StreamableHttpClientTransport::with_client(client, config);
    Ok(Remote { transport, access, was_too_long })
}

/// The address of an entry, with its variables filled in.
pub(super) fn address(transport: &Transport, setup: &McpSetup) -> Result<Url, EntryError> {
    let Transport::Http { url, .. } = transport else {
        return Err(EntryError::NoTransport);
    };
    let url = setup.variables.fill_in(url)?;
    let address = Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    address.ok_or_else(|| EntryError::BadAddress(clean_line(&url, 200)))
}
