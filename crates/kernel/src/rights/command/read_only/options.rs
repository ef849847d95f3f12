//! Options of programs, as words that may still be replaced by the shell.
//!
//! A word that may become an option counts as a dangerous one.

use crate::rights::command::{Piece, Word};

/// What a word will be for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape<'w> {
    /// This text.
    Exact(&'w str),
    /// One or more words that begin with this text.
    Begins(&'w str),
    /// Any number of any words.
    Unknown,
}

/// What a word will be for certain.
pub(super) fn shape(word: &Word) -> Shape<'_> {
    if let Some(text) = word.literal() {
        return Shape::Exact(text);
    }
    // A wildcard keeps the text before it in each word; a variable may be split anywhere.
    let is_wildcard = |piece: &Piece| match piece {
        Piece::Literal(_) => true,
        Piece::Expansion(text) => !text.contains(['$', '`', '(', '~', '=', '\\']),
    };
    match word.pieces() {
        [Piece::Literal(text), rest @ ..] if rest.iter().all(is_wildcard) => Shape::Begins(text),
        [Piece::Expansion(home), rest @ ..]
            if home.starts_with('~') && rest.iter().all(is_wildcard) =>
        {
            Shape::Begins("~")
        }
        _ => Shape::Unknown,
    }
}

/// The first argument that is one of these options, or may be one. A short option is also found among
/// others, a long one also where it is cut short.
pub(super) fn offending<'w>(arguments: &'w [Word], options: &[&str]) -> Option<&'w Word> {
    let mut before: Option<&Word> = None;
    for word in arguments {
        if word.literal() == Some("--") && !before.is_some_and(may_take_a_value) {
            return None;
        }
        let is_offending = match shape(word) {
            Shape::Exact(text) => options.iter().any(|option| is_option(text, option)),
            Shape::Begins(text) => text.starts_with('-'),
            Shape::Unknown => true,
        };
        if is_offending {
            return Some(word);
        }
        before = Some(word);
    }
    None
}

/// Options that take no value in any program that is listed: `--` behind one ends the options.
const WITHOUT_VALUE: &[&str] = &[
    "-p",
    "-w",
    "-la",
    "-lh",
    "-rn",
    "-in",
    "--cached",
    "--name-only",
    "--name-status",
    "--numstat",
    "--oneline",
    "--patch",
    "--porcelain",
    "--short",
    "--shortstat",
    "--staged",
    "--stat",
];

/// Whether the next word may be the value of this one, `--` as well: in `sort -T -- -o f`, `-o` is an
/// option.
fn may_take_a_value(word: &Word) -> bool {
    word.literal().is_none_or(|text| {
        text.len() > 1
            && text.starts_with('-')
            && !(text.starts_with("--") && text.contains('='))
            && !WITHOUT_VALUE.contains(&text)
    })
}

/// The first argument that is not one of these options, or is an operand.
pub(super) fn beyond<'w>(arguments: &'w [Word], options: &[&str]) -> Option<&'w Word> {
    arguments.iter().find(|word| !word.literal().is_some_and(|text| is_among(text, options)))
}

/// Whether a word is one of these options, with a value after `=` or without; short ones may stand
/// together.
pub(super) fn is_among(text: &str, options: &[&str]) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if options.contains(&text) || (name.starts_with("--") && options.contains(&name)) {
        return true;
    }
    let Some(letters) = text.strip_prefix('-') else { return false };
    let is_known = |letter: char| {
        let mut short = [0; 5];
        short[0] = b'-';
        let end = 1 + letter.encode_utf8(&mut short[1..]).len();
        let short = short.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        short.is_some_and(|short| options.contains(&short))
    };
    !letters.is_empty() && !letters.starts_with('-') && letters.chars().all(is_known)
}

/// Whether a word is that option.
fn is_option(text: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(given) = text.strip_prefix("--") else { return false };
        let given = given.split('=').next().unwrap_or(given);
        return !given.is_empty() && long.starts_with(given);
    }
    let Some(name) = option.strip_prefix('-') else { return text == option };
    let Some(given) = text.strip_prefix('-').filter(|given| !given.starts_with('-')) else {
        return false;
    };
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) => given.contains(letter),
        _ => given == name,
    }
}

/// Whether an option of `grep` makes it search below directories.
pub(super) fn is_recursive(text: &str) -> bool {
    ["-r", "-R", "-d", "--recursive", "--dereference-recursive", "--directories"]
        .iter()
        .any(|option| is_option(text, option))
}
