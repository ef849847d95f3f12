//! A model provider, as Codex users know it.

use std::collections::BTreeMap;

use super::{Secret, WireApi, reader::Reader};
use crate::settings::error::SettingsError;

/// What the settings say of a provider. What they leave open, the built-in provider of that name
/// decides, or for another one the defaults in `docs/settings.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderSettings {
    /// Its name for people.
    pub(crate) name: Option<String>,
    /// Where it is reached, with or without `/v1`.
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds its key.
    pub(crate) env_key: Option<String>,
    /// How it is talked to.
    pub(crate) wire_api: Option<WireApi>,
    /// Headers sent with every request.
    pub(crate) http_headers: BTreeMap<String, Secret>,
    /// Headers whose values are in environment variables.
    pub(crate) env_http_headers: BTreeMap<String, String>,
    /// Parameters added to every address.
    pub(crate) query_params: BTreeMap<String, Secret>,
    /// How often a request is tried again.
    pub(crate) request_max_retries: Option<u32>,
    /// How often a stream that broke is tried again.
    pub(crate) stream_max_retries: Option<u32>,
    /// How long a stream may be silent; `stall_seconds` if `None`.
    pub(crate) stream_idle_timeout_ms: Option<u32>,
    /// Whether its key may be sent unencrypted to another machine.
    pub(crate) allow_http: Option<bool>,
}

impl ProviderSettings {
    pub(super) fn read(provider: &Reader<'_>) -> Result<Self, SettingsError> {
        Ok(Self {
            name: provider.optional("name")?,
            base_url: provider.optional("base_url")?,
            env_key: provider.optional("env_key")?,
            wire_api: provider.optional("wire_api")?,
            http_headers: provider.map("http_headers")?,
            env_http_headers: provider.map("env_http_headers")?,
            query_params: provider.map("query_params")?,
            request_max_retries: provider.optional("request_max_retries")?,
            stream_max_retries: provider.optional("stream_max_retries")?,
            stream_idle_timeout_ms: provider.optional("stream_idle_timeout_ms")?,
            allow_http: provider.optional("allow_http")?,
        })
    }
}
