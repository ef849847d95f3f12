//! Models: what answers a conversation.
//!
//! One streaming method; a caller that wants no chunks ignores them. Foreign wire types never leave the
//! module of their provider.

pub(crate) mod credentials;
pub(crate) mod http;
pub(crate) mod provider;
pub(crate) mod remote;
pub(crate) mod replay;
pub(crate) mod wire;

use std::{fmt, pin::Pin};

use attache_kernel::{
    agent::definition::ModelConfig,
    model::usage::Usage,
    run::{ModelFailure, ModelRequest, Reply, assignment::Assignment},
};

/// Something that answers a conversation.
///
/// ```
/// use attache_runtime::prelude::*;
///
/// /// Gives the same answer to every request.
/// #[derive(Debug)]
/// struct Parrot;
///
/// impl Model for Parrot {
///     fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
///         let text = format!("{} messages, I see.", call.request.messages.len());
///         chunks(Chunk::Text(text.clone()));
///         let content = vec![AssistantPart::Text { text, provider_data: None }];
///         let reply =
///             Reply { content, stop: StopReason::EndTurn, usage: Usage::default(), cost_usd: None };
///         Box::pin(async move { Ok(reply) })
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// let runtime = Runtime::builder(folder.path()).model("parrot", Parrot).build()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub trait Model: fmt::Debug + Send + Sync {
    /// Answers. Pieces of text and reasoning are given to `chunks` as they arrive; the reply is whole.
    /// Dropping the future ends the call and closes what it holds open.
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a>;

    /// Whether it is a program that reads tools' answers as values. They are then made and kept in the
    /// conversation, in addition to the text.
    fn wants_structured_results(&self) -> bool {
        false
    }
}

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct ModelCall<'a> {
    /// The conversation and the tools on offer.
    pub request: &'a ModelRequest,
    /// The model's id.
    pub model: &'a str,
    /// What is asked of the model.
    pub config: &'a ModelConfig,
    /// Requests with the same key share what a provider caches.
    pub cache_key: &'a str,
    /// The run that asks; none if it is not one.
    pub run: Option<&'a Assignment>,
    /// The longest answer in tokens; `None` leaves it to the model.
    pub max_output_tokens: Option<u64>,
}

impl<'a> ModelCall<'a> {
    /// A request of a run.
    pub fn of_run(request: &'a ModelRequest, run: &'a Assignment) -> Self {
        Self {
            request,
            model: &run.model.id,
            config: &run.definition.model_config,
            cache_key: run.session_id.as_str(),
            run: Some(run),
            max_output_tokens: None,
        }
    }
}

/// A piece of an answer that is still arriving.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thought(String),
    /// Something arrived that is not for showing: the model is alive.
    Alive,
    /// What the provider has counted of this answer so far; it counts only if the answer is lost.
    Counted {
        /// What it has counted.
        usage: Usage,
        /// What that alone cost; none without a price.
        cost_usd: Option<f64>,
    },
}

impl Chunk {
    /// What was counted, of which nobody has said the price yet.
    pub(crate) fn counted(usage: Usage) -> Self {
        Self::Counted { usage, cost_usd: None }
    }
}

/// Takes pieces as they arrive.
pub type Chunks<'a> = &'a mut (dyn FnMut(Chunk) + Send);

/// A call under way.
pub type ModelFuture<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelFailure>> + Send + 'a>>;
