//! A provider: where a model is reached, how it is talked to, and with which key.
//!
//! A key is held so that it cannot be shown, and is never sent in the clear to another machine unless
//! that was allowed.

pub(crate) mod builtin;

use std::fmt;

use reqwest::{
    Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret as _, SecretString};

use super::{http::is_loopback, wire::WireApi};

/// A provider, ready to be called.
#[derive(Clone)]
pub struct Provider {
    id: String,
    wire_api: WireApi,
    base_url: Url,
    key_from: Option<String>,
    headers: HeaderMap,
    secrets: Vec<SecretString>,
}

/// A provider as it is described: what it takes to call it, and what is missing.
#[derive(Debug, Clone, Default)]
pub struct ProviderDescription {
    /// Its id.
    pub id: String,
    /// Its name for people.
    pub name: Option<String>,
    /// Whether the user's settings describe it.
    pub is_from_settings: bool,
    /// How it is talked to.
    pub wire_api: WireApi,
    /// Where it is reached, with or without the version; none if nobody said.
    pub base_url: Option<String>,
    /// Where its maker serves it; none for a provider of the user's own.
    pub maker_url: Option<&'static str>,
    /// Its key.
    pub key: Option<ApiKey>,
    /// The variables its key may be in, in the order they are tried.
    pub key_variables: Vec<String>,
    /// Whether `env_key` holds something that cannot be a variable's name; most likely the key itself.
    pub env_key_is_not_a_name: bool,
    /// A variable that a header is to be taken from and that is not set.
    pub missing_header: Option<String>,
    /// Headers of every request.
    pub headers: Vec<(String, SecretString)>,
    /// Parameters of every address.
    pub query: Vec<(String, SecretString)>,
    /// Whether a key may be sent in the clear to another machine.
    pub in_the_clear: InTheClear,
    /// Retries of a failed request; none uses the default.
    pub max_retries: Option<u32>,
    /// Retries after a truncated stream; none uses those of a request.
    pub max_stream_retries: Option<u32>,
    /// The stall timeout in milliseconds; none uses the default.
    pub stall_ms: Option<u32>,
}

/// A key, and where it comes from.
#[derive(Debug, Clone)]
pub struct ApiKey {
    /// The key.
    pub secret: SecretString,
    /// Where it comes from, in words.
    pub from: String,
}

/// Whether a key may be sent in the clear to another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InTheClear {
    /// It may not.
    #[default]
    Refused,
    /// The user allowed it.
    Allowed,
}

/// Why a provider cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// Nobody said where it is reached.
    #[error("the provider `{provider}` has no address")]
    NoAddress {
        /// The provider.
        provider: String,
    },
    /// The address is not one.
    #[error("`{address}` is not an address of a provider: {problem}")]
    Address {
        /// What was given.
        address: String,
        /// What is wrong.
        problem: String,
    },
    /// The key would be readable on its way.
    #[error("the key of `{provider}` would be sent unencrypted to {host}")]
    KeyInTheClear {
        /// The provider.
        provider: String,
        /// Where to.
        host: String,
    },
    /// A header cannot be sent.
    #[error("the header `{name}` of `{provider}` cannot be sent: {problem}")]
    Header {
        /// The provider.
        provider: String,
        /// The header.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
}

impl ProviderDescription {
    /// The variable a key is missing from; none if there is a key, or none is needed.
    pub fn missing_key(&self) -> Option<&str> {
        match self.key {
            Some(_) => None,
            None => self.key_variables.first().map(String::as_str),
        }
    }

    /// Whether it is reached at its maker's address.
    pub fn is_at_home(&self) -> bool {
        self.base_url.as_deref() == self.maker_url
    }

    /// Where it is reached, without parameters: they may be secret.
    pub fn shown_address(&self) -> Option<String> {
        let address = self.base_url.as_deref()?;
        let address = address.split(['?', '#']).next().unwrap_or(address);
        // A name and a password do not belong there, and are refused later.
        Some(match (address.split_once("://"), address.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => address.to_owned(),
        })
    }
}

