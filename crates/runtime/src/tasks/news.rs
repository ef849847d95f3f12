//! News: what a run is told about the subagents it started.
//!
//! Unlike messages, news are never refused: there are at most a few for each subagent.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{
    id::RunId,
    run::{outcome::RunResult, subagent::SubagentNote},
};
use tokio::sync::Notify;

/// Where news for a run are left. A copy is the same place.
#[derive(Debug, Clone, Default)]
pub(crate) struct News {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    items: Mutex<VecDeque<NewsItem>>,
    arrived: Notify,
}

/// Something that happened to a subagent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NewsItem {
    /// It began, or went to the background; or it could not be started.
    Note(SubagentNote),
    /// It has ended.
    Ended(Arc<RunResult>),
    /// What became of background agents of the run that this one continues.
    Earlier {
        /// What the agent is told.
        text: String,
        /// The agents it is about.
        delivers: Vec<RunId>,
    },
}

impl News {
    /// With what became of the background agents of the run that this one continues.
    pub(crate) fn beginning_with(left_behind: Option<(String, Vec<RunId>)>) -> Self {
        let news = Self::default();
        if let Some((text, delivers)) = left_behind {
            news.tell(NewsItem::Earlier { text, delivers });
        }
        news
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<NewsItem>> {
        self.shared.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, item: NewsItem) {
        self.items().push_back(item);
        self.shared.arrived.notify_one();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items().is_empty()
    }

    /// The next that is there already.
    pub(crate) fn take(&self) -> Option<NewsItem> {
        self.items().pop_front()
    }

    /// Waits until there are some. Dropping the future loses nothing.
    pub(crate) async fn arrived(&self) {
        while self.is_empty() {
            self.shared.arrived.notified().await;
        }
    }
}
