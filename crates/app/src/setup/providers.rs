//! Providers: where models are reached from here, and with which keys of the environment.
//!
//! Those built in, changed and joined by those of the settings.

use std::collections::BTreeMap;

use attache_runtime::internal::model::{
    http::Proxies,
    provider::{ApiKey, InTheClear, ProviderDescription, builtin},
};
use secrecy::SecretString;

use crate::{environment::Environment, settings::ProviderSettings};

/// All providers that talk over the network: the built-in ones, then those of the settings.
pub(super) fn described(
    settings: &BTreeMap<String, ProviderSettings>,
    environment: &Environment,
) -> Vec<ProviderDescription> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let mut providers = builtin::described(&variable);
    for (id, written) in settings.iter().filter(|(id, _)| *id != "offline") {
        if let Some(known) = providers.iter_mut().find(|known| known.id == *id) {
            change(known, written, environment);
        } else {
            let mut own = ProviderDescription { id: id.clone(), ..Default::default() };
            change(&mut own, written, environment);
            providers.push(own);
        }
    }
    providers
}

/// Lays what the settings say over a provider.
fn change(known: &mut ProviderDescription, written: &ProviderSettings, environment: &Environment) {
    known.is_from_settings = true;
    known.name = written.name.clone().or(known.name.take());
    known.wire_api = written.wire_api.unwrap_or(known.wire_api);
    known.base_url = written.base_url.clone().or(known.base_url.take());
    if let Some(variable) = &written.env_key {
        known.env_key_is_not_a_name = !is_variable(variable);
        let usable = is_variable(variable).then(|| variable.clone());
        known.key = usable.as_ref().and_then(|variable| {
            let secret = SecretString::from(set(environment, variable)?);
            Some(ApiKey { secret, from: variable.clone() })
        });
        known.key_variables = usable.into_iter().collect();
    }
    (known.headers, known.missing_header) = headers(written, environment);
    let query = written.query_params.iter();
    known.query =
        query.map(|(name, value)| (name.clone(), SecretString::from(value.expose()))).collect();
    known.in_the_clear = match written.allow_http {
        Some(true) => InTheClear::Allowed,
        Some(false) | None => InTheClear::Refused,
    };
    known.max_retries = written.request_max_retries;
    known.max_stream_retries = written.stream_max_retries;
    known.stall_ms = written.stream_idle_timeout_ms;
}

/// The proxies of the environment; the lower-case spelling is the older one and wins.
pub(crate) fn proxies(environment: &Environment) -> Proxies {
    let either =
        |lower: &str, upper: &str| set(environment, lower).or_else(|| set(environment, upper));
    Proxies {
        http: either("http_proxy", "HTTP_PROXY").map(str::to_owned),
        https: either("https_proxy", "HTTPS_PROXY").map(str::to_owned),
        all: either("all_proxy", "ALL_PROXY").map(str::to_owned),
        none_for: either("no_proxy", "NO_PROXY").map(str::to_owned),
    }
}

/// The headers of the settings, and a variable among them that is not set.
fn headers(
    written: &ProviderSettings,
    environment: &Environment,
) -> (Vec<(String, SecretString)>, Option<String>) {
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