impl Provider {
    /// The provider that was described.
    pub fn new(description: ProviderDescription) -> Result<Self, ProviderError> {
        let ProviderDescription {
            id, wire_api, base_url, key, headers, query, in_the_clear, ..
        } = description;
        let Some(base_url) = base_url else {
            return Err(ProviderError::NoAddress { provider: id });
        };
        let mut address = parse(&base_url)?;
        let carries_secrets = key.is_some() || !headers.is_empty() || !query.is_empty();
        if address.scheme() != "https"
            && carries_secrets
            && !is_loopback(&address)
            && in_the_clear == InTheClear::Refused
        {
            let host = address.host_str().unwrap_or_default().to_owned();
            return Err(ProviderError::KeyInTheClear { provider: id, host });
        }
        let mut secrets = Vec::new();
        for (name, value) in query {
            address.query_pairs_mut().append_pair(&name, value.expose_secret());
            secrets.push(value);
        }
        let mut own = HeaderMap::new();
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in wire_api.fixed_headers() {
            own.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let problem = |name: &str, problem: &'static str| ProviderError::Header {
            provider: id.clone(),
            name: name.to_owned(),
            problem,
        };
        let key_from = key.as_ref().map(|key| key.from.clone());
        if let Some(ApiKey { secret, .. }) = key {
            let text = secret.expose_secret().trim();
            let (name, spelled) = match wire_api {
                WireApi::Chat | WireApi::Responses => (AUTHORIZATION, format!("Bearer {text}")),
                WireApi::Anthropic => (HeaderName::from_static("x-api-key"), text.to_owned()),
                WireApi::Gemini => (HeaderName::from_static("x-goog-api-key"), text.to_owned()),
            };
            own.insert(name, sensitive(&spelled).ok_or_else(|| problem("key", NOT_SENDABLE))?);
            secrets.push(secret);
        }
        for (name, value) in headers {
            let header = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| problem(&name, "that is not the name of a header"))?;
            let text = sensitive(value.expose_secret().trim());
            own.insert(header, text.ok_or_else(|| problem(&name, NOT_SENDABLE))?);
            secrets.push(value);
        }
        Ok(Self { id, wire_api, base_url: address, key_from, headers: own, secrets })
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it is talked to.
    pub fn wire_api(&self) -> WireApi {
        self.wire_api
    }

    /// Where its key comes from, in words.
    pub(super) fn key_from(&self) -> Option<&str> {
        self.key_from.as_deref()
    }

    /// The headers of every request.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Where it is reached, without what must not be shown.
    pub(super) fn shown_address(&self) -> String {
        self.base_url.origin().ascii_serialization()
    }

    /// Whether it is reached on this machine.
    pub(super) fn is_on_this_machine(&self) -> bool {
        is_loopback(&self.base_url)
    }

    /// Every secret it sends.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        self.secrets.iter().map(|secret| secret.expose_secret().trim().to_owned())
    }

    /// The address a request for this model goes to.
    pub(super) fn address(&self, model: &str) -> Url {
        let mut address = self.base_url.clone();
        let given = address.path().trim_end_matches('/').to_owned();
        let (version, rest) = self.wire_api.path(model);
        let path = match self.wire_api {
            _ if given.ends_with(&rest) && !rest.contains(':') => given,
            _ if given.split('/').any(is_version) => format!("{given}{rest}"),
            WireApi::Chat | WireApi::Responses if !given.is_empty() => format!("{given}{rest}"),
            _ => format!("{given}/{version}{rest}"),
        };
        address.set_path(&path);
        if self.wire_api == WireApi::Gemini {
            address.query_pairs_mut().append_pair("alt", "sse");
        }
        address
    }
}

const NOT_SENDABLE: &str = "its value has characters that cannot be sent";

/// `v1`, `v1beta`, `v4`, …
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| {
        rest.starts_with(|digit: char| digit.is_ascii_digit())
            && rest.chars().all(|letter| letter.is_ascii_alphanumeric())
    })
}

