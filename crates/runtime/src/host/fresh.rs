//! A run that begins: an agent, its folder or worktree, its rights, its model, its limits.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    agent::definition::{Definition, Isolation, Trust},
    id::RunId,
    rights::permission::Stance,
    run::{assignment::Assignment, fork::Fork, limits::RunLimits},
};

use super::{
    Agent, Asker, ConnectError, FIRST_DEPTH, Host, Inputs, Order, OrderError, ParentModel,
    Prepared, approvals, facts, inputs,
};
use crate::{
    tasks::{Past, RunHandle, Start, new_run_id, new_session_id},
    worktree::{WorktreeError, WorktreePlan},
};

impl Host {
    pub(super) async fn fresh(&self, agent: Agent, order: Order) -> Result<Prepared, OrderError> {
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
        // Whoever started its parent was told.
        if parent.is_none() {
            notices.extend(self.workplace.told_about(&root));
        }
        let root = worktree.as_ref().map_or(root, WorktreePlan::folder);
        let depth = parent.map_or(FIRST_DEPTH, |parent| parent.depth.saturating_add(1));
        if parent.is_some() && depth > self.offer.max_depth {
            return Err(OrderError::TooDeep { depth, max_depth: self.offer.max_depth });
        }
        let above = order.parent.as_ref();
        let place = (depth, order.schedule);
        let equipped = self.equipped(&definition, trust, place, above, &mut notices).await;
        let trust_watch = self.trust_watch(Some(&record), order.trust, |trust| {
            self.rights_like(&equipped, &definition, trust, place, above)
        });
        let attended = self.attended_rights(&equipped, &definition, trust, place, above);
        let filtered = equipped.filtered;
        let parent_model = parent.map_or_else(
            || self.models.parent_model(),
            |parent| ParentModel {
                model: parent.model.id.clone(),
                provider: parent.model.provider.clone(),
            },
        );
        let choice = self
            .models
            .choose(&definition, parent_model, order.model_wish(), &mut notices)
            .map_err(ConnectError::from)?;
        let limits = RunLimits::from(&definition.run_config).with(order.limits);
        let asker =
            Asker { definition: &definition, trust, cost_cap: self.cost_cap(limits.max_cost_usd) };
        let connection = self.switchboard.connect(&choice, asker, &self.models, &mut notices)?;
        let stance = Stance::of_agent(&definition);
        let permissions = self
            .permissions(stance, order.parent.as_ref(), &root, order.auto_approval)
            .believing(&equipped.toolbox)
            .asking(&definition)
            .while_trusted(trust_watch);
        let session = parent.map(|parent| parent.session_id.clone());
        let session = session.or_else(|| order.session.clone()).unwrap_or_else(new_session_id);
        let ids = (run_id, session);
        let mut assignment = Assignment {
            parent_id: parent.map(|parent| parent.agent_id.clone()),
            depth,
            attended_rights: attended,
            description: order.description.clone(),
            routing: order.routing.clone(),
            inputs,
            environment: facts(&root, &order),
            project: self.workplace.project_beside(&root),
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
        let instance = self.instance(&assignment.definition, trust, &permissions)?;
        let start = Start {
            instance,
            approvals: approvals(order.approver, order.parent.as_ref()),
            parent: order.parent,
            worktree,
            past: fork.map_or(Past::Nothing, Past::Fork),
            ..self.start(
                (assignment, filtered.tools),
                connection,
                (permissions, equipped.toolbox),
                root,
            )
        };
        Ok(Prepared { notices, start })
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
}
