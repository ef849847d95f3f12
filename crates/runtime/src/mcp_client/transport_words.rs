//! Why a server on the network does not answer, in plain words: no types of this program, and not the
//! address, whose query may hold a token.

use std::error::Error;

use reqwest::Error as ClientError;
use rmcp::transport::{
    DynamicTransportError, streamable_http_client::StreamableHttpError, worker::WorkerQuitReason,
};

type HttpError = StreamableHttpError<ClientError>;

/// What went wrong, as a clause about the server.
pub(super) fn plain_words(error: &DynamicTransportError) -> String {
    let http = match error.error.downcast_ref::<WorkerQuitReason<HttpError>>() {
        Some(WorkerQuitReason::Fatal { error, .. }) => Some(error),
        Some(_) => return "the connection ended".to_owned(),
        None => error.error.downcast_ref::<HttpError>(),
    };
    match http {
        Some(StreamableHttpError::Client(error)) if error.is_timeout() => {
            "it did not answer in time".to_owned()
        }
        Some(StreamableHttpError::Client(error)) => match error.status() {
            Some(status) => format!("it answered with {status}"),
            None => format!("it cannot be reached: {}", without_address(error)),
        },
        Some(StreamableHttpError::Io(error)) => error.to_string(),
        Some(StreamableHttpError::HttpStatus(answer)) => {
            format!("it answered with HTTP {}", answer.status)
        }
        Some(error) => {
            format!("it does not answer as an MCP server does: {}", without_address(error))
        }
        None => without_address(&*error.error),
    }
}

/// The innermost cause: the outer ones only say where it happened.
fn without_address(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    if text.contains("://") { "the request failed".to_owned() } else { text }
}
