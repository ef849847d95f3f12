//! What it takes to start a run: the assignment, the rights, the model, the past, the budget of the tree.
//!
//! Invariant: everything here was decided by the front door; starting a run decides nothing again.

use std::{path::PathBuf, sync::Arc, time::Duration};

use attache_kernel::{
    rights::filter::ToolSet,
    run::{Run, RunError, assignment::Assignment, fork::Fork},
};

use super::{Permissions, RunHandle, TreeBudget, TreeLimits};
use crate::{
    approvals::Approvals,
    bridge::{InInstance, LeftBehind},
    mcp_client::Toolbox,
    model::Model,
    store::StoreError,
    tool::workspace::WorkspaceError,
    worktree::{WorktreeError, WorktreePlan},
};

/// What it takes to start a run.
#[derive(Debug)]
pub struct Start {
    /// Which agent does what; its tools are set by the runtime from `rights`.
    pub assignment: Assignment,
    /// What the agent may call.
    pub rights: ToolSet,
    /// What answers it.
    pub model: Arc<dyn Model>,
    /// The stall timeout; none uses the default.
    pub stall: Option<Duration>,
    /// Where it works.
    pub root: PathBuf,
    /// Further directories its file tools may use.
    pub further_roots: Vec<PathBuf>,
    /// What it goes on with.
    pub past: Past,
    /// The run it works for.
    pub parent: Option<RunHandle>,
    /// What the tree may use whose root it is; a run with a parent shares that one's.
    pub budget: TreeBudgetStart,
    /// Who is asked whether a call may begin.
    pub approvals: Approvals,
    /// Which calls are asked about.
    pub permissions: Permissions,
    /// The tools of MCP servers.
    pub toolbox: Toolbox,
    /// The worktree that is made for it, in which `root` lies.
    pub worktree: Option<WorktreePlan>,
    /// Whether an instance of its own drives it.
    pub(crate) instance: Option<InInstance>,
}

impl Start {
    /// A run of its own, with nothing but its task.
    pub fn new(
        assignment: Assignment,
        rights: ToolSet,
        model: Arc<dyn Model>,
        root: impl Into<PathBuf>,
    ) -> Self {
        Self {
            assignment,
            rights,
            model,
            stall: None,
            root: root.into(),
            further_roots: Vec::new(),
            past: Past::Nothing,
            parent: None,
            budget: TreeBudgetStart::default(),
            approvals: Approvals::default(),
            permissions: Permissions::default(),
            toolbox: Toolbox::default(),
            worktree: None,
            instance: None,
        }
    }

    /// Puts the rules about files in their places: they stay about the files they were written for, wherever
    /// the run works, and are about those of its worktree as well.
    pub(super) fn put_rules_in_place(&mut self) {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let worktree = self.assignment.worktree.as_ref();
        let attended = self.assignment.attended_rights.as_mut();
        for rights in attended.into_iter().chain([&mut self.rights]) {
            *rights = std::mem::take(rights).placed(&root.to_string_lossy());
            if let Some(facts) = worktree {
                *rights = std::mem::take(rights).copied(&facts.repository, &facts.directory);
            }
        }
        if let Some(facts) = &self.assignment.worktree {
            self.permissions.copy(&facts.repository, &facts.directory);
        }
    }
}

/// What a run begins with.
#[derive(Debug)]
pub enum Past {
    /// Nothing but its task.
    Nothing,
    /// What another agent had said and seen.
    Fork(Fork),
    /// What an earlier run of the same agent had said and seen.
    Earlier(Box<Run>),
    /// What an earlier run had said and seen up to some turn. That run is left alone: it may go on, and
    /// any number may branch off.
    Branch(Box<Run>),
    /// The run itself, which another process owns.
    TakenOver(Box<TakenOver>),
}

/// A run that another process owns and that is driven here.
#[derive(Debug)]
pub struct TakenOver {
    /// The run as far as it came.
    pub(crate) run: Run,
    /// The number of its next entry.
    pub(crate) next_seq: u64,
    /// What became of the background agents of the run that it continues.
    pub(crate) left_behind: Option<LeftBehind>,
    /// The budget of its tree, which that process keeps.
    pub(crate) budget: Arc<TreeBudget>,
}

/// The budget of a tree at its beginning.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeBudgetStart {
    /// What the tree may use.
    pub limits: TreeLimits,
    /// The tokens that were used before.
    pub tokens: u64,
    /// The money that was spent before.
    pub cost_usd: f64,
}

impl TreeBudgetStart {
    /// The budget that the runs of the tree share.
    pub(super) fn begun(&self) -> Arc<TreeBudget> {
        Arc::new(TreeBudget::new(self.limits, self.tokens, self.cost_usd))
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> TreeLimits {
        TreeBudget::new(self.limits, self.tokens, self.cost_usd).left()
    }
}

/// Why a run was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The assignment makes no run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The working directory cannot be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The run cannot be written down, or an earlier one not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its worktree cannot be made.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// No run was handed over.
    #[error("no run was handed over")]
    NothingTakenOver,
}
