//! Providers: where models are reached from here, and with which keys.
//!
//! Those built in, changed and joined by those of the settings. A key is looked for in the environment
//! and then among those that were stored; it is never taken from anywhere else.

use attache_kernel::model::choice::Reached;
use attache_runtime::{
    credentials::{KeyLookup, Origin},
    model::{
        http::Proxies,
        provider::{ApiKey, InTheClear, ProviderDescription},
        wire::WireApi,
    },
};
use secrecy::SecretString;

use super::Setup;
use crate::{
    environment::Environment,
    settings::{self, ProviderSettings},
};

/// A provider that needs no settings.
#[derive(Debug)]
struct BuiltinProvider {
    id: &'static str,
    name: &'static str,
    base_url: &'static str,
    /// Another address, as other programs of this provider know it.
    base_url_variable: &'static str,
    wire_api: WireApi,
    key_variables: &'static [&'static str],
}

const BUILTIN_PROVIDERS: [BuiltinProvider; 4] = [
    BuiltinProvider {
        id: "anthropic",
        name: "Anthropic",
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        wire_api: WireApi::Anthropic,
        key_variables: &["ANTHROPIC_API_KEY"],
    },
    BuiltinProvider {
        id: "openai",
        name: "OpenAI",
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        wire_api: WireApi::Responses,
        key_variables: &["OPENAI_API_KEY"],
    },
    BuiltinProvider {
        id: "gemini",
        name: "Google Gemini",
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        wire_api: WireApi::Gemini,
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
    BuiltinProvider {
        id: "ollama",
        name: "Ollama",
        base_url: "http://localhost:11434/v1",
        base_url_variable: "OLLAMA_HOST",
        wire_api: WireApi::Chat,
        key_variables: &[],
    },
];

/// A provider as it is in force.
#[derive(Debug, Clone)]
pub(crate) struct ProviderInForce {
    pub(crate) id: String,
    /// Its name for people.
    pub(crate) name: Option<String>,
    pub(crate) wire_api: WireApi,
    /// Where it is reached; none if the settings do not say.
    pub(crate) base_url: Option<String>,
    /// The variables its key may be in, the first first.
    pub(crate) key_variables: Vec<String>,
    pub(crate) key: Option<ApiKey>,
    /// Whether something else than a variable's name stands in `env_key`; most likely the key.
    pub(crate) env_key_is_no_name: bool,
    /// A variable the settings take a header from, and which is not set.
    pub(crate) missing_header: Option<String>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_stream_retries: Option<u32>,
    pub(crate) stall_ms: Option<u32>,
    headers: Vec<(String, SecretString)>,
    query: Vec<(String, SecretString)>,
    in_the_clear: InTheClear,
}

/// The ids of the providers that need no settings, `offline` among them.
pub(crate) fn builtin_provider_ids() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().map(|provider| provider.id).chain(["offline"])
}

/// The variables that hold the keys of the providers the program knows by itself.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().flat_map(|provider| provider.key_variables.iter().copied())
}

impl Setup {
    /// All providers that talk over the network: the built-in ones, then those of the settings.
    pub(crate) fn providers_in_force(&self) -> Vec<ProviderInForce> {
        let builtin = BUILTIN_PROVIDERS.iter().map(|provider| provider.id);
        let others = self.settings.model_providers.keys().map(String::as_str);
        let others = others.filter(|id| builtin_provider_ids().all(|known| known != *id));
        builtin.chain(others).filter_map(|id| self.provider_in_force(id)).collect()
    }

    /// The key that was stored for a provider, if it was stored for this address.
    fn stored_key(&self, id: &str, base_url: &str) -> Option<ApiKey> {
        let origin = Origin::of(base_url).ok()?;
        match self.stored_keys.as_ref().ok()?.key(id, &origin) {
            KeyLookup::Found(key) => {
                Some(ApiKey { secret: key.clone(), from: "attache login".to_owned() })
            }
            KeyLookup::OtherOrigin { .. } | KeyLookup::None => None,
        }
    }

