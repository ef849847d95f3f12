//! The front door: turns an order into a prepared run or an error, with notices as values.
//!
//! Every run is prepared here: for the command line, the `Task` tool, an MCP host, a program.
//! It knows no command line, prints nothing and reads no environment; the look-up, the rights and the
//! model of a run are each worked out once.

mod briefing;
mod connection;
mod error;
mod inputs;
mod may;
mod mcp_tools;
mod models;
mod notice;
mod order;
mod rights;
mod workplace;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    agent::{
        definition::{Definition, Isolation, Scope, Trust},
        registry::{Appraisal, Inventory, LookupError, Record},
    },
    id::{AgentName, RunId},
    model::choice::ModelChoice,
    rights::{
        filter::Schedule,
        permission::{AutoApproval, Policy, Stance},
    },
    run::{
        Run,
        assignment::{Assignment, Finish, SessionSource, TemplateFacts},
        fork::Fork,
        limits::{RunLimits, TreeAllowance},
        transcript::{fold, fold_through_turn},
    },
};

use self::models::ModelCallWish;
pub use self::{
    connection::{Asker, ConnectError, Connection, CostCap, Switchboard},
    error::OrderError,
    inputs::{InputError, InputText},
    may::Leave,
    models::{ModelPolicy, Models, ParentModel, Providers},
    notice::{Notice, not_sent},
    order::{Agent, EarlierRun, Inputs, Order, Subject, TrustFor},
    rights::{McpOffer, Offer},
    workplace::Workplace,
};
use crate::{
    agents::{discovery::Discovery, main_agent, trust::TrustStore},
    approvals::{Approvals, Approver},
    clock,
    mcp_client::McpServers,
    store::{RunState, Store},
    tasks::{
        Past, Permissions, RunHandle, Start, TreeBudgetStart, TreeLimits, new_run_id,
        new_session_id,
    },
    worktree::{WorktreeError, WorktreePlan},
};

/// What the front door works with.
#[derive(Debug)]
pub struct Host {
    /// Whether there are subagents at all.
    pub is_enabled: bool,
    /// Where agents are found.
    pub discovery: Mutex<Discovery>,
    /// Which of them the user trusts.
    pub trust: TrustStore,
    /// Which models there are.
    pub models: Models,
    /// How they are reached.
    pub switchboard: Switchboard,
    /// Which tools there are.
    pub offer: Offer,
    /// The MCP servers.
    pub mcp: McpServers,
    /// Where agents work.
    pub workplace: Workplace,
    /// What the agents of a session may use together.
    pub tree: TreeLimits,
    /// Which calls are asked about, allowed and refused.
    pub policy: Arc<Policy>,
}

/// A run that can be started.
#[derive(Debug)]
pub struct Prepared {
    /// What the caller should know about it.
    pub notices: Vec<Notice>,
    pub(crate) start: Start,
}

impl Prepared {
    /// Which agent does what, as whom, with which model, rights and limits.
    pub fn assignment(&self) -> &Assignment {
        &self.start.assignment
    }
}

impl Host {
    fn discovery(&self) -> MutexGuard<'_, Discovery> {
        self.discovery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agents there are now, each with the tools and the model it would get.
    pub fn inventory(&self) -> Inventory {
        let parent = self.models.parent_model();
        self.look(|definition, trust| {
            appraise(&self.offer, &self.models, definition, trust, &parent)
        })
    }

    /// The agents there are now, without their tools and models.
    pub(crate) fn agents(&self) -> Inventory {
        self.look(|_, _| Appraisal::default())
    }

    fn look(&self, appraise: impl Fn(&Definition, Trust) -> Appraisal) -> Inventory {
        let found = self.discovery().look(&self.trust);
        Inventory::new(found.candidates, found.events, appraise)
    }

    /// The agent of that name, in any spelling, if it can be run.
    pub fn agent(&self, name: &str) -> Result<Agent, OrderError> {
        if !self.is_enabled {
            return Err(OrderError::SwitchedOff);
        }
        Self::agent_in(&self.agents(), name)
    }

