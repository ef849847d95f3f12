//! What each key does: in a question first, then in an offer, then in the input. Beside a full screen, a question has
//! only the letters that answer it.

use attache_runtime::internal::approvals::ApprovalAnswer;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Size;

use super::{Effect, Load, Pace, Route, blocks, commands, complete, hint, leaving, page};
use crate::{
    print::palette::Tone,
    tui::state::{
        Hint, Request, State,
        composer::Move,
        page::{ListPage, Page},
        question::{Asked, Stage},
    },
};

/// How far a page moves in a question.
const PAGE: isize = 10;

pub(super) fn pressed(state: &mut State, key: KeyEvent, pace: Pace) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    if is_control && key.code == KeyCode::Char('c') {
        return leaving::interrupted(state);
    }
    let asked = state.hint.take();
    if is_control && key.code == KeyCode::Char('l') {
        return vec![Effect::Repaint];
    }
    if is_control && key.code == KeyCode::Char('z') {
        return vec![Effect::Suspend];
    }
    let is_end = is_control && key.code == KeyCode::Char('d');
    if is_end && is_too_early(state) {
        return leaving::too_early(state);
    }
    if let Some(asked) = state.questions.first_mut() {
        asked.is_guarded = is_typing(asked, key, pace);
        if asked.is_guarded && state.page.is_none() {
            let effects = written(state, key, is_control);
            hint(state, "a question is open, and you type: pause, then answer it with its keys");
            return effects;
        }
        if !is_for(asked, state.page.as_ref(), key) {
            return page::pressed(state, key);
        }
        if state.page.is_none() && asked.stage == Stage::Choosing {
            match key.code {
                KeyCode::Char('t') if is_control => return vec![Effect::Load(Load::Tasks)],
                KeyCode::Esc => return leaving::escaped(state),
                _ => {}
            }
        }
        return answered(asked, key, state.screen).map_or_else(Vec::new, |answer| {
            let asked = state.questions.remove(0);
            vec![Effect::Answer(asked.question.request_id, answer)]
        });
    }
    if state.page.is_some() {
        return page::pressed(state, key);
    }
    if state.offer.is_some() {
        return decided(state, key);
    }
    if is_end && state.composer.is_empty() {
        return leaving::quit(state, asked.as_ref());
    }
    if key.code == KeyCode::Char('k') && !is_control && is_leaving(asked.as_ref(), state) {
        return leaving::left_behind(state);
    }
    if let Some(effects) = blocks::pressed(state, key) {
        return effects;
    }
    written(state, key, is_control)
}

/// Whether a key is of a message that somebody writes without having seen the question: one was being written when it
/// came up, or a letter comes that is no answer, and the letters after it are of the same word.
fn is_typing(asked: &Asked, key: KeyEvent, pace: Pace) -> bool {
    let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let is_letter = matches!(key.code, KeyCode::Char(_)) && !is_held;
    let is_other = asked.stage == Stage::Choosing && is_letter && !is_answer(key.code);
    is_other || (asked.is_guarded && pace == Pace::Flowing)
}

/// Whether a key is one of a question.
fn is_answer(code: KeyCode) -> bool {
    let KeyCode::Char(letter) = code else { return false };
    ['y', 's', 'n', 'a', 'v'].contains(&letter.to_ascii_lowercase())
}

/// Whether Ctrl-D neither quits nor deletes.
fn is_too_early(state: &State) -> bool {
    let is_elsewhere = !state.questions.is_empty() || state.page.is_some() || state.offer.is_some();
    let is_at_end = state.composer.before_cursor().len() == state.composer.text().len();
    is_elsewhere || (is_at_end && !state.composer.is_empty())
}

/// Whether the user was just asked what becomes of background agents.
fn is_leaving(asked: Option<&Hint>, state: &State) -> bool {
    matches!(asked, Some(Hint::Quit(_)))
        && state.composer.is_empty()
        && state.session.agents.iter().any(|agent| agent.is_background)
}

/// Whether a key is for the question. Beside a full screen, only those are that answer it, or that write its words;
/// a message that is being written there has them all.
fn is_for(asked: &Asked, page: Option<&Page>, key: KeyEvent) -> bool {
    let is_held = key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match (page, &asked.stage) {
        (Some(Page::List(ListPage { message: Some(_), .. })), _) => false,
        (None, _) | (Some(_), Stage::Words(_) | Stage::Value { .. }) => true,
        (Some(_), Stage::Choosing) => !is_held && is_answer(key.code),
    }
}

