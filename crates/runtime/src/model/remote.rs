//! A remote model: a provider's answer to a conversation, over HTTP.
//!
//! An answer is handed over whole or not at all. Whether a failure is worth another attempt is told,
//! not decided: the run decides, and its clocks hold.

pub(crate) mod failure;
mod origin;
mod retry_after;
pub(crate) mod sse;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use attache_kernel::{
    agent::definition::ModelConfig,
    model::price::Price,
    run::{ModelFailure, ModelRequest, Reply, Stage, tool_spec::ToolSpec},
};
use reqwest::{
    Response, Url,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::Instant;

use self::{
    failure::{Refusal, disconnected, misplaced, refused, streamed},
    sse::SseParser,
};
use super::{
    Chunk, Chunks, Model, ModelCall, ModelFuture,
    http::{HttpClient, HttpError},
    provider::Provider,
    wire::{Answer, Asked, Decoder, End, Repeated, StreamFault, Traits, check_parameters},
};
use crate::{clock, store::Secrets};

pub(crate) use super::wire::ReservedParameter;

/// How long the end of a connection's body is waited for once the answer is whole.
const FAREWELL: Duration = Duration::from_millis(25);

/// How long an answer that says it is done, and has no mark for its end, may be silent before it counts
/// as whole.
const TRAIL: Duration = Duration::from_secs(2);

/// A model that a provider runs.
pub struct RemoteModel {
    provider: Arc<Provider>,
    http: HttpClient,
    traits: Traits,
    price: Option<Price>,
    secrets: Secrets,
    /// Where the model's name comes from, in words.
    named_by: Option<String>,
    written: Mutex<Written>,
}

/// What stays the same from turn to turn, and need not be made again.
#[derive(Default)]
struct Written {
    address: Option<(String, Url)>,
    tools: Option<WrittenTools>,
    repeated: Repeated,
}

struct WrittenTools {
    specs: Arc<[ToolSpec]>,
    text: Option<String>,
}

/// Why a model cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// There is no HTTP.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The agent's parameters cannot be sent.
    #[error(transparent)]
    Parameter(#[from] ReservedParameter),
}

impl RemoteModel {
    /// A model of that provider. It costs nothing to make one for each run: connections are shared.
    pub fn new(
        provider: Arc<Provider>,
        http: &HttpClient,
        traits: Traits,
        price: Option<Price>,
    ) -> Result<Self, RemoteError> {
        http.for_address(&provider.address(""))?;
        let http = http.clone();
        let secrets = Secrets::new(provider.secrets());
        let written = Mutex::default();
        let named_by = None;
        Ok(Self { provider, http, traits, price, secrets, named_by, written })
    }

    /// The same, saying where the model's name comes from if the provider does not know it.
    #[must_use]
    pub fn named_by(self, words: String) -> Self {
        Self { named_by: Some(words), ..self }
    }

    /// Refuses an agent's parameters if they cannot be sent.
    pub fn check(&self, config: &ModelConfig) -> Result<(), RemoteError> {
        Ok(check_parameters(self.provider.wire_api(), config)?)
    }

    async fn ask(&self, call: ModelCall<'_>, chunks: Chunks<'_>) -> Result<Reply, ModelFailure> {
        let cleaned = origin::without_foreign(&call.request.messages, self.provider.id())
            .map(|messages| ModelRequest { messages, ..call.request.clone() });
        let request = cleaned.as_ref().unwrap_or(call.request);
        let call = ModelCall { request, ..call };
        let (address, body) = self.written(&call).map_err(|error| {
            let message = format!("the request cannot be written: {error}");
            ModelFailure::Fatal { message }
        })?;
        let client = self.http.for_address(&address).map_err(|error| {
            let message = format!("the provider cannot be called: {error}");
            ModelFailure::Fatal { message }
        })?;
        let response = client
            .post(address)
            .headers(self.provider.headers().clone())
            .body(body)
            .send()
            .await
            .map_err(|error| self.disconnected(Stage::Request, &error))?;
        chunks(Chunk::Alive);
        if !response.status().is_success() {
            return Err(self.refused(response, chunks).await);
        }
        if let Some(failure) = self.not_a_stream(&response) {
            return Err(failure);
        }
        let mut priced = |chunk| chunks(self.priced(chunk));
        let mut answer = self.read(response, &mut priced).await?;
        origin::mark(&mut answer.content, self.provider.id());
        // A provider that counts nothing has not answered for nothing.
        let counted = answer.usage.total_tokens() > 0;
        let price = self.price.filter(|_| counted);
        let priced = price.map(|price| price.cost_usd(&answer.usage));
        Ok(Reply {
            content: answer.content,
            stop: answer.stop,
            usage: answer.usage,
            cost_usd: answer.cost_usd.or(priced),
        })
    }

    /// What was counted, with what it cost.
    fn priced(&self, chunk: Chunk) -> Chunk {
        match (chunk, self.price) {
            (Chunk::Counted { usage, cost_usd: None }, Some(price)) => {
                let cost_usd = Some(price.cost_usd(&usage));
                Chunk::Counted { usage, cost_usd }
            }
            (chunk, _) => chunk,
        }
    }

    /// Where a request goes, and its body.
    fn written(&self, call: &ModelCall<'_>) -> Result<(Url, Vec<u8>), serde_json::Error> {
        let ModelCall { request, model, config, cache_key, run: _, max_output_tokens } = *call;
        let api = self.provider.wire_api();
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Written { address, tools, repeated } = &mut *written;
        let address = match address {
            Some((known, address)) if known == model => address,
            known => &mut known.insert((model.to_owned(), self.provider.address(model))).1,
        };
        let tools = match tools {
            Some(known) if Arc::ptr_eq(&known.specs, &request.tools) => known,
            known => {
                let (specs, text) = (Arc::clone(&request.tools), api.tools(&request.tools)?);
                known.insert(WrittenTools { specs, text })
            }
        };
        let (traits, tools) = (self.traits, tools.text.as_deref());
        let asked = Asked { request, model, config, cache_key, traits, tools, max_output_tokens };
        Ok((address.clone(), api.body(asked, repeated)?))
    }

    async fn read(
        &self,
        mut response: Response,
        chunks: Chunks<'_>,
    ) -> Result<Answer, ModelFailure> {
        let mut parser = SseParser::default();
        let mut decoder = self.provider.wire_api().decoder();
        let mut last_event = Instant::now();
        while decoder.end() != End::Whole {
            let piece = match decoder.end() {
                // What was said stands, even if the rest of the body never comes.
                End::Trailing => {
                    let next = tokio::time::timeout_at(last_event + TRAIL, response.chunk()).await;
                    next.unwrap_or(Ok(None)).unwrap_or(None)
                }
                End::Open | End::Unmarked | End::Whole => response
                    .chunk()
                    .await
                    .map_err(|error| self.disconnected(Stage::Stream, &error))?,
            };
            let Some(piece) = piece else {
                reusable().await;
                return self.ended(decoder, parser, chunks);
            };
            chunks(Chunk::Alive);
            let taken = parser.take(&piece, |data| {
                last_event = Instant::now();
                match decoder.end() {
                    // Nothing counts after the end.
                    End::Whole => Ok(()),
                    End::Open | End::Unmarked | End::Trailing => decoder.take(data, chunks),
                }
            });
            taken.map_err(|fault| self.faulty(fault))?;
        }
        // What is left of the body lets the connection be used again.
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        if tokio::time::timeout(FAREWELL, rest).await.is_ok() {
            reusable().await;
        }
        Ok(decoder.answer())
    }

    /// The body ended, with or without the last event's blank line, and nothing marked the answer's end
    /// so far.
    fn ended(
        &self,
        mut decoder: Box<dyn Decoder>,
        mut parser: SseParser,
        chunks: Chunks<'_>,
    ) -> Result<Answer, ModelFailure> {
        let rest = parser.rest().map_err(|error| self.faulty(error.into()))?;
        let (last, cut) = match rest {
            Some(data) if is_complete(&data) => (Some(data), false),
            Some(_) => (None, true),
            None => (None, false),
        };
        if let Some(data) = last {
            decoder.take(&data, chunks).map_err(|fault| self.faulty(fault))?;
        }
        let whole = match decoder.end() {
            End::Whole => true,
            End::Trailing | End::Unmarked => !cut,
            End::Open => false,
        };
        if whole {
            return Ok(decoder.answer());
        }
        let id = self.provider.id();
        let stray: Option<Value> = serde_json::from_slice(&parser.stray()).ok();
        if let Some(failure) = stray.as_ref().and_then(|body| misplaced(id, body)) {
            return Err(self.masked(failure));
        }
        if stray.is_some() && !parser.has_events() {
            let address = self.provider.shown_address();
            let message =
                format!("{id} answered without a stream at {address}: is base_url right?");
            return Err(ModelFailure::Fatal { message });
        }
        let message = format!("{id} ended its answer without the mark at its end");
        Err(ModelFailure::Transient { message, stage: Stage::Stream, retry_after: None })
    }

    fn faulty(&self, fault: StreamFault) -> ModelFailure {
        let id = self.provider.id();
        let failure = match fault {
            StreamFault::Malformed(problem) => ModelFailure::Transient {
                message: format!("{id} sent something unreadable: {problem}"),
                stage: Stage::Stream,
                retry_after: None,
            },
            StreamFault::Error(error) => streamed(id, &error),
            StreamFault::TooLarge => ModelFailure::Fatal {
                message: format!("{id} sent an answer that is too large to be one (over 16 MB)"),
            },
        };
        self.masked(failure)
    }

    fn not_a_stream(&self, response: &Response) -> Option<ModelFailure> {
        if let Some(encoding) = encoding(response) {
            let (id, address) = (self.provider.id(), self.provider.shown_address());
            let message = format!(
                "{id} answered at {address} in an encoding nobody asked for (content-encoding: {encoding})"
            );
            return Some(ModelFailure::Fatal { message });
        }
        let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
        let is_page = kind.trim_start().to_ascii_lowercase().starts_with("text/html");
        is_page.then(|| ModelFailure::Fatal {
            message: format!(
                "{} answered with a web page at {}: is base_url right?",
                self.provider.id(),
                self.provider.shown_address()
            ),
        })
    }

    async fn refused(&self, mut response: Response, chunks: Chunks<'_>) -> ModelFailure {
        let mut body = Vec::new();
        // Without its body a refusal still has its status.
        while let Ok(Some(piece)) = response.chunk().await {
            chunks(Chunk::Alive);
            body.extend_from_slice(&piece);
            if body.len() > failure::MOST_BODY_BYTES {
                body.truncate(failure::MOST_BODY_BYTES);
                break;
            }
        }
        let encoding = encoding(&response);
        if encoding.is_some() {
            body.clear();
        }
        let refusal = Refusal {
            provider: self.provider.id(),
            status: response.status(),
            headers: response.headers(),
            body: &body,
            encoding,
            key_from: self.provider.key_from(),
            named_by: self.named_by.as_deref(),
        };
        self.masked(refused(&refusal, clock::now()))
    }

    fn disconnected(&self, stage: Stage, error: &reqwest::Error) -> ModelFailure {
        let (id, address) = (self.provider.id(), self.provider.shown_address());
        let stage = if self.provider.is_on_this_machine() && was_refused(error) {
            Stage::RefusedHere
        } else {
            stage
        };
        self.masked(disconnected(id, &address, stage, error))
    }

    /// Providers repeat keys they do not know.
    fn masked(&self, failure: ModelFailure) -> ModelFailure {
        let mask = |message: String| self.secrets.mask(&message).into_owned();
        match failure {
            ModelFailure::Transient { message, stage, retry_after } => {
                ModelFailure::Transient { message: mask(message), stage, retry_after }
            }
            ModelFailure::ContextLength { message } => {
                ModelFailure::ContextLength { message: mask(message) }
            }
            ModelFailure::Fatal { message } => ModelFailure::Fatal { message: mask(message) },
        }
    }
}

/// Whether nobody listened at the address.
fn was_refused(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let io = cause.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Yields once, so that the finished connection is back in the pool before the next request needs it.
async fn reusable() {
    tokio::task::yield_now().await;
}

/// The encoding of an answer that can be read only after decoding.
fn encoding(response: &Response) -> Option<&str> {
    let encoding = response.headers().get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")).then_some(encoding)
}

/// Whether the data of an event is all there.
fn is_complete(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

impl Model for RemoteModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        Box::pin(self.ask(call, chunks))
    }
}

impl fmt::Debug for RemoteModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RemoteModel")
            .field("provider", &self.provider)
            .field("traits", &self.traits)
            .finish_non_exhaustive()
    }
}
