//! The change sink of a call: what it did to files, recorded in the moment it is done.
//!
//! Invariant: what was done before the sink is closed is in it, and nothing is done after. So a call
//! that is stopped in the middle leaves no change that the journal does not know.

use std::sync::{Arc, Mutex, PoisonError};

use attache_kernel::run::file_change::FileChange;

/// What a call does to files. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChangeSink {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    changes: Vec<FileChange>,
}

impl ChangeSink {
    /// Does something to a file and records it; `None` if the call was stopped, and nothing was done.
    /// What fails is not recorded. Only for what takes no time, such as a rename: whoever stops the
    /// call waits for it.
    pub fn record<T, E>(
        &self,
        act: impl FnOnce() -> Result<T, E>,
        change: FileChange,
    ) -> Option<Result<T, E>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return None;
        }
        let done = act();
        if done.is_ok() {
            state.changes.push(change);
        }
        Some(done)
    }

    /// Ends the recording, and gives what was recorded. Waits for what is being done.
    pub(crate) fn close(&self) -> Vec<FileChange> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        std::mem::take(&mut state.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str) -> FileChange {
        FileChange { path: path.to_owned(), before: None, after: None, moved_from: None }
    }

    #[test]
    fn nothing_is_done_after_the_end_and_nothing_that_was_done_is_lost() {
        let sink = ChangeSink::default();
        let mut done = Vec::new();
        let mut act = |path: &'static str, result: Result<(), ()>| {
            sink.record(
                || {
                    done.push(path);
                    result
                },
                change(path),
            )
        };
        assert_eq!(act("made", Ok(())), Some(Ok(())));
        assert_eq!(act("failed", Err(())), Some(Err(())));
        assert_eq!(sink.close(), [change("made")]);
        assert_eq!(act("late", Ok(())), None);
        assert_eq!(sink.close(), []);
        assert_eq!(done, ["made", "failed"]);
    }
}