/// What a key says to a question; none if it says nothing yet.
fn answered(asked: &mut Asked, key: KeyEvent, screen: Size) -> Option<ApprovalAnswer> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        // Ctrl-A goes to the beginning of a line everywhere else; it does not abort a run here.
        if let Stage::Words(words) | Stage::Value { typed: words, .. } = &mut asked.stage {
            edited(words, key.code);
        }
        return None;
    }
    match (&mut asked.stage, key.code) {
        (Stage::Words(_), KeyCode::Esc) => asked.stage = Stage::Choosing,
        (Stage::Words(words) | Stage::Value { typed: words, .. }, KeyCode::Enter) => {
            return Some(ApprovalAnswer::No { words: words.trim().to_owned() });
        }
        (Stage::Words(words) | Stage::Value { typed: words, .. }, KeyCode::Backspace) => {
            words.pop();
        }
        (Stage::Words(words) | Stage::Value { typed: words, .. }, KeyCode::Char(letter)) => {
            words.push(letter);
        }
        (Stage::Choosing, KeyCode::Char('y' | 'Y')) => return Some(ApprovalAnswer::Once),
        (Stage::Choosing, KeyCode::Char('s' | 'S')) => return Some(ApprovalAnswer::Session),
        (Stage::Choosing, KeyCode::Char('a' | 'A')) | (Stage::Value { .. }, KeyCode::Esc) => {
            return Some(ApprovalAnswer::Abort);
        }
        (Stage::Choosing, KeyCode::Char('n' | 'N')) => {
            asked.stage = Stage::Words(String::new());
        }
        (Stage::Choosing, KeyCode::Char('v' | 'V')) => asked.is_whole = !asked.is_whole,
        (Stage::Choosing, KeyCode::Up) => asked.scroll_by(-1, screen),
        (Stage::Choosing, KeyCode::Down) => asked.scroll_by(1, screen),
        (Stage::Choosing, KeyCode::PageUp) => asked.scroll_by(-PAGE, screen),
        (Stage::Choosing, KeyCode::PageDown) => asked.scroll_by(PAGE, screen),
        _ => {}
    }
    None
}

/// The keys of a shell in a field of one line.
pub(super) fn edited(words: &mut String, code: KeyCode) {
    match code {
        KeyCode::Char('u') => words.clear(),
        KeyCode::Char('w' | 'h') | KeyCode::Backspace => {
            let kept = words.trim_end().rsplit_once(' ').map_or(0, |(before, _)| before.len() + 1);
            words.truncate(kept);
        }
        _ => {}
    }
}

