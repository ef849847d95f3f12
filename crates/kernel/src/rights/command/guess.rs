//! Guessed commands: what a line that is not understood may run, for rules that deny.
//!
//! The line is cut at every separator and every word may begin a command, so a rule that denies `rm *` finds
//! `rm x` in a test, a function, a `case`, a here-document or a text for another shell. A guess sees more than
//! runs, and it never sees less than the words that stand in the line: what a variable or a file adds is not
//! guessed.

use super::{Appended, Launch, SimpleCommand};

/// What ends a command, wherever it stands.
const SEPARATORS: &[char] = &['\n', ';', '&', '|', '(', ')', '{', '}', '<', '>', '`', '\0'];

/// What the shell takes out of a word.
const QUOTES: &[char] = &['\'', '"', '\\'];

/// The commands that a line may run: once with quotes taken out of words, as in `r''m`, and once with quotes
/// as separators, as in `sh -c "rm x"`.
pub(super) fn guesses(line: &str) -> Vec<Launch> {
    let joined: String = line.chars().filter(|letter| !QUOTES.contains(letter)).collect();
    let mut found = commands(&joined);
    if joined.len() < line.len() {
        let split: String = line
            .chars()
            .map(|letter| if QUOTES.contains(&letter) { ';' } else { letter })
            .collect();
        found.extend(commands(&split));
    }
    found
}

fn commands(text: &str) -> Vec<Launch> {
    let parts = text.split(SEPARATORS).map(|part| SimpleCommand::of_words(part.split_whitespace()));
    let parts = parts.filter(|command| !command.words.is_empty());
    parts.map(|command| Launch { command, inner_from: 1, appended: Appended::Nothing }).collect()
}
