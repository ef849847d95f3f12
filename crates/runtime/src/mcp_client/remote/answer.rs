//! What a server on the network answers: one message, a stream of events, or a failure.
//!
//! Invariants: at most `LONGEST_MESSAGE` of one message is read, whatever its length header says. No text of the server leaves
//! here with the tokens it was sent.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use futures_util::{
    StreamExt as _,
    stream::{BoxStream, try_unfold},
};
use reqwest::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        HttpStatusError, SseError, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Sse, SseStream};

use super::authorized::{Access, SESSION};
use crate::mcp_client::{bounded_reader::LONGEST_MESSAGE, clean_text::clean_line};

pub(super) type Failure = StreamableHttpError<reqwest::Error>;
pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The longest part of a server's text in an error.
const LONGEST_EXCERPT: usize = 400;

/// More was sent than one message may have.
#[derive(Debug, thiserror::Error)]
#[error("a message of the server is longer than {} MB", LONGEST_MESSAGE >> 20)]
pub(in crate::mcp_client) struct TooLong;

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    TooLong(#[from] TooLong),
    #[error(transparent)]
    Connection(#[from] reqwest::Error),
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::TooLong(error) => Self::Io(std::io::Error::other(error)),
            Broken::Connection(error) => Self::Client(error),
        }
    }
}

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Message,
    Events,
    Other,
}

/// An answer that has begun to arrive.
pub(super) struct Answer {
    response: Response,
    access: Arc<Access>,
    /// Set when an event is too long: a stream that ends cannot say why.
    was_too_long: Arc<AtomicBool>,
}

impl Answer {
    pub(super) fn new(
        response: Response,
        access: Arc<Access>,
        was_too_long: Arc<AtomicBool>,
    ) -> Self {
        Self { response, access, was_too_long }
    }

    /// The answer to a message.
    pub(super) async fn for_message(
        self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = self.response.status();
        let wants_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.failure(message, has_session).await;
        }
        if !wants_answer && self.response.content_length() == Some(0) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = self.session();
        match self.kind() {
            Kind::Events => Ok(StreamableHttpPostResponse::Sse(self.events(), session)),
            Kind::Message => {
                let text = self.text().await?;
                match serde_json::from_str(&text) {
                    Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    Err(_) if !wants_answer => Ok(StreamableHttpPostResponse::Accepted),
                    Err(error) => Err(unexpected(format!("{error}: {}", excerpt(&text)))),
                }
            }
            Kind::Other => Err(StreamableHttpError::UnexpectedContentType(self.content_type())),
        }
    }

    /// The answer to a request for what the server has to say by itself.
    pub(super) fn for_listener(self) -> Result<Events, Failure> {
        let status = self.response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if let Some(error) = self.overload() {
            return Err(error.into());
        }
        match self.kind() {
            _ if !status.is_success() => Err(unexpected(format!("HTTP {status}"))),
            Kind::Events => Ok(self.events()),
            Kind::Message | Kind::Other => {
                Err(StreamableHttpError::UnexpectedContentType(self.content_type()))
            }
        }
    }

    /// What a failure says: often a message, as of a call that went wrong.
    async fn failure(
        self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let (status, session, kind) = (self.response.status(), self.session(), self.kind());
        let overload = self.overload();
        let is_asked_to_wait = status == StatusCode::TOO_MANY_REQUESTS;
        let overload = match overload {
            Some(error) if is_asked_to_wait || kind != Kind::Message => return Err(error.into()),
            other => other,
        };
        let text = self.text().await?;
        let said = match serde_json::from_str(&text) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let is_forbidden = status == StatusCode::FORBIDDEN;
        // A server that does not know the question refuses it by its status, often without the question's id.
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && status.is_client_error()
            && !is_forbidden
            && !has_session
        {
            let unknown = || ErrorData::invalid_request(format!("HTTP {status}"), None);
            let error = said.map_or_else(unknown, |said| said.error);
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        match (said, overload) {
            (Some(said), _) if kind == Kind::Message && !is_forbidden => {
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), session))
            }
            (_, Some(error)) => Err(error.into()),
            (_, None) => Err(unexpected(format!("HTTP {status}: {}", excerpt(&text)))),
        }
    }

    fn content_type(&self) -> Option<String> {
        let kind = self.response.headers().get(CONTENT_TYPE)?;
        let kind = String::from_utf8_lossy(kind.as_bytes());
        Some(excerpt(&self.access.masked(&kind)))
    }

    fn kind(&self) -> Kind {
        let kind = self.response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        let is = |name: &str| {
            let start = kind.and_then(|kind| kind.get(..name.len()));
            start.is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        if is("text/event-stream") {
            Kind::Events
        } else if is("application/json") {
            Kind::Message
        } else {
            Kind::Other
        }
    }

    fn session(&self) -> Option<String> {
        self.response.headers().get(SESSION)?.to_str().ok().map(str::to_owned)
    }

    /// A failure that may pass.
    fn overload(&self) -> Option<HttpStatusError> {
        let status = self.response.status();
        if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
            return None;
        }
        let wait = self.response.headers().get(RETRY_AFTER);
        let wait = wait.and_then(|wait| wait.to_str().ok()).map(str::to_owned);
        Some(HttpStatusError::new(status.as_u16(), wait))
    }

    /// The whole body, as long as a message may be.
    async fn text(self) -> Result<String, Failure> {
        let Self { mut response, access, .. } = self;
        let announced = response.content_length().unwrap_or_default();
        if usize::try_from(announced).is_ok_and(|length| length > LONGEST_MESSAGE) {
            return Err(Broken::from(TooLong).into());
        }
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await? {
            if body.len() + piece.len() > LONGEST_MESSAGE {
                return Err(Broken::from(TooLong).into());
            }
            body.extend_from_slice(&piece);
        }
        let text = String::from_utf8_lossy(&body);
        Ok(access.masked(&text).into_owned())
    }

    /// The events of the body, each as long as a message may be.
    fn events(self) -> Events {
        let Self { response, access, was_too_long } = self;
        // What was read since the last event.
        let unfinished = Arc::new(AtomicUsize::new(0));
        let read = Arc::clone(&unfinished);
        let pieces = try_unfold(response, move |mut response| {
            let read = Arc::clone(&read);
            async move {
                let Some(piece) = response.chunk().await? else { return Ok(None) };
                if read.fetch_add(piece.len(), Ordering::Relaxed) + piece.len() > LONGEST_MESSAGE {
                    return Err(Broken::from(TooLong));
                }
                Ok(Some((piece, response)))
            }
        });
        let events = SseStream::from_bytes_stream(pieces.boxed()).map(move |event| {
            unfinished.store(0, Ordering::Relaxed);
            event.map(|mut event| {
                event.data = event.data.map(|data| match access.masked(&data) {
                    Cow::Owned(masked) => masked,
                    Cow::Borrowed(_) => data,
                });
                event
            })
        });
        let noted = events.inspect(move |event| {
            if let Err(SseError::Body(error)) = event
                && matches!(error.downcast_ref(), Some(Broken::TooLong(_)))
            {
                was_too_long.store(true, Ordering::Relaxed);
            }
        });
        noted.boxed()
    }
}

fn unexpected(text: String) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
}

fn excerpt(text: &str) -> String {
    clean_line(text, LONGEST_EXCERPT)
}
