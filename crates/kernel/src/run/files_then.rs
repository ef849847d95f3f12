//! Which files a run with a worktree had when one of its turns was over, as far as its transcript tells.

use super::{assignment::Assignment, event::Event, tool_spec::Repeatability, transcript::Entry};

/// The files of a worktree at some moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FilesThen {
    /// Nobody wrote down what they were.
    #[default]
    Unknown,
    /// Those that the worktree began with.
    AsBegun,
    /// Those of this tree of the repository.
    Tree(String),
}

impl FilesThen {
    /// The files when that turn of a run was over. They are known if they were written down after the last
    /// call that may have changed something.
    pub fn after(turn: u32, run: &Assignment, entries: &[Entry]) -> Self {
        let kept = entries.iter().filter_map(|entry| match &entry.event {
            Event::FilesKept { turn: kept, tree } if *kept <= turn => Some((*kept, tree)),
            _ => None,
        });
        let kept = kept.max_by_key(|(kept, _)| *kept);
        let mut current = 0;
        let mut changed = None;
        for entry in entries {
            match &entry.event {
                Event::TurnStarted { turn: begun, .. } if *begun > turn => break,
                Event::TurnStarted { turn: begun, .. } => current = *begun,
                Event::ToolStarted { tool_name, .. } if may_change(run, tool_name) => {
                    changed = Some(current);
                }
                _ => {}
            }
        }
        match (kept, changed) {
            (Some((kept, tree)), changed) if changed.is_none_or(|turn| kept >= turn) => {
                Self::Tree(tree.clone())
            }
            (None, None) if run.resumed_from.is_none() => Self::AsBegun,
            _ => Self::Unknown,
        }
    }
}

/// Whether a call of that tool may change files. Agents that it starts may, too.
pub fn may_change(run: &Assignment, tool_name: &str) -> bool {
    let spec = run.tools.iter().find(|spec| spec.name.to_string() == tool_name);
    spec.is_none_or(|spec| spec.repetition == Repeatability::Once)
}
