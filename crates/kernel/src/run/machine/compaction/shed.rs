//! Shedding: dropping the oldest turns, half of them at once, where no summary can be had.
//!
//! A turn goes whole, the model's message with the results of its calls, and so do messages
//! between two dropped turns; a note replaces them.

use std::{ops::Range, sync::Arc};

use super::{Newest, frame::Frame, size_of};
use crate::run::{conversation::Conversation, machine::prose, message::Message};

/// How many of the oldest turns go, and where the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shed {
    pub(crate) turns: u64,
    pub(crate) end: usize,
    pub(crate) freed_bytes: u64,
}

/// Half of the turns that can go; none if none can.
pub(crate) fn plan(conversation: &Conversation, frame: &Frame, newest: Newest) -> Option<Shed> {
    let starts = turn_starts(conversation, frame);
    let spare = match newest {
        Newest::Keep => starts.len().saturating_sub(1),
        Newest::CutIfNeeded => starts.len(),
    };
    let turns = spare.div_ceil(2);
    let range = range(conversation, &starts, turns)?;
    let messages = conversation.messages().iter().enumerate();
    let gone = messages
        .filter(|(index, _)| range.contains(index) && Some(*index) != frame.task())
        .map(|(_, message)| message.as_ref());
    Some(Shed { turns: u64::try_from(turns).ok()?, end: range.end, freed_bytes: size_of(gone) })
}

/// The conversation without that many of the oldest turns.
pub(crate) fn without(
    conversation: &Conversation,
    frame: &Frame,
    turns: u64,
) -> (Conversation, Frame) {
    let starts = turn_starts(conversation, frame);
    let turns = usize::try_from(turns).unwrap_or(usize::MAX);
    let Some(gone) = range(conversation, &starts, turns) else {
        return (conversation.clone(), frame.clone());
    };
    let messages = conversation.messages();
    let note = Arc::new(Message::user(prose::TURNS_DROPPED));
    let mut shorter: Vec<_> = messages.iter().take(gone.start).cloned().collect();
    let noted = shorter.last() == Some(&note);
    let mut task = frame.task();
    if let Some(kept) = task.filter(|task| gone.contains(task)) {
        task = Some(shorter.len());
        shorter.extend(messages.get(kept).cloned());
    }
    if !noted {
        shorter.push(note);
    }
    if let Some(later) = frame.task().and_then(|task| task.checked_sub(gone.end)) {
        task = Some(shorter.len() + later);
    }
    shorter.extend(messages.iter().skip(gone.end).cloned());
    (shorter.into_iter().collect(), frame.with_task_at(task))
}

/// Where the model speaks, after the opening.
fn turn_starts(conversation: &Conversation, frame: &Frame) -> Vec<usize> {
    let messages = conversation.messages().iter().enumerate().skip(frame.opening());
    messages
        .filter(|(_, message)| matches!(message.as_ref(), Message::Assistant { .. }))
        .map(|(index, _)| index)
        .collect()
}

/// The messages of that many of the oldest turns.
fn range(conversation: &Conversation, starts: &[usize], turns: usize) -> Option<Range<usize>> {
    let start = *starts.first().filter(|_| turns > 0)?;
    if let Some(next) = starts.get(turns) {
        return Some(start..*next);
    }
    let after = starts.last()?.saturating_add(1);
    let results = conversation.messages().get(after);
    let answered = results.is_some_and(|next| matches!(**next, Message::Tool { .. }));
    Some(start..after + usize::from(answered))
}
