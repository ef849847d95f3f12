//! What a request repeats of the one before it: messages, as they were written then.
//!
//! Invariant: the text is what writing all these messages anew would give. A message never changes, so
//! the ones that stood at the same places last time are not written again.

use std::sync::Arc;

use attache_kernel::run::message::Message;
use serde::Serialize;

/// A text that grew beyond this is not kept.
const MOST_KEPT_BYTES: usize = 1 << 20;
/// The text grows in steps of this: every run keeps one.
const GROWTH: usize = 2 << 10;

/// The messages of the last request, as they were written.
#[derive(Debug, Default)]
pub(in crate::model) struct Repeated {
    messages: Vec<Arc<Message>>,
    /// What was made of them, with commas in between.
    items: Vec<u8>,
}

impl Repeated {
    /// Messages as an array of what `write` makes of each, handed to `finish`.
    pub(super) fn written<'m, Item: Serialize, Done>(
        &mut self,
        messages: &'m [Arc<Message>],
        write: impl Fn(&'m Message, &mut Vec<Item>),
        finish: impl FnOnce(&[u8]) -> Done,
    ) -> Result<Done, serde_json::Error> {
        let added = self.add(messages, write);
        let done = added.map(|()| finish(&self.items));
        if done.is_err() || self.items.len() > MOST_KEPT_BYTES {
            *self = Self::default();
        }
        done
    }

    fn add<'m, Item: Serialize>(
        &mut self,
        messages: &'m [Arc<Message>],
        write: impl Fn(&'m Message, &mut Vec<Item>),
    ) -> Result<(), serde_json::Error> {
        let known = self.messages.len();
        let repeats = messages.get(..known).is_some_and(|same| {
            same.iter().zip(&self.messages).all(|(now, then)| Arc::ptr_eq(now, then))
        });
        if !repeats {
            *self = Self::default();
        }
        let new = messages.get(self.messages.len()..).unwrap_or_default();
        let mut items = Vec::with_capacity(new.len());
        for message in new {
            write(message, &mut items);
        }
        let mut written = Vec::with_capacity(GROWTH);
        for item in &items {
            if !self.items.is_empty() || !written.is_empty() {
                written.push(b',');
            }
            serde_json::to_writer(&mut written, item)?;
        }
        if self.items.capacity() < self.items.len() + written.len() {
            self.items.reserve_exact(written.len().next_multiple_of(GROWTH));
        }
        self.items.extend_from_slice(&written);
        self.messages.extend(new.iter().cloned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn messages(texts: &[&str]) -> Vec<Arc<Message>> {
        texts.iter().map(|text| Arc::new(Message::user(*text))).collect()
    }

    /// What is written, and how many messages were for it.
    fn written(repeated: &mut Repeated, messages: &[Arc<Message>]) -> (String, usize) {
        let count = Cell::new(0);
        let write = |message: &Message, items: &mut Vec<String>| {
            count.set(count.get() + 1);
            // Some messages are nothing, some are several items.
            let text = format!("{message:?}");
            let pieces = text.matches('+').count();
            items.extend((0..=pieces).map(|_| text.clone()).filter(|text| !text.contains('-')));
        };
        let text =
            repeated.written(messages, write, |items| String::from_utf8(items.to_vec()).unwrap());
        (text.unwrap(), count.get())
    }

    #[test]
    fn what_was_written_before_is_repeated_and_the_text_is_the_same() {
        let mut repeated = Repeated::default();
        let all = messages(&["a", "b+", "-", "c", "-", "d"]);
        let mut changed = all.clone();
        changed[1] = Arc::new(Message::user("x"));
        let same_words = messages(&["a", "b+", "-"]);
        for (now, expected) in [
            (&all[..2], 2),
            (&all[..2], 0),
            (&all[..3], 1),
            (&all[..], 3),
            // Fewer than before, others in between, equal ones: all are written anew.
            (&all[..3], 3),
            (&changed[..], 6),
            (&same_words[..], 3),
            (&all[..0], 0),
            (&all[..1], 1),
        ] {
            let (text, count) = written(&mut repeated, now);
            assert_eq!(count, expected, "{now:?}");
            assert_eq!(text, written(&mut Repeated::default(), now).0, "{now:?}");
        }
    }

    #[test]
    fn a_very_long_text_is_not_kept() {
        let mut repeated = Repeated::default();
        let long = messages(&[&"x".repeat(MOST_KEPT_BYTES)]);
        assert_eq!(written(&mut repeated, &long).1, 1);
        assert_eq!(written(&mut repeated, &long).1, 1);
        assert_eq!(repeated.items.capacity(), 0);
    }
}