    /// Why a key that was stored is of no use now, if there is such a key: for that provider, or for any.
    pub(crate) fn useless_key(&self, provider: Option<&str>) -> Option<String> {
        let keys = match &self.stored_keys {
            Ok(keys) => keys,
            Err(error) => return Some(format!("{error}; {}", error.hint())),
        };
        keys.iter().filter(|(id, _)| provider.is_none_or(|wanted| wanted == *id)).find_map(
            |(id, stored)| {
                let known = self.provider_in_force(id)?;
                known.key.is_none().then(|| {
                    let now = known.shown_address().unwrap_or_default();
                    format!("the key of `{id}` was stored for {}, not for {now}", stored.origin)
                })
            },
        )
    }

    /// Whether a built-in provider is reached at its maker's address.
    pub(crate) fn reached(&self, id: &str) -> Reached {
        let builtin = BUILTIN_PROVIDERS.iter().find(|provider| provider.id == id);
        let own = builtin.map(|provider| provider.base_url);
        let used = self.provider_in_force(id).and_then(|provider| provider.base_url);
        if used.as_deref() == own { Reached::AtHome } else { Reached::Elsewhere }
    }

    /// The provider of that id, if there is one.
    pub(crate) fn provider_in_force(&self, id: &str) -> Option<ProviderInForce> {
        self.provider_at(id, None)
    }

    /// The provider of that id, at another address if one is given.
    pub(crate) fn provider_at(&self, id: &str, endpoint: Option<&str>) -> Option<ProviderInForce> {
        let builtin = BUILTIN_PROVIDERS.iter().find(|provider| provider.id == id);
        let written = self.settings.model_providers.get(id);
        if builtin.is_none() && written.is_none() {
            return None;
        }
        let environment = &self.environment;
        let moved = builtin.and_then(|provider| {
            let address = set(environment, provider.base_url_variable)?;
            Some(if provider.id == "ollama" { ollama_address(address) } else { address.to_owned() })
        });
        let env_key = written.and_then(|provider| provider.env_key.clone());
        let env_key_is_no_name = env_key.as_deref().is_some_and(|name| !is_variable(name));
        let key_variables: Vec<String> = match env_key {
            Some(_) if env_key_is_no_name => Vec::new(),
            Some(variable) => vec![variable],
            None => builtin
                .iter()
                .flat_map(|provider| provider.key_variables)
                .map(|name| (*name).to_owned())
                .collect(),
        };
        let base_url = endpoint
            .map(str::to_owned)
            .or_else(|| written.and_then(|provider| provider.base_url.clone()))
            .or(moved)
            .or_else(|| builtin.map(|provider| provider.base_url.to_owned()));
        let (headers, missing_header) = headers(written, environment);
        Some(ProviderInForce {
            id: id.to_owned(),
            name: written
                .and_then(|provider| provider.name.clone())
                .or_else(|| builtin.map(|provider| provider.name.to_owned())),
            wire_api: written
                .and_then(|provider| provider.wire_api)
                .map(wire_api)
                .or_else(|| builtin.map(|provider| provider.wire_api))
                .unwrap_or(WireApi::Responses),
            key: key_variables
                .iter()
                .find_map(|variable| {
                    let key = set(environment, variable)?;
                    Some(ApiKey { secret: SecretString::from(key), from: variable.clone() })
                })
                .or_else(|| self.stored_key(id, base_url.as_deref()?)),
            base_url,
            env_key_is_no_name,
            key_variables,
            missing_header,
            max_retries: written.and_then(|provider| provider.request_max_retries),
            max_stream_retries: written.and_then(|provider| provider.stream_max_retries),
            stall_ms: written.and_then(|provider| provider.stream_idle_timeout_ms),
            headers,
            query: written
                .iter()
                .flat_map(|provider| &provider.query_params)
                .map(|(name, value)| (name.clone(), SecretString::from(value.expose())))
                .collect(),
            in_the_clear: match written.and_then(|provider| provider.allow_http) {
                Some(true) => InTheClear::Allowed,
                Some(false) | None => InTheClear::Refused,
            },
        })
    }
}

