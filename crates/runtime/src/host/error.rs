//! Why an order cannot be carried out: what is wrong, and what to do about it.

use std::path::PathBuf;

use attache_kernel::{agent::registry::LookupError, id::RunId, run::transcript::FoldError};

use super::{connection::ConnectError, inputs::InputError};
use crate::{store::StoreError, worktree::WorktreeError};

/// Why an order cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// There are no subagents here.
    #[error("subagents are switched off (subagents.enabled = false)")]
    SwitchedOff,
    /// There is no such agent, or it cannot be run.
    #[error(transparent)]
    Agent(#[from] LookupError),
    /// Nothing could be read of its file.
    #[error("nothing could be read of the agent `{0}`")]
    NothingRead(String),
    /// An agent was named that is not the one of the earlier run.
    #[error("the run {run} is one of `{agent}`, not of `{named}`")]
    OtherAgent {
        /// The run.
        run: RunId,
        /// Its agent.
        agent: String,
        /// The agent that was named.
        named: String,
    },
    /// The inputs cannot be read.
    #[error(transparent)]
    Inputs(#[from] InputError),
    /// A resumed run has its inputs.
    #[error("--input cannot be changed: a resumed run has its inputs")]
    InputsOfResumed,
    /// The folder cannot be used.
    #[error("cannot work in {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The folder of an earlier run is gone.
    #[error("the run's folder {} is gone", .0.display())]
    FolderGone(PathBuf),
    /// An untrusted agent wants to work outside of the workspace.
    #[error("`{agent}` wants to work in {}, outside of the workspace", folder.display())]
    OutsideWorkspace {
        /// The agent.
        agent: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The run cannot have a worktree of its own.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// The earlier run still goes on.
    #[error("{0} still runs")]
    StillRuns(RunId),
    /// The earlier run has no such turn, or it is not over.
    #[error("{run} has no turn {turn} that is over")]
    NoSuchTurn {
        /// The run.
        run: RunId,
        /// The turn.
        turn: u32,
        /// How many turns are over.
        turns: u32,
    },
    /// The earlier run belongs to another project, whose rules and agents are not known here.
    #[error("{run} belongs to another project, {}", project.display())]
    OtherProject {
        /// The run.
        run: RunId,
        /// The directory of its project.
        project: PathBuf,
    },
    /// The earlier run was to know its parent's conversation, and was cut off before it was given it.
    #[error(
        "{0} was cut off before it began, and what it was to know of its parent is not recorded"
    )]
    NeverBegan(RunId),
    /// The earlier run's transcript makes no run.
    #[error("the transcript cannot be continued")]
    Transcript(#[from] FoldError),
    /// The transcript cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No model answers.
    #[error(transparent)]
    Model(#[from] ConnectError),
    /// The session has spent what it may.
    #[error("this session has spent its budget of {what}")]
    BudgetSpent {
        /// How much that was.
        what: String,
        /// The setting.
        key: &'static str,
    },
    /// The agent wants an instance of its own, and there is no way to start one.
    #[error(
        "`{0}` has `executionMode: full_codex`, and this program cannot start an instance of itself"
    )]
    NoInstances(String),
    /// Agents may not be nested that deep.
    #[error("Sub-agents are not enabled in this nested context")]
    TooDeep {
        /// The depth the run would have.
        depth: u32,
        /// The depth runs may have.
        max_depth: u32,
    },
}

impl OrderError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::SwitchedOff => Some("set subagents.enabled = true".to_owned()),
            Self::NothingRead(_) => Some("`attache validate` says what is wrong".to_owned()),
            Self::OtherAgent { agent, .. } => {
                Some(format!("name `{agent}` or no agent, or start a new run without --resume"))
            }
            Self::Inputs(error) => Some(error.hint()),
            Self::InputsOfResumed => Some("say what is new in the task".to_owned()),
            Self::FolderGone(_) => Some("restore the folder".to_owned()),
            Self::OutsideWorkspace { .. } => Some(
                "trust the agent, or add the folder to workspace_roots in your settings".to_owned(),
            ),
            Self::Worktree(error) => error.hint(),
            Self::OtherProject { run, .. } => Some(format!(
                "`attache run --resume {run}` continues it there, under the rules of that project"
            )),
            Self::NeverBegan(_) => Some("start it again instead of resuming it".to_owned()),
            Self::StillRuns(id) => Some(format!(
                "wait for it (attache output {id} --wait), stop it (attache stop {id}) or send it the message (attache send {id} TEXT)"
            )),
            Self::NoSuchTurn { turns: 0, .. } => Some("none of its turns is over yet".to_owned()),
            Self::NoSuchTurn { turns: 1, .. } => Some("it has one: --at 1".to_owned()),
            Self::NoSuchTurn { turns, .. } => {
                Some(format!("{turns} turns are over: --at 1 to --at {turns}"))
            }
            Self::Store(error) => Some(error.hint()),
            Self::Model(error) => error.hint(),
            Self::BudgetSpent { key, .. } => Some(format!("raise subagents.{key}")),
            Self::NoInstances(_) => Some("remove executionMode from the agent".to_owned()),
            Self::TooDeep { max_depth, .. } => {
                Some(format!("subagents.max_depth is {max_depth}: do the work without delegating"))
            }
            Self::Transcript(FoldError::Run(_)) | Self::Agent(_) | Self::Folder { .. } => None,
            Self::Transcript(_) => Some(
                "`attache transcript ID --json` prints its lines as they are; `--at TURN` continues from an earlier turn"
                    .to_owned(),
            ),
        }
    }
}
