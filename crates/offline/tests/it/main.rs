//! What the model without a language model promises, on real folders through the real tools.

#[cfg(test)]
mod search;
