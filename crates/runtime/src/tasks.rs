//! Runs under way: a handle for each, the slots they wait for, and what their tree has used.
//!
//! Invariant: the runtime owns every run it started. A handle watches, tells and cancels; dropping it
//! changes nothing, dropping the runtime ends the run.

mod call_rules;
mod children;
mod client;
mod delegate;
mod failed_children;
mod going;
mod handle;
mod inbox;
mod lanes;
mod news;
mod recorded;
mod rules_watch;
mod run_changes;
mod runs;
mod slots;
mod standstill;
mod start;
mod tree;

use std::sync::Arc;

use tokio::sync::Notify;

pub(crate) use self::{
    call_rules::{AgentAsks, Permissions},
    children::Children,
    failed_children::FailedChildren,
    handle::LiveRun,
    inbox::{LastLook, Letters, letterbox},
    news::{News, NewsItem},
    rules_watch::LiveRights,
    slots::{Levels, Slot, Slots},
    standstill::Standstill,
    start::{Past, TakenOver},
    tree::{Funding, FundingFuture, Purse, TreeBudget, TreeShare},
};
pub use self::{
    children::Child,
    client::{Client, ClientReach, DetachedOrder, DetachedSubject, LaunchFuture, Launcher},
    delegate::{Delegate, DelegateError},
    failed_children::FailedChild,
    handle::{RunHandle, RuntimeDropped},
    inbox::{Inbox, InboxError},
    recorded::{RecordedError, RecordedRun},
    rules_watch::{FileStates, RulesWatch},
    runs::{Runs, new_run_id, new_session_id},
    start::{Start, StartError, TreeBudgetStart},
    tree::TreeLimits,
};
use crate::worktree::FileKeeper;

/// What connects a run to others; by default nothing does.
#[derive(Debug, Default)]
pub struct Links {
    /// What others leave for it.
    pub(crate) letters: Option<Letters>,
    /// Where it waits to begin; none begins at once.
    pub(crate) slots: Option<Slots>,
    /// What it is told about the subagents it started.
    pub(crate) news: News,
    /// What its tree may use.
    pub(crate) budget: Arc<TreeBudget>,
    /// Told when somebody stops its turn.
    pub(crate) turn_stop: Arc<Notify>,
    /// What the run above it knows of its clock.
    pub(crate) standstill: Standstill,
    /// What writes down the files of its worktree, if it has one.
    pub(crate) files: Option<FileKeeper>,
}
