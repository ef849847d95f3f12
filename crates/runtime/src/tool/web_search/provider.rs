//! Search providers: where each is asked, how it gets its key, and where its results stand.

use reqwest::{Client, RequestBuilder, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::model::http::Proxies;

/// Who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// An instance of SearXNG, which needs an address and no key.
    Searxng,
}

impl SearchProvider {
    /// The words of the setting.
    pub const WORDS: &'static [&'static str] = &["brave", "tavily", "searxng"];

    /// The provider that a word of the setting means.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "brave" => Some(Self::Brave),
            "tavily" => Some(Self::Tavily),
            "searxng" => Some(Self::Searxng),
            _ => None,
        }
    }

    /// The variable that usually has the key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::Searxng => None,
        }
    }

    fn address(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com/res/v1/web/search"),
            Self::Tavily => Some("https://api.tavily.com/search"),
            Self::Searxng => None,
        }
    }

    /// The results of an answer.
    pub(super) fn results(self, answer: &Value) -> Option<Vec<Found>> {
        let (list, excerpt) = match self {
            // Without results there is no list of them.
            Self::Brave => match answer.get("web") {
                None => return answer.get("query").map(|_| Vec::new()),
                Some(web) => (web.get("results")?, "description"),
            },
            Self::Tavily | Self::Searxng => (answer.get("results")?, "content"),
        };
        let text = |result: &Value, name: &str| {
            plain(result.get(name).and_then(Value::as_str).unwrap_or_default())
        };
        let found = list.as_array()?.iter().map(|result| Found {
            title: text(result, "title"),
            url: text(result, "url"),
            excerpt: text(result, excerpt),
        });
        Some(found.filter(|found| !found.url.is_empty()).collect())
    }
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) excerpt: String,
}

/// A key, and the variable it comes from.
#[derive(Debug, Clone)]
pub struct SearchKey {
    /// The key.
    pub secret: SecretString,
    /// The variable.
    pub from: String,
}

/// How a search is made.
#[derive(Debug)]
pub struct SearchSetup {
    pub(super) provider: SearchProvider,
    address: Url,
    key: Option<SearchKey>,
    pub(super) proxies: Proxies,
}

/// Why no search can be made with these settings; it says what to set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchSetupError {
    /// The provider has no address of its own.
    #[error("`tools.web_search_provider` is searxng, which needs `tools.web_search_base_url`")]
    NoAddress,
    /// The address is not a web address.
    #[error("`tools.web_search_base_url` is not an address that begins with https:// or http://")]
    NotAnAddress,
    /// The key would be sent unencrypted.
    #[error("`tools.web_search_base_url` is not encrypted, and the key is not sent that way")]
    InTheClear,
    /// There is no key.
    #[error("the search provider needs a key: set `{0}`")]
    NoKey(String),
}

impl SearchSetup {
    /// A search with that provider, at its own address or another one. The variable names where a missing key
    /// is expected.
    pub fn new(
        provider: SearchProvider,
        base_url: Option<&str>,
        key: Option<SearchKey>,
        variable: &str,
    ) -> Result<Self, SearchSetupError> {
        let written = base_url.or(provider.address()).ok_or(SearchSetupError::NoAddress)?;
        let mut address = Url::parse(written.trim()).map_err(|_| SearchSetupError::NotAnAddress)?;
        if !matches!(address.scheme(), "http" | "https") {
            return Err(SearchSetupError::NotAnAddress);
        }
        if provider.key_variable().is_some() && key.is_none() {
            return Err(SearchSetupError::NoKey(variable.to_owned()));
        }
        if key.is_some() && address.scheme() == "http" && !is_this_machine(&address) {
            return Err(SearchSetupError::InTheClear);
        }
        if provider == SearchProvider::Searxng && !address.path().ends_with("/search") {
            let path = format!("{}/search", address.path().trim_end_matches('/'));
            address.set_path(&path);
        }
        Ok(Self { provider, address, key, proxies: Proxies::default() })
    }

    /// The same through these proxies.
    #[must_use]
    pub fn through(self, proxies: Proxies) -> Self {
        Self { proxies, ..self }
    }

    pub(super) fn request(&self, client: &Client, words: &str) -> RequestBuilder {
        let mut address = self.address.clone();
        let key = self.key.as_ref().map(|key| key.secret.expose_secret().trim());
        match self.provider {
            SearchProvider::Brave => {
                address.query_pairs_mut().append_pair("q", words).append_pair("count", "20");
                let request = client.get(address).header("accept", "application/json");
                match key {
                    Some(key) => request.header("x-subscription-token", key),
                    None => request,
                }
            }
            SearchProvider::Tavily => {
                let body = json!({"query": words, "max_results": 20}).to_string();
                let request =
                    client.post(address).header("content-type", "application/json").body(body);
                match key {
                    Some(key) => request.bearer_auth(key),
                    None => request,
                }
            }
            SearchProvider::Searxng => {
                address.query_pairs_mut().append_pair("q", words).append_pair("format", "json");
                let request = client.get(address).header("accept", "application/json");
                match key {
                    Some(key) => request.bearer_auth(key),
                    None => request,
                }
            }
        }
    }

    /// What a refusal means.
    pub(super) fn refusal(&self, status: StatusCode) -> String {
        let key = self.key.as_ref().map(|key| key.from.as_str());
        match (status, key) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(variable)) => {
                format!("the provider refused the key in `{variable}` ({status})")
            }
            (StatusCode::FORBIDDEN, None) => {
                format!("{status}; the instance may not allow the JSON format")
            }
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                format!("{status}; wait before you search again")
            }
            _ => status.to_string(),
        }
    }
}

fn is_this_machine(address: &Url) -> bool {
    matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// A text without tags, on one line.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        shown.push_str(before);
        let is_tag = tag.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
        match tag.split_once('>') {
            Some((_, after)) if is_tag => rest = after,
            _ => {
                shown.push('<');
                rest = tag;
            }
        }
    }
    shown.push_str(rest);
    let shown = shown
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#39;", "'")
        .replace("&amp;", "&");
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}