    /// The same among agents that were looked up already.
    pub(crate) fn agent_in(agents: &Inventory, name: &str) -> Result<Agent, OrderError> {
        let record = agents.find(name)?.clone();
        match record.definition.clone() {
            Some(definition) => Ok(Agent { record, definition }),
            None => Err(OrderError::NothingRead(record.name)),
        }
    }

    /// An earlier run that can go on.
    pub async fn earlier(&self, id: &str, store: &dyn Store) -> Result<EarlierRun, OrderError> {
        let transcript = store.read(id).await?;
        if matches!(transcript.state, RunState::Queued | RunState::Running) {
            return Err(OrderError::StillRuns(transcript.header.run.agent_id));
        }
        Ok(EarlierRun { run: Box::new(fold(transcript.into_lines())?), at_turn: None })
    }

    /// An earlier run as it was when that turn was over, from which a new one can branch off. It may be
    /// under way.
    pub async fn earlier_at(
        &self,
        id: &str,
        turn: u32,
        store: &dyn Store,
    ) -> Result<EarlierRun, OrderError> {
        let transcript = store.read(id).await?;
        let run = transcript.header.run.agent_id.clone();
        match fold_through_turn(transcript.into_lines(), turn)? {
            (Some(run), _) => Ok(EarlierRun { run: Box::new(run), at_turn: Some(turn) }),
            (None, turns) => Err(OrderError::NoSuchTurn { run, turn, turns }),
        }
    }

    /// Prepares a run.
    pub async fn prepare(&self, order: Order, store: &dyn Store) -> Result<Prepared, OrderError> {
        if !self.is_enabled {
            return Err(OrderError::SwitchedOff);
        }
        let budget = self.tree_budget(&order, store).await?;
        let mut order = order;
        let subject = std::mem::replace(&mut order.subject, Subject::Named(String::new()));
        let mut prepared = match subject {
            Subject::Main => Box::pin(self.main(order)).await,
            Subject::Named(name) => self.fresh(self.agent(&name)?, order).await,
            Subject::Found(agent) => self.fresh(*agent, order).await,
            Subject::Earlier(earlier) => Box::pin(self.resumed(earlier, order)).await,
        }?;
        prepared.start.budget = budget;
        let left = match &prepared.start.parent {
            Some(parent) => parent.live().budget.left(),
            None => budget.left(),
        };
        prepared.start.assignment.limits.tree =
            TreeAllowance { tokens: left.max_tokens, cost_usd: left.max_cost_usd };
        Ok(prepared)
    }

    /// What is left for the tree of a run; an error if nothing is.
    async fn tree_budget(
        &self,
        order: &Order,
        store: &dyn Store,
    ) -> Result<TreeBudgetStart, OrderError> {
        let mut budget = TreeBudgetStart { limits: self.tree, ..TreeBudgetStart::default() };
        if let Subject::Earlier(earlier) = &order.subject
            && self.tree != TreeLimits::default()
            && order.parent.is_none()
        {
            let spent = store.spent_in(&earlier.run.assignment().session_id).await?;
            (budget.tokens, budget.cost_usd) = (spent.tokens, spent.cost_usd);
        }
        let left = match &order.parent {
            Some(parent) => parent.live().budget.left(),
            None => budget.left(),
        };
        if left.max_tokens == Some(0) {
            let most = self.tree.max_tokens.unwrap_or_default();
            return Err(OrderError::BudgetSpent {
                what: format!("{most} tokens"),
                key: "max_tree_tokens",
            });
        }
        if left.max_cost_usd.is_some_and(|left| left <= 0.0) {
            let most = self.tree.max_cost_usd.unwrap_or_default();
            return Err(OrderError::BudgetSpent {
                what: format!("${most}"),
                key: "max_tree_cost_usd",
            });
        }
        Ok(budget)
    }

