//! Where a run stands: its phase, its last answer, a summary or a last chance under way, why it stops.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::run::{
    conversation::Conversation, machine::repetition::Repeated, message::Message,
    outcome::RecoveredFrom,
};

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// It has not begun.
    #[default]
    New,
    /// A turn's calls are answered, or it had none; the turn is to be closed.
    TurnOver,
    /// It is about to decide what comes next.
    Between,
    /// The model is being called.
    Model,
    /// The model is being asked for a summary.
    Summary,
    /// It answered; what becomes of the answer is to be decided.
    SummaryOver,
    /// Tools are being called.
    Tools,
    /// Background agents are being waited for.
    Awaiting,
    /// It is over.
    Ended,
}

/// Whether a text is all that its model had to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Wholeness {
    /// It is.
    #[default]
    Whole,
    /// The output limit, a clock or a cancellation cut it.
    Cut,
}

/// What the last answer of the model was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LastReply {
    /// There was none since the run, or its last chance, began.
    #[default]
    None,
    /// Neither text nor calls.
    Empty,
    /// Text without calls.
    Text,
    /// Calls.
    Calls,
}

/// A summary that was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummaryTurn {
    /// What the model is asked.
    request: Arc<Message>,
    /// How many messages of the conversation it is given.
    pub(crate) first: usize,
    /// Both together.
    pub(crate) asked: Conversation,
    /// What the provider said when it refused the conversation in the middle of a turn.
    pub(crate) refusal: Option<String>,
    /// What the model answered.
    pub(crate) text: Option<String>,
}

/// A last chance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grace {
    pub(crate) reason: RecoveredFrom,
    pub(crate) until_ms: u64,
    pub(crate) tries: u32,
    pub(crate) over: bool,
    pub(crate) repeated: Option<Repeated>,
}

/// Why a run cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Stop {
    /// It was cancelled.
    Cancelled,
    /// Its turn was: it waits for its background agents, and goes on with what comes next.
    Turn,
    /// The time ran out while tools were being called: they are answered for.
    TimeUp,
    /// The model failed.
    Failed { message: String },
}

impl SummaryTurn {
    pub(super) fn new(
        conversation: &Conversation,
        request: &Arc<Message>,
        messages: u64,
        refusal: Option<&String>,
    ) -> Self {
        let first = usize::try_from(messages).unwrap_or(usize::MAX).min(conversation.len());
        let given = conversation.messages().iter().take(first);
        Self {
            request: request.clone(),
            first,
            asked: given.chain([request]).cloned().collect(),
            refusal: refusal.cloned(),
            text: None,
        }
    }

    /// The same after results were cut.
    pub(super) fn of_trimmed(&self, conversation: &Conversation) -> Self {
        let given = conversation.messages().iter().take(self.first);
        Self { asked: given.chain([&self.request]).cloned().collect(), ..self.clone() }
    }
}
