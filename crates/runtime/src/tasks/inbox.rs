//! The inbox of a run: what others leave for it while it works.
//!
//! A letter is read by the agent with its next turn, once. The run ends only with an empty inbox, which is
//! closed in the same moment: who leaves a letter is told if nobody will read it.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use attache_kernel::{id::LetterId, run::letter::Letter};
use tokio::sync::Notify;

use super::going::into_letter;
use crate::store::{Held, Mailbox};

/// Messages that may wait for a run; more are refused.
const ROOM: usize = 256;

/// Where messages for a run are left. A copy is the same inbox.
#[derive(Debug, Clone)]
pub struct Inbox {
    shared: Arc<Mutex<Waiting>>,
}

/// A message could not be left: the run has ended, or too many wait already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InboxError {
    /// Nobody reads any more.
    #[error("the run has ended")]
    Ended,
    /// The run has not read what was left before.
    #[error("too many messages are waiting for the run")]
    Full,
}

#[derive(Debug)]
struct Waiting {
    letters: VecDeque<Letter>,
    arrived: Arc<Notify>,
    is_open: bool,
}

/// The reading end.
#[derive(Debug)]
pub(crate) struct Letters {
    shared: Arc<Mutex<Waiting>>,
    /// Where letters of other processes come in; they lie there until they are in the journal.
    mailbox: Option<Arc<dyn Mailbox>>,
    /// What was taken already: a letter may be found twice.
    taken: BTreeSet<LetterId>,
}

/// What a run that is about to end finds.
#[derive(Debug)]
pub(crate) enum LastLook {
    /// Letters, so it goes on.
    Letters(Vec<Letter>),
    /// Nothing, and nothing can be left while this is held.
    Nothing(Option<Held>),
}

/// An inbox and its reading end.
pub(crate) fn letterbox(mailbox: Option<Arc<dyn Mailbox>>) -> (Inbox, Letters) {
    let shared = Arc::new(Mutex::new(Waiting {
        letters: VecDeque::new(),
        arrived: Arc::default(),
        is_open: true,
    }));
    let inbox = Inbox { shared: Arc::clone(&shared) };
    (inbox, Letters { shared, mailbox, taken: BTreeSet::new() })
}

fn lock(shared: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inbox {
    /// Leaves a message; the agent reads it with its next turn.
    pub fn message(&self, text: impl Into<String>) -> Result<(), InboxError> {
        self.letter(Letter::new(text))
    }

    /// Leaves a letter; of several with one id the agent reads the first.
    pub fn letter(&self, letter: Letter) -> Result<(), InboxError> {
        let mut waiting = lock(&self.shared);
        if !waiting.is_open {
            return Err(InboxError::Ended);
        }
        if waiting.letters.len() >= ROOM {
            return Err(InboxError::Full);
        }
        waiting.letters.push_back(letter);
        waiting.arrived.notify_one();
        Ok(())
    }

    /// Puts in what was found in the mailbox, where it stays until it is in the journal.
    pub(crate) fn put(&self, letter: Letter) {
        let mut waiting = lock(&self.shared);
        waiting.letters.push_back(letter);
        waiting.arrived.notify_one();
    }
}

impl Letters {
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.shared).letters.is_empty()
    }

    /// Waits until there is a letter. Dropping the future loses nothing.
    pub(crate) async fn arrived(&self) {
        while self.is_empty() {
            let arrived = Arc::clone(&lock(&self.shared).arrived);
            arrived.notified().await;
        }
    }

    /// Waits until there is a letter among those; for ever where a run has no letters.
    pub(crate) async fn arrived_in(letters: Option<&Self>) {
        match letters {
            Some(letters) => letters.arrived().await,
            None => std::future::pending().await,
        }
    }

    /// Takes what waits.
    pub(crate) fn take(&mut self) -> Vec<Letter> {
        let waiting = std::mem::take(&mut lock(&self.shared).letters);
        waiting.into_iter().filter(|letter| self.is_new(letter)).collect()
    }

    fn is_new(&mut self, letter: &Letter) -> bool {
        letter.id.clone().is_none_or(|id| self.taken.insert(id))
    }

    /// The same for a run that may have no letters.
    pub(crate) async fn last_look_into(letters: Option<&mut Self>) -> LastLook {
        match letters {
            Some(letters) => letters.last_look().await,
            None => LastLook::Nothing(None),
        }
    }

    /// The run is about to end: takes what waits, or else closes the inbox and holds the mailbox.
    pub(crate) async fn last_look(&mut self) -> LastLook {
        let letters = self.take();
        if !letters.is_empty() {
            return LastLook::Letters(letters);
        }
        let held = match &self.mailbox {
            // A mailbox that cannot be looked into keeps what is in it until the run is resumed.
            Some(mailbox) => mailbox.hold().await.ok(),
            None => None,
        };
        let found = held.iter().flat_map(|held| held.found.clone()).filter_map(into_letter);
        let mut found: Vec<Letter> = found.collect();
        found.retain(|letter| self.is_new(letter));
        // What was left in this process meanwhile comes first.
        let mut waiting = lock(&self.shared);
        if found.is_empty() && waiting.letters.is_empty() {
            waiting.is_open = false;
            return LastLook::Nothing(held);
        }
        drop(waiting);
        let mut letters = self.take();
        letters.extend(found);
        LastLook::Letters(letters)
    }

    /// The run goes on after all.
    pub(crate) fn reopen(&self) {
        lock(&self.shared).is_open = true;
    }

    /// These are in the journal.
    pub(crate) async fn delivered(&self, letters: &[Letter]) {
        let ids: Vec<LetterId> = letters.iter().filter_map(|letter| letter.id.clone()).collect();
        if let Some(mailbox) = self.mailbox.as_ref().filter(|_| !ids.is_empty()) {
            // One that cannot be removed is known by its id in the journal.
            mailbox.remove(&ids).await.unwrap_or_default();
        }
    }
}

impl Drop for Letters {
    fn drop(&mut self) {
        lock(&self.shared).is_open = false;
    }
}
