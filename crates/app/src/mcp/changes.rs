//! Changes of the agent files, for clients that were told of the agents.
//!
//! The folders are watched from the first client on. A change of a file is told only if it changes what the
//! tools and prompts say.

use std::{sync::Mutex, time::Duration};

use attache_kernel::agent::registry::Inventory;
use attache_runtime::internal::agents::discovery::{Places, watch::Watch};
use tokio::sync::watch;

/// How long the thread waits before it looks whether anybody still wants to know.
const PATIENCE: Duration = Duration::from_mins(1);

/// Tells of changes.
#[derive(Debug)]
pub(super) struct Changes {
    counted: watch::Sender<u64>,
    /// What to watch, until it is watched.
    unwatched: Mutex<Option<Places>>,
}

impl Changes {
    pub(super) fn new(places: Places) -> Self {
        Self { counted: watch::Sender::new(0), unwatched: Mutex::new(Some(places)) }
    }

    /// Something that changes with the files. The first to ask has them watched.
    pub(super) fn follow(&self) -> watch::Receiver<u64> {
        let places = self.unwatched.lock().ok().and_then(|mut places| places.take());
        if let Some(places) = places {
            self.watch(places);
        }
        self.counted.subscribe()
    }

    /// The watch has begun when this returns. Where nothing can be watched, clients ask by themselves.
    fn watch(&self, places: Places) {
        let Ok(mut watch) = Watch::new(&places) else { return };
        let counted = self.counted.clone();
        // The end of the process ends the thread.
        std::thread::spawn(move || {
            loop {
                if watch.wait(PATIENCE, &places) {
                    counted.send_modify(|count| *count += 1);
                }
            }
        });
    }
}

/// What the tools and prompts say of the agents.
pub(super) fn told(agents: &Inventory) -> Vec<(String, Option<String>)> {
    let told = agents.records.iter().filter_map(|record| {
        let definition = record.definition.as_deref()?;
        Some((format!("{}{:?}", record.name, record.status), definition.when_to_use.clone()))
    });
    told.collect()
}
