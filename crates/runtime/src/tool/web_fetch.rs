//! `web_fetch`: a page of the web as text.
//!
//! Invariant: no connection is made to an address of this machine or of a private network unless the user
//! has allowed its host. Names are resolved here, and the connection goes to the address that was checked.
//! A redirect to another host is told and not followed: who may be asked is judged again for every host.

mod address;
mod page;
mod site;

use std::time::Duration;

use attache_kernel::rights::tool_name::BuiltinTool;
use reqwest::{Response, StatusCode, Url, header};
use serde_json::{Value, json};

use self::{
    page::{Body, Page},
    site::{Site, SiteError},
};
use super::{
    Foresight, ForesightFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec,
    arguments::Arguments, off_thread::off_thread,
};
use crate::{model::http::Proxies, tool::artifacts::Bound};

/// The redirects that are followed.
const MOST_REDIRECTS: usize = 10;
/// The bytes of a page that are read.
const MOST_BYTES: usize = 5 << 20;
/// How long a page may take, redirects included.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the web is reached.
#[derive(Debug, Clone, Default)]
pub struct WebAccess {
    /// The proxies.
    pub proxies: Proxies,
    /// Hosts of this machine or of a private network that may be asked.
    pub private_hosts: Vec<String>,
}

/// Fetches pages.
#[derive(Debug)]
pub struct WebFetch {
    spec: ToolSpec,
    site: Site,
}

impl WebFetch {
    /// Fetches pages that way.
    pub fn new(access: WebAccess) -> Self {
        let spec = ToolSpec::reading(
            BuiltinTool::WebFetch,
            include_str!("web_fetch.md"),
            json!({
                "type": "object",
                "properties": {"url": {"type": "string"}},
                "required": ["url"],
            }),
        );
        Self { spec, site: Site::new(access) }
    }

    async fn fetch(
        &self,
        arguments: Value,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolOutput> {
        let first = address_in(arguments)?;
        let fetched = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(ToolOutput::error("cancelled")),
            fetched = tokio::time::timeout(PATIENCE, self.follow(first)) => fetched,
        };
        let page = fetched.map_err(|_| {
            let seconds = PATIENCE.as_secs();
            ToolOutput::error(format!("the page did not arrive within {seconds} s"))
        })??;
        let artifacts = context.artifacts.clone();
        let output = off_thread(&context.cancel, move |_| {
            let is_error = !page.status.is_success();
            let output = Bound::DEFAULT.apply(page.text(), "web_fetch", &artifacts);
            Ok(ToolOutput { is_error, ..output })
        });
        Ok(output.await)
    }

    /// Fetches an address, and what it redirects to on the same host.
    async fn follow(&self, first: Url) -> Result<Page, ToolOutput> {
        let mut url = first;
        for _ in 0..=MOST_REDIRECTS {
            let response = self.site.get(&url).await.map_err(|error| failed(&url, &error))?;
            let Some(next) = redirect(&url, &response)? else {
                return read(url, response).await;
            };
            if next.host_str() != url.host_str() {
                return Err(ToolOutput::error(format!(
                    "{url} redirects to another host: {next}\nCall web_fetch with that address if it is what you need."
                )));
            }
            if url.scheme() == "https" && next.scheme() == "http" {
                return Err(ToolOutput::error(format!(
                    "{url} redirects to an address without encryption: {next}"
                )));
            }
            url = next;
        }
        Err(ToolOutput::error(format!(
            "more than {MOST_REDIRECTS} redirects; the last led to {url}"
        )))
    }
}

fn address_in(arguments: Value) -> Result<Url, ToolOutput> {
    let mut arguments = Arguments::new(arguments)?;
    let written = arguments.required_text("url")?;
    // Other hosts let a second model answer a question about the page.
    arguments.disregard("prompt");
    arguments.finish()?;
    let problem = |why: &str| ToolOutput::error(format!("`{written}` is not an address: {why}"));
    let url = Url::parse(written.trim()).map_err(|error| problem(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(problem("it must begin with https:// or http://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(problem("a name and password are not sent"));
    }
    Ok(url)
}

/// Where a response sends us.
fn redirect(url: &Url, response: &Response) -> Result<Option<Url>, ToolOutput> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location else { return Ok(None) };
    let next = url.join(location).ok().filter(|next| matches!(next.scheme(), "http" | "https"));
    next.map(Some)
        .ok_or_else(|| ToolOutput::error(format!("{url} redirects to what is not a web address")))
}

async fn read(url: Url, mut response: Response) -> Result<Page, ToolOutput> {
    let status = response.status();
    let content_type = response.headers().get(header::CONTENT_TYPE);
    let content_type =
        content_type.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let mut bytes = Vec::new();
    let mut is_whole = true;
    while let Some(chunk) =
        response.chunk().await.map_err(|error| failed(&url, &SiteError::from(error)))?
    {
        let room = MOST_BYTES.saturating_sub(bytes.len());
        bytes.extend(chunk.iter().take(room));
        if chunk.len() > room {
            is_whole = false;
            break;
        }
    }
    Ok(Page { url, status, content_type, body: Body { bytes, is_whole } })
}

fn failed(url: &Url, error: &SiteError) -> ToolOutput {
    ToolOutput::error(format!("cannot fetch {url}: {error}"))
}

impl Default for WebFetch {
    fn default() -> Self {
        Self::new(WebAccess::default())
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn foresee<'a>(
        &'a self,
        arguments: &'a Value,
        _: &'a ToolContext,
    ) -> Option<ForesightFuture<'a>> {
        let url = arguments.get("url")?.as_str()?.to_owned();
        Some(Box::pin(std::future::ready(Foresight { preview: Some(url), ..Foresight::default() })))
    }

    fn call<'a>(&'a self, arguments: Value, context: &'a ToolContext) -> ToolFuture<'a> {
        Box::pin(async move { self.fetch(arguments, context).await.unwrap_or_else(|error| error) })
    }
}
