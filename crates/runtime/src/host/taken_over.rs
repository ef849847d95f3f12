//! A run that another process prepared and owns, and that is driven here.
//!
//! Its rights, limits, depth and model were worked out there and are in its header. What is looked up here
//! is how they are reached: the model, the MCP servers, the rules that every call is held against.

use attache_kernel::{
    agent::definition::Trust,
    run::{Run, assignment::Assignment},
};

use super::{Asker, Host, OrderError, resumed::as_before};
use crate::{
    approvals::Approvals,
    bridge::Assigned,
    tasks::{Past, Permissions, Start, TakenOver, TreeBudgetStart, TreeLimits},
};

impl Host {
    /// What it takes to go on with a run that was handed over.
    pub(crate) async fn taken_over(
        &self,
        (run, next_seq): (Run, u64),
        assigned: &Assigned,
        approvals: Approvals,
    ) -> Result<Start, OrderError> {
        let assignment = Assignment::clone(run.assignment());
        let definition = assignment.definition.clone();
        let trust = if assigned.is_trusted { Trust::Trusted } else { Trust::Untrusted };
        let cost_cap = self.cost_cap(assignment.limits.max_cost_usd);
        let asker = Asker { definition: &definition, trust, cost_cap };
        let connection =
            self.switchboard.connect(&as_before(&run), asker, &self.models, &mut Vec::new())?;
        let toolbox = self.toolbox_of(&definition, trust, &assignment.rights).await;
        let policy = self.policy.clone();
        let permissions = Permissions { policy, stance: assigned.stance }
            .of_run(&assigned.root, assigned.auto_approval)
            .believing(&toolbox);
        let rights = assignment.rights.clone();
        let limits =
            TreeLimits { max_tokens: assigned.left.tokens, max_cost_usd: assigned.left.cost_usd };
        let left_behind = assigned.left_behind.clone();
        Ok(Start {
            stall: connection.stall,
            further_roots: self.workplace.further_roots.clone(),
            approvals,
            permissions,
            toolbox,
            budget: TreeBudgetStart { limits, ..TreeBudgetStart::default() },
            past: Past::TakenOver(Box::new(TakenOver { run, next_seq, left_behind })),
            ..Start::new(assignment, rights, connection.model, assigned.root.clone())
        })
    }
}
