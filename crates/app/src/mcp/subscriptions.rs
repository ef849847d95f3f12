//! Subscriptions to runs: a client is told when a resource has changed.
//!
//! Invariant: a client is told of runs that it may read, and of no others.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use attache_kernel::{id::RunId, run::event::Event};
use attache_runtime::internal::{delegation::Desk, events::Events, runtime::Runtime, store::Store};
use futures_util::future::join_all;
use rmcp::{
    Peer, RoleServer, model::ResourceUpdatedNotificationParam, service::SubscriptionContext,
};
use tokio_util::task::AbortOnDropHandle;

use super::resources;

/// The most subscriptions of a client.
const MOST: usize = 200;
/// How often the transcript of another process is looked at.
const PAUSE: Duration = Duration::from_secs(2);

/// The subscriptions of one client. They end with it.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_uri: Mutex<BTreeMap<String, AbortOnDropHandle<()>>>,
}

/// Why there is no subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotSubscribed {
    #[error("there is no such resource; a run is attache://runs/ID")]
    NoSuchRun,
    #[error("there are {MOST} subscriptions already; end one with resources/unsubscribe")]
    TooMany,
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, AbortOnDropHandle<()>>> {
        self.by_uri.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the client of changes from now on.
    pub(super) async fn add(
        &self,
        uri: String,
        desk: &Desk,
        runtime: &Runtime,
        peer: &Peer<RoleServer>,
    ) -> Result<(), NotSubscribed> {
        let mut watched =
            Watched::find(&uri, desk, runtime).await.ok_or(NotSubscribed::NoSuchRun)?;
        let mut subscriptions = self.lock();
        subscriptions.retain(|_, subscription| !subscription.is_finished());
        if subscriptions.len() >= MOST {
            return Err(NotSubscribed::TooMany);
        }
        let (peer, name) = (peer.clone(), uri.clone());
        let told = tokio::spawn(async move {
            while watched.changed().await {
                let updated = ResourceUpdatedNotificationParam::new(name.clone());
                if peer.notify_resource_updated(updated).await.is_err() {
                    return;
                }
            }
        });
        subscriptions.insert(uri, AbortOnDropHandle::new(told));
        Ok(())
    }

    /// Tells the client no more.
    pub(super) fn remove(&self, uri: &str) {
        self.lock().remove(uri);
    }
}

/// Tells a subscription of the resources it names. It never ends by itself.
pub(super) async fn tell(context: &SubscriptionContext, desk: &Desk, runtime: &Runtime) {
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let told = uris.into_iter().take(MOST).map(|uri| async move {
        let Some(mut watched) = Watched::find(&uri, desk, runtime).await else { return };
        while watched.changed().await {
            if context.sink().notify_resource_updated(&uri).await.is_err() {
                return;
            }
        }
    });
    join_all(told).await;
    std::future::pending::<()>().await;
}

/// A run that is watched.
struct Watched {
    store: Arc<dyn Store>,
    id: RunId,
    source: Source,
}

/// Where its changes are seen.
enum Source {
    /// This process drives it.
    Events(Box<Events>),
    /// Another process drives it: its transcript grows. It is as long as that.
    File(PathBuf, u64),
    Ended,
}

impl Watched {
    /// The run of a resource that the client may read.
    async fn find(uri: &str, desk: &Desk, runtime: &Runtime) -> Option<Self> {
        let (id, _) = resources::named(uri)?;
        let transcript = desk.transcript(id).await?;
        let id = transcript.header.run.agent_id;
        let source = if let Some(handle) = runtime.handle(&id) {
            Source::Events(Box::new(handle.events(1)))
        } else {
            let length = length(&transcript.path).await;
            Source::File(transcript.path, length)
        };
        Some(Self { store: Arc::clone(runtime.store()), id, source })
    }

    /// Waits for the end of a turn or of the run; false once there is nothing more to wait for.
    async fn changed(&mut self) -> bool {
        match &mut self.source {
            Source::Ended => false,
            Source::Events(events) => {
                while let Some(event) = events.next().await {
                    if matches!(event.event, Event::TurnCompleted { .. } | Event::Ended { .. }) {
                        return true;
                    }
                }
                false
            }
            Source::File(path, known) => loop {
                let ended = self.store.wait_for_end(self.id.as_str(), PAUSE).await;
                let now = length(path).await;
                let has_grown = now != *known;
                *known = now;
                if ended.unwrap_or(true) {
                    self.source = Source::Ended;
                    return true;
                }
                if has_grown {
                    return true;
                }
            },
        }
    }
}

async fn length(path: &Path) -> u64 {
    tokio::fs::metadata(path).await.map_or(0, |file| file.len())
}
