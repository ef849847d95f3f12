//! The runs under way: starts them, owns them, and hands out what watches and stops them.
//!
//! Invariant: every run belongs to the one who started it. Dropping the last copy of the owner ends its
//! runs and everything they hold; handles on them learn of it.

mod equipment;

use std::{
    collections::BTreeMap,
    iter,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use attache_kernel::{
    id::{RunId, SessionId},
    rights::{permission::SharedGuard, tool_name::ToolName},
    run::{
        Run,
        assignment::{Assignment, RunRequest},
        event::Event,
        letter::Letter,
        outcome::RunResult,
        transcript::Header,
    },
};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use uuid::Uuid;

use self::equipment::sandbox_of;
use super::{
    Children, Delegate, FailedChildren, Inbox, Levels, Links, LiveRun, News, Past, RunHandle,
    Standstill, Start, StartError, TakenOver, TreeBudget, TreeBudgetStart,
    call_rules::CallRules,
    going::{self, Going, into_letter},
    lanes::Lanes,
    letterbox,
};
use crate::{
    bridge::{LeftBehind, Seat},
    clock,
    delegation::what_became_of,
    events::{EventLog, TreeEvents, TreeLog},
    executor::{Execution, Patience},
    host::Host,
    mcp_client::{finders_of, put_aside},
    process::CommandSetup,
    store::{ResumeClaim, Store, StoreError},
    tool::{
        Tool, ToolContext, artifacts::Artifacts, catalogue::builtin_tools, workspace::Workspace,
    },
    worktree::Worktree,
};

/// Starts runs and owns them. A copy is the same owner.
#[derive(Debug, Clone)]
pub struct Runs {
    shared: Arc<Shared>,
}

/// Tools by name.
type Tools = Arc<BTreeMap<ToolName, Arc<dyn Tool>>>;

#[derive(Debug)]
struct Shared {
    tools: Tools,
    /// Why there is no such tool.
    absent: BTreeMap<ToolName, String>,
    store: Arc<dyn Store>,
    patience: Patience,
    commands: Arc<CommandSetup>,
    slots: Levels,
    lanes: Lanes,
    runs: Mutex<BTreeMap<RunId, Owned>>,
}

/// A run under way, with the task that drives it.
#[derive(Debug)]
struct Owned {
    handle: RunHandle,
    _task: AbortOnDropHandle<()>,
}

/// How many earlier runs back the output that was too long to show can still be read.
const MOST_EARLIER_RUNS: usize = 50;

impl Runs {
    /// Owns nothing yet, and has the built-in tools.
    pub fn new(store: Arc<dyn Store>, patience: Patience) -> Self {
        Self::with_tools(store, patience, builtin_tools())
    }

    /// Owns nothing yet, and has those tools.
    pub fn with_tools(
        store: Arc<dyn Store>,
        patience: Patience,
        tools: impl IntoIterator<Item = Arc<dyn Tool>>,
    ) -> Self {
        let tools: BTreeMap<_, _> =
            tools.into_iter().map(|tool| (tool.spec().name.clone(), tool)).collect();
        let tools = Arc::new(tools);
        Self {
            shared: Arc::new(Shared {
                tools,
                absent: BTreeMap::new(),
                store,
                patience,
                commands: Arc::default(),
                slots: Levels::new(u32::MAX),
                lanes: Lanes::default(),
                runs: Mutex::default(),
            }),
        }
    }

    /// The same with that tool in place of the one of its name. Only before the first run.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            Arc::make_mut(&mut shared.tools).insert(tool.spec().name.clone(), Arc::new(tool));
        }
        self
    }

    /// The same without that tool, for a reason that is given when an agent lists it. Only before the first run.
    #[must_use]
    pub fn without_tool(mut self, tool: ToolName, reason: impl Into<String>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            Arc::make_mut(&mut shared.tools).remove(&tool);
            shared.absent.insert(tool, reason.into());
        }
        self
    }

    /// The same with that many slots: more runs wait in a queue. Only before the first run.
    #[must_use]
    pub fn with_slots(mut self, max_concurrent: u32) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.slots = Levels::new(max_concurrent);
        }
        self
    }

    /// The same with that many threads for subagents besides the caller's. Only before the first run.
    #[must_use]
    pub fn with_lanes(mut self, further: usize) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.lanes = Lanes::new(further);
        }
        self
    }

    /// The same with commands that run like this. Only before the first run.
    #[must_use]
    pub fn with_commands(mut self, commands: CommandSetup) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.commands = Arc::new(commands);
        }
        self
    }

    /// The names of the tools there are.
    pub fn tools(&self) -> impl Iterator<Item = &ToolName> {
        self.shared.tools.keys()
    }

    /// Where its runs are written down.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// Waits until everything that was written is on the disk: the last thing to do before the process
    /// ends.
    pub async fn settled(&self) {
        self.shared.store.settled().await;
    }

    /// The runs under way.
    pub fn runs(&self) -> Vec<RunId> {
        self.shared.runs().keys().cloned().collect()
    }

    /// The handle of a run under way.
    pub fn handle(&self, id: &RunId) -> Option<RunHandle> {
        self.shared.runs().get(id).map(|owned| owned.handle.clone())
    }

    /// Forgets the results of background agents that ended longer ago; see
    /// [`Runtime::cleanup_old_tasks`](crate::prelude::Runtime::cleanup_old_tasks).
    pub fn cleanup_old_tasks(&self, older_than: Duration) {
        let runs: Vec<RunHandle> =
            self.shared.runs().values().map(|owned| owned.handle.clone()).collect();
        for run in &runs {
            run.live().children.forget_older(older_than);
        }
    }

    /// The runs under way for which that holds.
    pub(crate) fn find(&self, wanted: impl Fn(&Assignment) -> bool) -> Vec<RunHandle> {
        let runs = self.shared.runs();
        let handles = runs.values().map(|owned| &owned.handle);
        handles.filter(|handle| wanted(handle.assignment())).cloned().collect()
    }

    /// Starts a run that cannot delegate. It goes on by itself; the handle tells of it.
    pub async fn start(&self, start: Start) -> Result<RunHandle, StartError> {
        self.start_below(start, None).await
    }

    /// Starts a run whose tools may start others through that front door, with a reader of its events
    /// and of those of the runs below it. The reader is there before the run begins.
    pub async fn start_watched(
        &self,
        start: Start,
        host: Option<Arc<Host>>,
    ) -> Result<(RunHandle, TreeEvents), StartError> {
        let tree = TreeLog::default();
        let events = tree.read();
        Ok((self.start_in(tree, start, host).await?, events))
    }

    /// Starts a run whose events are read with those of its parent.
    pub(crate) async fn start_below(
        &self,
        start: Start,
        host: Option<Arc<Host>>,
    ) -> Result<RunHandle, StartError> {
        let tree = start.parent.as_ref().map(|parent| parent.live().tree.clone());
        self.start_in(tree.unwrap_or_default(), start, host).await
    }

    async fn start_in(
        &self,
        tree: TreeLog,
        mut start: Start,
        host: Option<Arc<Host>>,
    ) -> Result<RunHandle, StartError> {
        let Some(plan) = start.worktree.take() else {
            return Box::pin(self.start_here(tree, start, host, &mut None)).await;
        };
        let made = plan.make().await?;
        start.assignment.worktree = Some(made.facts().clone());
        let mut worktree = Some(made);
        let started = Box::pin(self.start_here(tree, start, host, &mut worktree)).await;
        if let Some(unused) = worktree {
            unused.discard().await;
        }
        started
    }

    /// Starts a run in the folder that is there now. It takes the worktree if it begins.
    async fn start_here(
        &self,
        tree: TreeLog,
        mut start: Start,
        host: Option<Arc<Host>>,
        worktree: &mut Option<Worktree>,
    ) -> Result<RunHandle, StartError> {
        let shared = &self.shared;
        start.put_rules_in_place();
        if matches!(start.past, Past::TakenOver(_)) {
            return Box::pin(self.take_over(tree, start, host)).await;
        }
        let mut reach = Reach { host, ..Reach::in_tree(tree, &shared.commands) };
        if let Past::Earlier(earlier) = &start.past {
            let by = &start.assignment.agent_id;
            reach.claim = Some(shared.store.claim_resume(earlier.assignment(), by).await?);
        }
        if let Past::Earlier(earlier) | Past::Branch(earlier) = &start.past {
            reach.earlier_artifacts = shared.earlier_artifacts(earlier).await?;
            // Nobody else tells it what became of them, and it would wait for them for ever.
            let left = earlier.left_behind().cloned().collect();
            reach.left_behind = what_became_of(left, &*shared.store).await;
        }
        let mut tools = shared.tools_with(&start.toolbox);
        shared.equip(&mut start.assignment, &start.rights, &tools, reach.host.as_deref());
        let finders = put_aside(&mut start.assignment);
        if !finders.is_empty() {
            let named = finders.into_iter().map(|tool| (tool.spec().name.clone(), tool));
            Arc::make_mut(&mut tools).extend(named);
        }
        reach.commands = shared.commands_of(&start);
        start.assignment.sandbox = sandbox_of(&start.assignment, &reach.commands).await;
        start.permissions.confine(&reach.commands).await;
        let guard: SharedGuard = Arc::new(CallRules {
            rights: start.rights.clone(),
            tools: Arc::clone(&tools),
            permissions: start.permissions.clone(),
        });
        let assignment = start.assignment.clone();
        let (run, opening) = match &start.past {
            Past::Nothing => Run::new(RunRequest { assignment, fork: None, guard })?,
            Past::Fork(fork) => {
                Run::new(RunRequest { assignment, fork: Some(fork.clone()), guard })?
            }
            Past::Earlier(earlier) | Past::Branch(earlier) => earlier.resume(assignment, guard)?,
            Past::TakenOver(_) => return Err(StartError::NothingTakenOver),
        };
        Box::pin(shared.begin((run, opening), tools, start, reach, worktree)).await
    }

    /// Goes on with a run that another process owns. What it may call and with what was decided there.
    async fn take_over(
        &self,
        tree: TreeLog,
        mut start: Start,
        host: Option<Arc<Host>>,
    ) -> Result<RunHandle, StartError> {
        let shared = &self.shared;
        let past = std::mem::replace(&mut start.past, Past::Nothing);
        let Past::TakenOver(taken) = past else { return Err(StartError::NothingTakenOver) };
        let TakenOver { run, next_seq, left_behind, budget } = *taken;
        start.put_rules_in_place();
        let reach = Reach {
            host,
            earlier_artifacts: shared.earlier_artifacts(&run).await?,
            left_behind: left_behind.map(|left| (left.text, left.delivers)),
            next_seq,
            budget: Some(budget),
            ..Reach::in_tree(tree, &shared.commands)
        };
        let mut tools = shared.tools_with(&start.toolbox);
        let finders = finders_of(&start.assignment, &tools);
        let named = finders.into_iter().map(|tool| (tool.spec().name.clone(), tool));
        Arc::make_mut(&mut tools).extend(named);
        start.permissions.confine(&shared.commands).await;
        let guard: SharedGuard = Arc::new(CallRules {
            rights: start.rights.clone(),
            tools: Arc::clone(&tools),
            permissions: start.permissions.clone(),
        });
        let run = run.with_guard(guard);
        Box::pin(shared.begin((run, Vec::new()), tools, start, reach, &mut None)).await
    }

    pub(crate) fn downgrade(&self) -> WeakRuns {
        WeakRuns { shared: Arc::downgrade(&self.shared) }
    }
}

