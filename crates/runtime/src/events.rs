//! Events: what watchers of runs are shown, in order, once it is in the journal.
//!
//! Nobody misses an event and nobody is waited for: every watcher has a queue of its own.

use std::sync::{Arc, Mutex, PoisonError};

use attache_kernel::run::event::activity::SubagentActivityEvent;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::transcripts::Secrets;

/// Tells watchers what happens; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Publisher {
    watchers: Arc<Mutex<Vec<UnboundedSender<Arc<SubagentActivityEvent>>>>>,
    secrets: Secrets,
}

/// The events from now on, as they happen; it ends with the last publisher.
pub type Watching = UnboundedReceiver<Arc<SubagentActivityEvent>>;

impl Publisher {
    /// A publisher that shows none of these secrets.
    pub fn masking(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Begins to watch.
    pub fn watch(&self) -> Watching {
        let (sender, receiver) = unbounded_channel();
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        receiver
    }

    /// Whether anyone watches.
    pub(crate) fn is_watched(&self) -> bool {
        !self.watchers.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// How much of the end of a text may be the beginning of a key, and must not be shown yet.
    pub(crate) fn held_back(&self, text: &str) -> usize {
        self.secrets.unfinished(text)
    }

    /// Shows an event to everyone who still watches.
    pub fn publish(&self, mut event: SubagentActivityEvent) {
        let mut watchers = self.watchers.lock().unwrap_or_else(PoisonError::into_inner);
        if watchers.is_empty() {
            return;
        }
        self.secrets.mask_data(&mut event.data);
        let event = Arc::new(event);
        watchers.retain(|watcher| watcher.send(Arc::clone(&event)).is_ok());
    }
}
