//! A handle: a started run, as its caller sees it. A copy is a handle on the same run.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use attache_kernel::{
    id::RunId,
    run::{
        assignment::Assignment,
        outcome::{Descendants, RunResult},
    },
};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use super::{Children, FailedChild, FailedChildren, Inbox, News, Permissions, TreeBudget};
use crate::{
    approvals::Approvals,
    events::{EventLog, Events, TreeLog},
    mcp_client::Toolbox,
    process::CommandSetup,
    tool::HiddenPlaces,
};

/// A run that was started.
///
/// Any number of handles may wait for the result and read the events, while the run goes on and after
/// it has ended.
///
/// ```
/// use attache_runtime::prelude::*;
/// # use attache_testkit::house_model::HouseModel;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("notes.txt"), "The answer is 42.")?;
/// # let runtime = Runtime::builder(folder.path())
/// #     .agents_json(r#"{"reader": {"description": "d", "prompt": "You read.", "tools": ["Read"]}}"#)
/// #     .model("house-model", HouseModel)
/// #     .build()?;
/// # let order = Order { model: Some("house-model".into()), ..Order::new("reader", "Read notes.txt") };
/// let handle = runtime.start(runtime.prepare(order).await?).await?;
/// let result = handle.result().await?;
/// assert_eq!(result.status, Status::Goal);
///
/// // The events are still there, from the first on.
/// let mut events = handle.events(1);
/// let mut calls = 0;
/// while let Some(event) = events.next().await {
///     calls += u32::from(matches!(event.event, Event::ToolStarted { .. }));
/// }
/// assert_eq!(calls, result.total_tool_use_count);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RunHandle {
    live: Arc<LiveRun>,
    result: watch::Receiver<Option<Arc<RunResult>>>,
}

/// The runtime was dropped before the run ended. What it did is in its transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the runtime was shut down before the run ended")]
pub struct RuntimeDropped;

/// What a run and its handles share.
#[derive(Debug)]
pub(crate) struct LiveRun {
    pub(crate) run: Arc<Assignment>,
    pub(crate) events: EventLog,
    pub(crate) inbox: Inbox,
    pub(crate) cancel: CancellationToken,
    /// Told when somebody stops its turn.
    pub(crate) turn_stop: Arc<Notify>,
    pub(crate) parent: Option<Weak<Self>>,
    /// How its commands are run.
    pub(crate) commands: Arc<CommandSetup>,
    /// The runs it started.
    pub(crate) children: Children,
    /// Those of them that failed.
    pub(crate) failed: FailedChildren,
    /// What it is told about them.
    pub(crate) news: News,
    /// Who reads the events of the whole tree.
    pub(crate) tree: TreeLog,
    /// Whether its parent is to go on without waiting for it.
    pub(crate) is_detached: watch::Sender<bool>,
    /// Who is asked about its calls and those of the runs below it.
    pub(crate) approvals: Approvals,
    /// By which its calls are judged, and those of the runs below it.
    pub(crate) permissions: Permissions,
    /// The places in its directory that no tool may have.
    pub(crate) hidden: HiddenPlaces,
    /// The tools of MCP servers that it may use, and of which the runs below it get theirs.
    pub(crate) toolbox: Toolbox,
    pub(crate) budget: Arc<TreeBudget>,
    /// What the runs below it have used so far.
    pub(crate) below: Mutex<Descendants>,
}

impl LiveRun {
    /// What the runs below it have used so far.
    pub(crate) fn descendants(&self) -> Descendants {
        *self.below.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a child that is about to begin.
    pub(crate) fn add_started(&self, child: &RunHandle) {
        self.failed.started(child.id(), &child.assignment().definition.agent_type);
        self.children.add(child.clone());
    }

    /// Adds a child that has ended, with everything below it.
    pub(crate) fn add_child(&self, child: &RunResult) {
        self.failed.ended(child);
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        below.agents = below.agents.saturating_add(child.tree.agents);
        below.total_tokens = below.total_tokens.saturating_add(child.tree.total_tokens);
        below.cost_usd = below.cost_usd.zip(child.tree.cost_usd).map(|(one, other)| one + other);
    }
}

impl RunHandle {
    pub(crate) fn new(live: Arc<LiveRun>, result: watch::Receiver<Option<Arc<RunResult>>>) -> Self {
        Self { live, result }
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.live.run.agent_id
    }

    /// What the run is to do, as whom, with which model, rights and limits.
    pub fn assignment(&self) -> &Arc<Assignment> {
        &self.live.run
    }

    /// The subagents that did not reach their goal, and whose work no later one took up. Those that were
    /// stopped are not among them.
    pub fn failed_children(&self) -> Vec<FailedChild> {
        self.live.failed.all()
    }

    /// Waits for the result. Any number may wait, and each gets it.
    pub async fn result(&self) -> Result<Arc<RunResult>, RuntimeDropped> {
        let mut result = self.result.clone();
        let ended = result.wait_for(Option::is_some).await.map_err(|_| RuntimeDropped)?;
        ended.clone().ok_or(RuntimeDropped)
    }

    /// The result, if the run has ended.
    pub fn result_so_far(&self) -> Option<Arc<RunResult>> {
        self.result.borrow().clone()
    }

    /// The events from that number on: those that happened, then those that happen, until the last.
    /// The first event is number 1.
    pub fn events(&self, from: u64) -> Events {
        self.live.events.read(from)
    }

    /// Where messages for the run are left.
    pub fn inbox(&self) -> &Inbox {
        &self.live.inbox
    }

    /// Stops the run and everything below it. It ends as `aborted`, with what it has.
    pub fn cancel(&self) {
        self.live.cancel.cancel();
    }

    /// Stops what the run is doing now, and the agents it waits for. Its background agents go on, and so does
    /// the run when they or a message have something new; without any, it ends as `aborted`.
    pub fn stop_turn(&self) {
        self.live.turn_stop.notify_one();
    }

    /// Sends a run to the background: the call that waits for it answers at once, and its parent is told
    /// of the result later. A run that nobody waits for goes on as it is.
    pub fn send_to_background(&self) {
        self.live.is_detached.send_replace(true);
    }

    /// Waits until somebody sends the run to the background.
    pub(crate) async fn sent_to_background(&self) {
        let mut detached = self.live.is_detached.subscribe();
        // The sender is in what this handle holds.
        drop(detached.wait_for(|detached| *detached).await);
    }

    /// Whether somebody stopped it.
    pub fn is_cancelled(&self) -> bool {
        self.live.cancel.is_cancelled()
    }

    pub(crate) fn live(&self) -> &Arc<LiveRun> {
        &self.live
    }
}
