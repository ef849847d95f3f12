//! A conversation: messages in order, only ever added at the end, and cheap to hand out.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::run::message::Message;

/// A conversation: messages that are only ever added at the end.
///
/// A copy shares all messages. Adding to it moves nothing as long as the copies handed out for model
/// calls are gone by then, so a turn costs no more in a long conversation than in a short one.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Conversation(Arc<Vec<Arc<Message>>>);

impl Conversation {
    /// All messages.
    pub fn messages(&self) -> &[Arc<Message>] {
        touched(self.0.len());
        &self.0
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The messages from the last backwards; as few are looked at as are taken.
    pub fn from_the_end(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.0.iter().rev().inspect(|_| touched(1))
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Arc<Message>) {
        if Arc::get_mut(&mut self.0).is_none() {
            touched(self.0.len());
        }
        touched(1);
        Arc::make_mut(&mut self.0).push(message);
    }
}

impl FromIterator<Arc<Message>> for Conversation {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let messages: Vec<_> = messages.into_iter().collect();
        touched(messages.len());
        Self(Arc::new(messages))
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter()).finish()
    }
}

/// Counts messages that were looked at or moved; tests compare the total with the turns.
#[cfg(not(test))]
fn touched(_messages: usize) {}

#[cfg(test)]
fn touched(messages: usize) {
    work::TOUCHED.with(|count| count.set(count.get() + messages));
}

#[cfg(test)]
pub(crate) mod work {
    //! How many messages this thread has looked at or moved.

    use std::cell::Cell;

    thread_local! {
        pub(crate) static TOUCHED: Cell<usize> = const { Cell::new(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_moves_nothing_unless_a_copy_is_held() {
        let mut conversation: Conversation =
            (0..50).map(|_| Arc::new(Message::user("x"))).collect();
        let before = work::TOUCHED.get();
        conversation.push(Arc::new(Message::user("y")));
        assert_eq!(work::TOUCHED.get() - before, 1);
        let held = conversation.clone();
        conversation.push(Arc::new(Message::user("z")));
        assert_eq!(work::TOUCHED.get() - before, 53);
        assert_eq!((held.len(), conversation.len()), (51, 52));
    }
}