    async fn fresh(&self, agent: Agent, order: Order) -> Result<Prepared, OrderError> {
        let Agent { record, definition } = agent;
        let mut notices = Vec::new();
        let inputs = match &order.inputs {
            Inputs::Typed(inputs) => inputs.clone(),
            Inputs::Written(texts) => inputs::read(texts, definition.input_config.as_ref())?,
        };
        let trust = order.trust.or_recorded(record.trusted);
        let asked = order.working_directory.as_deref();
        let parent = order.parent.as_ref().map(RunHandle::assignment);
        let run_id = new_run_id();
        let root = self.folder(&definition, trust, parent, asked)?;
        let worktree = self.worktree(&definition, &root, &run_id).await?;
        let root = worktree.as_ref().map_or(root, WorktreePlan::folder);
        let depth = parent.map_or(FIRST_DEPTH, |parent| parent.depth.saturating_add(1));
        if parent.is_some() && depth > self.offer.max_depth {
            return Err(OrderError::TooDeep { depth, max_depth: self.offer.max_depth });
        }
        let above = order.parent.as_ref();
        let place = (depth, order.schedule);
        let equipped = self.equipped(&definition, trust, place, above, &mut notices).await;
        let filtered = equipped.filtered;
        let parent_model = parent.map_or_else(
            || self.models.parent_model(),
            |parent| ParentModel {
                model: parent.model.id.clone(),
                provider: parent.model.provider.clone(),
            },
        );
        let wish =
            ModelCallWish { model: order.model.as_deref(), provider: order.provider.as_deref() };
        let choice = self
            .models
            .choose(&definition, parent_model, wish, &mut notices)
            .map_err(ConnectError::from)?;
        let limits = RunLimits::from(&definition.run_config).with(order.limits);
        let asker =
            Asker { definition: &definition, trust, cost_cap: self.cost_cap(limits.max_cost_usd) };
        let connection = self.switchboard.connect(&choice, asker, &self.models, &mut notices)?;
        let stance = Stance::of(&definition);
        let permissions = self
            .permissions(stance, order.parent.as_ref(), &root, order.auto_approval)
            .believing(&equipped.toolbox);
        let session = parent.map(|parent| parent.session_id.clone());
        let session = session.or_else(|| order.session.clone()).unwrap_or_else(new_session_id);
        let ids = (run_id, session);
        let mut assignment = Assignment {
            parent_id: parent.map(|parent| parent.agent_id.clone()),
            depth,
            description: order.description.clone(),
            routing: order.routing.clone(),
            inputs,
            environment: facts(&root, &order),
            model_limits: connection.limits,
            withheld_tools: filtered.withheld.iter().map(Into::into).collect(),
            ..Assignment::new(ids, definition, order.task.clone(), connection.used.clone())
        };
        if let Some(source) = order.source.clone() {
            assignment.source = source;
        }
        assignment.limits = assignment.limits.with(order.limits);
        let fork = order.fork.filter(|_| assignment.definition.fork_context);
        let fork = fork.map(|fork| Fork::clone(&fork));
        let start = Start {
            stall: connection.stall,
            further_roots: self.workplace.further_roots.clone(),
            approvals: approvals(order.approver, order.parent.as_ref()),
            parent: order.parent,
            permissions,
            toolbox: equipped.toolbox,
            worktree,
            past: fork.map_or(Past::Nothing, Past::Fork),
            ..Start::new(assignment, filtered.tools, connection.model, root)
        };
        Ok(Prepared { notices, start })
    }

