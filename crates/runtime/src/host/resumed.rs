//! A run that goes on from an earlier one, or branches off it: never with more than both its header and
//! its agent's file of today allow.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use attache_kernel::{
    agent::{
        definition::{Definition, Scope, Trust},
        registry::{Appraisal, LookupError, Record},
    },
    id::{AgentName, RunId},
    model::choice::ModelChoice,
    rights::{filter::Schedule, permission::Stance},
    run::{
        Run,
        assignment::Assignment,
        files_then::FilesThen,
        limits::RunLimits,
        transcript::{FoldError, fold, fold_through_turn},
    },
};

use super::{
    Asker, ConnectError, EarlierRun, Host, Inputs, MAIN_DEPTH, Notice, Order, OrderError, Prepared,
    TrustFor, approvals,
};
use crate::{
    store::{RunState, Store},
    tasks::{Past, RunHandle, Start, new_run_id},
    worktree::{WorktreeError, WorktreePlan},
};

impl Host {
    /// An earlier run that can go on.
    pub async fn earlier(&self, id: &str, store: &dyn Store) -> Result<EarlierRun, OrderError> {
        let transcript = store.read(id).await?;
        if matches!(transcript.state, RunState::Queued | RunState::Running) {
            return Err(OrderError::StillRuns(transcript.header.run.agent_id));
        }
        let files = FilesThen::after(u32::MAX, &transcript.header.run, &transcript.entries);
        let run = fold(transcript.into_lines())?;
        let run = if run.is_opened() { run } else { self.opened_late(&run, store).await? };
        Ok(EarlierRun::new(run).having(files))
    }

    /// A run that was cut off before its first event, as its header and the run it continues make it.
    async fn opened_late(&self, run: &Run, store: &dyn Store) -> Result<Run, OrderError> {
        let assignment = run.assignment();
        let forks = assignment.definition.fork_context && assignment.parent_id.is_some();
        let earlier = match (&assignment.resumed_from, assignment.at_turn) {
            (Some(earlier), None) => Some(Box::pin(self.earlier(earlier.as_str(), store)).await?),
            (Some(earlier), Some(turn)) => {
                Some(self.earlier_at(earlier.as_str(), turn, store).await?)
            }
            (None, _) if forks => return Err(OrderError::NeverBegan(assignment.agent_id.clone())),
            (None, _) => None,
        };
        let earlier = earlier.as_ref().map(|earlier| &*earlier.run);
        Ok(run.opened_after(earlier).map_err(FoldError::from)?)
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
        let files = FilesThen::after(turn, &transcript.header.run, &transcript.entries);
        match fold_through_turn(transcript.into_lines(), turn)? {
            (Some(run), _) => Ok(EarlierRun { run: Box::new(run), at_turn: Some(turn), files }),
            (None, turns) => Err(OrderError::NoSuchTurn { run, turn, turns }),
        }
    }

    pub(super) async fn resumed(
        &self,
        earlier: EarlierRun,
        order: Order,
    ) -> Result<Prepared, OrderError> {
        if order.inputs != Inputs::Typed(serde_json::Map::new()) {
            return Err(OrderError::InputsOfResumed);
        }
        let mut notices = Vec::new();
        let before = earlier.run.assignment();
        self.workplace.require_project_of(before)?;
        let definition = Arc::clone(&before.definition);
        let is_main = before.depth == MAIN_DEPTH;
        let today = if is_main { None } else { self.today(&definition)? };
        let trust = if is_main { Trust::Trusted } else { trust_in(today.as_ref(), order.trust) };
        let above = order.parent.as_ref().map(RunHandle::assignment);
        let depth = self.depth_below(before.depth, above.map(Arc::as_ref))?;
        // A main agent needs nobody, and delegates.
        let schedule = if is_main { Schedule::Foreground } else { order.schedule };
        let (place, parent) = ((depth, schedule), order.parent.as_ref());
        let equipped = self.equipped(&definition, trust, place, parent, &mut notices).await;
        let tool_trust = if is_main { trust } else { trust_in_tools(today.as_ref(), order.trust) };
        let mut filtered = self.rights_like(&equipped, &definition, tool_trust, place, parent);
        let mut attended = self.attended_rights(&equipped, &definition, tool_trust, place, parent);
        let mut limits = RunLimits::from(&definition.run_config);
        let mut stance = Stance::of_agent(&definition);
        if let Some((record, changed)) = &today
            && let Some(now) = &record.definition
        {
            limits = RunLimits::from(&now.run_config);
            stance = stance.narrowed(Stance::of_agent(now));
            if *changed == Changed::Yes {
                let now_trust = order.trust.or_recorded(record.trusted);
                let rights = self.rights_like(&equipped, now, now_trust, place, parent);
                filtered.tools = filtered.tools.intersection(&rights.tools);
                filtered.withheld.extend(rights.withheld);
                let now = self.attended_rights(&equipped, now, now_trust, place, parent);
                attended = attended.zip(now).map(|(then, now)| then.intersection(&now));
                let agent = definition.agent_type.to_string();
                notices.push(Notice::DefinitionChanged { agent });
            }
        }
        let record = today.as_ref().map(|(record, _)| record);
        let trust_watch = self.trust_watch(record, order.trust, |trust| {
            self.rights_like(&equipped, &definition, trust, place, parent)
        });
        let choice = self.choice_of_resumed(&earlier.run, &order, &mut notices)?;
        let capped = before.limits.smaller(limits).with(order.limits).max_cost_usd;
        let asker = Asker { definition: &definition, trust, cost_cap: self.cost_cap(capped) };
        let connection = self.switchboard.connect(&choice, asker, &self.models, &mut notices)?;
        let run_id = new_run_id();
        let (root, worktree) = self.earlier_place(&earlier, trust, &run_id).await?;
        let asked = order.working_directory.as_deref();
        notices.extend(self.told_about_place(&earlier, asked, &root, worktree.as_ref()));
        let permissions = self
            .permissions(stance, order.parent.as_ref(), &root, order.auto_approval)
            .believing(&equipped.toolbox)
            .asking(&definition)
            .while_trusted(trust_watch);
        let now = today.as_ref().and_then(|(record, _)| record.definition.as_ref());
        let permissions = permissions.asking(now.unwrap_or(&definition));
        let parent_id = above.map(|above| above.agent_id.clone());
        let mut assignment = before.resumed_as(run_id, order.task);
        let attended = attended.map(|rights| before.inherited_rights().intersection(&rights));
        assignment.attended_rights = attended;
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
        assignment.model = connection.used.clone();
        assignment.model_limits = connection.limits;
        assignment.limits = assignment.limits.with(order.limits);
        let rights = assignment.rights.clone();
        let instance = self.instance(&definition, trust, &permissions)?;
        let start = Start {
            instance,
            approvals: approvals(order.approver, order.parent.as_ref()),
            parent: order.parent,
            worktree,
            past: match earlier.at_turn {
                Some(_) => Past::Branch(earlier.run),
                None => Past::Earlier(earlier.run),
            },
            ..self.start((assignment, rights), connection, (permissions, equipped.toolbox), root)
        };
        Ok(Prepared { notices, start })
    }

