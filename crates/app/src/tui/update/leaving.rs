//! Leaving: Ctrl-C, Ctrl-D and `/quit`, and what becomes of work that is under way.

use super::{Effect, Kept, hint};
use crate::{
    print::number::count,
    tui::state::{Hint, Request, State},
};

/// Ctrl-C: clears the input, then stops the answer, then quits.
pub(super) fn interrupted(state: &mut State) -> Vec<Effect> {
    if matches!(state.hint, Some(Hint::Quit(_))) {
        return vec![Effect::Quit];
    }
    state.offer = None;
    state.completion = None;
    state.blocks.leave();
    if !state.composer.is_empty() && state.questions.is_empty() {
        let text = state.composer.take();
        state.composer.remember(&text);
        return Vec::new();
    }
    state.hint = Some(Hint::Quit(warning(state, "Ctrl-C")));
    stopped(state)
}

/// Stops the answer, if one is under way or about to be.
pub(super) fn stopped(state: &mut State) -> Vec<Effect> {
    if !state.session.is_busy() && state.request != Request::Starting {
        return Vec::new();
    }
    state.request = Request::Stopping;
    vec![Effect::Stop]
}

/// Esc: stops the answer; background agents go on.
pub(super) fn escaped(state: &mut State) -> Vec<Effect> {
    let effects = stopped(state);
    if effects.is_empty() && !state.session.agents.is_empty() {
        return hint(state, "background agents go on; Ctrl-T shows them, s stops one there");
    }
    effects
}

/// Leaves, if nothing is under way or somebody asked twice; `asked` is what was said before.
pub(super) fn quit(state: &mut State, asked: Option<&Hint>) -> Vec<Effect> {
    let is_open = state.session.is_open() || state.request == Request::Starting;
    if !is_open || matches!(asked, Some(Hint::Quit(_))) {
        return vec![Effect::Quit];
    }
    state.hint = Some(Hint::Quit(warning(state, "Ctrl-D")));
    Vec::new()
}

/// Leaves, and lets background agents go on in processes of their own.
pub(super) fn left_behind(state: &State) -> Vec<Effect> {
    let background = state.session.agents.iter().filter(|agent| agent.is_background);
    let kept = background
        .map(|agent| Kept { id: agent.id.clone(), description: agent.description.clone() });
    vec![Effect::Leave(kept.collect())]
}

/// What a second key does.
fn warning(state: &State, key: &str) -> String {
    let is_starting = state.request == Request::Starting;
    let background = state.session.agents.iter().filter(|agent| agent.is_background).count();
    let agents = count(background as u64, "background agent");
    match (state.session.is_busy() || is_starting, background) {
        (false, 0) => format!("{key} again quits"),
        // The first Ctrl-C stops the answer itself.
        (true, 0) if key == "Ctrl-C" => format!("{key} again quits"),
        (true, 0) => format!("an answer is under way: {key} again stops it and quits"),
        (_, _) => format!("{key} again stops {agents} and quits · k quits, they go on"),
    }
}