/// The owner of runs, for those who must not keep it alive.
#[derive(Debug, Clone)]
pub(crate) struct WeakRuns {
    shared: Weak<Shared>,
}

impl WeakRuns {
    pub(crate) fn upgrade(&self) -> Option<Runs> {
        self.shared.upgrade().map(|shared| Runs { shared })
    }
}

/// What a run holds on to, and what its tools can reach, until it ends.
struct Reach {
    /// How its commands are run.
    commands: Arc<CommandSetup>,
    claim: Option<ResumeClaim>,
    host: Option<Arc<Host>>,
    tree: TreeLog,
    /// What became of the background agents of the run that it goes on from.
    left_behind: Option<(String, Vec<RunId>)>,
    /// Where the artifacts of the runs lie that it goes on from.
    earlier_artifacts: Vec<PathBuf>,
    /// The number of its next entry.
    next_seq: u64,
    /// The budget of its tree, if that is there already.
    budget: Option<Arc<TreeBudget>>,
}

impl Reach {
    fn in_tree(tree: TreeLog, commands: &Arc<CommandSetup>) -> Self {
        Self {
            commands: Arc::clone(commands),
            claim: None,
            host: None,
            tree,
            left_behind: None,
            earlier_artifacts: Vec::new(),
            next_seq: 1,
            budget: None,
        }
    }
}

