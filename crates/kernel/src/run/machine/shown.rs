//! What watchers of a run are shown of its events.

use serde_json::{Map, Value, json};

use super::{Run, state::Phase};
use crate::{
    id::ToolCallId,
    run::{
        event::{
            Event,
            activity::{Background, SubagentActivityEvent, activity},
        },
        outcome::Outcome,
    },
};

impl Run {
    /// What watchers are shown of an event; nothing, where it concerns only the transcript. Ask before
    /// the model's next answer is fed in: the details of a call are known until then.
    pub fn activity(
        &self,
        event: &Event,
        seq: u64,
        ts: impl Into<String>,
    ) -> Option<SubagentActivityEvent> {
        // The pieces of a summary are not the agent's words; the whole of it is shown in their place.
        let is_chunk = matches!(event, Event::TextChunk { .. } | Event::ThoughtChunk { .. });
        if is_chunk && self.state.phase == Phase::Summary {
            return None;
        }
        let (event_type, data) = activity(event, self)?;
        let assignment = self.assignment();
        Some(SubagentActivityEvent {
            agent_id: assignment.agent_id.clone(),
            agent_type: assignment.definition.agent_type.clone(),
            event_type,
            data,
            seq,
            ts: ts.into(),
            session_id: assignment.session_id.clone(),
            parent_id: assignment.parent_id.clone(),
        })
    }
}

impl Background for Run {
    fn introduction(&self) -> Map<String, Value> {
        let assignment = self.assignment();
        let limits = &assignment.definition.run_config;
        let task = assignment.task.lines().find(|line| !line.trim().is_empty());
        let description = assignment.description.as_deref().or(task);
        let tools: Vec<_> = assignment.tools.iter().map(|spec| &spec.name).collect();
        let introduction = [
            ("description", json!(description.unwrap_or_default().trim())),
            ("model", json!(assignment.model)),
            ("tools", json!(tools)),
            ("withheld_tools", json!(assignment.withheld_tools)),
            ("max_turns", json!(limits.max_turns)),
            ("max_seconds", json!(limits.max_time_seconds)),
            ("resumed_from", json!(assignment.resumed_from)),
        ];
        introduction.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
    }

    fn arguments(&self, call_id: &ToolCallId) -> Option<Value> {
        let call = self.last_calls()?.find(|call| call.id == *call_id)?;
        call.arguments().ok().cloned()
    }

    fn outcome(&self) -> Option<Outcome> {
        Self::outcome(self)
    }
}
