//! Sessions: processes that outlive the call that started them, by number. They end with their run.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, MutexGuard, PoisonError},
};

use super::{Processes, Reach, running::Process};

/// How many a run may have at once.
const MOST: usize = 16;
/// How much of a command is shown in a list.
const SHOWN: usize = 60;

/// The number of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionId(pub(crate) usize);

/// The sessions of a run.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    opened: usize,
    open: BTreeMap<SessionId, Session>,
}

#[derive(Debug)]
struct Session {
    process: Arc<Process>,
    command: String,
    reach: Reach,
}

/// Why there is no session; the text is for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there is no session {id}: {open}")]
    Unknown { id: SessionId, open: String },
    #[error("{MOST} sessions are open; end one first: {open}")]
    TooMany { open: String },
}

impl Processes {
    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more session can be opened. Sessions that have ended make room, the oldest first.
    pub(crate) fn room_for_session(&self) -> Result<(), SessionError> {
        let mut sessions = self.sessions();
        if sessions.open.len() < MOST {
            return Ok(());
        }
        let mut by_age = sessions.open.iter();
        let ended = by_age.find(|(_, session)| session.process.ending().is_some());
        let Some(id) = ended.map(|(id, _)| *id) else {
            return Err(SessionError::TooMany { open: sessions.told() });
        };
        sessions.open.remove(&id);
        Ok(())
    }

    /// Keeps a process, which the run then owns.
    pub(crate) fn open_session(
        &self,
        process: Arc<Process>,
        command: &str,
        reach: Reach,
    ) -> SessionId {
        let mut sessions = self.sessions();
        sessions.opened += 1;
        let id = SessionId(sessions.opened);
        let line = command.lines().next().unwrap_or_default();
        let command = line.get(..line.floor_char_boundary(SHOWN)).unwrap_or(line).to_owned();
        sessions.open.insert(id, Session { process, command, reach });
        id
    }

    /// The process of a session.
    pub(crate) fn session(&self, id: SessionId) -> Result<Arc<Process>, SessionError> {
        let sessions = self.sessions();
        let found = sessions.open.get(&id).map(|session| Arc::clone(&session.process));
        found.ok_or_else(|| SessionError::Unknown { id, open: sessions.told() })
    }

    /// The command that a session runs.
    pub(crate) fn session_command(&self, id: SessionId) -> Option<String> {
        self.sessions().open.get(&id).map(|session| session.command.clone())
    }

    /// Whether the sandbox holds a session's process.
    pub(crate) fn is_confined(&self, id: SessionId) -> bool {
        let sessions = self.sessions();
        sessions.open.get(&id).is_some_and(|session| session.reach != Reach::Escalated)
    }

    /// Lets a session go.
    pub(crate) fn close_session(&self, id: SessionId) {
        let closed = self.sessions().open.remove(&id);
        drop(closed);
    }
}

impl Sessions {
    fn told(&self) -> String {
        if self.open.is_empty() {
            return "none is open; start one with exec_command".to_owned();
        }
        let each = self.open.iter().map(|(id, session)| format!("{id} (`{}`)", session.command));
        format!("open are {}", each.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}
