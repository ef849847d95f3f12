//! Retries: which failures of a model call are worth another attempt, and when.

use std::time::Duration;

/// Why a model call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFailure {
    /// It may go better next time: 408, 429, 5xx, a connection or a stream that broke.
    Transient {
        /// What went wrong.
        message: String,
        /// How far the call had come.
        stage: Stage,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The conversation is too long for the model.
    ContextLength {
        /// What the provider said.
        message: String,
    },
    /// It will not go better next time.
    Fatal {
        /// What the provider said.
        message: String,
    },
}

/// How far a call had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Nobody listens at an address of this machine; waiting seldom changes that.
    RefusedHere,
    /// Nothing of an answer had arrived.
    Request,
    /// The answer had begun.
    Stream,
}

const FIRST_DELAY_MS: u64 = 500;
const LONGEST_DELAY_MS: u64 = 30_000;

/// How long to wait after the given number of failures: twice as long each time, a quarter more or
/// less by the random number from 0 to 1, and never less than the provider asks for.
pub(crate) fn delay_ms(failures: u32, retry_after: Option<Duration>, random: f64) -> u64 {
    let doublings = failures.saturating_sub(1).min(16);
    let delay = (FIRST_DELAY_MS << doublings).min(LONGEST_DELAY_MS);
    let random = if random.is_finite() { random.clamp(0.0, 1.0) } else { 0.5 };
    let asked = retry_after.map_or(0, super::milliseconds);
    spread(delay, random).max(asked)
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between zero and a minute"
)]
fn spread(delay: u64, random: f64) -> u64 {
    (delay as f64 * (0.75 + random / 2.0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_bound_and_honour_the_provider() {
        let delays: Vec<_> = (1..9).map(|failures| delay_ms(failures, None, 0.5)).collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!((delay_ms(1, None, 0.0), delay_ms(1, None, 1.0)), (375, 625));
        assert_eq!(delay_ms(1, None, f64::NAN), 500);
        assert_eq!(delay_ms(1, Some(Duration::from_secs(7)), 0.0), 7000);
        assert_eq!(delay_ms(u32::MAX, None, 9.0), 37500);
    }
}