impl Shared {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Owned>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the artifacts of a run lie, and of those it went on from.
    async fn earlier_artifacts(&self, run: &Run) -> Result<Vec<PathBuf>, StoreError> {
        let mut folders = Vec::new();
        let mut assignment = run.assignment().clone();
        loop {
            folders.push(self.store.artifacts_dir(&assignment)?);
            let earlier = assignment.resumed_from.filter(|_| folders.len() < MOST_EARLIER_RUNS);
            let Some(id) = earlier else { return Ok(folders) };
            // A run that was cleaned away has no artifacts either.
            let Ok(earlier) = self.store.read(id.as_str()).await else { return Ok(folders) };
            assignment = earlier.header.run;
        }
    }

    /// Puts into a run's inbox what the run that it goes on from has not read.
    async fn inherit_mail(
        &self,
        earlier: &Assignment,
        run: &Assignment,
        inbox: &Inbox,
    ) -> Result<(), StoreError> {
        let unread = self.store.inherit_mail(earlier, run).await?;
        for letter in unread.into_iter().filter_map(into_letter) {
            inbox.put(Letter { before_task: true, ..letter });
        }
        Ok(())
    }

    /// Writes the header and sets the run going. A claim on an earlier run is held until the end.
    async fn begin(
        self: &Arc<Self>,
        (run, opening): (Run, Vec<Event>),
        tools: Tools,
        start: Start,
        reach: Reach,
        worktree: &mut Option<Worktree>,
    ) -> Result<RunHandle, StartError> {
        let Reach { commands, claim, host, earlier_artifacts, tree, left_behind, .. } = reach;
        let header = Header::new(format!("{:.3}", clock::now()), run.assignment().clone());
        let artifacts = self.store.artifacts_dir(&header.run)?;
        let readable_too = iter::once(artifacts.clone()).chain(earlier_artifacts);
        let workspace = readable_too.fold(Workspace::new(&start.root)?, Workspace::allowing);
        let workspace = start.further_roots.into_iter().fold(workspace, Workspace::allowing_writes);
        let readable = start.permissions.readable(&start.rights);
        let journal = self.store.create(&header).await?;
        let (transcript, secrets) = (journal.location(), self.store.secrets().clone());
        let assigned = Arc::clone(run.shared_assignment());
        let parent = start.parent.as_ref().map(RunHandle::live);
        let cancel =
            parent.map_or_else(CancellationToken::new, |parent| parent.cancel.child_token());
        let budget = reach.budget.unwrap_or_else(|| shared_budget(parent, start.budget));
        let mailbox = self.store.mailbox(run.assignment())?;
        let (inbox, letters) = letterbox(Some(Arc::clone(&mailbox)));
        if let (Past::Earlier(earlier), Some(_)) = (&start.past, &claim) {
            self.inherit_mail(earlier.assignment(), run.assignment(), &inbox).await?;
        }
        let (here, far) = told_where(left_behind, start.instance.is_some());
        let news = News::beginning_with(here);
        let (root, stance) = (workspace.root().to_owned(), start.permissions.stance);
        let hidden = self.hidden_places(&root, run.assignment(), parent.map(Arc::as_ref));
        let live = Arc::new(LiveRun {
            run: Arc::clone(&assigned),
            events: EventLog::in_tree(Arc::clone(&self.store), header.ts, assigned, tree.clone()),
            commands,
            children: Children::default(),
            failed: FailedChildren::default(),
            news: news.clone(),
            tree,
            is_detached: watch::Sender::new(false),
            approvals: start.approvals.clone(),
            inbox,
            cancel: cancel.clone(),
            turn_stop: Arc::default(),
            parent: parent.map(Arc::downgrade),
            permissions: start.permissions,
            hidden,
            toolbox: start.toolbox,
            budget: Arc::clone(&budget),
            below: Mutex::default(),
        });
        let (sender, receiver) = watch::channel(None);
        let handle = RunHandle::new(Arc::clone(&live), receiver);
        let runs = Runs { shared: Arc::clone(self) }.downgrade();
        let delegate = host.map(|host| Delegate::new(host, runs, handle.clone()));
        let worktree = worktree.take();
        let artifacts = Artifacts::new(artifacts).masking(secrets.clone());
        let context = self.context(&live, workspace, artifacts, readable);
        let execution = Box::new(Execution {
            run,
            opening,
            next_seq: reach.next_seq,
            model: start.model,
            tools,
            approvals: start.approvals,
            context: ToolContext { cancel, delegate, ..context },
            journal,
            events: live.events.clone(),
            links: Links {
                letters: Some(letters),
                slots: self.slots.at(live.run.depth),
                budget,
                news,
                turn_stop: Arc::clone(&live.turn_stop),
                standstill: Standstill::of_run(&live),
                files: worktree.as_ref().map(Worktree::file_keeper),
            },
            patience: self.patience.stalling_after(start.stall),
        });
        let seat = start.instance.map(|how| Seat {
            how,
            live: Arc::clone(&live),
            store: Arc::clone(&self.store),
            commands: Arc::clone(&live.commands),
            root,
            stance,
            asked: live.permissions.asked.clone(),
            left_behind: far,
        });
        let going =
            Going { live: Arc::clone(&live), transcript, worktree, claim, secrets, mailbox, seat };
        // It may end on another thread as soon as it is set going.
        if let Some(parent) = live.parent.as_ref().and_then(Weak::upgrade) {
            parent.add_started(&handle);
        }
        self.set_going(going, execution, sender, handle.clone());
        Ok(handle)
    }

