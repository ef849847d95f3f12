//! The limits of one run: time, turns, tokens and money.
//!
//! They are made from the definition, which never changes, and stand in the run's assignment. A run
//! that continues another gets the smaller of both sides' limits, except for a limit that its caller
//! sets explicitly.

use serde::{Deserialize, Serialize};

use crate::agent::definition::RunConfig;

/// The limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Wall time in seconds; time spent waiting for an approval does not count.
    pub max_time_seconds: u32,
    /// Maximum number of turns.
    pub max_turns: u32,
    /// Time in seconds for the last chance to answer.
    pub grace_period_seconds: u32,
    /// Maximum number of tokens over all turns; `None` means no cap.
    pub max_tokens: Option<u64>,
    /// Maximum cost over all turns in US dollars; `None` means no cap.
    pub max_cost_usd: Option<f64>,
    /// What was left for the whole tree of agents when the run began.
    #[serde(default)]
    pub tree: TreeAllowance,
}

/// What is left for a whole tree of agents; `None` means no cap.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct TreeAllowance {
    /// Tokens left.
    pub tokens: Option<u64>,
    /// US dollars left.
    pub cost_usd: Option<f64>,
}

/// The limits that a caller sets for one run; each replaces what the definition says.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExplicitLimits {
    /// Wall time in seconds.
    pub max_time_seconds: Option<u32>,
    /// Maximum number of turns.
    pub max_turns: Option<u32>,
    /// Time in seconds for the last chance to answer.
    pub grace_period_seconds: Option<u32>,
    /// Maximum number of tokens.
    pub max_tokens: Option<u64>,
    /// Maximum cost in US dollars.
    pub max_cost_usd: Option<f64>,
}

impl From<&RunConfig> for RunLimits {
    fn from(config: &RunConfig) -> Self {
        Self {
            max_time_seconds: config.max_time_seconds,
            max_turns: config.max_turns,
            grace_period_seconds: config.grace_period_seconds,
            max_tokens: config.max_tokens,
            max_cost_usd: config.max_cost_usd,
            tree: TreeAllowance::default(),
        }
    }
}

impl RunLimits {
    /// The smaller of each limit; the tree's budget is that of `today`, which already accounts for
    /// what was spent since.
    #[must_use]
    pub fn smaller(self, today: Self) -> Self {
        Self {
            max_time_seconds: self.max_time_seconds.min(today.max_time_seconds),
            max_turns: self.max_turns.min(today.max_turns),
            grace_period_seconds: self.grace_period_seconds.min(today.grace_period_seconds),
            max_tokens: smaller(self.max_tokens, today.max_tokens, u64::min),
            max_cost_usd: smaller(self.max_cost_usd, today.max_cost_usd, f64::min),
            tree: today.tree,
        }
    }

    /// The same with the limits that a caller sets.
    #[must_use]
    pub fn with(self, explicit: ExplicitLimits) -> Self {
        Self {
            max_time_seconds: explicit.max_time_seconds.unwrap_or(self.max_time_seconds),
            max_turns: explicit.max_turns.unwrap_or(self.max_turns),
            grace_period_seconds: explicit
                .grace_period_seconds
                .unwrap_or(self.grace_period_seconds),
            max_tokens: explicit.max_tokens.or(self.max_tokens),
            max_cost_usd: explicit.max_cost_usd.or(self.max_cost_usd),
            tree: self.tree,
        }
    }

    /// The number of tokens the run may use: its own cap, or what is left for its tree if that is
    /// less.
    pub fn token_cap(&self) -> Option<u64> {
        smaller(self.max_tokens, self.tree.tokens, u64::min)
    }

    /// The US dollars the run may cost: its own cap, or what is left for its tree if that is less.
    pub fn cost_cap_usd(&self) -> Option<f64> {
        smaller(self.max_cost_usd, self.tree.cost_usd, f64::min)
    }

    pub(crate) fn max_time_ms(&self) -> u64 {
        u64::from(self.max_time_seconds) * 1000
    }

    pub(crate) fn grace_ms(&self) -> u64 {
        u64::from(self.grace_period_seconds) * 1000
    }
}

/// The smaller of two caps, of which either may be absent.
pub(crate) fn smaller<T>(one: Option<T>, other: Option<T>, min: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(min(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> RunLimits {
        RunLimits {
            max_time_seconds: 100,
            max_turns: 10,
            grace_period_seconds: 10,
            max_tokens: Some(1000),
            max_cost_usd: None,
            tree: TreeAllowance { tokens: Some(700), cost_usd: None },
        }
    }

    #[test]
    fn a_run_that_goes_on_gets_the_smaller_of_both_limits_but_what_is_set_explicitly() {
        let today = RunLimits {
            max_time_seconds: 50,
            max_turns: 20,
            max_tokens: None,
            max_cost_usd: Some(1.5),
            tree: TreeAllowance { tokens: Some(900), cost_usd: Some(0.5) },
            ..limits()
        };
        let both = limits().smaller(today);
        assert_eq!((both.max_time_seconds, both.max_turns), (50, 10));
        assert_eq!((both.max_tokens, both.max_cost_usd), (Some(1000), Some(1.5)));
        assert_eq!((both.token_cap(), both.cost_cap_usd()), (Some(900), Some(0.5)));
        let explicit = ExplicitLimits { max_turns: Some(30), ..ExplicitLimits::default() };
        assert_eq!(both.with(explicit), RunLimits { max_turns: 30, ..both });
    }
}
