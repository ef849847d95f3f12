//! What stays of a conversation: each item is final and is printed once, above the live part.

use crate::print::palette::Tone;

use super::agent::Agent;

/// A finished part of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// What the user said.
    User(String),
    /// A piece of an answer: whole lines of Markdown.
    Answer(Piece),
    /// A call that has its answer.
    Call(FinishedCall),
    /// A subagent that has ended, or that goes on in the background from here.
    Agent(Box<Agent>),
    /// Something that the program says.
    Notice {
        /// How it is meant.
        tone: Tone,
        /// What it says.
        text: String,
    },
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Whole lines of Markdown.
    pub(crate) text: String,
    /// The language of the code block that it begins in; `None` outside of one.
    pub(crate) fence: Option<String>,
    /// Whether it is the beginning of an answer.
    pub(crate) is_first: bool,
}

/// A call that has its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishedCall {
    /// The tool and what matters of its arguments.
    pub(crate) what: String,
    /// How it ended.
    pub(crate) end: CallEnd,
    /// The lines it changed, as a diff.
    pub(crate) diff: Vec<String>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// Well, after that many milliseconds.
    Done(u64),
    /// With an error, after that many milliseconds.
    Failed(u64, String),
    /// It never began.
    Refused(String),
}
