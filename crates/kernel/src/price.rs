//! Prices: what a model's tokens cost.
//!
//! A cost is worked out only where every part of it has a price; a part without a price of its own has
//! the price of input.

use crate::usage::Usage;

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
}

impl Price {
    /// What that much costs.
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 tokens")]
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        let (read, written) = (usage.cache_read_input_tokens, usage.cache_creation_input_tokens);
        let fresh = usage.input_tokens.saturating_sub(read).saturating_sub(written);
        let parts = [
            (fresh, self.input),
            (read, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output_tokens, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_paid_once() {
        let price =
            Price { input: 3.0, output: 15.0, cache_read: Some(0.3), cache_write: Some(3.75) };
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 100_000,
            cache_creation_input_tokens: 200_000,
            cache_read_input_tokens: 500_000,
            reasoning_tokens: 50_000,
            ..Usage::default()
        };
        let near = |got: f64, expected: f64| (got - expected).abs() < 1e-9;
        assert!(near(price.cost_usd(&usage), 0.9 + 0.15 + 0.75 + 1.5));
        let plain = Price { cache_read: None, cache_write: None, ..price };
        assert!(near(plain.cost_usd(&usage), 3.0 + 1.5));
        let odd = Usage { cache_read_input_tokens: 2_000_000, ..usage };
        assert!(price.cost_usd(&odd) > 0.0, "a provider that miscounts makes no negative cost");
        assert!(near(price.cost_usd(&Usage::default()), 0.0));
    }
}
