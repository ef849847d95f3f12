//! An event as a reader of a run sees it: whose it is, its number and time, and the detail that makes
//! it understandable without the run.
//!
//! It is a typed value. JSON is made only where a line is printed, by [`RunEvent::activity`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Event,
    activity::{SubagentActivityEvent, activity},
};
use crate::run::{assignment::Assignment, outcome::Outcome};

/// An event of a run, complete in itself.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvent {
    /// The run it belongs to.
    pub run: Arc<Assignment>,
    /// Its number in the run.
    pub seq: u64,
    /// When, as an RFC 3339 timestamp.
    pub ts: String,
    /// What happened.
    pub event: Event,
    /// What the event itself does not say.
    pub detail: Detail,
}

/// What an event takes from its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Nothing: the event says it all.
    None,
    /// The arguments of the call that begins, or that somebody is asked about.
    Arguments(Value),
    /// The totals of the run that has ended.
    Outcome(Box<Outcome>),
}

impl RunEvent {
    /// The same as `docs/formats/events.md` writes it; none for an event that concerns only the
    /// transcript.
    pub fn activity(&self) -> Option<SubagentActivityEvent> {
        let (event_type, data) = activity(&self.event, &self.run, &self.detail)?;
        Some(SubagentActivityEvent {
            agent_id: self.run.agent_id.clone(),
            agent_type: self.run.definition.agent_type.clone(),
            event_type,
            data,
            seq: self.seq,
            ts: self.ts.clone(),
            session_id: self.run.session_id.clone(),
            parent_id: self.run.parent_id.clone(),
        })
    }

    /// Whether the run is over with it.
    pub fn is_last(&self) -> bool {
        matches!(self.event, Event::Ended { .. })
    }
}
