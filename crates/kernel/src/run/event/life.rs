//! The life of a subagent as a session shows it: `initializing → active → completed | error`.

use serde::{Deserialize, Serialize};

use super::Event;
use crate::run::outcome::Status;

/// The life of a subagent as a session shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It is being set up, or waits for a place.
    #[default]
    Initializing,
    /// It works.
    Active,
    /// It reached its goal.
    Completed,
    /// It ended otherwise.
    Error,
}

impl Life {
    /// What an event makes of it. Nothing follows an end.
    #[must_use]
    pub fn after(self, event: &Event) -> Self {
        match (self, event) {
            (Self::Initializing, Event::Started) => Self::Active,
            (Self::Initializing | Self::Active, Event::Ended { ending }) => {
                if ending.status == Status::Goal { Self::Completed } else { Self::Error }
            }
            (life, _) => life,
        }
    }
}
