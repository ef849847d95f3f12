//! The requests of a login: to which addresses they may go, and how much of an answer is read.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{
    RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use serde_json::Value;

use super::error::LoginError;
use crate::{
    mcp_client::clean_text::clean_line,
    model::{
        credentials::WebOrigin,
        http::{HttpClient, is_loopback},
    },
};

/// The longest answer that is read.
const LONGEST_ANSWER: usize = 256 << 10;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest text of a server in an error.
const LONGEST_PROBLEM: usize = 300;

/// Sends the requests of a login to one server.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    http: HttpClient,
    /// The server itself is on this machine.
    server_is_local: bool,
}

/// An answer with a JSON object.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Value,
}

impl Reach {
    /// For a server at that address; the address is checked as well.
    pub(super) fn new(http: HttpClient, server: &str) -> Result<(Self, Url), LoginError> {
        let local = Url::parse(server).is_ok_and(|address| is_loopback(&address));
        let reach = Self { http, server_is_local: local };
        let address = reach.address("the server", server)?;
        Ok((reach, address))
    }

    /// An address that may be used: https, or http on this machine for a server on this machine.
    pub(super) fn address(&self, what: &'static str, written: &str) -> Result<Url, LoginError> {
        let wrong = |problem| LoginError::Address {
            what,
            address: clean_line(shown(written), 200),
            problem,
        };
        let origin =
            WebOrigin::from_url(written).map_err(|_| wrong("it is not a plain http(s) address"))?;
        let address = Url::parse(written).map_err(|_| wrong("it is not an address"))?;
        if origin.is_readable_on_the_way() {
            return Err(wrong("it is not encrypted; it must begin with https://"));
        }
        if is_loopback(&address) && !self.server_is_local {
            return Err(wrong("it is on this machine, and the server is not"));
        }
        if address.fragment().is_some() {
            return Err(wrong("it has a fragment"));
        }
        Ok(address)
    }

    fn client(&self, address: &Url) -> Result<reqwest::Client, LoginError> {
        Ok(self.http.for_address(address)?)
    }

    /// A JSON document; `None` if there is none. Redirects are not followed.
    pub(super) async fn document(
        &self,
        what: &'static str,
        address: &Url,
    ) -> Result<Option<Value>, LoginError> {
        let request = self.client(address)?.get(address.clone());
        let response = send(what, request).await?;
        let status = response.status();
        if status.is_server_error() {
            return Err(LoginError::Garbage { what, problem: format!("status {status}") });
        }
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(is_json);
        if !status.is_success() || !is_json {
            return Ok(None);
        }
        Ok(Some(object(what, response).await?))
    }

    /// Posts a form, with the client's password if it has one.
    pub(super) async fn post_form(
        &self,
        what: &'static str,
        address: &Url,
        fields: &[(&str, &str)],
        password: Option<(&str, &str)>,
    ) -> Result<Answer, LoginError> {
        answer(what, self.form(address, fields, password)?).await
    }

    /// Posts a form to an endpoint whose answer needs no body.
    pub(super) async fn submit_form(
        &self,
        what: &'static str,
        address: &Url,
        fields: &[(&str, &str)],
        password: Option<(&str, &str)>,
    ) -> Result<Answer, LoginError> {
        let response = send(what, self.form(address, fields, password)?).await?;
        let status = response.status();
        Ok(Answer { status, body: object(what, response).await.unwrap_or_default() })
    }

    fn form(
        &self,
        address: &Url,
        fields: &[(&str, &str)],
        password: Option<(&str, &str)>,
    ) -> Result<RequestBuilder, LoginError> {
        let mut request = self
            .client(address)?
            .post(address.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form(fields));
        if let Some((name, secret)) = password {
            // RFC 6749, 2.3.1: both are encoded as in a form.
            let pair = format!("{}:{}", encoded(name), encoded(secret));
            let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
            let mut value = value.map_err(|_| LoginError::Garbage {
                what: "the registration",
                problem: "a client that cannot be sent".to_owned(),
            })?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        Ok(request)
    }

    /// Posts a JSON object.
    pub(super) async fn post_json(
        &self,
        what: &'static str,
        address: &Url,
        body: &Value,
    ) -> Result<Answer, LoginError> {
        let request = self
            .client(address)?
            .post(address.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        answer(what, request).await
    }

    /// The status and the challenges of a server to a first message without a token.
    pub(super) async fn knock(
        &self,
        address: &Url,
        message: &Value,
    ) -> Result<(StatusCode, Vec<String>), LoginError> {
        let request = self
            .client(address)?
            .post(address.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message.to_string());
        let what = "the server";
        let sent = request.timeout(PATIENCE).send().await;
        let response = sent.map_err(|error| unreachable(what, &error))?;
        let challenges = response.headers().get_all("www-authenticate").iter();
        let challenges = challenges.filter_map(|value| value.to_str().ok().map(str::to_owned));
        Ok((response.status(), challenges.collect()))
    }
}

/// An address without its query, which may hold something secret.
fn shown(written: &str) -> &str {
    written.split(['?', '#']).next().unwrap_or_default()
}

fn is_json(kind: &HeaderValue) -> bool {
    kind.to_str().is_ok_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    })
}

