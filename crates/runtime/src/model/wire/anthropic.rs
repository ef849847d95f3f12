//! Anthropic's Messages.

pub(super) mod request;
pub(super) mod stream;

/// The name under which parts keep what this API wants back.
const API: &str = "anthropic";
