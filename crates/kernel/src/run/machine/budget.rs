//! Budgets: whether a cap on tokens or money pays for the next request.
//!
//! A cap includes its own last chance. No request is sent that the cap cannot pay for, so a run exceeds
//! its cap by at most what one answer was longer than expected. What a request will use is judged by the
//! conversation so far and by the last answer.

use serde::{Deserialize, Serialize};

use super::{
    Run,
    compaction::{BYTES_PER_TOKEN, FEWEST_BYTES_PER_TOKEN, fill::Fill},
    state::State,
};
use crate::{
    model::usage::Usage,
    run::{event::Event, limits::smaller},
};

/// The tokens that a first answer is expected to have: a short call.
const FIRST_ANSWER_TOKENS: u64 = 64;

const TREE_SPENT: &str = "the budget of the whole tree of agents was reached";

/// What the last answer used, by which the next one is judged.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct LastAnswer {
    /// The tokens of the answer itself; none before the first.
    output_tokens: Option<u64>,
    /// US dollars per token, input and output together; none before the first answer with a price. Until
    /// then the price of input counts, where it is known.
    usd_per_token: Option<f64>,
    /// The input tokens that the provider counted for the last turn beyond the guess: what messages take
    /// besides their text. Every turn is expected to add as many.
    unforeseen_tokens: u64,
}

impl LastAnswer {
    /// The same after an answer with that usage to a conversation that was this full; `None` for a summary,
    /// whose request is not like the others.
    pub(crate) fn after(self, usage: &Usage, cost_usd: Option<f64>, asked: Option<Fill>) -> Self {
        let tokens = usage.total_tokens();
        let usd_per_token = cost_usd.filter(|_| tokens > 0).map(|usd| usd / as_float(tokens));
        let unforeseen = asked.filter(|asked| asked.is_measured());
        let unforeseen = unforeseen.map(|asked| usage.input_tokens.saturating_sub(asked.tokens()));
        Self {
            output_tokens: Some(usage.output_tokens),
            usd_per_token: usd_per_token.or(self.usd_per_token),
            unforeseen_tokens: unforeseen.unwrap_or(self.unforeseen_tokens),
        }
    }
}

/// Tokens and money that were used, or are expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens; a guess where the provider does not count.
    pub tokens: u64,
    /// US dollars; zero where no price is known.
    pub cost_usd: f64,
}

impl Spent {
    /// What was used since then.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(earlier.tokens),
            cost_usd: (self.cost_usd - earlier.cost_usd).max(0.0),
        }
    }
}

/// What is to be paid for before a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// What the request is expected to use.
    pub request: Spent,
    /// How many of that size are to be paid for: a turn, and its last chance.
    pub requests: u64,
}

/// Which cap does not pay for what is to come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Exceeded {
    /// The cap on tokens.
    Tokens {
        /// The cap.
        cap: u64,
        /// What the next request would use.
        expected: u64,
    },
    /// The cap on money.
    Cost {
        /// The cap.
        cap_usd: f64,
    },
}

impl Run {
    /// The cap that does not pay for a next turn and, where there is one, its last chance.
    pub(crate) fn cap_before_turn(&self) -> Option<Exceeded> {
        self.spent_cap().or_else(|| self.cap_exceeded_by(self.requests_of_a_turn()))
    }

    /// The cap that does not pay for one more request.
    pub(crate) fn cap_before_request(&self) -> Option<Exceeded> {
        self.cap_exceeded_by(1)
    }

    /// The cap that does not pay for one more request once that event has happened.
    pub(crate) fn cap_after(&self, event: &Event) -> Option<Exceeded> {
        let mut state = self.state.clone();
        state.apply(event, state.now_ms);
        self.cap_exceeded_in(&state, 1)
    }

    /// The room that is to be made so that a cap pays for the last chance.
    pub(crate) fn room_within_cap(&self) -> Option<Event> {
        self.cap_before_request()?;
        self.any_room()
    }

    /// What the next request will use, answer included.
    pub(crate) fn expected_tokens(&self) -> u64 {
        self.expected_tokens_in(&self.state)
    }

    fn expected_tokens_in(&self, state: &State) -> u64 {
        let unmeasured = if state.fill.is_measured() { 0 } else { self.tools_bytes };
        if let Some(output_tokens) = state.last_answer.output_tokens {
            let tools = unmeasured / BYTES_PER_TOKEN;
            // A guess lacks what the provider counts beyond the text for all turns, a count for the newest.
            let turns = u64::try_from(state.conversation.len().div_ceil(2)).unwrap_or(u64::MAX);
            let turns = if state.fill.is_measured() { 1 } else { turns };
            let unforeseen = state.last_answer.unforeseen_tokens.saturating_mul(turns);
            let asked = state.fill.tokens().saturating_add(unforeseen);
            return asked.saturating_add(tools).saturating_add(output_tokens);
        }
        // Nothing is known yet, so the guess is a high one.
        let tools = unmeasured.div_ceil(FEWEST_BYTES_PER_TOKEN);
        let asked = state.fill.tokens_at_most().saturating_add(tools);
        asked.saturating_add(FIRST_ANSWER_TOKENS)
    }

