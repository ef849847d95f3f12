//! OpenAI's Chat Completions, and compatible servers.

pub(super) mod request;
pub(super) mod stream;

/// The name under which parts keep what this API wants back.
const API: &str = "chat";
