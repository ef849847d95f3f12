//! Usage: the tokens and the money of a run, added up over its turns.
//!
//! `input_tokens` counts all input, the cached parts included; a sum never overflows, and a cost is
//! known only if every turn had a price.

use serde::{Deserialize, Serialize, Serializer};

/// The tokens of one turn, or of several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All input, the cached parts included.
    pub input_tokens: u64,
    /// All output, reasoning included.
    pub output_tokens: u64,
    /// The part of the input that was written to a cache.
    pub cache_creation_input_tokens: u64,
    /// The part of the input that was read from a cache.
    pub cache_read_input_tokens: u64,
    /// The part of the output that was reasoning.
    pub reasoning_tokens: u64,
    /// What the provider's own tools did.
    pub server_tool_use: Option<ServerToolUse>,
    /// The service tier, as the provider named it last.
    pub service_tier: Option<String>,
}

/// What the provider's own tools did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerToolUse {
    /// Searches.
    pub web_search_requests: u64,
    /// Pages fetched.
    pub web_fetch_requests: u64,
}

/// Usage as a transcript holds it: what is zero or not known is left out.
#[derive(Serialize)]
struct ShortUsage<'a> {
    input_tokens: u64,
    output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_creation_input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_read_input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_tool_use: Option<ServerToolUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_tier: Option<&'a str>,
}

/// Writes usage for a transcript.
pub(crate) fn serialize_short<S: Serializer>(usage: &Usage, to: S) -> Result<S::Ok, S::Error> {
    let short = ShortUsage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_creation_input_tokens: usage.cache_creation_input_tokens,
        cache_read_input_tokens: usage.cache_read_input_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        server_tool_use: usage.server_tool_use,
        service_tier: usage.service_tier.as_deref(),
    };
    short.serialize(to)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Input and output together.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Adds a turn's usage.
    pub fn add(&mut self, turn: &Self) {
        let sum = |into: &mut u64, more: u64| *into = into.saturating_add(more);
        sum(&mut self.input_tokens, turn.input_tokens);
        sum(&mut self.output_tokens, turn.output_tokens);
        sum(&mut self.cache_creation_input_tokens, turn.cache_creation_input_tokens);
        sum(&mut self.cache_read_input_tokens, turn.cache_read_input_tokens);
        sum(&mut self.reasoning_tokens, turn.reasoning_tokens);
        if let Some(used) = turn.server_tool_use {
            let total = self.server_tool_use.get_or_insert_default();
            sum(&mut total.web_search_requests, used.web_search_requests);
            sum(&mut total.web_fetch_requests, used.web_fetch_requests);
        }
        if turn.service_tier.is_some() {
            self.service_tier.clone_from(&turn.service_tier);
        }
    }
}

/// The money of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    priced_usd: f64,
    unpriced_turns: u32,
}

impl Cost {
    /// Adds a turn; none is a turn without a price.
    pub fn add(&mut self, turn: Option<f64>) {
        match turn {
            Some(usd) => self.priced_usd += usd,
            None => self.unpriced_turns = self.unpriced_turns.saturating_add(1),
        }
    }

    /// The whole cost; none if a turn had no price.
    pub fn usd(self) -> Option<f64> {
        (self.unpriced_turns == 0).then_some(self.priced_usd)
    }

    /// What is known to have been spent; more may have been.
    pub fn at_least_usd(self) -> f64 {
        self.priced_usd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_never_overflow() {
        let turn = |tokens| Usage {
            input_tokens: tokens,
            output_tokens: 1,
            cache_creation_input_tokens: 2,
            cache_read_input_tokens: 3,
            reasoning_tokens: 4,
            server_tool_use: Some(ServerToolUse { web_search_requests: 5, web_fetch_requests: 6 }),
            service_tier: Some("flex".to_owned()),
        };
        let mut sum = Usage::default();
        sum.add(&turn(10));
        sum.add(&Usage::default());
        sum.add(&turn(20));
        let expected = Usage {
            input_tokens: 30,
            output_tokens: 2,
            cache_creation_input_tokens: 4,
            cache_read_input_tokens: 6,
            reasoning_tokens: 8,
            server_tool_use: Some(ServerToolUse {
                web_search_requests: 10,
                web_fetch_requests: 12,
            }),
            service_tier: Some("flex".to_owned()),
        };
        assert_eq!(sum, expected);
        assert_eq!(sum.total_tokens(), 32);
        sum.add(&turn(u64::MAX));
        assert_eq!(sum.total_tokens(), u64::MAX);
    }

    #[test]
    fn one_turn_without_a_price_hides_the_cost() {
        let mut cost = Cost::default();
        cost.add(Some(0.25));
        cost.add(Some(0.5));
        assert_eq!(cost.usd(), Some(0.75));
        cost.add(None);
        cost.add(Some(0.25));
        assert_eq!((cost.usd(), cost.at_least_usd()), (None, 1.0));
    }
}
