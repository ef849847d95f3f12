//! A letter: something that was left for an agent while it works, to be read with its next turn.

use serde::{Deserialize, Serialize};

use crate::id::LetterId;

/// Something that was left for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// What tells it from every other letter, where it may come twice; the journal holds it.
    pub id: Option<LetterId>,
    /// What the agent reads.
    pub text: String,
    /// Whether it was left before the run was given its task: an earlier run of the agent was sent it and
    /// did not read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before_task: bool,
}

impl Letter {
    /// A letter that comes once.
    pub fn new(text: impl Into<String>) -> Self {
        Self { id: None, text: text.into(), before_task: false }
    }
}

impl From<&str> for Letter {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
