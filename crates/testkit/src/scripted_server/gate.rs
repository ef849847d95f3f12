//! A gate in an answer: what follows it is sent once the test lets it pass.
//!
//! Streams stall and drip on it without a clock. A wait on it ends early only when the client or the server goes.

use std::{
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::wait_on;

/// A gate in an answer. Its clones are the same gate.
#[derive(Clone, Default)]
pub struct Gate(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct State {
    open: bool,
    passes: usize,
    reached: usize,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it for good.
    pub fn open(&self) {
        self.lock().open = true;
        self.0.changed.notify_all();
    }

    /// Lets one wait pass, the one under way or the next.
    pub fn pass(&self) {
        self.lock().passes += 1;
        self.0.changed.notify_all();
    }

    /// Waits until answers have come to it this many times: all that stands before it has been sent.
    pub fn wait_until_reached(&self, times: usize) {
        let what = || format!("the gate was not reached {times} times: {self:?}");
        wait_on(&self.0.changed, self.lock(), |state| state.reached >= times, what);
    }

    /// Waits to be let through; `false` if it was interrupted.
    pub(super) fn wait(&self, interrupted: &AtomicBool) -> bool {
        let mut state = self.lock();
        state.reached += 1;
        self.0.changed.notify_all();
        loop {
            if interrupted.load(Ordering::SeqCst) {
                return false;
            }
            if state.open {
                return true;
            }
            if state.passes > 0 {
                state.passes -= 1;
                return true;
            }
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has a wait look again whether it is interrupted.
    pub(super) fn wake(&self) {
        drop(self.lock());
        self.0.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let State { open, passes, reached } = *self.lock();
        write!(formatter, "Gate {{ open: {open}, passes: {passes}, reached: {reached} }}")
    }
}
