//! Prices: what a model's tokens cost.
//!
//! A cost is worked out only where every part of it has a price; a part without a price of its own has
//! the price of input. Some models have a second price for long turns: it holds for all of the turn, so
//! costs are worked out turn by turn.

use crate::model::usage::Usage;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input that was read from the provider's cache; none is the price of input.
    pub cache_read: Option<f64>,
    /// Input that was written to the provider's cache; none is the price of input.
    pub cache_write: Option<f64>,
    /// What a long turn costs instead.
    pub above: Option<Tier>,
}

/// The price of a turn whose input is longer than `from_tokens`: all of the turn, in US dollars per
/// million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// The longest input that still has the ordinary price.
    pub from_tokens: u64,
    /// Input.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input that was read from the provider's cache; none is the price of input.
    pub cache_read: Option<f64>,
    /// Input that was written to the provider's cache; none is the price of input.
    pub cache_write: Option<f64>,
}

impl Price {
    /// What one turn costs.
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 tokens")]
    pub fn cost_usd(&self, turn: &Usage) -> f64 {
        let long = self.above.filter(|tier| turn.input_tokens > tier.from_tokens);
        let (input, output, cache_read, cache_write) = match long {
            Some(tier) => (tier.input, tier.output, tier.cache_read, tier.cache_write),
            None => (self.input, self.output, self.cache_read, self.cache_write),
        };
        let (read, written) = (turn.cache_read_input_tokens, turn.cache_creation_input_tokens);
        let fresh = turn.input_tokens.saturating_sub(read).saturating_sub(written);
        let parts = [
            (fresh, input),
            (read, cache_read.unwrap_or(input)),
            (written, cache_write.unwrap_or(input)),
            (turn.output_tokens, output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expected: f64) -> bool {
        (got - expected).abs() < 1e-9
    }

    #[test]
    fn every_token_is_paid_once() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            above: None,
        };
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_creation_input_tokens: 200_000,
            cache_read_input_tokens: 500_000,
            reasoning_tokens: 50_000,
            ..Usage::default()
        };
        assert!(near(price.cost_usd(&usage), 0.9 + 0.15 + 0.75 + 1.5));
        let plain = Price { cache_read: None, cache_write: None, ..price };
        assert!(near(plain.cost_usd(&usage), 3.0 + 1.5));
        let odd = Usage { cache_read_input_tokens: 2_000_000, ..usage };
        assert!(price.cost_usd(&odd) > 0.0, "a provider that miscounts makes no negative cost");
        assert!(near(price.cost_usd(&Usage::default()), 0.0));
    }

    #[test]
    fn a_long_turn_has_its_own_price_from_the_first_token() {
        let tier = Tier {
            from_tokens: 200_000,
            input: 6.0,
            output: 22.5,
            cache_read: Some(0.6),
            cache_write: None,
        };
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
            above: Some(tier),
        };
        let turn = |input_tokens| Usage {
            input_tokens,
            output_tokens: 10_000,
            cache_read_input_tokens: 100_000,
            cache_creation_input_tokens: 50_000,
            ..Usage::default()
        };
        assert!(near(price.cost_usd(&turn(200_000)), 0.15 + 0.03 + 0.1875 + 0.15));
        assert!(near(price.cost_usd(&turn(200_001)), 0.300_006 + 0.06 + 0.3 + 0.225));
    }
}
