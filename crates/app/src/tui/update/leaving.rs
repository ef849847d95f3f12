//! Leaving: Ctrl-C, Ctrl-D and `/quit`, and what becomes of work that is under way.

use super::{Effect, Kept, hint};
use crate::tui::state::{Hint, Request, State, agent::Phase};

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
    state.hint = Some(Hint::Quit("Ctrl-C"));
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
        state.hint = Some(Hint::AgentsGoOn);
    }
    effects
}

/// Leaves, if nothing is under way or somebody asked twice; `asked` is what was said before.
pub(super) fn quit(state: &mut State, asked: Option<&Hint>) -> Vec<Effect> {
    let is_open = state.session.is_open() || state.request == Request::Starting;
    if !is_open || matches!(asked, Some(Hint::Quit(_))) {
        return vec![Effect::Quit];
    }
    state.hint = Some(Hint::Quit("Ctrl-D"));
    Vec::new()
}

/// Leaves, and lets background agents go on in processes of their own.
pub(super) fn left_behind(state: &State) -> Vec<Effect> {
    let background = state.session.agents.iter().filter(|agent| agent.is_background);
    vec![Effect::Leave(background.map(Kept::new).collect())]
}

/// The agents that go on although nobody was asked: the terminal is gone, or a signal ends the program. An agent that
/// waits for an answer is not among them: its question comes up again when it is resumed.
pub(crate) fn unasked(state: &State) -> Vec<Kept> {
    let background = state.session.agents.iter().filter(|agent| agent.is_background);
    background.filter(|agent| agent.phase != Phase::Asking).map(Kept::new).collect()
}

/// Ctrl-D where it does not quit: what does instead.
pub(super) fn too_early(state: &mut State) -> Vec<Effect> {
    let text = if !state.questions.is_empty() {
        "a question waits for your answer; Ctrl-C twice quits"
    } else if state.page.is_some() {
        "q goes back; Ctrl-C twice quits"
    } else if state.offer.is_some() {
        "y or n first; Ctrl-C twice quits"
    } else {
        "Ctrl-D quits when the input is empty; Ctrl-C clears it"
    };
    hint(state, text)
}