    /// Has a task of its own see a run through.
    fn set_going(
        self: &Arc<Self>,
        going: Going,
        execution: Box<Execution>,
        sender: watch::Sender<Option<Arc<RunResult>>>,
        handle: RunHandle,
    ) {
        let owner = Arc::downgrade(self);
        let span = going::span(handle.assignment());
        // The task cannot end before it is known to its owner.
        let mut runs = self.runs();
        let seen_through = async move {
            let result = Arc::new(going.see_through(execution, span).await);
            let id = result.agent_id.clone();
            sender.send_replace(Some(result));
            if let Some(owner) = owner.upgrade() {
                owner.runs().remove(&id);
            }
        };
        let lane = handle.assignment().parent_id.as_ref().and_then(|_| self.lanes.place());
        let task = match lane {
            Some(lane) => lane.spawn(seen_through),
            None => tokio::spawn(seen_through),
        };
        let id = handle.id().clone();
        runs.insert(id, Owned { handle, _task: AbortOnDropHandle::new(task) });
    }
}

/// The budget that a run draws on: its parent's, or that of a tree which begins.
fn shared_budget(parent: Option<&Arc<LiveRun>>, start: TreeBudgetStart) -> Arc<TreeBudget> {
    parent.map_or_else(|| start.begun(), |parent| Arc::clone(&parent.budget))
}

/// What became of background agents, for who tells the agent: this process, or the instance.
fn told_where(
    left_behind: Option<(String, Vec<RunId>)>,
    is_far: bool,
) -> (Option<(String, Vec<RunId>)>, Option<LeftBehind>) {
    match (left_behind, is_far) {
        (Some((text, delivers)), true) => (None, Some(LeftBehind { text, delivers })),
        (here, _) => (here, None),
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
