//! The files of a worktree are written down when a turn is over in which they may have changed, so that
//! another run can branch off there.

use attache_kernel::run::{Run, event::Event, files_then::may_change};

use super::Driver;
use crate::{store::StoreError, worktree::FileKeeper};

/// What is known of the files of a run's worktree.
#[derive(Debug, Default)]
pub(super) struct KeptFiles {
    keeper: Option<FileKeeper>,
    has_changed: bool,
    /// The turn after which they are to be written down.
    due: Option<u32>,
}

impl KeptFiles {
    /// A run that continues another begins with files that nobody wrote down.
    pub(super) fn new(keeper: Option<FileKeeper>, run: &Run) -> Self {
        let continues = keeper.is_some() && run.assignment().resumed_from.is_some();
        Self { keeper, has_changed: false, due: continues.then_some(0) }
    }

    /// Takes in what happened.
    pub(super) fn note(&mut self, run: &Run, events: &[Event]) {
        if self.keeper.is_none() {
            return;
        }
        for event in events {
            match event {
                Event::ToolStarted { tool_name, .. } => {
                    self.has_changed |= may_change(run.assignment(), tool_name);
                }
                Event::TurnCompleted { turn, .. } if self.has_changed => {
                    self.has_changed = false;
                    self.due = Some(*turn);
                }
                _ => {}
            }
        }
    }

    pub(super) fn is_due(&self) -> bool {
        self.due.is_some()
    }
}

impl Driver {
    /// Writes down the files that are due. Where that fails they stay unknown.
    pub(super) async fn keep_files(&mut self) -> Result<(), StoreError> {
        let Some((turn, keeper)) = self.files.due.take().zip(self.files.keeper.clone()) else {
            return Ok(());
        };
        let kept = tokio::select! {
            biased;
            interruption = self.interruption() => return self.interrupted(interruption).await,
            kept = keeper.keep() => kept,
        };
        match kept {
            Ok(tree) => {
                let (now, event) = (self.now(), Event::FilesKept { turn, tree });
                self.recorder.record(&self.run, vec![event], now).await
            }
            Err(error) => {
                tracing::warn!(%error, turn, "the files of the worktree were not kept");
                Ok(())
            }
        }
    }
}
