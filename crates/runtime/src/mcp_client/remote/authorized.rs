//! The HTTP client of one server: adds the token of a login to each request, and repeats a request once with a
//! renewed token if the server refuses it. A refused request was not carried out, so repeating it is safe.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use reqwest::{
    RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use rmcp::{
    model::ClientJsonRpcMessage,
    transport::streamable_http_client::{
        AuthRequiredError, InsufficientScopeError, StreamableHttpClient, StreamableHttpError,
        StreamableHttpPostResponse,
    },
};
use secrecy::{ExposeSecret as _, SecretString};

use super::answer::{Answer, Events, Failure};
use crate::mcp_client::oauth::{AccessProblem, Bearer, Challenge};

type Headers = HashMap<HeaderName, HeaderValue>;

pub(super) const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// Headers that an entry cannot set: each request has its own.
pub(super) const RESERVED: [&str; 3] = ["accept", SESSION, LAST_EVENT];
/// What a server may answer with.
const ACCEPTED: &str = "text/event-stream, application/json";

/// How requests prove who sends them.
#[derive(Debug)]
pub(in crate::mcp_client) enum Access {
    /// By a header that the entry names, or not at all.
    OwnToken,
    /// By the token of a login, if there is one.
    Login(Box<Bearer>),
}

impl Access {
    fn bearer(&self) -> Option<&Bearer> {
        match self {
            Self::OwnToken => None,
            Self::Login(bearer) => Some(bearer),
        }
    }

    /// Why the server let nobody in the last time.
    pub(in crate::mcp_client) fn problem(&self) -> Option<AccessProblem> {
        self.bearer()?.problem()
    }

    /// A text of the server without its tokens.
    pub(super) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.bearer().map_or(Cow::Borrowed(text), |bearer| bearer.masked(text))
    }
}

/// A client that adds tokens.
#[derive(Debug, Clone)]
pub(in crate::mcp_client) struct Authorized {
    client: reqwest::Client,
    access: Arc<Access>,
    /// An event was too long, and its stream was given up.
    was_too_long: Arc<AtomicBool>,
}

impl Authorized {
    pub(super) fn new(
        client: reqwest::Client,
        access: Arc<Access>,
        was_too_long: Arc<AtomicBool>,
    ) -> Self {
        Self { client, access, was_too_long }
    }

    /// Sends a request with the token there is, and once more with another one if that is refused.
    async fn send(
        &self,
        request: RequestBuilder,
        headers: Headers,
        own_token: Option<String>,
    ) -> Result<Response, Failure> {
        let request = request.headers(headers.into_iter().collect());
        let Some(bearer) = self.access.bearer() else {
            return self.admitted(with_token(request, own_token.as_deref()).send().await?);
        };
        let again = request.try_clone();
        let token = bearer.token().await;
        let sent = token.as_ref().map(SecretString::expose_secret);
        let refused = with_token(request, sent).send().await?;
        let other = match again {
            Some(again) if refused.status() == StatusCode::UNAUTHORIZED => {
                bearer.instead_of(token.as_ref()).await.map(|other| (again, other))
            }
            _ => None,
        };
        let Some((again, other)) = other else { return self.admitted(refused) };
        let answer = with_token(again, Some(other.expose_secret())).send().await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            let why = "the server refuses its token".to_owned();
            bearer.has_problem(AccessProblem::Expired(why));
        }
        self.admitted(answer)
    }

    /// The answer of a server that let the request in.
    fn admitted(&self, answer: Response) -> Result<Response, Failure> {
        let challenge = answer.headers().get(WWW_AUTHENTICATE);
        let challenge =
            challenge.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        match (answer.status(), challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => Err(StreamableHttpError::AuthRequired(
                AuthRequiredError::new(challenge.unwrap_or_default()),
            )),
            (StatusCode::FORBIDDEN, Some(challenge)) => {
                let scopes = Challenge::among(std::slice::from_ref(&challenge)).scopes;
                let scopes = scopes.map(|scopes| scopes.join(" "));
                if let Some(bearer) = self.access.bearer() {
                    bearer.has_problem(AccessProblem::Scope(scopes.clone()));
                }
                let error = InsufficientScopeError::new(challenge, scopes);
                Err(StreamableHttpError::InsufficientScope(error))
            }
            _ => {
                if let Some(bearer) = self.access.bearer() {
                    bearer.has_no_problem();
                }
                Ok(answer)
            }
        }
    }

    fn answer(&self, response: Response) -> Answer {
        let (access, too_long) = (Arc::clone(&self.access), Arc::clone(&self.was_too_long));
        Answer::new(response, access, too_long)
    }
}

fn with_token(request: RequestBuilder, token: Option<&str>) -> RequestBuilder {
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

impl StreamableHttpClient for Authorized {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        own_token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mut request = self
            .client
            .post(&*uri)
            .header(ACCEPT, ACCEPTED)
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::to_vec(&message)?);
        if let Some(session) = &session {
            request = request.header(SESSION, &**session);
        }
        let response = self.send(request, headers, own_token).await?;
        self.answer(response).for_message(&message, session.is_some()).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        own_token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let request = self.client.delete(&*uri).header(SESSION, &*session);
        let response = self.send(request, headers, own_token).await?;
        if response.status() != StatusCode::METHOD_NOT_ALLOWED {
            response.error_for_status()?;
        }
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        own_token: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        if last_event.is_some() && self.was_too_long.load(Ordering::Relaxed) {
            // Going on after an event that was too long would get the same event again.
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let mut request = self.client.get(&*uri).header(ACCEPT, ACCEPTED);
        if let Some(session) = &session {
            request = request.header(SESSION, &**session);
        }
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        let response = self.send(request, headers, own_token).await?;
        self.answer(response).for_listener()
    }
}