    /// The main agent: it works for the user, with all tools, on the user's model.
    async fn main(&self, order: Order) -> Result<Prepared, OrderError> {
        let Some(definition) = main_agent::definition() else {
            return Err(OrderError::NothingRead("attache".to_owned()));
        };
        let mut notices = Vec::new();
        let root = order.working_directory.clone();
        let root = root.unwrap_or_else(|| self.workplace.working_directory.clone());
        let place = (MAIN_DEPTH, order.schedule);
        let equipped = self.equipped(&definition, Trust::Trusted, place, None, &mut notices).await;
        let wish =
            ModelCallWish { model: order.model.as_deref(), provider: order.provider.as_deref() };
        let models = self.models.for_main();
        let choice = models
            .choose(&definition, models.parent_model(), wish, &mut notices)
            .map_err(ConnectError::from)?;
        let cost_cap = self.cost_cap(order.limits.max_cost_usd);
        let asker = Asker { definition: &definition, trust: Trust::Trusted, cost_cap };
        let connection = self.switchboard.connect(&choice, asker, &models, &mut notices)?;
        let permissions = self
            .permissions(Stance::of(&definition), None, &root, order.auto_approval)
            .believing(&equipped.toolbox);
        let ids = (new_run_id(), new_session_id());
        let mut assignment = Assignment {
            depth: MAIN_DEPTH,
            finish: Finish::TextAnswer,
            source: order.source.clone().unwrap_or(SessionSource::Exec),
            description: order.description.clone(),
            routing: order.routing.clone(),
            background_work: order.background_work,
            briefing: briefing::read(&root),
            environment: facts(&root, &order),
            model_limits: connection.limits,
            withheld_tools: equipped.did_not_start(),
            ..Assignment::new(ids, definition, order.task.clone(), connection.used.clone())
        };
        assignment.limits = assignment.limits.with(order.limits);
        let start = Start {
            stall: connection.stall,
            further_roots: self.workplace.further_roots.clone(),
            approvals: approvals(order.approver, None),
            permissions,
            toolbox: equipped.toolbox,
            ..Start::new(assignment, equipped.filtered.tools, connection.model, root)
        };
        Ok(Prepared { notices, start })
    }

    async fn resumed(&self, earlier: EarlierRun, order: Order) -> Result<Prepared, OrderError> {
        if order.inputs != Inputs::Typed(serde_json::Map::new()) {
            return Err(OrderError::InputsOfResumed);
        }
        let mut notices = Vec::new();
        let before = earlier.run.assignment();
        let definition = Arc::clone(&before.definition);
        let is_main = before.depth == MAIN_DEPTH;
        let today = if is_main { None } else { self.today(&definition)? };
        // A file that says something else now lends its trust to nothing that it said then.
        let trust = match &today {
            Some((record, Changed::No)) => order.trust.or_recorded(record.trusted),
            None if is_main => Trust::Trusted,
            Some((_, Changed::Yes)) | None => order.trust.or_recorded(Trust::Untrusted),
        };
        let above = order.parent.as_ref().map(RunHandle::assignment);
        let depth =
            above.map_or(before.depth, |above| before.depth.max(above.depth.saturating_add(1)));
        if above.is_some() && depth > self.offer.max_depth {
            return Err(OrderError::TooDeep { depth, max_depth: self.offer.max_depth });
        }
        let (place, parent) = ((depth, order.schedule), order.parent.as_ref());
        let equipped = self.equipped(&definition, trust, place, parent, &mut notices).await;
        let mut filtered = equipped.filtered.clone();
        let mut limits = RunLimits::from(&definition.run_config);
        let mut stance = Stance::of(&definition);
        if let Some((record, changed)) = &today
            && let Some(now) = &record.definition
        {
            limits = RunLimits::from(&now.run_config);
            stance = stance.narrowed(Stance::of(now));
            if *changed == Changed::Yes {
                let now_trust = order.trust.or_recorded(record.trusted);
                let rights = self.rights_like(&equipped, now, now_trust, place, parent);
                filtered.tools = filtered.tools.intersection(&rights.tools);
                filtered.withheld.extend(rights.withheld);
                let agent = definition.agent_type.to_string();
                notices.push(Notice::DefinitionChanged { agent });
            }
        }
        let choice = self.choice_of_resumed(&earlier.run, &order, &mut notices)?;
        let capped = before.limits.smaller(limits).with(order.limits).max_cost_usd;
        let asker = Asker { definition: &definition, trust, cost_cap: self.cost_cap(capped) };
        let connection = self.switchboard.connect(&choice, asker, &self.models, &mut notices)?;
        let run_id = new_run_id();
        let (root, worktree) = self.earlier_place(&earlier, trust, &run_id)?;
        if let Some(asked) = &order.working_directory
            && worktree.is_none()
            && root.canonicalize().ok() != asked.canonicalize().ok()
        {
            notices.push(Notice::GoesOnIn { folder: root.display().to_string() });
        }
        let permissions = self
            .permissions(stance, order.parent.as_ref(), &root, order.auto_approval)
            .believing(&equipped.toolbox);
        let parent_id = above.map(|above| above.agent_id.clone());
        let mut assignment = before.resumed_as(run_id, order.task);
        if worktree.is_some() {
            assignment.environment.cwd = root.display().to_string();
        }
        assignment.at_turn = earlier.at_turn;
        assignment.background_work = order.background_work;
        assignment.depth = depth;
        if parent_id.is_some() {
            assignment.parent_id = parent_id;
        }
        assignment.description = order.description;
        assignment.withheld_tools = filtered.withheld.iter().map(Into::into).collect();
        let mut assignment = assignment.narrowed_to(&filtered.tools, limits);
        assignment.model = connection.used;
        assignment.model_limits = connection.limits;
        assignment.limits = assignment.limits.with(order.limits);
        let rights = assignment.rights.clone();
        let start = Start {
            stall: connection.stall,
            further_roots: self.workplace.further_roots.clone(),
            approvals: approvals(order.approver, order.parent.as_ref()),
            parent: order.parent,
            permissions,
            toolbox: equipped.toolbox,
            worktree,
            past: match earlier.at_turn {
                Some(_) => Past::Branch(earlier.run),
                None => Past::Earlier(earlier.run),
            },
            ..Start::new(assignment, rights, connection.model, root)
        };
        Ok(Prepared { notices, start })
    }