    /// How deep a run goes on that was so deep before, below that one.
    fn depth_below(&self, before: u32, above: Option<&Assignment>) -> Result<u32, OrderError> {
        let Some(above) = above else { return Ok(before) };
        let (depth, max_depth) = (before.max(above.depth.saturating_add(1)), self.offer.max_depth);
        if depth > max_depth { Err(OrderError::TooDeep { depth, max_depth }) } else { Ok(depth) }
    }

    /// The model of a run that goes on: the one it had, unless the caller asks for another.
    fn choice_of_resumed(
        &self,
        run: &Run,
        order: &Order,
        notices: &mut Vec<Notice>,
    ) -> Result<ModelChoice, ConnectError> {
        if order.model.is_none() && order.provider.is_none() {
            return Ok(as_before(run));
        }
        let definition = &run.assignment().definition;
        let parent = self.models.parent_model();
        Ok(self.models.choose(definition, parent, order.model_wish(), notices)?)
    }

    /// What there is to know about the place where a run goes on.
    fn told_about_place(
        &self,
        earlier: &EarlierRun,
        asked: Option<&Path>,
        root: &Path,
        plan: Option<&WorktreePlan>,
    ) -> Vec<Notice> {
        if let Some(plan) = plan {
            return files_not_known(earlier, plan).into_iter().collect();
        }
        let told = self.workplace.told_about(root).into_iter();
        told.chain(asked.and_then(|asked| goes_on_elsewhere(asked, root))).collect()
    }

    /// Where a run that goes on works: where it worked, or in a worktree that is made again.
    async fn earlier_place(
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
        let goes_elsewhere = match (&earlier.at_turn, &earlier.files) {
            (Some(_), _) => true,
            (None, FilesThen::Tree(tree)) => worktrees.has_lost(facts, tree).await?,
            (None, FilesThen::AsBegun | FilesThen::Unknown) => false,
        };
        let plan = if goes_elsewhere {
            let files = earlier.files.clone();
            worktrees.plan_branch(facts, &root, run_id, files).await?
        } else {
            worktrees.plan_again(facts, &root, run_id)?
        };
        Ok((plan.folder(), Some(plan)))
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

impl EarlierRun {
    /// Whether that word names the run's agent, in any spelling.
    pub fn is_named(&self, word: &str) -> bool {
        AgentName::new(word).key() == self.run.assignment().definition.agent_type.key()
    }
}

/// How far an agent of which that is known today is trusted, as far as it is about tools. Its header has those
/// that it was trusted with then, so trust in what the file says today gives none that it did not have.
fn trust_in_tools(today: Option<&(Record, Changed)>, asked: TrustFor) -> Trust {
    asked.or_recorded(today.map_or(Trust::Untrusted, |(record, _)| record.trusted))
}

/// How far an agent of which that is known today is trusted. A file that says something else now lends its
/// trust to nothing that it said then.
fn trust_in(today: Option<&(Record, Changed)>, asked: TrustFor) -> Trust {
    match today {
        Some((record, Changed::No)) => asked.or_recorded(record.trusted),
        _ => asked.or_recorded(Trust::Untrusted),
    }
}

/// That the files of the turn where a run branches off are not known, or the branch of the run is gone.
fn files_not_known(earlier: &EarlierRun, plan: &WorktreePlan) -> Option<Notice> {
    let has_files = !plan.begins_with_unknown_files();
    if let Some(turn) = earlier.at_turn {
        return (!has_files).then_some(Notice::FilesNotKnown { turn });
    }
    let branch = plan.branches_off()?.to_owned();
    Some(Notice::BranchGone { branch, has_files })
}

/// That a run goes on where it was, and not where the caller asks for it.
fn goes_on_elsewhere(asked: &Path, root: &Path) -> Option<Notice> {
    let is_there = root.canonicalize().ok() == asked.canonicalize().ok();
    (!is_there).then(|| Notice::GoesOnIn { folder: root.display().to_string() })
}

pub(super) fn as_before(run: &Run) -> ModelChoice {
    let used = &run.assignment().model;
    ModelChoice {
        asked: used.asked.clone(),
        ..ModelChoice::new(&used.id, &used.provider, used.chosen_by)
    }
}