/// A yes or a no to an offer.
fn decided(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let route = match key.code {
        KeyCode::Char('y' | 'Y') => |agent: String| Route::Through(agent),
        KeyCode::Char('n' | 'N') | KeyCode::Enter => |_| Route::Main,
        KeyCode::Esc => {
            if let Some(offer) = state.offer.take() {
                state.composer.set(offer.text);
            }
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let Some(offer) = state.offer.take() else { return Vec::new() };
    state.starts(&offer.text);
    vec![Effect::Send(offer.text, route(offer.agent))]
}

fn written(state: &mut State, key: KeyEvent, is_control: bool) -> Vec<Effect> {
    let is_alt = key.modifiers.contains(KeyModifiers::ALT);
    let has_shift = key.modifiers.contains(KeyModifiers::SHIFT);
    match key.code {
        KeyCode::Enter if is_alt || has_shift || is_control => state.composer.insert("\n"),
        KeyCode::Enter => return entered(state),
        KeyCode::Esc if state.completion.take().is_some() => return Vec::new(),
        KeyCode::Esc => return leaving::escaped(state),
        KeyCode::Tab if state.composer.is_empty() => return blocks::entered(state),
        KeyCode::Tab => return tabbed(state),
        KeyCode::BackTab if state.completion.is_none() => return blocks::entered(state),
        KeyCode::BackTab => step(state, false),
        KeyCode::Up if state.completion.is_some() => return chosen(state, false),
        KeyCode::Down if state.completion.is_some() => return chosen(state, true),
        KeyCode::Up => state.composer.up(),
        KeyCode::Down => state.composer.down(),
        KeyCode::Left if is_control || is_alt => state.composer.go(Move::WordLeft),
        KeyCode::Right if is_control || is_alt => state.composer.go(Move::WordRight),
        KeyCode::Left => state.composer.go(Move::Left),
        KeyCode::Right => state.composer.go(Move::Right),
        KeyCode::Home => state.composer.go(Move::LineStart),
        KeyCode::End => state.composer.go(Move::LineEnd),
        KeyCode::Backspace if is_alt || is_control => state.composer.remove(Move::WordLeft),
        KeyCode::Backspace => state.composer.remove(Move::Left),
        KeyCode::Delete => state.composer.remove(Move::Right),
        KeyCode::Char(letter) if is_control => return control(state, letter),
        KeyCode::Char('b') if is_alt => state.composer.go(Move::WordLeft),
        KeyCode::Char('f') if is_alt => state.composer.go(Move::WordRight),
        KeyCode::Char('d') if is_alt => state.composer.remove(Move::WordRight),
        KeyCode::Char(letter) if !is_alt => state.composer.insert(letter.encode_utf8(&mut [0; 4])),
        _ => return Vec::new(),
    }
    complete(state)
}

fn control(state: &mut State, letter: char) -> Vec<Effect> {
    match letter {
        'j' => state.composer.insert("\n"),
        'a' => state.composer.go(Move::LineStart),
        'e' => state.composer.go(Move::LineEnd),
        'f' => state.composer.go(Move::Right),
        'k' => state.composer.remove(Move::LineEnd),
        'u' => state.composer.remove(Move::LineStart),
        'w' | 'h' => state.composer.remove(Move::WordLeft),
        'y' => state.composer.paste_cut(),
        'p' => state.composer.up(),
        'n' => state.composer.down(),
        'o' => return blocks::unfolded(state),
        'd' => state.composer.remove(Move::Right),
        'b' => return blocks::to_background(state),
        't' => return vec![Effect::Load(Load::Tasks)],
        _ => {}
    }
    complete(state)
}

fn step(state: &mut State, forward: bool) {
    if let Some(completion) = &mut state.completion {
        completion.step(forward);
    }
}

fn chosen(state: &mut State, forward: bool) -> Vec<Effect> {
    step(state, forward);
    Vec::new()
}

/// Writes out what is chosen.
fn tabbed(state: &mut State) -> Vec<Effect> {
    let Some(completion) = state.completion.take() else { return complete(state) };
    if let Some(candidate) = completion.found.get(completion.chosen) {
        state.composer.complete(completion.typed, &format!("{} ", candidate.text));
    }
    Vec::new()
}

fn entered(state: &mut State) -> Vec<Effect> {
    if let Some(completion) = &state.completion {
        let exact = |text: &str| completion.found.iter().any(|one| one.text == text);
        if !exact(state.composer.text().trim()) {
            return tabbed(state);
        }
    }
    state.completion = None;
    if let Some(text) = state.composer.text().strip_suffix('\\').map(str::to_owned) {
        // A backslash at the end goes on in the next line, as in a shell.
        state.composer.set(format!("{text}\n"));
        return Vec::new();
    }
    if state.composer.text().trim().is_empty() {
        return Vec::new();
    }
    if state.request != Request::None && !state.session.is_busy() {
        state.hint = Some(Hint::BeingSent);
        return Vec::new();
    }
    let text = state.composer.take().trim_end().to_owned();
    let mut effects = vec![Effect::Remember(text.clone())];
    effects.extend(sent(state, text));
    effects
}

fn sent(state: &mut State, text: String) -> Vec<Effect> {
    if text.starts_with('/') && !text.contains('\n') {
        return commands::carried_out(state, text.trim());
    }
    if state.session.phase != crate::tui::state::session::Phase::Idle {
        state.waiting.push(text.clone());
        return vec![Effect::Tell(text)];
    }
    state.starts(&text);
    vec![Effect::Send(text, Route::Offer)]
}

/// Tells in the conversation.
pub(super) fn told(state: &mut State, tone: Tone, text: impl Into<String>) -> Vec<Effect> {
    state.session.notice(tone, text);
    Vec::new()
}
