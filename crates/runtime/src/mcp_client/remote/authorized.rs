//! The HTTP client of one server: adds the token of a login to each request, and repeats a request once with a
//! renewed token if the server refuses it. A refused request was not carried out, so repeating it is safe.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use futures_util::{StreamExt as _, stream::BoxStream};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use secrecy::ExposeSecret as _;
use sse_stream::Sse;

use crate::mcp_client::oauth::{AccessProblem, Bearer};

type Failure = StreamableHttpError<reqwest::Error>;
type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

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

    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.bearer().map_or(Cow::Borrowed(text), |bearer| bearer.masked(text))
    }

    /// A message of the server without its tokens. One that holds none, as nearly all, is not changed.
    fn masked_message(&self, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let Some(bearer) = self.bearer() else { return message };
        let Ok(text) = serde_json::to_string(&message) else { return message };
        match bearer.masked(&text) {
            Cow::Borrowed(_) => message,
            // A message that cannot be read any more would be lost.
            Cow::Owned(masked) => serde_json::from_str(&masked).unwrap_or(message),
        }
    }
}

/// A client that adds tokens.
#[derive(Debug, Clone)]
pub(in crate::mcp_client) struct Authorized {
    client: reqwest::Client,
    access: Arc<Access>,
}

impl Authorized {
    pub(super) fn new(client: reqwest::Client, access: Arc<Access>) -> Self {
        Self { client, access }
    }

    /// Sends a request with the token there is, and once more with another one if that is refused.
    async fn send<T, F>(
        &self,
        own: Option<String>,
        request: impl Fn(reqwest::Client, Option<String>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let request = |token| request(self.client.clone(), token);
        let Some(bearer) = self.access.bearer() else { return request(own).await };
        let token = bearer.token().await;
        let sent = token.as_ref().map(|token| token.expose_secret().to_owned());
        let refused = match request(sent).await {
            Err(error) if is_unauthorized(&error) => error,
            answer => return self.judged(answer),
        };
        let Some(other) = bearer.instead_of(token.as_ref()).await else {
            return self.judged(Err(refused));
        };
        let answer = request(Some(other.expose_secret().to_owned())).await;
        if answer.as_ref().is_err_and(is_unauthorized) {
            let why = "the server refuses its token".to_owned();
            bearer.has_problem(AccessProblem::Expired(why));
        }
        self.judged(answer)
    }

    fn judged<T>(&self, answer: Result<T, Failure>) -> Result<T, Failure> {
        if let (Ok(_), Some(bearer)) = (&answer, self.access.bearer()) {
            bearer.has_no_problem();
        }
        answer.map_err(|error| match error {
            StreamableHttpError::InsufficientScope(error) => {
                if let Some(bearer) = self.access.bearer() {
                    bearer.has_problem(AccessProblem::Scope(error.required_scope.clone()));
                }
                StreamableHttpError::InsufficientScope(error)
            }
            StreamableHttpError::UnexpectedServerResponse(text) => {
                let text = self.access.masked(&text).into_owned();
                StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
            }
            other => other,
        })
    }

    fn masked_events(&self, events: Events) -> Events {
        let access = Arc::clone(&self.access);
        if access.bearer().is_none() {
            return events;
        }
        let masked = events.map(move |event| {
            event.map(|mut event| {
                event.data = event.data.map(|data| access.masked(&data).into_owned());
                event
            })
        });
        masked.boxed()
    }
}

/// Whether the server wants a token, or another one. A refusal without a challenge is known by its status alone.
fn is_unauthorized(error: &Failure) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) => true,
        StreamableHttpError::Client(error) => {
            error.status() == Some(reqwest::StatusCode::UNAUTHORIZED)
        }
        StreamableHttpError::UnexpectedServerResponse(text) => {
            text.starts_with("HTTP 401 Unauthorized")
        }
        _ => false,
    }
}

impl StreamableHttpClient for Authorized {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let most = usize::MAX;
        self.post_message_with_max_sse_event_size(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            most,
        )
        .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let posted = self.send(auth_header, |client, token| {
            let (uri, message) = (Arc::clone(&uri), message.clone());
            let (session, headers) = (session_id.clone(), custom_headers.clone());
            async move {
                let most = max_sse_event_size;
                client
                    .post_message_with_max_sse_event_size(
                        uri, message, session, token, headers, most,
                    )
                    .await
            }
        });
        Ok(match posted.await? {
            StreamableHttpPostResponse::Json(message, session) => {
                StreamableHttpPostResponse::Json(self.access.masked_message(message), session)
            }
            StreamableHttpPostResponse::Sse(events, session) => {
                StreamableHttpPostResponse::Sse(self.masked_events(events), session)
            }
            other => other,
        })
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        let deleted = self.send(auth_header, |client, token| {
            let (uri, session) = (Arc::clone(&uri), Arc::clone(&session_id));
            let headers = custom_headers.clone();
            async move { client.delete_session(uri, session, token, headers).await }
        });
        deleted.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<Events, Failure> {
        let most = usize::MAX;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            most,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<Events, Failure> {
        let opened = self.send(auth_header, |client, token| {
            let (uri, session) = (Arc::clone(&uri), session_id.clone());
            let (last, headers) = (last_event_id.clone(), custom_headers.clone());
            async move {
                let most = max_sse_event_size;
                client
                    .get_stream_with_max_sse_event_size(uri, session, last, token, headers, most)
                    .await
            }
        });
        Ok(self.masked_events(opened.await?))
    }
}
