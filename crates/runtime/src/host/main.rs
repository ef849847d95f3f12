//! A run of the main agent: it works for the user, with all tools, on the user's model.

use attache_kernel::{
    agent::definition::Trust,
    rights::permission::Stance,
    run::assignment::{Assignment, Finish, SessionSource},
};

use super::{
    Asker, ConnectError, Host, MAIN_DEPTH, Order, OrderError, Prepared, approvals, briefing, facts,
};
use crate::{
    agents::main_agent,
    tasks::{Start, new_run_id, new_session_id},
};

impl Host {
    /// The main agent: it works for the user, with all tools, on the user's model.
    pub(super) async fn main(&self, order: Order) -> Result<Prepared, OrderError> {
        let Some(definition) = main_agent::definition() else {
            return Err(OrderError::NothingRead("attache".to_owned()));
        };
        let mut notices = Vec::new();
        let root = order.working_directory.clone();
        let root = root.unwrap_or_else(|| self.workplace.working_directory.clone());
        notices.extend(self.workplace.told_about(&root));
        let place = (MAIN_DEPTH, order.schedule);
        let equipped = self.equipped(&definition, Trust::Trusted, place, None, &mut notices).await;
        let models = self.models.for_main();
        let choice = models
            .choose(&definition, models.parent_model(), order.model_wish(), &mut notices)
            .map_err(ConnectError::from)?;
        let cost_cap = self.cost_cap(order.limits.max_cost_usd);
        let asker = Asker { definition: &definition, trust: Trust::Trusted, cost_cap };
        let connection = self.switchboard.connect(&choice, asker, &models, &mut notices)?;
        let permissions = self
            .permissions(Stance::of_agent(&definition), None, &root, order.auto_approval)
            .believing(&equipped.toolbox);
        let shown = briefing::Shown {
            tools: &equipped.filtered.tools,
            permissions: &permissions,
            hidden: &self.workplace.hidden,
        };
        let briefing = briefing::read(&root, shown, &mut notices);
        let ids = (new_run_id(), new_session_id());
        let mut assignment = Assignment {
            depth: MAIN_DEPTH,
            finish: Finish::TextAnswer,
            source: order.source.clone().unwrap_or(SessionSource::Exec),
            description: order.description.clone(),
            routing: order.routing.clone(),
            background_work: order.background_work,
            briefing,
            environment: facts(&root, &order),
            project: self.workplace.project_beside(&root),
            model_limits: connection.limits,
            withheld_tools: equipped.did_not_start(),
            ..Assignment::new(ids, definition, order.task.clone(), connection.used.clone())
        };
        assignment.limits = assignment.limits.with(order.limits);
        let start = Start {
            approvals: approvals(order.approver, None),
            ..self.start(
                (assignment, equipped.filtered.tools),
                connection,
                (permissions, equipped.toolbox),
                root,
            )
        };
        Ok(Prepared { notices, start })
    }
}