fn parse(base_url: &str) -> Result<Url, ProviderError> {
    let problem = |problem: &str| ProviderError::Address {
        address: base_url.to_owned(),
        problem: problem.to_owned(),
    };
    let url = Url::parse(base_url.trim()).map_err(|error| problem(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => {}
        _ => return Err(problem("it must begin with https:// or http://")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        let shown = url.host_str().unwrap_or_default().to_owned();
        let problem = "a name or password does not belong there; use http_headers".to_owned();
        return Err(ProviderError::Address { address: shown, problem });
    }
    Ok(url)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Shows no key.
impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Provider")
            .field("id", &self.id)
            .field("wire_api", &self.wire_api)
            .field("address", &self.shown_address())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(wire_api: WireApi, base_url: &str) -> ProviderDescription {
        ProviderDescription {
            id: "lab".to_owned(),
            wire_api,
            base_url: Some(base_url.to_owned()),
            ..ProviderDescription::default()
        }
    }

    #[test]
    fn an_address_may_have_its_version_or_not() {
        for (wire_api, base_url, expected) in [
            (WireApi::Chat, "http://h:1", "http://h:1/v1/chat/completions"),
            (WireApi::Chat, "http://h:1/v1", "http://h:1/v1/chat/completions"),
            (WireApi::Chat, "http://h:1/v1/", "http://h:1/v1/chat/completions"),
            (WireApi::Chat, "https://h/api/paas/v4", "https://h/api/paas/v4/chat/completions"),
            (WireApi::Chat, "https://h/v1beta/openai", "https://h/v1beta/openai/chat/completions"),
            (WireApi::Chat, "https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            (WireApi::Responses, "https://h", "https://h/v1/responses"),
            (WireApi::Responses, "https://h/openai", "https://h/openai/responses"),
            (WireApi::Anthropic, "https://h", "https://h/v1/messages"),
            (WireApi::Anthropic, "https://h/v1", "https://h/v1/messages"),
            (WireApi::Anthropic, "https://h/api/anthropic", "https://h/api/anthropic/v1/messages"),
            (
                WireApi::Gemini,
                "https://h",
                "https://h/v1beta/models/m%20x:streamGenerateContent?alt=sse",
            ),
            (
                WireApi::Gemini,
                "https://h/v1beta/",
                "https://h/v1beta/models/m%20x:streamGenerateContent?alt=sse",
            ),
        ] {
            let provider = Provider::new(described(wire_api, base_url)).unwrap();
            assert_eq!(provider.address("m x").as_str(), expected, "{base_url}");
        }
    }

    #[test]
    fn parameters_of_the_address_stay() {
        let query = vec![("api-version".to_owned(), SecretString::from("2026 a"))];
        let described = ProviderDescription {
            query,
            ..described(WireApi::Responses, "https://h/openai?tenant=1")
        };
        let provider = Provider::new(described).unwrap();
        let expected = "https://h/openai/responses?tenant=1&api-version=2026+a";
        assert_eq!(provider.address("m").as_str(), expected);
    }

    #[test]
    fn a_key_is_not_sent_in_the_clear() {
        let key = || Some(ApiKey { secret: SecretString::from("k"), from: "K".to_owned() });
        let with = |base_url: &str, in_the_clear| {
            let description = described(WireApi::Chat, base_url);
            Provider::new(ProviderDescription { key: key(), in_the_clear, ..description })
        };
        for here in ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://h"] {
            assert!(with(here, InTheClear::Refused).is_ok(), "{here}");
        }
        for there in
            ["http://h", "http://10.0.0.1", "http://localhost.evil.com", "http://127.1.evil"]
        {
            let refused = with(there, InTheClear::Refused).unwrap_err();
            assert!(matches!(refused, ProviderError::KeyInTheClear { .. }), "{there}");
            assert!(with(there, InTheClear::Allowed).is_ok(), "{there}");
        }
        assert!(Provider::new(described(WireApi::Chat, "http://h")).is_ok(), "there is no key");
    }

    #[test]
    fn a_bad_address_is_named() {
        for (base_url, part) in [
            ("", "relative URL"),
            ("h:8080", "must begin with"),
            ("ftp://h", "must begin with"),
            ("https://name:word@h", "http_headers"),
        ] {
            let error = Provider::new(described(WireApi::Chat, base_url)).unwrap_err().to_string();
            assert!(error.contains(part), "{base_url}: {error}");
            assert!(!error.contains("word@"), "{error}");
        }
    }

    #[test]
    fn nothing_shows_a_key() {
        let key = ApiKey { secret: SecretString::from("sk-very-secret"), from: "K".to_owned() };
        let headers = vec![("x-more".to_owned(), SecretString::from("more-secret"))];
        let description = described(WireApi::Anthropic, "https://h");
        let description = ProviderDescription { key: Some(key), headers, ..description };
        let shown = format!("{description:?} {:?}", Provider::new(description.clone()).unwrap());
        assert!(!shown.contains("secret\"") && !shown.contains("very-secret"), "{shown}");
        assert!(!shown.contains("more-secret"), "{shown}");
    }
}
