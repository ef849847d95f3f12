//! `web_search`: addresses of the web for some words, from the search provider that the user has chosen.
//!
//! Invariant: the key goes to the provider's address and nowhere else: no redirect is followed, and it is not
//! sent unencrypted to another machine.

mod provider;

use std::{fmt::Write as _, sync::OnceLock, time::Duration};

use attache_kernel::rights::tool_name::BuiltinTool;
use reqwest::{Client, Url};
use serde_json::{Value, json};

use self::provider::Found;
pub use self::provider::{SearchKey, SearchProvider, SearchSetup, SearchSetupError};
use super::{
    Foresight, ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::Arguments,
};
use crate::model::http::{self, HttpError, Tls};

/// Why there is no `web_search` without settings.
pub const NO_PROVIDER: &str = "no search provider is configured; set `tools.web_search_provider`";
/// The results of a call.
const MOST_RESULTS: usize = 10;
/// The bytes of an answer that are read.
const MOST_BYTES: usize = 2 << 20;
/// How long a search may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The letters of an excerpt.
const LONGEST_EXCERPT: usize = 400;

/// Searches the web.
#[derive(Debug)]
pub struct WebSearch {
    spec: ToolSpec,
    setup: SearchSetup,
    client: OnceLock<Client>,
}

/// What is searched for.
struct Query {
    words: String,
    allowed: Vec<String>,
    blocked: Vec<String>,
}

impl WebSearch {
    /// Searches with that provider.
    pub fn new(setup: SearchSetup) -> Self {
        let domains = json!({"type": "array", "items": {"type": "string"}});
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "allowed_domains": domains,
                "blocked_domains": domains,
            },
            "required": ["query"],
        });
        let spec = ToolSpec::reading(
            BuiltinTool::WebSearch,
            include_str!("web_search/description.md"),
            parameters,
        );
        Self { spec, setup, client: OnceLock::new() }
    }

    async fn search(&self, arguments: Value) -> Result<ToolOutput, ToolOutput> {
        let query = Query::read(arguments)?;
        let answered = tokio::time::timeout(PATIENCE, self.ask(&query.words)).await;
        let found = answered.map_err(|_| {
            let seconds = PATIENCE.as_secs();
            ToolOutput::error(format!("the search did not answer within {seconds} s"))
        })??;
        let meant = found.into_iter().filter(|result| query.means(&result.url));
        Ok(ToolOutput::text(shown(&meant.take(MOST_RESULTS).collect::<Vec<_>>())))
    }

    async fn ask(&self, words: &str) -> Result<Vec<Found>, ToolOutput> {
        let failed = |why: String| ToolOutput::error(format!("the search failed: {why}"));
        let client = self.client().map_err(|error| failed(error.to_string()))?;
        let request = self.setup.request(client, words);
        // The address is left out: it may hold a key.
        let sent = request.send().await;
        let mut response = sent.map_err(|error| failed(error.without_url().to_string()))?;
        let status = response.status();
        if !status.is_success() {
            return Err(failed(self.setup.refusal(status)));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| failed(error.without_url().to_string()))?
        {
            if bytes.len() + chunk.len() > MOST_BYTES {
                return Err(failed("the answer is longer than 2 MB".to_owned()));
            }
            bytes.extend_from_slice(&chunk);
        }
        let answer: Value = serde_json::from_slice(&bytes)
            .map_err(|_| failed("the answer is not JSON; check the address".to_owned()))?;
        self.setup.provider.results(&answer).ok_or_else(|| {
            failed("the answer has no list of results; check the provider".to_owned())
        })
    }

    fn client(&self) -> Result<&Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let builder = http::builder(&self.setup.proxies, Tls::PlatformRoots)?;
        let client = builder.build().map_err(HttpError::Client)?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl Query {
    fn read(arguments: Value) -> Result<Self, ToolOutput> {
        let mut arguments = Arguments::new(arguments)?;
        let words = arguments.required_text("query")?;
        let allowed = domains("allowed_domains", arguments.value("allowed_domains"))?;
        let blocked = domains("blocked_domains", arguments.value("blocked_domains"))?;
        arguments.finish()?;
        Ok(Self { words, allowed, blocked })
    }

    /// Whether an address lies in a domain that is wanted.
    fn means(&self, address: &str) -> bool {
        let url = Url::parse(address).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let is_in = |domain: &String| {
            host == domain || host.strip_suffix(domain).is_some_and(|above| above.ends_with('.'))
        };
        (self.allowed.is_empty() || self.allowed.iter().any(is_in))
            && !self.blocked.iter().any(is_in)
    }
}

fn domains(name: &str, given: Option<Value>) -> Result<Vec<String>, ToolOutput> {
    let problem = || ToolOutput::error(format!("parameter `{name}` must be a list of host names"));
    let list = match given {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(Value::String(one)) => vec![Value::String(one)],
        Some(_) => return Err(problem()),
    };
    let tidy = |domain: &str| domain.trim().trim_matches('.').to_ascii_lowercase();
    list.iter().map(|domain| domain.as_str().map(tidy).ok_or_else(problem)).collect()
}

fn shown(found: &[Found]) -> String {
    if found.is_empty() {
        return "no results".to_owned();
    }
    let mut text = String::new();
    for (index, Found { title, url, excerpt }) in found.iter().enumerate() {
        let excerpt: String = excerpt.chars().take(LONGEST_EXCERPT).collect();
        // Writing to a string cannot fail.
        write!(text, "{}. {title}\n   {url}\n", index + 1).unwrap_or_default();
        if !excerpt.is_empty() {
            writeln!(text, "   {excerpt}").unwrap_or_default();
        }
    }
    text.trim_end().to_owned()
}

impl Tool for WebSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        _: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        let words = arguments.get("query")?.as_str()?.to_owned();
        let foresight = Foresight { preview: Some(words), ..Foresight::default() };
        Some(Box::pin(std::future::ready(foresight)))
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => ToolOutput::error("cancelled"),
                found = self.search(arguments) => found.unwrap_or_else(|error| error),
            }
        })
    }
}
