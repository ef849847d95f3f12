//! Slots: how many runs go on at once. More wait, and the first to come is the first to go.
//!
//! Invariant: nobody waits for a slot that a run holds which waits for it. A run may wait for those it
//! started, which are one level deeper, so every level has slots of its own; the main agent needs none.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of one runtime, by level.
#[derive(Debug)]
pub(crate) struct Levels {
    most: u32,
    levels: Mutex<BTreeMap<u32, Slots>>,
}

impl Levels {
    /// `most` slots on every level, at least one.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, levels: Mutex::default() }
    }

    /// The slots of the runs at that depth; none for the main agent.
    pub(crate) fn at(&self, depth: u32) -> Option<Slots> {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        (depth > 0).then(|| levels.entry(depth).or_insert_with(|| Slots::new(self.most)).clone())
    }
}

/// The slots of one level. A copy has the same slots.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    waiting: Arc<AtomicU32>,
}

/// A slot that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// A place in the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    slots: Slots,
    /// The number of runs that waited already.
    pub(crate) ahead: u32,
}

impl Slots {
    /// `most` slots, at least one.
    pub(crate) fn new(most: u32) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX).clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(most)), waiting: Arc::default() }
    }

    /// A slot, or a place in the queue.
    pub(crate) fn take(&self) -> Result<Slot, Queued> {
        let permit = Arc::clone(&self.free).try_acquire_owned().map_err(|_| {
            let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
            Queued { slots: self.clone(), ahead }
        })?;
        Ok(Slot { _permit: permit })
    }
}

impl Queued {
    /// Waits for a slot. Dropping this gives the place up.
    pub(crate) async fn wait(self) -> Option<Slot> {
        let permit = Arc::clone(&self.slots.free).acquire_owned().await;
        permit.ok().map(|permit| Slot { _permit: permit })
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.slots.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_to_wait_is_the_first_to_go() {
        let slots = Slots::new(1);
        let first = slots.take().unwrap();
        let (second, third) = (slots.take().err().unwrap(), slots.take().err().unwrap());
        assert_eq!((second.ahead, third.ahead), (0, 1));
        let third = tokio::spawn(third.wait());
        let second = second.wait();
        tokio::pin!(second);
        // Both wait: `third` was spawned, `second` is polled here.
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        let second = second.await.unwrap();
        assert!(!third.is_finished());
        drop(second);
        assert!(third.await.unwrap().is_some());
        assert_eq!(slots.take().map(|_| ()).map_err(|queued| queued.ahead), Ok(()));
    }
}