    /// A cap of which nothing is left.
    fn spent_cap(&self) -> Option<Exceeded> {
        let state = &self.state;
        let tokens = self.token_cap(state).filter(|cap| state.tokens_spent() >= *cap);
        let usd = self.cost_cap_usd(state).filter(|cap| state.cost.at_least_usd() >= *cap);
        tokens
            .map(|cap| Exceeded::Tokens { cap, expected: self.expected_tokens() })
            .or(usd.map(|cap_usd| Exceeded::Cost { cap_usd }))
    }

    fn cap_exceeded_by(&self, requests: u64) -> Option<Exceeded> {
        self.cap_exceeded_in(&self.state, requests)
    }

    fn cap_exceeded_in(&self, state: &State, requests: u64) -> Option<Exceeded> {
        let expected = self.expected_tokens_in(state);
        let tokens = expected.saturating_mul(requests);
        if let Some(cap) = self.token_cap(state)
            && state.tokens_spent().saturating_add(tokens) > cap
        {
            return Some(Exceeded::Tokens { cap, expected });
        }
        let usd = state.cost.at_least_usd() + self.usd_per_token(state) * as_float(tokens);
        let cap_usd = self.cost_cap_usd(state).filter(|cap_usd| usd > *cap_usd)?;
        Some(Exceeded::Cost { cap_usd })
    }

    fn usd_per_token(&self, state: &State) -> f64 {
        let first = self.assignment.model_limits.input_usd_per_million.map(|usd| usd / 1e6);
        state.last_answer.usd_per_token.or(first).unwrap_or_default()
    }

    fn token_cap(&self, state: &State) -> Option<u64> {
        smaller(self.assignment.limits.token_cap(), state.tree_cap.tokens, u64::min)
    }

    fn cost_cap_usd(&self, state: &State) -> Option<f64> {
        smaller(self.assignment.limits.cost_cap_usd(), state.tree_cap.cost_usd, f64::min)
    }

    /// What the next request is expected to use, and how many such requests are to be paid for with it.
    pub fn expected(&self) -> Expected {
        let tokens = self.expected_tokens();
        let cost_usd = self.usd_per_token(&self.state) * as_float(tokens);
        let is_last_chance = self.state.grace.is_some();
        let requests = if is_last_chance { 1 } else { self.requests_of_a_turn() };
        Expected { request: Spent { tokens, cost_usd }, requests }
    }

    /// What the run has used so far, as far as it is known.
    pub fn spent(&self) -> Spent {
        let tokens = self.state.tokens_spent();
        Spent { tokens, cost_usd: self.state.cost.at_least_usd() }
    }

    /// A turn, and its last chance where there is one.
    fn requests_of_a_turn(&self) -> u64 {
        if self.assignment.limits.grace_period_seconds > 0 { 2 } else { 1 }
    }

    /// What is told of a run that its budget ended.
    pub(crate) fn budget_spent(&self) -> String {
        let limits = &self.assignment.limits;
        match self.cap_before_turn().or_else(|| self.fullest_cap()) {
            _ if self.state.tree_budget_spent => TREE_SPENT.to_owned(),
            Some(Exceeded::Tokens { cap, expected }) if Some(cap) == limits.max_tokens => {
                let spent = self.state.tokens_spent();
                let more = if spent.saturating_add(expected) > cap {
                    format!(", and another turn needs about {expected}")
                } else {
                    String::new()
                };
                let guessed = match self.state.uncounted_tokens {
                    0 => "",
                    _ => ", by an estimate: the provider does not count them",
                };
                if spent < cap && more.is_empty() {
                    return format!(
                        "the budget of {cap} tokens does not pay for another turn and a last chance after it: \
                         {spent} were used{guessed}; raise `maxTokens`"
                    );
                }
                format!("the budget of {cap} tokens was reached: {spent} were used{more}{guessed}")
            }
            Some(Exceeded::Cost { cap_usd }) if Some(cap_usd) == limits.max_cost_usd => {
                let usd = self.state.cost.at_least_usd();
                format!("the budget of ${cap_usd} was reached: ${usd:.4} were spent")
            }
            Some(_) | None => TREE_SPENT.to_owned(),
        }
    }

    /// The cap of which least is left. A last chance that was shortened may leave room again in the cap
    /// that it was given for.
    fn fullest_cap(&self) -> Option<Exceeded> {
        let spent = as_float(self.state.tokens_spent());
        let tokens = self.token_cap(&self.state).map(|cap| (spent / as_float(cap), cap));
        let usd = self.state.cost.at_least_usd();
        let cost = self.cost_cap_usd(&self.state).map(|cap_usd| (usd / cap_usd, cap_usd));
        match (tokens, cost) {
            (Some((part, _)), Some((larger, cap_usd))) if larger > part => {
                Some(Exceeded::Cost { cap_usd })
            }
            (Some((_, cap)), _) => Some(Exceeded::Tokens { cap, expected: self.expected_tokens() }),
            (None, cost) => cost.map(|(_, cap_usd)| Exceeded::Cost { cap_usd }),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below nine quadrillion tokens")]
fn as_float(tokens: u64) -> f64 {
    tokens as f64
}