/// The proxies of the environment; the lower-case spelling is the older one and wins.
pub(super) fn proxies(environment: &Environment) -> Proxies {
    let either =
        |lower: &str, upper: &str| set(environment, lower).or_else(|| set(environment, upper));
    Proxies {
        http: either("http_proxy", "HTTP_PROXY").map(str::to_owned),
        https: either("https_proxy", "HTTPS_PROXY").map(str::to_owned),
        all: either("all_proxy", "ALL_PROXY").map(str::to_owned),
        none_for: either("no_proxy", "NO_PROXY").map(str::to_owned),
    }
}

impl ProviderInForce {
    /// The variable a key is missing from; none if there is one, or none is needed.
    pub(crate) fn missing_key(&self) -> Option<&str> {
        if self.key.is_some() {
            return None;
        }
        self.key_variables.first().map(String::as_str)
    }

    /// Where it is reached, without parameters: they may be secret.
    pub(crate) fn shown_address(&self) -> Option<String> {
        let address = self.base_url.as_deref()?;
        let address = address.split(['?', '#']).next().unwrap_or(address);
        // A name and a password do not belong there, and are refused later.
        Some(match (address.split_once("://"), address.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => address.to_owned(),
        })
    }

    /// What it takes to call it.
    pub(crate) fn described(&self) -> Option<ProviderDescription> {
        Some(ProviderDescription {
            id: self.id.clone(),
            wire_api: self.wire_api,
            base_url: self.base_url.clone()?,
            key: self.key.clone(),
            headers: self.headers.clone(),
            query: self.query.clone(),
            in_the_clear: self.in_the_clear,
        })
    }
}

fn wire_api(word: settings::WireApi) -> WireApi {
    match word {
        settings::WireApi::Responses => WireApi::Responses,
        settings::WireApi::Chat => WireApi::Chat,
        settings::WireApi::Anthropic => WireApi::Anthropic,
        settings::WireApi::Gemini => WireApi::Gemini,
    }
}

/// The headers of the settings, and a variable among them that is not set.
fn headers(
    written: Option<&ProviderSettings>,
    environment: &Environment,
) -> (Vec<(String, SecretString)>, Option<String>) {
    let Some(written) = written else { return (Vec::new(), None) };
    let mut headers: Vec<_> = written
        .http_headers
        .iter()
        .map(|(name, value)| (name.clone(), SecretString::from(value.expose())))
        .collect();
    let mut missing = None;
    for (name, variable) in &written.env_http_headers {
        match set(environment, variable) {
            Some(value) => headers.push((name.clone(), SecretString::from(value))),
            None => missing = missing.or_else(|| Some(variable.clone())),
        }
    }
    (headers, missing)
}

/// Whether a word can be the name of a variable.
fn is_variable(word: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !word.is_empty()
        && word.chars().all(fits)
        && !word.starts_with(|first: char| first.is_ascii_digit())
}

/// A variable that is set to something.
fn set<'a>(environment: &'a Environment, variable: &str) -> Option<&'a str> {
    environment.get(variable).map(str::trim).filter(|value| !value.is_empty())
}

/// `OLLAMA_HOST` is a host, a host with a port, or an address.
fn ollama_address(host: &str) -> String {
    let address = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    let (_, rest) = address.split_once("://").unwrap_or(("", &address));
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| {
        port.trim_end_matches('/').chars().all(|letter| letter.is_ascii_digit())
    });
    // A server that listens everywhere is reached here.
    let address = address.replacen("://0.0.0.0", "://127.0.0.1", 1);
    if has_port || rest.contains('/') { address } else { format!("{address}:11434") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_is_found_however_its_host_is_written() {
        for (host, expected) in [
            ("box", "http://box:11434"),
            ("box:9", "http://box:9"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("https://box/api", "https://box/api"),
            ("http://box:80/", "http://box:80/"),
        ] {
            assert_eq!(ollama_address(host), expected, "{host}");
        }
    }
}
