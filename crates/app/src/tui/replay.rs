//! A conversation read back from the journals: the events of its runs and of all agents below them, in
//! the order in which they happened.

use std::{collections::BTreeMap, sync::Arc};

use attache_kernel::{
    id::RunId,
    run::event::observed::{Detail, RunEvent},
};
use attache_runtime::internal::store::{FileStore, RunState, StoreError, Summary, Transcript};

use super::state::session::Session;
use crate::{
    failure::Failure,
    print::{number::count, palette::Tone},
};

/// The main agent's name.
const MAIN: &str = "attache";

/// The id of the newest conversation.
pub(crate) fn newest_conversation(store: &FileStore) -> Result<String, Failure> {
    let runs = store.list().map_err(|error| crate::transcripts::failure(&error))?;
    let newest =
        runs.into_iter().find(|run| run.parent_id.is_none() && run.agent_type.as_str() == MAIN);
    newest.map(|run| run.agent_id.to_string()).ok_or_else(|| {
        Failure::usage("there is no conversation yet").hint("`attache chat` begins one")
    })
}

/// Whether a run is a message of a conversation.
pub(crate) fn is_conversation(run: &Summary) -> bool {
    run.parent_id.is_none() && run.agent_type.as_str() == MAIN
}

/// A conversation as the journals have it.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    pub(crate) events: Vec<RunEvent>,
    /// How many of its agents go on in other processes.
    pub(crate) elsewhere: u64,
}

impl Replay {
    /// The session that it makes.
    pub(crate) fn session(&self, mut session: Session) -> Session {
        self.events.iter().for_each(|event| session.apply(event));
        cut_off(&mut session);
        if self.elsewhere > 0 {
            let agents = count(self.elsewhere, "agent");
            let text = format!("{agents} at work in other processes; Ctrl-T shows every run");
            session.notice(Tone::Warning, text);
        }
        session
    }
}

/// The conversation that ends with that run.
pub(crate) fn read(id: &str, store: &FileStore) -> Result<Replay, StoreError> {
    let mut events: Vec<RunEvent> = Vec::new();
    let mut elsewhere = 0;
    for transcript in transcripts(id, store)? {
        let is_open = matches!(transcript.state, RunState::Running | RunState::Queued);
        if is_open && transcript.header.run.parent_id.is_some() {
            elsewhere += 1;
            continue;
        }
        let run = Arc::new(transcript.header.run);
        events.extend(transcript.entries.into_iter().map(|entry| RunEvent {
            run: Arc::clone(&run),
            seq: entry.seq,
            ts: entry.ts,
            event: entry.event,
            detail: Detail::None,
        }));
    }
    // The order of one run's events stays.
    events.sort_by(|one, other| one.ts.cmp(&other.ts));
    Ok(Replay { events, elsewhere })
}

/// The transcripts of the conversation that ends with that run. Its own runs have no parent in them.
pub(crate) fn transcripts(id: &str, store: &FileStore) -> Result<Vec<Transcript>, StoreError> {
    let last = store.read(id)?;
    let session = last.header.run.session_id.clone();
    let mut runs: BTreeMap<RunId, Transcript> = BTreeMap::new();
    // What cannot be read is left out.
    for transcript in store.session(&session)?.flatten() {
        runs.insert(transcript.header.run.agent_id.clone(), transcript);
    }
    let mut chain = vec![last.header.run.agent_id.clone()];
    let mut earlier = last.header.run.resumed_from.clone();
    runs.entry(last.header.run.agent_id.clone()).or_insert(last);
    while let Some(id) = earlier.filter(|id| !chain.contains(id)) {
        earlier = runs.get(&id).and_then(|run| run.header.run.resumed_from.clone());
        chain.push(id);
    }
    let belonging: Vec<RunId> =
        runs.keys().filter(|id| belongs(id, &runs, &chain)).cloned().collect();
    let mut found: Vec<Transcript> = belonging.iter().filter_map(|id| runs.remove(id)).collect();
    for transcript in &mut found {
        if chain.contains(&transcript.header.run.agent_id) {
            transcript.header.run.parent_id = None;
        }
    }
    found.sort_by(|one, other| one.header.ts.cmp(&other.header.ts));
    Ok(found)
}

/// Whether a run is one of the conversation's, or below one.
fn belongs(id: &RunId, runs: &BTreeMap<RunId, Transcript>, chain: &[RunId]) -> bool {
    let mut above = Some(id);
    // No tree is deeper than it has runs.
    for _ in 0..=runs.len() {
        match above {
            Some(id) if chain.contains(id) => return true,
            Some(id) => above = runs.get(id).and_then(|run| run.header.run.parent_id.as_ref()),
            None => return false,
        }
    }
    false
}

/// What was under way when the journals end does not go on.
fn cut_off(session: &mut Session) {
    if session.is_open() {
        session.cut_off();
        session.notice(
            Tone::Warning,
            "what was under way was cut off; the next message goes on from there",
        );
    }
}
