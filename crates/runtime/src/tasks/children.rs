//! The runs that a run started: those under way, and the results of those that ended in the background.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use attache_kernel::{id::RunId, run::outcome::RunResult};
use tokio::time::Instant;

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
    known: Mutex<BTreeMap<RunId, Known>>,
}

#[derive(Debug)]
struct Known {
    child: Child,
    /// When it was known that it has ended.
    ended: Option<Instant>,
}

impl Known {
    fn new(child: Child) -> Self {
        let ended = matches!(child, Child::Ended(_)).then(Instant::now);
        Self { child, ended }
    }
}

/// From so many results on those that are old are forgotten.
const MANY: usize = 1024;
/// How long a result is kept then.
const KEPT: Duration = Duration::from_hours(1);

impl Children {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, child: RunHandle) {
        let id = child.id().clone();
        // It may have ended already.
        let child = match child.result_so_far() {
            Some(result) => Child::Ended(result),
            None => Child::UnderWay(child),
        };
        self.lock().insert(id, Known::new(child));
    }

    /// A child has ended; only its result is kept.
    pub(crate) fn ended(&self, result: &Arc<RunResult>) {
        let mut known = self.lock();
        if let Some(child) = known.get_mut(&result.agent_id) {
            *child = Known::new(Child::Ended(Arc::clone(result)));
        }
        let is_large = known.len() > MANY && known.len().is_multiple_of(MANY);
        drop(known);
        if is_large {
            self.forget_older(KEPT);
        }
    }

    /// Forgets the results of those that ended longer ago; they are in the journal.
    pub(crate) fn forget_older(&self, than: Duration) {
        let is_old = |known: &Known| known.ended.is_some_and(|ended| ended.elapsed() >= than);
        self.lock().retain(|_, known| !is_old(known));
    }

    /// Nobody will ask for that child again.
    pub(crate) fn forget(&self, id: &RunId) {
        self.lock().remove(id);
    }

    /// The child of that id, or with the only id that begins so.
    pub(crate) fn find(&self, id: &str) -> Option<Child> {
        let known = self.lock();
        if let Some(child) = known.get(&RunId::new(id)) {
            return Some(child.child.clone());
        }
        let mut beginning = known.iter().filter(|(known, _)| known.as_str().starts_with(id));
        let first = beginning.next().filter(|_| !id.is_empty())?;
        beginning.next().is_none().then(|| first.1.child.clone())
    }

    /// Those that go on.
    pub(crate) fn under_way(&self) -> Vec<RunHandle> {
        let under_way = |known: &Known| match &known.child {
            Child::UnderWay(handle) => Some(handle.clone()),
            Child::Ended(_) => None,
        };
        self.lock().values().filter_map(under_way).collect()
    }
}
