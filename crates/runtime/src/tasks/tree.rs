//! The budget of a tree: what a session's agents may use together, and have used.

use std::sync::{Mutex, PoisonError};

use attache_kernel::run::{event::Event, limits::TreeAllowance};

/// What the agents of a tree may use together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeLimits {
    /// Maximum number of tokens; `None` means no limit.
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars; `None` means no limit.
    pub max_cost_usd: Option<f64>,
}

/// What a tree may use, and has used. Its runs share one.
#[derive(Debug, Default)]
pub(crate) struct TreeBudget {
    limits: TreeLimits,
    used: Mutex<Used>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Used {
    tokens: u64,
    cost_usd: f64,
}

impl TreeBudget {
    /// The budget of a tree, of which these tokens and this cost were used before.
    pub(crate) fn new(limits: TreeLimits, tokens: u64, cost_usd: f64) -> Self {
        Self { limits, used: Mutex::new(Used { tokens, cost_usd }) }
    }

    /// So much is left of it, as whoever counts for the whole tree says.
    pub(crate) fn leave(&self, left: TreeAllowance) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(most), Some(left)) = (self.limits.max_tokens, left.tokens) {
            used.tokens = most.saturating_sub(left);
        }
        if let (Some(most), Some(left)) = (self.limits.max_cost_usd, left.cost_usd) {
            used.cost_usd = most - left;
        }
    }

    /// What is left of it.
    pub(crate) fn left(&self) -> TreeLimits {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        TreeLimits {
            max_tokens: self.limits.max_tokens.map(|most| most.saturating_sub(used.tokens)),
            max_cost_usd: self.limits.max_cost_usd.map(|most| (most - used.cost_usd).max(0.0)),
        }
    }

    /// Adds what events of a run used. Whether that was the last of it.
    pub(crate) fn use_up(&self, events: &[Event]) -> bool {
        if self.limits == TreeLimits::default() {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            let (Event::Replied { usage, cost_usd, .. }
            | Event::ModelLent { usage, cost_usd, .. }
            | Event::LostAnswerCounted { usage, cost_usd }) = event
            else {
                continue;
            };
            used.tokens = used.tokens.saturating_add(usage.total_tokens());
            used.cost_usd += cost_usd.unwrap_or_default();
        }
        self.limits.max_tokens.is_some_and(|most| used.tokens >= most)
            || self.limits.max_cost_usd.is_some_and(|most| used.cost_usd >= most)
    }
}
