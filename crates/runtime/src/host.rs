//! The front door: turns an order into a prepared run or an error, with notices as values.
//!
//! Every run is prepared here: for the command line, the `Task` tool, an MCP host, a program.
//! It knows no command line, prints nothing and reads no environment; the look-up, the rights and the
//! model of a run are each worked out once.

mod briefing;
mod connection;
mod error;
mod fresh;
mod inputs;
mod main;
mod may;
mod mcp_tools;
mod models;
mod notice;
mod order;
mod resumed;
mod rights;
mod taken_over;
mod workplace;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    agent::{
        definition::{Definition, ExecutionMode, Trust},
        registry::{Appraisal, Inventory},
    },
    rights::{
        filter::{Schedule, ToolSet, WithheldTool},
        permission::{AutoApproval, Policy, Stance},
    },
    run::{
        assignment::{Assignment, TemplateFacts},
        limits::TreeAllowance,
    },
};

use self::connection::{Connection, CostCap};
pub use self::{
    connection::{Asker, ConnectError, Switchboard},
    error::OrderError,
    inputs::InputText,
    may::Leave,
    models::{ModelPolicy, Models, ParentModel, Providers},
    notice::{Notice, not_sent},
    order::{Agent, EarlierRun, Inputs, Order, Subject, TrustFor},
    rights::{McpOffer, Offer},
    workplace::Workplace,
};
use crate::{
    agents::{discovery::Discovery, trust::TrustStore, used::UsedAgents},
    approvals::{Approvals, Approver},
    bridge::{InInstance, Instances},
    clock,
    mcp_client::{McpServers, Toolbox},
    store::Store,
    tasks::{Permissions, RulesWatch, RunHandle, Start, TreeBudgetStart, TreeLimits},
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
    /// How often agents were used.
    pub used: Arc<UsedAgents>,
    /// What watches for rules that are added while runs go on.
    pub rules: Option<Arc<RulesWatch>>,
    /// How an instance of the program is started; none where it cannot be.
    pub instances: Option<Arc<Instances>>,
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
        let found = self.discovery().look(&self.trust.read_again());
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
        let told = prepared.notices.iter().map(ToString::to_string);
        prepared.start.assignment.notices = told.collect();
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

    /// What a run's calls are judged by: a child by its parent's policy.
    fn permissions(
        &self,
        stance: Stance,
        parent: Option<&RunHandle>,
        root: &Path,
        auto: AutoApproval,
    ) -> Permissions {
        let Some(above) = parent.map(|parent| &parent.live().permissions) else {
            let policy = Arc::clone(&self.policy);
            let rules = self.rules.clone();
            let permissions = Permissions { policy, stance, rules, ..Permissions::default() };
            return permissions.of_run(root, auto);
        };
        let stance = stance.under(above.stance);
        Permissions { stance, ..above.clone() }.of_child(root, auto)
    }

    /// What it takes to start a run here, whichever way it was prepared.
    fn start(
        &self,
        (assignment, rights): (Assignment, ToolSet),
        connection: Connection,
        (permissions, toolbox): (Permissions, Toolbox),
        root: PathBuf,
    ) -> Start {
        Start {
            stall: connection.stall,
            further_roots: self.workplace.further_roots.clone(),
            permissions,
            toolbox,
            ..Start::new(assignment, rights, connection.model, root)
        }
    }

    /// Whether an agent is run by an instance of its own.
    fn instance(
        &self,
        definition: &Definition,
        trust: Trust,
        permissions: &Permissions,
    ) -> Result<Option<InInstance>, OrderError> {
        match definition.execution_mode {
            ExecutionMode::Lightweight => Ok(None),
            ExecutionMode::FullCodex => {
                let agent = || definition.agent_type.to_string();
                let instances = self.instances.clone();
                Ok(Some(InInstance {
                    instances: instances.ok_or_else(|| OrderError::NoInstances(agent()))?,
                    is_trusted: trust == Trust::Trusted,
                    auto_approval: permissions.policy.auto,
                }))
            }
        }
    }

    /// The same order without the model that an agent asks for, if that is a short name which falls through.
    pub(crate) fn without_passed_over_model(&self, order: Order) -> (Order, Option<Notice>) {
        let definition = match &order.subject {
            Subject::Found(agent) => Some(&agent.definition),
            Subject::Earlier(earlier) => Some(&earlier.run.assignment().definition),
            Subject::Main | Subject::Named(_) => None,
        };
        let notice = definition.and_then(|definition| self.models.passed_over(definition, &order));
        match notice {
            Some(notice) => (Order { model: None, ..order }, Some(notice)),
            None => (order, None),
        }
    }

    /// What caps the cost of a run with that cap of its own.
    fn cost_cap(&self, max_cost_usd: Option<f64>) -> Option<CostCap> {
        let of_tree = self.tree.max_cost_usd.map(|_| CostCap::Tree);
        max_cost_usd.map(|_| CostCap::Run).or(of_tree)
    }
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
    let (absent, there): (Vec<_>, Vec<_>) =
        filtered.tools.names().partition(|tool| offer.absent.contains_key(*tool));
    let absent = absent.into_iter().map(|tool| WithheldTool {
        tool: tool.to_string(),
        reason: offer.absent.get(tool).cloned().unwrap_or_default(),
    });
    Appraisal {
        effective_tools: there.into_iter().map(ToString::to_string).collect(),
        withheld_tools: filtered.withheld.iter().map(Into::into).chain(absent).collect(),
        effective_model: models.usual(definition, parent),
    }
}

/// The depth of an agent that the user started directly.
const FIRST_DEPTH: u32 = 1;
/// The depth of the main agent.
pub(crate) const MAIN_DEPTH: u32 = 0;

/// Who is asked: a child asks the approver of its parent.
fn approvals(approver: Option<Arc<dyn Approver>>, parent: Option<&RunHandle>) -> Approvals {
    match (parent, approver) {
        (Some(parent), _) => parent.live().approvals.clone(),
        (None, Some(approver)) => Approvals::new(approver),
        (None, None) => Approvals::default(),
    }
}

fn facts(root: &Path, order: &Order) -> TemplateFacts {
    let today = order.today.clone();
    let today = today.unwrap_or_else(|| clock::now().strftime("%Y-%m-%d").to_string());
    TemplateFacts { cwd: root.display().to_string(), today }
}
