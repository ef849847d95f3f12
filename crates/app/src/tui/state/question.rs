//! A question that waits for an answer.

use attache_kernel::rights::{permission::Foresight, rule::SessionGrant};
use attache_runtime::internal::approvals::Question;

/// A question, and how far its answer is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    /// What an answer for the session covers.
    pub(crate) covered: String,
    pub(crate) stage: Stage,
    /// Whether as much as possible of what it is about is shown.
    pub(crate) is_whole: bool,
    /// The first line that is shown of it.
    pub(crate) scroll: usize,
}

/// How far an answer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A key is awaited.
    Choosing,
    /// It is a no, with these words.
    Words(String),
    /// A value for an MCP server is typed.
    Value {
        /// What it is called, and what may be typed.
        label: String,
        typed: String,
    },
}

impl Asked {
    /// A question that is answered with a value.
    pub(crate) fn for_value(question: Question, label: String) -> Self {
        Self { stage: Stage::Value { label, typed: String::new() }, ..Self::new(question) }
    }

    pub(crate) fn new(question: Question) -> Self {
        let grants =
            SessionGrant::of_call(&question.tool, &question.arguments, &Foresight::default());
        let covered: Vec<String> = grants.iter().map(ToString::to_string).collect();
        Self {
            question,
            covered: covered.join(", "),
            stage: Stage::Choosing,
            is_whole: false,
            scroll: 0,
        }
    }
}
