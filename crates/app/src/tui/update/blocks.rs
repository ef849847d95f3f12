//! Keys while the block of an agent has the focus: Tab gives it from an empty input.

use attache_kernel::id::RunId;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Effect, Load, hint};
use crate::tui::state::State;

/// A key while a block has the focus; `None` if it is for the input, which then has it again.
pub(super) fn pressed(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let id = state.blocks.focus()?.clone();
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Tab | KeyCode::Down => state.blocks.step(1, &state.session),
        KeyCode::BackTab | KeyCode::Up => state.blocks.step(-1, &state.session),
        KeyCode::Esc => state.blocks.leave(),
        KeyCode::Enter => return Some(vec![Effect::Load(Load::Transcript(id.to_string()))]),
        KeyCode::Char('o') if is_control => state.blocks.toggle(&id),
        KeyCode::Char('b') if is_control => return Some(to_background(state)),
        KeyCode::Char('t') if is_control => return None,
        _ => {
            state.blocks.leave();
            return None;
        }
    }
    Some(Vec::new())
}

/// Gives the focus to the newest block.
pub(super) fn entered(state: &mut State) -> Vec<Effect> {
    if state.session.block_count() == 0 {
        return hint(state, "no agent has worked in this conversation yet");
    }
    state.blocks.step(-1, &state.session);
    Vec::new()
}

/// Unfolds the newest block, and gives it the focus.
pub(super) fn unfolded(state: &mut State) -> Vec<Effect> {
    let effects = entered(state);
    if let Some(id) = state.blocks.focus().cloned() {
        state.blocks.toggle(&id);
    }
    effects
}

/// Sends the agents that are waited for to the background; with the focus on one that works, only that.
pub(super) fn to_background(state: &mut State) -> Vec<Effect> {
    let mut agents = state.foreground();
    let works = |id: &&RunId| state.session.agents.iter().any(|agent| agent.id == **id);
    if let Some(focus) = state.blocks.focus().filter(works) {
        agents.retain(|id| id == focus);
    }
    if agents.is_empty() {
        return hint(state, "no agent is waited for here; Ctrl-T shows every run");
    }
    vec![Effect::ToBackground(agents)]
}
