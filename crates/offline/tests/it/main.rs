//! What the model without a language model promises, on real folders through the real tools.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[cfg(test)]
mod search;
