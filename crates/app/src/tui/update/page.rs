//! What keys do in a full screen.

use attache_kernel::id::RunId;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;

use super::{Effect, Load, hint, keys::edited};
use crate::tui::state::{
    State,
    page::{ListKind, ListPage, Page, Row, TextPage, room},
};

/// How far a page key moves.
const PAGE: isize = 10;

/// What became of a key.
enum Next {
    Stay(Vec<Effect>),
    Close(Vec<Effect>),
    Back(Box<ListPage>),
    Hint(&'static str),
}

/// A key in the full screen that is open.
pub(super) fn pressed(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let is_busy = state.session.is_open();
    let next = match &mut state.page {
        None => return Vec::new(),
        Some(Page::List(list)) if list.message.is_some() => written(list, key),
        Some(page) if key.modifiers.contains(KeyModifiers::CONTROL) => held(page, key.code),
        Some(Page::Text(page)) => read(page, key, room(state.screen)),
        Some(Page::List(list)) => chosen(list, key),
    };
    match next {
        Next::Stay(effects) => effects,
        Next::Hint(why) => hint(state, why),
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

/// The wheel moves what is read: the page, or the change that is asked about.
pub(super) fn wheeled(state: &mut State, by: isize) {
    match (&mut state.page, state.questions.first_mut()) {
        (Some(Page::Text(page)), _) => page.step(by, room(state.screen)),
        (Some(Page::List(list)), _) => list.step(by.signum()),
        (None, Some(asked)) => asked.scroll_by(by, state.screen),
        (None, None) => {}
    }
}

/// A key with Ctrl held: the one that opened the board closes it.
fn held(page: &Page, code: KeyCode) -> Next {
    let list = match page {
        Page::List(list) => Some(list),
        Page::Text(page) => page.back.as_deref(),
    };
    let is_board = list.is_some_and(|list| list.kind == ListKind::Tasks);
    if is_board && code == KeyCode::Char('t') {
        return Next::Close(Vec::new());
    }
    Next::Stay(Vec::new())
}

fn read(page: &mut TextPage, key: KeyEvent, room: Size) -> Next {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => {
            return page.back.take().map_or_else(|| Next::Close(Vec::new()), Next::Back);
        }
        KeyCode::Up | KeyCode::Char('k') => page.step(-1, room),
        KeyCode::Down | KeyCode::Enter | KeyCode::Char('j') => page.step(1, room),
        KeyCode::PageUp => page.step(-PAGE, room),
        KeyCode::PageDown | KeyCode::Char(' ') => page.step(PAGE, room),
        KeyCode::Home => page.step(isize::MIN / 2, room),
        KeyCode::End => page.step(isize::MAX / 2, room),
        _ => {}
    }
    Next::Stay(Vec::new())
}

/// A message to the chosen run is being written.
fn written(list: &mut ListPage, key: KeyEvent) -> Next {
    let Some(words) = &mut list.message else { return Next::Stay(Vec::new()) };
    match key.code {
        code if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
            edited(words, code);
        }
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

/// A key that does something with the chosen row; one that can do nothing says why.
fn acted(list: &mut ListPage, code: KeyCode) -> Next {
    let Some(row) = list.row().cloned() else { return Next::Stay(Vec::new()) };
    match list.kind {
        ListKind::Tasks => on_task(list, row, code),
        ListKind::Conversations => match code {
            KeyCode::Enter if row.is_open() => Next::Hint("it goes on in another process"),
            KeyCode::Enter => Next::Close(vec![Effect::Resume(row.id, None)]),
            KeyCode::Char('t') => stay(Effect::Load(Load::Transcript(row.id))),
            _ => Next::Stay(Vec::new()),
        },
        ListKind::Agents => match code {
            KeyCode::Enter => stay(Effect::Load(Load::Agent(row.id))),
            KeyCode::Char('t') => Next::Close(vec![Effect::Try(row.id)]),
            KeyCode::Char('e') => stay(Effect::Edit(row.id)),
            _ => Next::Stay(Vec::new()),
        },
    }
}

fn stay(effect: Effect) -> Next {
    Next::Stay(vec![effect])
}

fn on_task(list: &mut ListPage, row: Row, code: KeyCode) -> Next {
    match code {
        KeyCode::Enter | KeyCode::Char('f') => stay(Effect::Load(Load::Transcript(row.id))),
        KeyCode::Char('s') if row.is_open() => stay(Effect::StopRun(row.id)),
        KeyCode::Char('g') if row.is_open() => stay(Effect::ToBackground(vec![RunId::new(row.id)])),
        KeyCode::Char('s' | 'g') => Next::Hint("it has ended"),
        KeyCode::Char('m') => {
            list.message = Some(String::new());
            Next::Stay(Vec::new())
        }
        KeyCode::Char('r') if row.is_open() => {
            Next::Hint("it is still under way; b branches off, m sends a message")
        }
        KeyCode::Char('r') => Next::Close(vec![Effect::Resume(row.id, None)]),
        KeyCode::Char('b') if row.turns > 0 => {
            Next::Close(vec![Effect::Resume(row.id, Some(row.turns))])
        }
        KeyCode::Char('b') => Next::Hint("no turn of it is over yet"),
        _ => Next::Stay(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::update::{Message, update};

    #[test]
    fn what_is_pasted_on_the_board_is_for_the_message_there_or_for_nobody() {
        let list = ListPage::new(ListKind::Tasks, Vec::new());
        let mut state = State { page: Some(Page::List(list)), ..State::default() };
        let paste = || Message::Pasted("rm -rf\nall".to_owned());
        update(&mut state, paste());
        assert!(state.composer.is_empty());
        if let Some(Page::List(list)) = &mut state.page {
            list.message = Some("do not ".to_owned());
        }
        update(&mut state, paste());
        let Some(Page::List(list)) = &state.page else { panic!("{:?}", state.page) };
        assert_eq!(list.message.as_deref(), Some("do not rm -rf all"));
        assert!(state.composer.is_empty());
    }
}
