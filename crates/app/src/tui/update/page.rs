//! What keys do in a full screen.

use attache_kernel::id::RunId;
use crossterm::event::{KeyCode, KeyEvent};

use super::{Effect, Load, hint};
use crate::tui::state::{
    State,
    page::{ListKind, ListPage, Page, TextPage},
};

/// How far a page key moves.
const PAGE: isize = 10;

/// What became of a key.
enum Next {
    Stay(Vec<Effect>),
    Close(Vec<Effect>),
    Back(Box<ListPage>),
}

/// A key in the full screen that is open.
pub(super) fn pressed(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let is_busy = state.session.is_open();
    let next = match &mut state.page {
        None => return Vec::new(),
        Some(Page::Text(page)) => read(page, key, state.page_height),
        Some(Page::List(list)) if list.message.is_some() => written(list, key),
        Some(Page::List(list)) => chosen(list, key),
    };
    match next {
        Next::Stay(effects) => effects,
        Next::Back(list) => {
            state.page = Some(Page::List(*list));
            Vec::new()
        }
        Next::Close(effects) => {
            if is_busy && matches!(effects.as_slice(), [Effect::Resume(..)]) {
                return hint(state, "this conversation is still under way: stop it with Esc first");
            }
            state.page = None;
            effects
        }
    }
}

fn read(page: &mut TextPage, key: KeyEvent, height: usize) -> Next {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => {
            return page.back.take().map_or_else(|| Next::Close(Vec::new()), Next::Back);
        }
        KeyCode::Up | KeyCode::Char('k') => page.step(-1, height),
        KeyCode::Down | KeyCode::Enter | KeyCode::Char('j') => page.step(1, height),
        KeyCode::PageUp => page.step(-PAGE, height),
        KeyCode::PageDown | KeyCode::Char(' ') => page.step(PAGE, height),
        KeyCode::Home => page.step(isize::MIN / 2, height),
        KeyCode::End => page.step(isize::MAX / 2, height),
        _ => {}
    }
    Next::Stay(Vec::new())
}

/// A message to the chosen run is being written.
fn written(list: &mut ListPage, key: KeyEvent) -> Next {
    let Some(words) = &mut list.message else { return Next::Stay(Vec::new()) };
    match key.code {
        KeyCode::Esc => list.message = None,
        KeyCode::Backspace => drop(words.pop()),
        KeyCode::Char(letter) => words.push(letter),
        KeyCode::Enter => {
            let words = list.message.take().unwrap_or_default();
            let id = list.row().map(|row| row.id.clone());
            if let Some(id) = id.filter(|_| !words.trim().is_empty()) {
                return Next::Stay(vec![Effect::Post(id, words)]);
            }
        }
        _ => {}
    }
    Next::Stay(Vec::new())
}

fn chosen(list: &mut ListPage, key: KeyEvent) -> Next {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return Next::Close(Vec::new()),
        KeyCode::Up | KeyCode::Char('k') => list.step(-1),
        KeyCode::Down | KeyCode::Char('j') => list.step(1),
        KeyCode::PageUp => list.step(-PAGE),
        KeyCode::PageDown => list.step(PAGE),
        KeyCode::Home => list.step(isize::MIN / 2),
        KeyCode::End => list.step(isize::MAX / 2),
        code => return acted(list, code),
    }
    Next::Stay(Vec::new())
}

/// A key that does something with the chosen row.
fn acted(list: &mut ListPage, code: KeyCode) -> Next {
    let Some(row) = list.row().cloned() else { return Next::Stay(Vec::new()) };
    let stay = |effect: Effect| Next::Stay(vec![effect]);
    match (list.kind, code) {
        (ListKind::Tasks, KeyCode::Enter) | (ListKind::Conversations, KeyCode::Char('t')) => {
            stay(Effect::Load(Load::Transcript(row.id)))
        }
        (ListKind::Tasks, KeyCode::Char('s')) if row.is_open() => stay(Effect::StopRun(row.id)),
        (ListKind::Tasks, KeyCode::Char('g')) if row.is_open() => {
            stay(Effect::ToBackground(vec![RunId::new(row.id)]))
        }
        (ListKind::Tasks, KeyCode::Char('m')) if row.is_open() => {
            list.message = Some(String::new());
            Next::Stay(Vec::new())
        }
        (ListKind::Tasks, KeyCode::Char('r')) | (ListKind::Conversations, KeyCode::Enter)
            if !row.is_open() =>
        {
            Next::Close(vec![Effect::Resume(row.id, None)])
        }
        (ListKind::Tasks, KeyCode::Char('b')) if row.turns > 0 => {
            Next::Close(vec![Effect::Resume(row.id, Some(row.turns))])
        }
        (ListKind::Agents, KeyCode::Enter) => stay(Effect::Load(Load::Agent(row.id))),
        (ListKind::Agents, KeyCode::Char('t')) => Next::Close(vec![Effect::Try(row.id)]),
        (ListKind::Agents, KeyCode::Char('e')) => stay(Effect::Edit(row.id)),
        _ => Next::Stay(Vec::new()),
    }
}
