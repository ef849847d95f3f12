//! The runs under way: starts them, owns them, and hands out what watches and stops them.
//!
//! Invariant: every run belongs to the one who started it. Dropping the last copy of the owner ends its
//! runs and everything they hold; handles on them learn of it.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    convert::Infallible,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use attache_kernel::{
    id::{RunId, SessionId},
    rights::{
        confinement::SandboxInForce,
        filter::{ToolSet, WithheldTool},
        permission::SharedGuard,
        tool_name::{BuiltinTool, ToolName},
    },
    run::{
        Run, RunError,
        assignment::{Assignment, RunRequest},
        event::Event,
        file_change::FileChange,
        fork::Fork,
        letter::Letter,
        outcome::{Changes, RunResult, Status, Surroundings},
        tool_spec::ToolSpec,
        transcript::Header,
    },
};
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tracing::{Instrument as _, Span, field::Empty};
use uuid::Uuid;

use crate::{
    approvals::Approvals,
    changes::run_patch::{Direction, RunPatch},
    clock,
    delegation::what_became_of,
    events::{EventLog, TreeEvents, TreeLog},
    executor::{Broken, Execution, Patience, drive},
    host::Host,
    mcp_client::{Toolbox, put_aside},
    model::Model,
    process::{CommandSetup, Processes},
    store::{Mail, MailKind, Mailbox, ResumeClaim, Secrets, Store, StoreError},
    tasks::{
        Children, Delegate, Levels, Links, LiveRun, News, NewsItem, Permissions, RunHandle,
        TreeBudget, TreeLimits, call_rules::CallRules, letterbox,
    },
    tool::{
        FileGuard, HiddenPlaces, Tool, ToolContext,
        artifacts::Artifacts,
        catalogue::builtin_tools,
        workspace::{Workspace, WorkspaceError},
    },
    worktree::{Settled, Worktree, WorktreeError, WorktreePlan},
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
    runs: Mutex<BTreeMap<RunId, Owned>>,
}

/// A run under way, with the task that drives it.
#[derive(Debug)]
struct Owned {
    handle: RunHandle,
    _task: AbortOnDropHandle<()>,
}

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
    fn begun(&self) -> Arc<TreeBudget> {
        Arc::new(TreeBudget::new(self.limits, self.tokens, self.cost_usd))
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> TreeLimits {
        TreeBudget::new(self.limits, self.tokens, self.cost_usd).left()
    }
}

/// How many earlier runs back the output that was too long to show can still be read.
const MOST_EARLIER_RUNS: usize = 50;

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
}

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

    /// The same without that tool, for a reason that is told to whoever asks for it. Only before the first run.
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

    /// The same with commands that run like this. Only before the first run.
    #[must_use]
    pub fn with_commands(mut self, commands: CommandSetup) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.commands = Arc::new(commands);
        }
        self
    }

    /// Begins to find out which sandbox this machine enforces. The first run with commands needs to know.
    pub(crate) fn look_for_sandbox(&self) -> AbortOnDropHandle<()> {
        let commands = Arc::clone(&self.shared.commands);
        AbortOnDropHandle::new(tokio::task::spawn_blocking(move || drop(commands.in_force())))
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
        let mut reach =
            Reach { claim: None, host, earlier_artifacts: Vec::new(), tree, left_behind: None };
        if let Past::Earlier(earlier) = &start.past {
            let by = &start.assignment.agent_id;
            reach.claim = Some(shared.store.claim_resume(earlier.assignment(), by).await?);
            reach.earlier_artifacts = shared.earlier_artifacts(earlier).await?;
            let left = earlier.left_behind().cloned().collect();
            reach.left_behind = what_became_of(left, &*shared.store).await;
        }
        if let Past::Branch(earlier) = &start.past {
            reach.earlier_artifacts = shared.earlier_artifacts(earlier).await?;
        }
        let mut tools = shared.tools_with(&start.toolbox);
        shared.equip(&mut start.assignment, &start.rights, &tools, reach.host.as_deref());
        let finders = put_aside(&mut start.assignment);
        if !finders.is_empty() {
            let named = finders.into_iter().map(|tool| (tool.spec().name.clone(), tool));
            Arc::make_mut(&mut tools).extend(named);
        }
        start.assignment.sandbox = shared.sandbox_of(&start.assignment).await;
        start.permissions.confine(&shared.commands).await;
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
        };
        Box::pin(shared.begin((run, opening), tools, start, reach, worktree)).await
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
    claim: Option<ResumeClaim>,
    host: Option<Arc<Host>>,
    tree: TreeLog,
    /// What became of the background agents of the run that it goes on from.
    left_behind: Option<(String, Vec<RunId>)>,
    /// Where the artifacts of the runs lie that it goes on from.
    earlier_artifacts: Vec<PathBuf>,
}

