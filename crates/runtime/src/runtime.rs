//! The runtime as a host sees it: begin a run, go on with one, watch.
//!
//! Every run it begins is awaited by its caller; dropping that future ends the run and all it holds.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use attache_kernel::{
    id::{RunId, SessionId},
    rights::{
        filter::{ToolSet, WithheldTool},
        tool_name::ToolName,
    },
    run::{
        Run, RunError,
        assignment::{Assignment, RunRequest, SharedGuard, ToolSpec},
        event::Event,
        outcome::{Descendants, RunResult, Surroundings},
        transcript::Header,
    },
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    artifacts::Artifacts,
    events::{Publisher, Watching},
    executor::{Broken, Execution, Patience, drive},
    journal::{DiskQueue, LocalJournal},
    model::Model,
    tool::{FileGuard, Tool, ToolContext, catalogue::builtin_tools},
    transcripts::{TranscriptError, TranscriptStore},
    workspace::{Workspace, WorkspaceError},
};

/// Begins runs and lets others watch them.
#[derive(Debug)]
pub struct Runtime {
    tools: BTreeMap<ToolName, Arc<dyn Tool>>,
    transcripts: TranscriptStore,
    events: Publisher,
    patience: Patience,
    disk: DiskQueue,
}

/// What it takes to begin a run.
#[derive(Debug)]
pub struct Start {
    /// Which agent does what; its tools are set by the runtime from `rights`.
    pub assignment: Assignment,
    /// What the agent may call.
    pub rights: ToolSet,
    /// What answers it.
    pub model: Arc<dyn Model>,
    /// How long it may be silent; none is as long as any other.
    pub stall: Option<Duration>,
    /// Where it works.
    pub root: PathBuf,
    /// Further folders its file tools may use.
    pub further_roots: Vec<PathBuf>,
    /// Ends it.
    pub cancel: CancellationToken,
}

/// So many runs back what was too long to show can still be read.
const MOST_EARLIER_RUNS: usize = 50;

/// Why a run did not begin, or could not be written down.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The assignment makes no run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The working directory cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The transcript cannot be made or read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
}

impl Runtime {
    /// A runtime with the built-in tools.
    pub fn new(transcripts: TranscriptStore, patience: Patience) -> Self {
        let tools = builtin_tools();
        let tools = tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let events = Publisher::masking(transcripts.secrets().clone());
        Self { tools, transcripts, events, patience, disk: DiskQueue::default() }
    }

    /// The events of all runs from now on.
    pub fn watch(&self) -> Watching {
        self.events.watch()
    }

    /// The transcripts.
    pub fn transcripts(&self) -> &TranscriptStore {
        &self.transcripts
    }

    /// Waits until everything that was written down is on the disk: the last thing to do before the
    /// process ends.
    pub fn settled(&self) -> impl Future<Output = ()> + Send + use<> {
        let disk = self.disk.clone();
        async move { disk.emptied().await }
    }

    /// Runs an agent to its end.
    pub async fn run(&self, mut start: Start) -> Result<RunResult, StartError> {
        self.equip(&mut start.assignment, &start.rights);
        let guard: SharedGuard = Arc::new(start.rights.clone());
        let request = RunRequest { assignment: start.assignment.clone(), fork: None, guard };
        let (run, opening) = Run::new(request)?;
        self.carry_out(run, opening, start).await
    }

    /// Goes on with what an earlier run had said and seen, in a run of its own. What was too long to be
    /// shown then can still be read.
    pub async fn resume(&self, earlier: &Run, mut start: Start) -> Result<RunResult, StartError> {
        start.further_roots.extend(self.earlier_artifacts(earlier)?);
        self.equip(&mut start.assignment, &start.rights);
        let guard: SharedGuard = Arc::new(start.rights.clone());
        let (run, opening) = earlier.resume(start.assignment.clone(), guard)?;
        self.carry_out(run, opening, start).await
    }

    /// Where the artifacts of a run lie, and of those it went on from.
    fn earlier_artifacts(&self, run: &Run) -> Result<Vec<PathBuf>, TranscriptError> {
        let mut folders = Vec::new();
        let mut assignment = run.assignment().clone();
        loop {
            folders.push(self.transcripts.artifacts_of(&assignment)?);
            let earlier = assignment.resumed_from.filter(|_| folders.len() < MOST_EARLIER_RUNS);
            // What was cleaned away has no artifacts either.
            let Some(Ok(earlier)) = earlier.map(|id| self.transcripts.load(id.as_str())) else {
                return Ok(folders);
            };
            assignment = earlier.header.run;
        }
    }

    /// Offers the tools that the rights allow and that there are.
    fn equip(&self, assignment: &mut Assignment, rights: &ToolSet) {
        assignment.tools.clear();
        for name in rights.names() {
            match self.tools.get(name) {
                Some(tool) => assignment.tools.push(ToolSpec::clone(tool.spec())),
                None => assignment.withheld_tools.push(WithheldTool {
                    tool: name.to_string(),
                    reason: "this version has no such tool yet".to_owned(),
                }),
            }
        }
    }

    async fn carry_out(
        &self,
        run: Run,
        opening: Vec<Event>,
        start: Start,
    ) -> Result<RunResult, StartError> {
        let header = Header::new(format!("{:.3}", Timestamp::now()), run.assignment().clone());
        let artifacts = self.transcripts.artifacts_dir(&header)?;
        let mut workspace = Workspace::new(&start.root)?.allowing(artifacts.clone());
        for root in start.further_roots {
            workspace = workspace.allowing(root);
        }
        let journal = self.transcripts.create(&header)?;
        let transcript = journal.path().display().to_string();
        let driven = drive(Execution {
            run,
            opening,
            next_seq: 1,
            model: start.model,
            tools: self.tools.clone(),
            context: ToolContext {
                workspace: Arc::new(workspace),
                cancel: start.cancel,
                artifacts: Arc::new(
                    Artifacts::new(artifacts).masking(self.transcripts.secrets().clone()),
                ),
                files: FileGuard::new(Arc::new(start.rights)),
            },
            journal: Box::new(LocalJournal::new(journal, self.disk.clone())),
            events: self.events.clone(),
            patience: Patience {
                stall: start.stall.unwrap_or(self.patience.stall),
                ..self.patience
            },
        })
        .await;
        let (run, outcome) = driven.unwrap_or_else(|Broken { run, error }| {
            let outcome = run.broken_off(error.to_string());
            (*run, outcome)
        });
        let surroundings =
            Surroundings { transcript: Some(transcript), descendants: Descendants::default() };
        Ok(self.masked(outcome.into_result(&run.assignment().result_of(), surroundings)))
    }

    /// A result without the keys that are in no other place either.
    fn masked(&self, mut result: RunResult) -> RunResult {
        let secrets = self.transcripts.secrets();
        let mask = |text: &mut String| {
            if let Cow::Owned(masked) = secrets.mask(text) {
                *text = masked;
            }
        };
        mask(&mut result.result);
        result.error.iter_mut().for_each(mask);
        result.output = result.output.map(|output| secrets.mask_json(output));
        result
    }
}

/// A name for a new run.
pub fn new_run_id() -> RunId {
    RunId::new(format!("agent-{}", Uuid::new_v4()))
}

/// A name for a new session.
pub fn new_session_id() -> SessionId {
    SessionId::new(Uuid::new_v4().to_string())
}
