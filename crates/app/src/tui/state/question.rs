//! A question that waits for an answer.

use attache_kernel::rights::{permission::Foresight, rule::SessionGrant};
use attache_runtime::internal::approvals::Question;
use ratatui::{layout::Size, text::Line};

use crate::tui::text::{plain, wrapped};

/// How far what a question is about stands to the right, and the rest of a line that is broken.
pub(crate) const INDENT: &str = "  ";
pub(crate) const HANG: usize = 4;

/// A question, and how far its answer is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    /// What an answer for the session covers.
    pub(crate) covered: String,
    pub(crate) stage: Stage,
    /// Whether it came up while something was typed: it can be answered after a pause.
    pub(crate) is_guarded: bool,
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
    /// What it is about: the command, the change, or the arguments.
    pub(crate) fn about(&self) -> String {
        let question = &self.question;
        plain(&question.preview.clone().unwrap_or_else(|| question.arguments.to_string()))
    }

    /// How many rows of that are shown.
    pub(crate) fn room(&self, screen: Size) -> usize {
        let height = usize::from(screen.height);
        let room = if self.is_whole { height.saturating_sub(7) } else { height / 3 };
        room.max(3)
    }

    /// Moves through it, up to its end.
    pub(crate) fn scroll_by(&mut self, rows: isize, screen: Size) {
        let about = self.about();
        let taken = |line: &str| {
            let line = Line::raw(format!("{INDENT}{line}"));
            wrapped(line, screen.width.into(), HANG).len()
        };
        let all: usize = about.lines().map(taken).sum();
        let last = all.saturating_sub(self.room(screen));
        self.scroll = self.scroll.min(last).saturating_add_signed(rows).min(last);
    }

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
            is_guarded: false,
            is_whole: false,
            scroll: 0,
        }
    }
}
