//! A model that answers from a script, and remembers what it was asked.
//!
//! Every call takes the next turn, regardless of the request; a call beyond the last turn fails the run.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use attache_kernel::{
    id::ToolCallId,
    model::usage::Usage,
    run::{
        ModelFailure, ModelRequest, Reply, Stage,
        event::StopReason,
        message::{AssistantPart, ToolCall},
    },
};
use attache_runtime::internal::model::{Chunk, Chunks, Model, ModelCall, ModelFuture};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// A model that answers from a script.
#[derive(Default)]
pub struct ScriptedModel {
    turns: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<ModelRequest>>,
}

/// One turn of a script: what is said, how it arrives, and how it ends.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    content: Vec<AssistantPart>,
    chunks: Option<Vec<Chunk>>,
    stop: Option<StopReason>,
    usage: Usage,
    cost_usd: Option<f64>,
    failure: Option<ModelFailure>,
    arrived: Option<Arc<Notify>>,
    waits_for: Option<Arc<Notify>>,
    hangs: bool,
}

impl ScriptedModel {
    /// A model that answers with these turns, one a call.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: Mutex::new(turns.into_iter().collect()), requests: Mutex::default() }
    }

    /// What it was asked so far, a failed or abandoned call included.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many turns of the script are left.
    pub fn turns_left(&self) -> usize {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ScriptedModel").field("turns_left", &self.turns_left()).finish()
    }
}

impl Model for ScriptedModel {
    fn call<'a>(&'a self, call: ModelCall<'a>, chunks: Chunks<'a>) -> ModelFuture<'a> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(call.request.clone());
        let turn = self.turns.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move {
            match turn {
                Some(turn) => turn.play(chunks).await,
                None => Err(fatal("the script has no further turn")),
            }
        })
    }
}

/// A turn that says this.
pub fn says(text: &str) -> Turn {
    Turn::default().then_says(text)
}

/// A turn that calls this tool. A call gets its id from the run unless one is given.
pub fn calls(tool: &str, arguments: &Value) -> Turn {
    Turn::default().then_calls(tool, arguments)
}

/// A turn that hands in this result.
pub fn completes(result: &str) -> Turn {
    calls("complete_task", &json!({ "result": result }))
}

/// A turn that fails so.
pub fn fails(failure: ModelFailure) -> Turn {
    Turn { failure: Some(failure), ..Turn::default() }
}

/// A turn that fails in a way worth another attempt.
pub fn fails_for_now(message: &str) -> Turn {
    fails(ModelFailure::Transient {
        message: message.to_owned(),
        stage: Stage::Request,
        retry_after: Some(Duration::ZERO),
    })
}

/// A turn that never ends, until its future is dropped.
pub fn hangs() -> Turn {
    Turn { hangs: true, ..Turn::default() }
}

fn fatal(message: &str) -> ModelFailure {
    ModelFailure::Fatal { message: message.to_owned() }
}

impl Turn {
    /// The same, saying this next.
    #[must_use]
    pub fn then_says(self, text: &str) -> Self {
        self.with(AssistantPart::text(text))
    }

    /// The same, thinking this next.
    #[must_use]
    pub fn then_thinks(self, text: &str) -> Self {
        let text = text.to_owned();
        self.with(AssistantPart::Thinking { text, signature: None, provider_data: None })
    }

    /// The same, calling this tool next.
    #[must_use]
    pub fn then_calls(self, tool: &str, arguments: &Value) -> Self {
        self.then_calls_as("", tool, &arguments.to_string())
    }

    /// The same, calling this tool next, with an id and arguments as they are written, good or bad.
    #[must_use]
    pub fn then_calls_as(self, id: &str, tool: &str, arguments: &str) -> Self {
        let call = ToolCall::new(ToolCallId::new(id), tool, arguments);
        self.with(AssistantPart::ToolCall { call })
    }

    /// The same with any part next.
    #[must_use]
    pub fn with(mut self, part: AssistantPart) -> Self {
        self.content.push(part);
        self
    }

    /// The same, arriving in these pieces; else each text and thought arrives as one.
    #[must_use]
    pub fn in_chunks(mut self, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        self.chunks = Some(chunks.into_iter().collect());
        self
    }

    /// The same, stopping for that reason; else for its calls, or because it is done.
    #[must_use]
    pub fn stopping(mut self, stop: StopReason) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The same, having used that.
    #[must_use]
    pub fn using(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// The same at that price; else the price is not known.
    #[must_use]
    pub fn costing(mut self, usd: f64) -> Self {
        self.cost_usd = Some(usd);
        self
    }

    /// The same; the test is told when the call has arrived and its pieces are out.
    #[must_use]
    pub fn telling(mut self, arrived: &Arc<Notify>) -> Self {
        self.arrived = Some(Arc::clone(arrived));
        self
    }

    /// The same, ending only once the test says so.
    #[must_use]
    pub fn waiting_for(mut self, go: &Arc<Notify>) -> Self {
        self.waits_for = Some(Arc::clone(go));
        self
    }

    /// The same, never ending after its pieces are out, until its future is dropped.
    #[must_use]
    pub fn then_hangs(mut self) -> Self {
        self.hangs = true;
        self
    }

    async fn play(self, chunks: Chunks<'_>) -> Result<Reply, ModelFailure> {
        let pieces = self.chunks.unwrap_or_else(|| pieces(&self.content));
        for piece in pieces {
            chunks(piece);
        }
        if let Some(arrived) = self.arrived {
            arrived.notify_one();
        }
        if let Some(go) = self.waits_for {
            go.notified().await;
        }
        if self.hangs {
            std::future::pending::<()>().await;
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let calls = self.content.iter().any(|part| part.call().is_some());
        let stop = if calls { StopReason::ToolUse } else { StopReason::EndTurn };
        Ok(Reply {
            content: self.content,
            stop: self.stop.unwrap_or(stop),
            usage: self.usage,
            cost_usd: self.cost_usd,
        })
    }
}

fn pieces(content: &[AssistantPart]) -> Vec<Chunk> {
    let piece = |part: &AssistantPart| match part {
        AssistantPart::Text { text, .. } => Some(Chunk::Text(text.clone())),
        AssistantPart::Thinking { text, .. } => Some(Chunk::Thought(text.clone())),
        AssistantPart::ToolCall { .. } => None,
    };
    content.iter().filter_map(piece).collect()
}
