//! Patches as models write them: the `apply_patch` envelope, and its hunks applied to texts.
//!
//! Pure functions of text. Invariants: a patch is read whole before anything is made of it, nothing but
//! the lines that a hunk names changes, every line that stays keeps its line ending, and the cost is
//! linear in the patch and, for each hunk, in the text.

mod apply;
mod envelope;
mod lines;
mod nearest;
mod seek;

pub use self::{
    apply::{ApplyError, apply},
    envelope::{EnvelopeError, parse},
    nearest::nearest_lines,
};

/// A patch: what is to be done to files, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// One operation for each file.
    pub operations: Vec<Operation>,
}

/// What is to be done to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Write a file with this content; one that is there is replaced.
    Add {
        /// Its path.
        path: String,
        /// Its content.
        content: String,
    },
    /// Delete a file.
    Delete {
        /// Its path.
        path: String,
    },
    /// Change a file.
    Update {
        /// Its path.
        path: String,
        /// The path it gets.
        move_to: Option<String>,
        /// The changes, from top to bottom.
        hunks: Vec<Hunk>,
    },
}

/// A change of a few lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Lines that come before, one after the other, such as a class and one of its methods.
    pub anchors: Vec<String>,
    /// The lines that are there, in order, and what becomes of each, with those that are put between.
    pub lines: Vec<HunkLine>,
    /// Whether the lines are the last of the file.
    pub at_end: bool,
    /// The line of the patch it begins in, from 1.
    pub line: usize,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    /// Is there, and stays.
    Keep(String),
    /// Is there, and goes.
    Remove(String),
    /// Comes.
    Add(String),
}

impl Operation {
    /// The path it is about.
    pub fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }
}

#[cfg(test)]
mod tests;
