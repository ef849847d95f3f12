//! A run that another process prepared and owns, and that is driven here.
//!
//! Its rights, limits, depth and model were worked out there and are in its header. What is looked up here
//! is how they are reached: the model, the MCP servers, the rules that every call is held against.

use std::sync::Arc;

use attache_kernel::{
    agent::definition::Trust,
    rights::filter::Schedule,
    run::{Run, assignment::Assignment},
};

use super::{Asker, Host, OrderError, resumed::as_before};
use crate::{
    agents::{discovery::content_hash, trust::TrustWatch},
    approvals::Approvals,
    bridge::Assigned,
    tasks::{Past, Permissions, Purse, Start, TakenOver, TreeBudget},
};

impl Host {
    /// What it takes to go on with a run that was handed over.
    pub(crate) async fn taken_over(
        &self,
        (run, next_seq): (Run, u64),
        assigned: &Assigned,
        (approvals, purse): (Approvals, Arc<dyn Purse>),
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
        let stance = assigned.stance;
        let rules = self.rules.clone();
        let permissions = Permissions { policy, stance, rules, ..Permissions::default() }
            .of_run(&assigned.root, assigned.auto_approval)
            .asking_too(assigned.asked.clone())
            .believing(&toolbox)
            .while_trusted(self.watch_in_instance(&assignment, trust));
        let rights = assignment.rights.clone();
        let left_behind = assigned.left_behind.clone();
        let budget = Arc::new(TreeBudget::kept_by(purse, assigned.left));
        Ok(Start {
            approvals,
            past: Past::TakenOver(Box::new(TakenOver { run, next_seq, left_behind, budget })),
            ..self.start(
                (assignment, rights),
                connection,
                (permissions, toolbox),
                assigned.root.clone(),
            )
        })
    }

    /// What watches over the recorded trust in the agent's file. An agent that is trusted for one run alone
    /// has none.
    fn watch_in_instance(&self, assignment: &Assignment, trust: Trust) -> Option<TrustWatch> {
        let definition = &assignment.definition;
        let file = definition.source_path.as_deref().filter(|_| trust == Trust::Trusted)?;
        let content = content_hash(file).ok()?;
        if !self.trust.trusts(file, &content) {
            return None;
        }
        let place = (assignment.depth, Schedule::Foreground);
        let rights = Some(&assignment.rights);
        let without_trust = self.offer.rights(definition, Trust::Untrusted, place, rights).tools;
        let agent = definition.agent_type.to_string();
        Some(TrustWatch::new(&self.trust, agent, file, without_trust))
    }
}