/// Fields as the body of a form.
fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A text with everything but unreserved characters escaped.
pub(super) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string does not fail.
            other => write!(encoded, "%{other:02X}").unwrap_or_default(),
        }
    }
    encoded
}

async fn send(what: &'static str, request: RequestBuilder) -> Result<Response, LoginError> {
    let request = request.header(ACCEPT, "application/json").timeout(PATIENCE);
    request.send().await.map_err(|error| unreachable(what, &error))
}

async fn answer(what: &'static str, request: RequestBuilder) -> Result<Answer, LoginError> {
    let response = send(what, request).await?;
    let status = response.status();
    if status.is_redirection() {
        let problem = "a redirect, which is not followed".to_owned();
        return Err(LoginError::Garbage { what, problem });
    }
    match object(what, response).await {
        Ok(body) => Ok(Answer { status, body }),
        Err(_) if !status.is_success() => Ok(Answer { status, body: Value::Null }),
        Err(error) => Err(error),
    }
}

async fn object(what: &'static str, mut response: Response) -> Result<Value, LoginError> {
    let garbage = |problem: &str| LoginError::Garbage { what, problem: problem.to_owned() };
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| unreachable(what, &error))? {
        if body.len() + piece.len() > LONGEST_ANSWER {
            return Err(garbage("more than 256 KB"));
        }
        body.extend_from_slice(&piece);
    }
    let value: Value =
        serde_json::from_slice(&body).map_err(|_| garbage("something that is not JSON"))?;
    if value.is_object() { Ok(value) } else { Err(garbage("something that is not an object")) }
}

fn unreachable(what: &'static str, error: &reqwest::Error) -> LoginError {
    let mut problem = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        problem = cause.to_string();
        source = cause.source();
    }
    LoginError::Unreachable { what, problem: clean_line(&problem, LONGEST_PROBLEM) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_encrypted_or_beside_a_server_on_this_machine() {
        let at = |server: &str, endpoint: &str| {
            let (reach, _) = Reach::new(HttpClient::default(), server)?;
            reach.address("the endpoint", endpoint).map(drop)
        };
        for (server, endpoint) in [
            ("https://mcp.example/mcp", "https://login.example/token"),
            ("http://127.0.0.1:9/mcp", "http://127.0.0.1:8/token"),
            ("http://localhost:9/mcp", "https://login.example/token"),
        ] {
            assert!(at(server, endpoint).is_ok(), "{server} {endpoint}");
        }
        for (server, endpoint, problem) in [
            ("http://mcp.example/mcp", "https://login.example/token", "not encrypted"),
            ("https://mcp.example/mcp", "http://login.example/token", "not encrypted"),
            ("http://127.0.0.1:9/mcp", "http://10.0.0.1/token", "not encrypted"),
            ("https://mcp.example/mcp", "https://localhost/token", "on this machine"),
            ("https://mcp.example/mcp", "http://127.0.0.1:1/token", "on this machine"),
            ("https://mcp.example/mcp", "https://u:p@login.example/", "plain http(s) address"),
            ("https://mcp.example/mcp", "javascript:alert(1)", "plain http(s) address"),
            ("https://mcp.example/mcp", "file:///etc/passwd", "plain http(s) address"),
            ("https://mcp.example/mcp", "https://login.example/#a", "fragment"),
        ] {
            let error = at(server, endpoint).unwrap_err().to_string();
            assert!(error.contains(problem), "{endpoint}: {error}");
        }
    }

    #[test]
    fn a_form_is_escaped() {
        assert_eq!(form(&[("a b", "1&2=3"), ("ü", "~-._")]), "a%20b=1%262%3D3&%C3%BC=~-._");
    }
}
