//! The built-in providers: those that need no settings.

use secrecy::SecretString;

use super::{ApiKey, ProviderDescription};
use crate::model::wire::WireApi;

/// A provider that needs no settings.
#[derive(Debug)]
struct BuiltinProvider {
    id: &'static str,
    name: &'static str,
    base_url: &'static str,
    /// The variable that other programs of this provider take another address from.
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

/// The ids of the providers that need no settings, `offline` among them.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().map(|provider| provider.id).chain(["offline"])
}

/// The variables that hold the keys of the built-in providers.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    BUILTIN_PROVIDERS.iter().flat_map(|provider| provider.key_variables.iter().copied())
}

/// The built-in providers that are reached over the network, as the variables of an environment
/// describe them: their keys, and other addresses.
pub fn described(variable: &dyn Fn(&str) -> Option<String>) -> Vec<ProviderDescription> {
    let set = |name: &str| {
        variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let describe = |provider: &BuiltinProvider| {
        let moved = set(provider.base_url_variable).map(|address| match provider.id {
            "ollama" => ollama_address(&address),
            _ => address,
        });
        let key = provider.key_variables.iter().find_map(|name| {
            Some(ApiKey { secret: SecretString::from(set(name)?), from: (*name).to_owned() })
        });
        ProviderDescription {
            id: provider.id.to_owned(),
            name: Some(provider.name.to_owned()),
            wire_api: provider.wire_api,
            base_url: Some(moved.unwrap_or_else(|| provider.base_url.to_owned())),
            maker_url: Some(provider.base_url),
            key,
            key_variables: provider.key_variables.iter().map(|name| (*name).to_owned()).collect(),
            ..ProviderDescription::default()
        }
    };
    BUILTIN_PROVIDERS.iter().map(describe).collect()
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

    #[test]
    fn keys_and_addresses_come_from_the_environment() {
        let variable = |name: &str| match name {
            "GOOGLE_API_KEY" => Some(" g ".to_owned()),
            "OPENAI_BASE_URL" => Some("http://box/v1".to_owned()),
            "ANTHROPIC_API_KEY" => Some("  ".to_owned()),
            _ => None,
        };
        let providers = described(&variable);
        let of = |id: &str| providers.iter().find(|provider| provider.id == id).unwrap();
        assert_eq!(of("gemini").key.as_ref().unwrap().from, "GOOGLE_API_KEY");
        assert_eq!(of("anthropic").missing_key(), Some("ANTHROPIC_API_KEY"));
        assert!(of("anthropic").is_at_home() && !of("openai").is_at_home());
        assert_eq!(of("ollama").missing_key(), None);
    }
}
