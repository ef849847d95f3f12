//! The blocks of agents: which one has the focus, and which are unfolded.
//!
//! Blocks are numbered in the order in which they stand in the conversation: first those of agents that have
//! ended, then those that work.

use std::collections::BTreeSet;

use attache_kernel::id::RunId;

use super::session::Session;

/// What the user does with blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Blocks {
    focus: Option<RunId>,
    unfolded: BTreeSet<RunId>,
}

impl Blocks {
    /// The block that keys act on.
    pub(crate) fn focus(&self) -> Option<&RunId> {
        self.focus.as_ref()
    }

    pub(crate) fn has_focus(&self, id: &RunId) -> bool {
        self.focus.as_ref() == Some(id)
    }

    pub(crate) fn is_unfolded(&self, id: &RunId) -> bool {
        self.unfolded.contains(id)
    }

    /// Gives the focus back to the input.
    pub(crate) fn leave(&mut self) {
        self.focus = None;
    }

    /// Unfolds a block, or folds it.
    pub(crate) fn toggle(&mut self, id: &RunId) {
        if !self.unfolded.remove(id) {
            self.unfolded.insert(id.clone());
        }
    }

    /// Moves the focus; from the input to the newest block, and past the newest back to the input.
    pub(crate) fn step(&mut self, by: isize, session: &Session) {
        let all: Vec<&RunId> = session.blocks().map(|agent| &agent.id).collect();
        let at = self.place(session).map_or(all.len(), |(at, _)| at);
        self.focus = match at.checked_add_signed(by) {
            Some(at) => all.get(at).map(|id| (*id).clone()),
            // The oldest keeps it.
            None => all.first().map(|id| (*id).clone()),
        };
    }

    /// The number of the block that has the focus, from zero, and how many there are.
    pub(crate) fn place(&self, session: &Session) -> Option<(usize, usize)> {
        let focus = self.focus.as_ref()?;
        let all: Vec<&RunId> = session.blocks().map(|agent| &agent.id).collect();
        Some((all.iter().position(|id| *id == focus)?, all.len()))
    }
}