    /// The model of a run that goes on: the one it had, unless the caller asks for another.
    fn choice_of_resumed(
        &self,
        run: &Run,
        order: &Order,
        notices: &mut Vec<Notice>,
    ) -> Result<ModelChoice, ConnectError> {
        let (model, provider) = (order.model.as_deref(), order.provider.as_deref());
        if model.is_none() && provider.is_none() {
            return Ok(as_before(run));
        }
        let definition = &run.assignment().definition;
        let wish = ModelCallWish { model, provider };
        Ok(self.models.choose(definition, self.models.parent_model(), wish, notices)?)
    }

    /// Where a run that goes on works: where it worked, or in a worktree that is made again.
    fn earlier_place(
        &self,
        earlier: &EarlierRun,
        trust: Trust,
        run_id: &RunId,
    ) -> Result<(PathBuf, Option<WorktreePlan>), OrderError> {
        let before = earlier.run.assignment();
        let root = PathBuf::from(&before.environment.cwd);
        let Some(facts) = &before.worktree else {
            return Ok((self.workplace.earlier_folder(&before.definition, trust, root)?, None));
        };
        let worktrees = self.workplace.worktrees.as_ref().ok_or(WorktreeError::NoPlace)?;
        let plan = match earlier.at_turn {
            Some(_) => worktrees.plan_branch(facts, &root, run_id)?,
            None => worktrees.plan_again(facts, &root)?,
        };
        Ok((plan.folder(), Some(plan)))
    }

    /// Where an agent works. What works for a run with a worktree of its own works there.
    fn folder(
        &self,
        definition: &Definition,
        trust: Trust,
        parent: Option<&Arc<Assignment>>,
        asked: Option<&Path>,
    ) -> Result<PathBuf, OrderError> {
        match parent.filter(|parent| parent.worktree.is_some()) {
            Some(parent) => {
                let workplace = self.workplace.moved_to(Path::new(&parent.environment.cwd));
                workplace.folder(definition, trust, asked)
            }
            None => self.workplace.folder(definition, trust, asked),
        }
    }

    /// The worktree of an agent that would otherwise work in that folder, if it wants one.
    async fn worktree(
        &self,
        definition: &Definition,
        folder: &Path,
        run: &RunId,
    ) -> Result<Option<WorktreePlan>, WorktreeError> {
        match definition.isolation {
            Isolation::None => Ok(None),
            Isolation::Worktree => {
                let worktrees = self.workplace.worktrees.as_ref().ok_or(WorktreeError::NoPlace)?;
                worktrees.plan(folder, run).await.map(Some)
            }
        }
    }

