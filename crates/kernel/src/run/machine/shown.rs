//! What readers of a run see of its events.

use std::sync::Arc;

use serde_json::Value;

use super::{Run, state::Phase};
use crate::{
    id::ToolCallId,
    run::event::{
        Event,
        observed::{Detail, RunEvent},
    },
};

impl Run {
    /// An event of this run, with its number and time, as readers see it; none for what is not shown.
    /// Ask before the model's next answer is fed in: the details of a call are known until then.
    pub fn observed(&self, event: Event, seq: u64, ts: impl Into<String>) -> Option<RunEvent> {
        // The chunks of a summary are not the agent's words; the whole of it is shown in their place.
        let is_chunk = matches!(event, Event::TextChunk { .. } | Event::ThoughtChunk { .. });
        if is_chunk && self.state.phase == Phase::Summary {
            return None;
        }
        let detail = self.detail(&event);
        Some(RunEvent { run: Arc::clone(&self.assignment), seq, ts: ts.into(), event, detail })
    }

    fn detail(&self, event: &Event) -> Detail {
        match event {
            Event::ToolStarted { call_id, .. } | Event::ApprovalRequested { call_id, .. } => {
                self.arguments_of(call_id).map_or(Detail::None, Detail::Arguments)
            }
            Event::Ended { .. } => {
                self.outcome().map_or(Detail::None, |outcome| Detail::Outcome(Box::new(outcome)))
            }
            _ => Detail::None,
        }
    }

    fn arguments_of(&self, call_id: &ToolCallId) -> Option<Value> {
        let call = self.last_calls()?.find(|call| call.id == *call_id)?;
        call.arguments().ok().cloned()
    }
}
