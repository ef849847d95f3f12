//! Making room: what is done about a conversation that is, or soon will be, too long for its model.
//!
//! Every step makes the conversation shorter, and a summary is asked for once an answer at most: so a
//! run either goes on or ends with what the provider said.

use std::sync::Arc;

use super::{BYTES_PER_TOKEN, Newest, fill::Level, shed, size_of, trim};
use crate::run::{
    Run,
    event::{Event, compaction::Compaction},
    machine::prose,
    message::Message,
    state::Phase,
};

/// A summary that would make less room than this part of the window is not worth its price.
const WORTH_SUMMARISING: u64 = 10;

impl Run {
    /// The room that is to be made before the next turn.
    pub(in crate::run) fn room_before_turn(&self) -> Option<Event> {
        let window = self.assignment.model_limits.context_window?;
        let fill = self.state.fill;
        match fill.level(window) {
            Level::Fits => None,
            Level::NearlyFull => {
                self.trimmed(Newest::Keep).or_else(|| self.summary_in_time(window))
            }
            Level::UnreadTooLong => self
                .trimmed(Newest::CutIfNeeded)
                // What the provider has counted it has also taken, so it may take a summary's request.
                .or_else(|| self.summary_in_time(window).filter(|_| fill.is_measured()))
                .or_else(|| self.dropped(Newest::Keep)),
            Level::TooLong => self
                .trimmed(Newest::Keep)
                .or_else(|| self.dropped(Newest::Keep).filter(|_| self.frame_fits(window))),
        }
    }

    /// What follows when the provider says that the conversation is too long.
    pub(in crate::run) fn room_after_refusal(&self, refusal: String) -> Event {
        if let Some(trimmed) = self.trimmed(Newest::CutIfNeeded) {
            return self.paid_for(trimmed, &refusal);
        }
        let state = &self.state;
        let is_paid_for = self.cap_before_request().is_none();
        let summary = (state.phase == Phase::Model && state.heard_since_summary && is_paid_for)
            .then(|| shed::plan(&state.conversation, &state.frame, Newest::Keep))
            .flatten();
        // A request for a summary of everything would be refused as well: the older turns are summed up.
        match summary {
            Some(older) => summary_request(older.end, Some(refusal)),
            None => match self.dropped(Newest::CutIfNeeded) {
                Some(dropped) => self.paid_for(dropped, &refusal),
                None => Event::Failed { message: refusal, answer_lost: false },
            },
        }
    }

    /// What follows when a summary cannot be had for another reason than its length.
    pub(in crate::run) fn room_without_summary(&self, problem: String) -> Event {
        let refused = self.state.summary.as_ref().is_some_and(|turn| turn.refusal.is_some());
        let newest = if refused { Newest::CutIfNeeded } else { Newest::Keep };
        match self.dropped(newest) {
            Some(dropped) if refused => self.paid_for(dropped, &problem),
            Some(dropped) => dropped,
            None if refused => Event::Failed { message: problem, answer_lost: false },
            None => nothing_dropped(),
        }
    }

    /// What becomes of the summary that was asked for. In the middle of a turn the request is then made
    /// again, if the caps still pay for it.
    pub(in crate::run) fn after_summary(&self) -> Event {
        let room = self.room_by_summary();
        match self.state.summary.as_ref().and_then(|summary| summary.refusal.as_deref()) {
            Some(refusal) => self.paid_for(room, refusal),
            None => room,
        }
    }

    /// That room, after which a refused request is made again; a failure if the caps do not pay for it.
    fn paid_for(&self, room: Event, refusal: &str) -> Event {
        if matches!(room, Event::Compacted(_)) && self.cap_after(&room).is_some() {
            let message = format!("{refusal} (no budget left for another attempt)");
            return Event::Failed { message, answer_lost: false };
        }
        room
    }

    fn room_by_summary(&self) -> Event {
        let Some(summary) = &self.state.summary else {
            return nothing_dropped();
        };
        let text = summary.text.as_deref().unwrap_or_default().trim();
        if !text.is_empty() {
            let inside = self.state.frame.inside(&self.state.conversation, summary.first);
            return Event::Compacted(Compaction::Summarised {
                summary: text.to_owned(),
                messages_replaced: inside.messages,
                freed_bytes: inside.bytes,
            });
        }
        let newest = match summary.refusal {
            Some(_) => Newest::CutIfNeeded,
            None => Newest::Keep,
        };
        self.dropped(newest).unwrap_or_else(nothing_dropped)
    }

    /// All the room that can be made, the newest turn included.
    pub(in crate::run) fn any_room(&self) -> Option<Event> {
        self.trimmed(Newest::CutIfNeeded).or_else(|| self.dropped(Newest::CutIfNeeded))
    }

    fn trimmed(&self, newest: Newest) -> Option<Event> {
        let trim::Cut { call_ids, freed_bytes } = trim::plan(&self.state.conversation, newest)?;
        Some(Event::Compacted(Compaction::Trimmed { call_ids, freed_bytes }))
    }

    fn dropped(&self, newest: Newest) -> Option<Event> {
        let shed = shed::plan(&self.state.conversation, &self.state.frame, newest)?;
        let shed::Shed { turns: turns_dropped, freed_bytes, .. } = shed;
        Some(Event::Compacted(Compaction::Dropped { turns_dropped, freed_bytes }))
    }

    /// Whether dropping turns can help at all.
    fn frame_fits(&self, window: u64) -> bool {
        let conversation = &self.state.conversation;
        let all = size_of(conversation.messages().iter().map(AsRef::as_ref));
        let inside = self.state.frame.inside(conversation, conversation.len());
        all.saturating_sub(inside.bytes) / BYTES_PER_TOKEN <= window
    }

    /// A summary of everything, before it is too late. A last chance is too short for one.
    fn summary_in_time(&self, window: u64) -> Option<Event> {
        let all = self.state.conversation.len();
        let inside = self.state.frame.inside(&self.state.conversation, all);
        let worth = inside.bytes / BYTES_PER_TOKEN >= window / WORTH_SUMMARISING;
        (worth && self.state.heard_since_summary && self.state.grace.is_none())
            .then(|| summary_request(all, None))
    }
}

fn summary_request(first: usize, refusal: Option<String>) -> Event {
    let message = Arc::new(Message::user(prose::SUMMARISE));
    let messages = u64::try_from(first).unwrap_or(u64::MAX);
    Event::SummaryRequested { message, messages, refusal }
}

fn nothing_dropped() -> Event {
    Event::Compacted(Compaction::Dropped { turns_dropped: 0, freed_bytes: 0 })
}
