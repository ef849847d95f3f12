//! The runs that a run started: those under way, and the results of those that ended in the background.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{id::RunId, run::outcome::RunResult};

use super::RunHandle;

/// A run that another one started.
#[derive(Debug, Clone)]
pub enum Child {
    /// It goes on.
    UnderWay(RunHandle),
    /// It has ended.
    Ended(Arc<RunResult>),
}

/// The runs that a run started.
#[derive(Debug, Default)]
pub(crate) struct Children {
    known: Mutex<BTreeMap<RunId, Child>>,
}

impl Children {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Child>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, child: RunHandle) {
        let id = child.id().clone();
        // It may have ended already.
        let child = match child.result_so_far() {
            Some(result) => Child::Ended(result),
            None => Child::UnderWay(child),
        };
        self.lock().insert(id, child);
    }

    /// A child has ended; only its result is kept.
    pub(crate) fn ended(&self, result: &Arc<RunResult>) {
        if let Some(child) = self.lock().get_mut(&result.agent_id) {
            *child = Child::Ended(Arc::clone(result));
        }
    }

    /// Nobody will ask for that child again.
    pub(crate) fn forget(&self, id: &RunId) {
        self.lock().remove(id);
    }

    /// The child of that id, or with the only id that begins so.
    pub(crate) fn find(&self, id: &str) -> Option<Child> {
        let known = self.lock();
        if let Some(child) = known.get(&RunId::new(id)) {
            return Some(child.clone());
        }
        let mut beginning = known.iter().filter(|(known, _)| known.as_str().starts_with(id));
        let first = beginning.next().filter(|_| !id.is_empty())?;
        beginning.next().is_none().then(|| first.1.clone())
    }

    /// Those that go on.
    pub(crate) fn under_way(&self) -> Vec<RunHandle> {
        let under_way = |child: &Child| match child {
            Child::UnderWay(handle) => Some(handle.clone()),
            Child::Ended(_) => None,
        };
        self.lock().values().filter_map(under_way).collect()
    }
}
