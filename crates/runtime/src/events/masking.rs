//! Masking: readers of a run see no key, as its journal holds none.

use std::sync::Arc;

use attache_kernel::run::{
    assignment::Assignment,
    event::{
        Event,
        observed::{Detail, RunEvent},
    },
};
use serde::{Serialize, de::DeserializeOwned};

use crate::store::Secrets;

/// The assignment without secrets; the same one where it has none.
pub(super) fn assignment(secrets: &Secrets, run: &Arc<Assignment>) -> Arc<Assignment> {
    match masked(secrets, &**run) {
        Masked::Clean => Arc::clone(run),
        Masked::Changed(run) => Arc::new(run),
        // Nothing of it can be shown but whose it is.
        Masked::Lost => {
            let mut shown = Assignment::clone(run);
            shown.task.clear();
            shown.description = None;
            shown.inputs.clear();
            Arc::new(shown)
        }
    }
}

/// The event without secrets; none if nothing is left that is one.
pub(super) fn event(secrets: &Secrets, mut event: RunEvent) -> Option<RunEvent> {
    if secrets.is_empty() {
        return Some(event);
    }
    match &mut event.event {
        Event::TextChunk { text }
        | Event::ThoughtChunk { text }
        | Event::ToolOutputChunk { text, .. } => {
            *text = secrets.mask(text).into_owned();
        }
        other => match masked(secrets, other) {
            Masked::Clean => {}
            Masked::Changed(masked) => *other = masked,
            Masked::Lost => return None,
        },
    }
    match &mut event.detail {
        Detail::None => {}
        Detail::Arguments(arguments) => {
            *arguments = secrets.mask_json(std::mem::take(arguments));
        }
        Detail::Outcome(outcome) => {
            let ending = &mut outcome.ending;
            ending.result = secrets.mask(&ending.result).into_owned();
            ending.error = ending.error.take().map(|error| secrets.mask(&error).into_owned());
            ending.output = ending.output.take().map(|output| secrets.mask_json(output));
        }
    }
    Some(event)
}

enum Masked<T> {
    Clean,
    Changed(T),
    Lost,
}

/// Looks for secrets in everything a value says.
fn masked<T: Serialize + DeserializeOwned>(secrets: &Secrets, value: &T) -> Masked<T> {
    if secrets.is_empty() {
        return Masked::Clean;
    }
    let Ok(text) = serde_json::to_string(value) else { return Masked::Lost };
    if matches!(secrets.mask(&text), std::borrow::Cow::Borrowed(_)) {
        return Masked::Clean;
    }
    let changed = serde_json::from_str(&text)
        .map(|value| secrets.mask_json(value))
        .and_then(serde_json::from_value);
    changed.map_or(Masked::Lost, Masked::Changed)
}
