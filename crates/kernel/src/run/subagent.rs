//! What a run is told about the subagents it started.
//!
//! Each note becomes one event of the run's transcript, which names who started the subagent.

use crate::{
    id::{AgentName, RunId},
    run::{
        assignment::Assignment,
        event::{Attendance, Event, StartedBy},
    },
};

/// Something that happened to a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubagentNote {
    /// It began.
    Started {
        /// Its run.
        agent_id: RunId,
        /// Its name.
        name: AgentName,
        /// What it is to do.
        description: String,
        /// Whether the run waits for it.
        attendance: Attendance,
    },
    /// It goes on in the background.
    Detached {
        /// Its run.
        agent_id: RunId,
    },
    /// Its clock stands, since somebody is being asked, or goes on again.
    Clock {
        /// Its run.
        agent_id: RunId,
        /// Whether it stands.
        stands: bool,
    },
    /// It ended.
    Ended {
        /// Its run.
        agent_id: RunId,
        /// Its name.
        name: AgentName,
        /// Whether it reached its goal.
        success: bool,
    },
}

impl SubagentNote {
    pub(crate) fn into_event(self, run: &Assignment) -> Event {
        let origin = || match run.depth {
            0 => StartedBy::Main,
            _ => StartedBy::SubAgent(run.definition.agent_type.to_string()),
        };
        match self {
            Self::Started { agent_id, name, description, attendance } => Event::SubAgentStart {
                agent_id,
                name: name.to_string(),
                description,
                origin: origin(),
                attendance,
            },
            Self::Detached { agent_id } => Event::SubAgentDetached { agent_id },
            Self::Clock { agent_id, stands } => Event::SubAgentClock { agent_id, stands },
            Self::Ended { agent_id, name, success } => {
                Event::SubAgentEnd { agent_id, name: name.to_string(), success, origin: origin() }
            }
        }
    }
}