/// Whether a tool runs commands.
fn is_shell(name: &ToolName) -> bool {
    matches!(name, ToolName::Builtin(tool) if tool.is_shell())
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

    /// The sandbox of a run's commands. Finding it out starts a process, so it is left out where no tool does.
    async fn sandbox_of(&self, assignment: &Assignment) -> Option<SandboxInForce> {
        let has_commands = assignment.tools.iter().any(|spec| is_shell(&spec.name));
        let commands = has_commands.then(|| Arc::clone(&self.commands))?;
        tokio::task::spawn_blocking(move || commands.in_force()).await.ok().flatten()
    }

    /// The tools of a run that may use those of MCP servers.
    fn tools_with(&self, toolbox: &Toolbox) -> Tools {
        if toolbox.tools().is_empty() {
            return Arc::clone(&self.tools);
        }
        let mut tools = BTreeMap::clone(&self.tools);
        tools.extend(toolbox.tools().iter().map(|(name, tool)| (name.clone(), Arc::clone(tool))));
        Arc::new(tools)
    }

    /// Offers the tools that the rights allow and that there are.
    fn equip(
        &self,
        assignment: &mut Assignment,
        rights: &ToolSet,
        tools: &Tools,
        host: Option<&Host>,
    ) {
        assignment.rights = rights.clone();
        assignment.tools.clear();
        for name in rights.names() {
            match tools.get(name) {
                Some(tool) => {
                    let spec = host.and_then(|host| tool.spec_for(host, rights));
                    let spec = spec.unwrap_or_else(|| ToolSpec::clone(tool.spec()));
                    assignment.tools.push(spec);
                }
                None => assignment.withheld_tools.push(WithheldTool {
                    tool: name.to_string(),
                    reason: self.absent.get(name).cloned().unwrap_or_else(|| absence(name)),
                }),
            }
        }
    }

    /// The places in that directory that no tool may have. A child in its parent's directory has its
    /// parent's.
    fn hidden_places(&self, root: &Path, parent: Option<&LiveRun>) -> HiddenPlaces {
        parent.and_then(|parent| parent.hidden.also_below(root)).unwrap_or_else(|| {
            let places = self.commands.sandbox.iter().flat_map(|it| &it.policy.deny_read);
            HiddenPlaces::below(root, places)
        })
    }

    /// What the calls of a run may touch.
    fn context(
        &self,
        workspace: Workspace,
        artifacts: Artifacts,
        readable: ToolSet,
        hidden: HiddenPlaces,
        worktree: Option<&Worktree>,
    ) -> ToolContext {
        let (artifacts, readable) = (Arc::new(artifacts), Arc::new(readable));
        let root = workspace.root().to_owned();
        let shown = worktree.map(|worktree| PathBuf::from(&worktree.facts().directory));
        let processes = Processes::new(Arc::clone(&self.commands), root, Arc::clone(&artifacts));
        let processes = processes.showing(shown).withholding(Arc::clone(&readable));
        let files = FileGuard::new(readable).hiding(hidden);
        let processes = Arc::new(processes);
        ToolContext { processes, ..ToolContext::new(workspace, artifacts, files) }
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
        let Reach { claim, host, earlier_artifacts, tree, left_behind } = reach;
        let header = Header::new(format!("{:.3}", clock::now()), run.assignment().clone());
        let artifacts = self.store.artifacts_dir(&header.run)?;
        let workspace = Workspace::new(&start.root)?.allowing(artifacts.clone());
        let workspace = earlier_artifacts.into_iter().fold(workspace, Workspace::allowing);
        let workspace = start.further_roots.into_iter().fold(workspace, Workspace::allowing_writes);
        let denied = start.permissions.policy.rules.deny.iter().map(|rule| &rule.rule);
        let readable = start.rights.without_files_of(denied);
        let journal = self.store.create(&header).await?;
        let transcript = journal.location();
        let secrets = self.store.secrets().clone();
        let parent = start.parent.as_ref().map(RunHandle::live);
        let cancel =
            parent.map_or_else(CancellationToken::new, |parent| parent.cancel.child_token());
        let budget = parent.map(|parent| Arc::clone(&parent.budget));
        let budget = budget.unwrap_or_else(|| start.budget.begun());
        let mailbox = self.store.mailbox(run.assignment())?;
        let (inbox, letters) = letterbox(Some(Arc::clone(&mailbox)));
        if let (Past::Earlier(earlier), Some(_)) = (&start.past, &claim) {
            let unread = self.store.inherit_mail(earlier.assignment(), run.assignment()).await?;
            unread.into_iter().filter_map(into_letter).for_each(|letter| inbox.put(letter));
        }
        let news = News::beginning_with(left_behind);
        let hidden = self.hidden_places(workspace.root(), parent.map(Arc::as_ref));
        let live = Arc::new(LiveRun {
            run: Arc::new(run.assignment().clone()),
            events: EventLog::in_tree(Arc::clone(&self.store), header, tree.clone()),
            children: Children::default(),
            news: news.clone(),
            tree,
            is_detached: watch::Sender::new(false),
            approvals: start.approvals.clone(),
            inbox,
            cancel: cancel.clone(),
            parent: parent.map(Arc::downgrade),
            permissions: start.permissions,
            hidden: hidden.clone(),
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
        let context = self.context(workspace, artifacts, readable, hidden, worktree.as_ref());
        let execution = Execution {
            run,
            opening,
            next_seq: 1,
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
            },
            patience: Patience {
                stall: start.stall.unwrap_or(self.patience.stall),
                ..self.patience
            },
        };
        let going =
            Going { live: Arc::clone(&live), transcript, worktree, claim, secrets, mailbox };
        let owner = Arc::downgrade(self);
        // The task cannot end before it is known to its owner.
        let mut runs = self.runs();
        let task = tokio::spawn(async move {
            let result = Arc::new(going.see_through(execution).await);
            let id = result.agent_id.clone();
            sender.send_replace(Some(result));
            if let Some(owner) = owner.upgrade() {
                owner.runs().remove(&id);
            }
        });
        let id = live.run.agent_id.clone();
        runs.insert(id, Owned { handle: handle.clone(), _task: AbortOnDropHandle::new(task) });
        drop(runs);
        if let Some(parent) = &live.parent.as_ref().and_then(Weak::upgrade) {
            parent.children.add(handle.clone());
        }
        Ok(handle)
    }
}

/// A run that goes on, with what it holds until it ends.
struct Going {
    live: Arc<LiveRun>,
    transcript: String,
    worktree: Option<Worktree>,
    claim: Option<ResumeClaim>,
    secrets: Secrets,
    mailbox: Arc<dyn Mailbox>,
}

impl Going {
    /// Drives a run to its end, and tells its parent.
    async fn see_through(self, execution: Execution) -> RunResult {
        let Self { live, transcript, worktree, claim, secrets, mailbox } = self;
        let _closed = live.events.closed_on_drop();
        let _tree_closed = live.parent.is_none().then(|| live.tree.closed_on_drop());
        let span = span(&live.run);
        let carried_out =
            carry_out(execution, &live, transcript, worktree).instrument(span.clone());
        let result = tokio::select! {
            biased;
            result = carried_out => masked(&secrets, result),
            never = collect_mail(&*mailbox, &live) => match never {},
        };
        tell(&span, &result);
        drop((span, claim));
        if let Some(parent) = live.parent.as_ref().and_then(Weak::upgrade) {
            // The parent knows of the end before anybody has the result.
            let result = Arc::new(result.clone());
            parent.add_child(&result);
            parent.children.ended(&result);
            parent.news.tell(NewsItem::Ended(result));
        }
        result
    }
}

/// Brings what other processes leave for a run to its inbox, and stops it when one says so.
async fn collect_mail(mailbox: &dyn Mailbox, live: &LiveRun) -> Infallible {
    loop {
        for mail in mailbox.next().await {
            if mail.kind == MailKind::Stop {
                mailbox.remove(std::slice::from_ref(&mail.id)).await.unwrap_or_default();
                live.cancel.cancel();
            }
            if let Some(letter) = into_letter(mail) {
                live.inbox.put(letter);
            }
        }
    }
}

/// What an agent reads of a letter, if it is for the agent.
pub(super) fn into_letter(mail: Mail) -> Option<Letter> {
    match mail.kind {
        MailKind::Message { text } => Some(Letter { id: Some(mail.id), text }),
        MailKind::Stop => None,
    }
}

/// A result without the keys that are in no other place either.
fn masked(secrets: &Secrets, mut result: RunResult) -> RunResult {
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

/// The span of a run: names and numbers, never content.
fn span(run: &Assignment) -> Span {
    tracing::info_span!(
        "subagent.run",
        id = %run.agent_id,
        name = %run.definition.agent_type,
        parent = run.parent_id.as_ref().map(RunId::as_str),
        model = run.model.id,
        provider = run.model.provider,
        tools = run.tools.len(),
        status = Empty,
        turns = Empty,
        tokens = Empty,
        duration_ms = Empty,
    )
}

fn tell(span: &Span, result: &RunResult) {
    span.record("status", result.status.as_str());
    span.record("turns", result.turns_used);
    span.record("tokens", result.total_tokens);
    span.record("duration_ms", result.total_duration_ms);
}

/// Drives a run to its end.
async fn carry_out(
    execution: Execution,
    live: &LiveRun,
    transcript: String,
    worktree: Option<Worktree>,
) -> RunResult {
    let mut transcript = Some(transcript);
    let artifacts = Arc::clone(&execution.context.artifacts);
    let workspace = execution.context.workspace.root().to_owned();
    let (run, outcome) = drive(execution).await.unwrap_or_else(|Broken { run, error }| {
        if matches!(error, StoreError::Removed { .. }) {
            transcript = None;
        }
        let outcome = run.broken_off(error.report());
        (*run, outcome)
    });
    // Nothing below a run outlives it: what it no longer waits for is stopped.
    let below = live.children.under_way();
    if outcome.ending.status != Status::Goal {
        below.iter().for_each(RunHandle::cancel);
    }
    for child in below {
        // Dropped with the runtime, there is nothing to wait for.
        drop(child.result().await);
    }
    live.events.close();
    let mut left = None;
    let is_kept = worktree.is_some();
    let files = Arc::clone(&artifacts);
    let changes = match worktree {
        None => changes_of(outcome.changes.clone(), workspace, artifacts).await,
        Some(worktree) => {
            let branch = worktree.facts().branch.clone();
            match worktree.settle().await {
                Ok(settled) => changes_in_worktree(settled, &outcome.changes, artifacts).await,
                Err(error) => {
                    left = Some(format!("the worktree stays as it is: {error}"));
                    let changes = changes_of(outcome.changes.clone(), workspace, artifacts).await;
                    changes.map(|changes| Changes { branch: Some(branch), ..changes })
                }
            }
        }
    };
    if is_kept || changes.is_some() {
        let changes = changes.clone();
        let kept = tokio::task::spawn_blocking(move || files.keep_changes(changes.as_ref())).await;
        if !matches!(kept, Ok(Ok(()))) {
            tracing::warn!("what the run changed could not be kept beside its transcript");
        }
    }
    let surroundings = Surroundings { transcript, descendants: live.descendants(), changes };
    let mut result = outcome.into_result(&run.assignment().result_of(), surroundings);
    result.error = match (result.error.take(), left) {
        (Some(error), Some(left)) => Some(format!("{error}; {left}")),
        (error, left) => error.or(left),
    };
    result
}

/// What changed in a run's worktree, and what its file tools wrote elsewhere.
async fn changes_in_worktree(
    settled: Option<Settled>,
    written: &[FileChange],
    artifacts: Arc<Artifacts>,
) -> Option<Changes> {
    let elsewhere = written.iter().map(|change| &change.path).filter(|path| path.starts_with('/'));
    let elsewhere: Vec<String> = elsewhere.cloned().collect();
    let Some(Settled { mut files, patch, branch }) = settled else {
        let nowhere = elsewhere.is_empty();
        let changes = Changes { files: elsewhere, patch: String::new(), branch: None };
        return (!nowhere).then_some(changes);
    };
    files.extend(elsewhere);
    let kept = tokio::task::spawn_blocking(move || artifacts.keep_patch(&patch)).await;
    let kept = kept.ok().and_then(Result::ok);
    let patch = kept.map(|path| path.display().to_string()).unwrap_or_default();
    Some(Changes { files, patch, branch: Some(branch) })
}

/// What a run's file tools wrote, with the patch of it kept among its artifacts. A file that they created and
/// a command removed is not listed.
async fn changes_of(
    changes: Vec<FileChange>,
    workspace: PathBuf,
    artifacts: Arc<Artifacts>,
) -> Option<Changes> {
    if changes.is_empty() {
        return None;
    }
    let kept = tokio::task::spawn_blocking(move || {
        let has_vanished = |change: &FileChange| {
            let is_new = change.before.is_none() && change.after.is_some();
            is_new && workspace.join(&change.path).symlink_metadata().is_err()
        };
        let left: Vec<FileChange> =
            changes.into_iter().filter(|change| !has_vanished(change)).collect();
        if left.is_empty() {
            return None;
        }
        let patch = RunPatch::of(&left, artifacts.directory(), Direction::Forward);
        let patch = artifacts.keep_patch(patch.text.as_bytes()).ok();
        let patch = patch.map(|path| path.display().to_string()).unwrap_or_default();
        let files = left.into_iter().map(|change| change.path).collect();
        Some(Changes { files, patch, branch: None })
    });
    kept.await.ok().flatten()
}

/// Why there is no such tool, where nothing else is said.
fn absence(tool: &ToolName) -> String {
    match tool.builtin() {
        Some(BuiltinTool::WebSearch) => {
            "no search provider is configured; set `tools.web_search_provider`".to_owned()
        }
        _ => "this version has no such tool yet".to_owned(),
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
