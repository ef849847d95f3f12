//! A run as its journal tells of it: the result that was handed out when it ended, or what there is so far.
//!
//! Invariant: the result of a run that has ended is the one its caller got, field by field, from any process and
//! whenever.

use std::{collections::BTreeSet, path::Path, time::Duration};

use attache_kernel::run::{
    assignment::WorktreeFacts,
    event::Event,
    outcome::{Changes, Descendants, Outcome, RunResult, Status, Surroundings},
    transcript::{FoldError, fold},
};

use crate::{
    changes::{
        place::below_repository,
        run_patch::{Direction, RunPatch},
    },
    store::{RunState, Store, StoreError, Transcript},
    tool::artifacts::{Artifacts, CHANGES, PATCH},
};

/// How long the changes of a run that has just ended are waited for, and how often it is looked.
const PATIENCE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(20);

/// A run as its journal tells of it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// What has become of it.
    pub state: RunState,
    /// Its result; of a run without an end what it has so far, as `aborted` and partial.
    pub result: RunResult,
    /// Whether the journal holds its end.
    pub has_ended: bool,
}

/// Why a run cannot be told of.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its journal makes no run.
    #[error("the transcript is damaged")]
    Fold(#[from] FoldError),
}

impl RecordedRun {
    /// Reads a run by its id, or by the beginning of one.
    pub async fn read(id: &str, store: &dyn Store) -> Result<Self, RecordedError> {
        let transcript = store.read(id).await?;
        let descendants = descendants(&transcript, store).await;
        let state = transcript.state;
        let location = transcript.path.display().to_string();
        let artifacts = store.artifacts_dir(&transcript.header.run)?;
        let run = fold(transcript.into_lines())?;
        let ended = run.outcome();
        let has_ended = ended.is_some();
        let outcome = ended.unwrap_or_else(|| {
            let mut outcome = run.broken_off(unfinished(state).to_owned());
            outcome.ending.status = Status::Aborted;
            outcome.ending.partial = true;
            outcome
        });
        let worktree = run.assignment().worktree.as_ref();
        // The changes in a worktree are worked out when the run has ended.
        let patience = if has_ended && worktree.is_some() { PATIENCE } else { Duration::ZERO };
        let kept = kept_changes(&artifacts.join(CHANGES), patience).await;
        let changes = kept.unwrap_or_else(|| {
            let artifacts = Artifacts::new(artifacts).masking(store.secrets().clone());
            let workspace = Path::new(&run.assignment().environment.cwd);
            changes(&outcome, &artifacts, state, (workspace, worktree))
        });
        let surroundings = Surroundings { transcript: Some(location), descendants, changes };
        let result = outcome.into_result(&run.assignment().result_of(), surroundings);
        Ok(Self { state, result, has_ended })
    }
}

fn unfinished(state: RunState) -> &'static str {
    match state {
        RunState::Queued | RunState::Running => "the run is still running",
        RunState::Completed | RunState::Failed | RunState::Interrupted => {
            "the run was interrupted: its process is gone"
        }
    }
}

/// What a run changed, as it was worked out at its end; none if it was not.
async fn kept_changes(file: &Path, patience: Duration) -> Option<Option<Changes>> {
    let waited_long_enough = tokio::time::Instant::now() + patience;
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return serde_json::from_str(&text).ok();
        }
        if tokio::time::Instant::now() >= waited_long_enough {
            return None;
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// What the file tools of a run changed, and the branch of a worktree that was left behind. Of a run whose
/// process is gone the patch is made here: it had no time to.
fn changes(
    outcome: &Outcome,
    artifacts: &Artifacts,
    state: RunState,
    (workspace, worktree): (&Path, Option<&WorktreeFacts>),
) -> Option<Changes> {
    let left = worktree.filter(|worktree| Path::new(&worktree.directory).is_dir());
    let branch = left.map(|worktree| worktree.branch.clone());
    if outcome.changes.is_empty() && branch.is_none() {
        return None;
    }
    let files = outcome.changes.iter().map(|change| change.path.clone()).collect();
    let kept = artifacts.directory().join(PATCH);
    let patch = match state {
        _ if kept.exists() => Some(kept),
        RunState::Interrupted => {
            let below = below_repository(workspace, worktree);
            let (changes, kept) = (&outcome.changes, artifacts.directory());
            let patch = RunPatch::from_changes(changes, kept, &below, Direction::Forward);
            artifacts.keep_patch(patch.text.as_bytes()).ok()
        }
        RunState::Queued | RunState::Running | RunState::Completed | RunState::Failed => None,
    };
    let patch = patch.map(|patch| patch.display().to_string()).unwrap_or_default();
    Some(Changes { files, patch, branch })
}

/// What the runs below a run have used. Those that cannot be read are left out.
async fn descendants(run: &Transcript, store: &dyn Store) -> Descendants {
    let children = |transcript: &Transcript| {
        let started = transcript.entries.iter().filter_map(|entry| match &entry.event {
            Event::SubAgentStart { agent_id, .. } => Some(agent_id.clone()),
            _ => None,
        });
        started.collect::<Vec<_>>()
    };
    let mut below = Descendants::default();
    let mut seen = BTreeSet::new();
    let mut next = children(run);
    while let Some(id) = next.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let Ok(transcript) = store.read(id.as_str()).await else { continue };
        next.extend(children(&transcript));
        let Ok(child) = fold(transcript.into_lines()) else { continue };
        let used = child.outcome().unwrap_or_else(|| child.broken_off(String::new()));
        below.agents = below.agents.saturating_add(1);
        below.total_tokens = below.total_tokens.saturating_add(used.usage.total_tokens());
        below.cost_usd = below.cost_usd.zip(used.cost_usd).map(|(one, other)| one + other);
    }
    below
}