    /// What a run's calls are judged by: a child by its parent's policy.
    fn permissions(
        &self,
        stance: Stance,
        parent: Option<&RunHandle>,
        root: &Path,
        auto: AutoApproval,
    ) -> Permissions {
        match parent.map(|parent| &parent.live().permissions) {
            Some(above) => {
                let (policy, stance) = (Arc::clone(&above.policy), stance.under(above.stance));
                Permissions { policy, stance }.of_child(root, auto)
            }
            None => Permissions { policy: Arc::clone(&self.policy), stance }.of_run(root, auto),
        }
    }

    /// What caps the cost of a run with that cap of its own.
    fn cost_cap(&self, max_cost_usd: Option<f64>) -> Option<CostCap> {
        let of_tree = self.tree.max_cost_usd.map(|_| CostCap::Tree);
        max_cost_usd.map(|_| CostCap::Run).or(of_tree)
    }

    /// The record of a resumed agent today, and whether its file says something else than it did; none
    /// if it is gone. Its limits do not count as a change: the command line and the settings change
    /// them from run to run.
    fn today(&self, before: &Definition) -> Result<Option<(Record, Changed)>, OrderError> {
        let inventory = self.look(|_, _| Appraisal::default());
        let record = match inventory.find(before.agent_type.as_str()) {
            Ok(record) => record.clone(),
            Err(LookupError::Unknown { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_same = record.definition.as_deref().is_some_and(|now| {
            // A transcript says `user` of an agent that the command line gave.
            let source = match now.source {
                Scope::Session => before.source,
                Scope::Builtin | Scope::User | Scope::Project => now.source,
            };
            Definition { run_config: before.run_config, source, ..now.clone() } == *before
        });
        Ok(Some((record, if is_same { Changed::No } else { Changed::Yes })))
    }
}

/// Whether an agent's file says something else than it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Changed {
    Yes,
    No,
}

/// What a definition comes down to when it is run from here.
pub fn appraise(
    offer: &Offer,
    models: &Models,
    definition: &Definition,
    trust: Trust,
    parent: &ParentModel,
) -> Appraisal {
    let filtered = offer.rights(definition, trust, (FIRST_DEPTH, Schedule::Foreground), None);
    Appraisal {
        effective_tools: filtered.tools.names().map(ToString::to_string).collect(),
        withheld_tools: filtered.withheld.iter().map(Into::into).collect(),
        effective_model: models.usual(definition, parent),
    }
}

/// The depth of an agent that nobody but the user started.
const FIRST_DEPTH: u32 = 1;
/// The depth of the main agent.
const MAIN_DEPTH: u32 = 0;

impl EarlierRun {
    /// Whether that word names the run's agent, in any spelling.
    pub fn is_named(&self, word: &str) -> bool {
        AgentName::new(word).key() == self.run.assignment().definition.agent_type.key()
    }
}

/// Who is asked: a child's questions go to whoever its parent's go to.
fn approvals(approver: Option<Arc<dyn Approver>>, parent: Option<&RunHandle>) -> Approvals {
    match (parent, approver) {
        (Some(parent), _) => parent.live().approvals.clone(),
        (None, Some(approver)) => Approvals::new(approver),
        (None, None) => Approvals::default(),
    }
}

fn as_before(run: &Run) -> ModelChoice {
    let used = &run.assignment().model;
    ModelChoice {
        asked: used.asked.clone(),
        ..ModelChoice::new(&used.id, &used.provider, used.chosen_by)
    }
}

fn facts(root: &Path, order: &Order) -> TemplateFacts {
    let today = order.today.clone();
    let today = today.unwrap_or_else(|| clock::now().strftime("%Y-%m-%d").to_string());
    TemplateFacts { cwd: root.display().to_string(), today }
}
