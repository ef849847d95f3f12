//! Limits: what the command line and the settings make of an agent's own.
//!
//! A run from the command line is the root of its tree, so what the settings allow a tree it may use
//! up, less what the session has spent before.

use attache_kernel::{
    id::SessionId,
    run::limits::{ExplicitLimits, RunLimits},
};
use attache_runtime::store::FileStore;

use super::RunArgs;
use crate::{failure::Failure, settings::SubagentSettings, transcripts};

/// What the runs of a session have spent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SessionSpending {
    tokens: u64,
    cost_usd: f64,
}

/// What a session has spent, where the settings ask for it.
pub(super) fn spent_in(
    session: Option<&SessionId>,
    settings: &SubagentSettings,
    store: &FileStore,
) -> Result<SessionSpending, Failure> {
    let mut spent = SessionSpending::default();
    let is_capped = settings.max_tree_tokens.is_some() || settings.max_tree_cost_usd.is_some();
    let Some(session) = session.filter(|_| is_capped) else { return Ok(spent) };
    let runs = store.spending_in(session);
    let runs = runs.map_err(|error| transcripts::failure(&error))?;
    // What cannot be read is told by `attache usage`.
    for turn in runs.flatten().flat_map(|run| run.turns) {
        spent.tokens = spent.tokens.saturating_add(turn.spent.usage.total_tokens());
        spent.cost_usd += turn.spent.cost_usd.unwrap_or_default();
    }
    Ok(spent)
}

/// Sets what is left for the run's tree, and what the command line says.
pub(super) fn apply(
    limits: &mut RunLimits,
    args: &RunArgs,
    settings: &SubagentSettings,
    spent: SessionSpending,
) -> Result<(), Failure> {
    let over = |what: String, key: &str| {
        Failure::usage(format!("this session has spent its budget of {what}"))
            .hint(format!("raise subagents.{key}"))
    };
    if let Some(most) = settings.max_tree_tokens {
        let left = most.saturating_sub(spent.tokens);
        if left == 0 {
            return Err(over(format!("{most} tokens"), "max_tree_tokens"));
        }
        limits.tree.tokens = Some(left);
    }
    if let Some(most) = settings.max_tree_cost_usd {
        let left = most - spent.cost_usd;
        if left <= 0.0 {
            return Err(over(format!("${most}"), "max_tree_cost_usd"));
        }
        limits.tree.cost_usd = Some(left);
    }
    *limits = limits.with(ExplicitLimits {
        max_turns: args.max_turns,
        max_time_seconds: args.timeout,
        ..ExplicitLimits::default()
    });
    Ok(())
}
