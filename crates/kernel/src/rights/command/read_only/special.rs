//! Programs whose harmless arguments are not told by a list of options.
//!
//! Each function gives the first argument that it objects to.

use super::{
    is_plain_variable,
    options::{Shape, beyond, is_among, offending, shape},
};
use crate::rights::command::{Piece, Word};

/// `cd` changes nothing but where the rest of the line runs.
pub(super) fn cd(_: &[Word]) -> Option<&Word> {
    None
}

/// A number alone; anything else may be evaluated.
pub(super) fn count(arguments: &[Word]) -> Option<&Word> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    arguments.iter().find(|word| !word.literal().is_some_and(is_number))
}

/// Processes and jobs by number. `-p` stores in a variable, whose name may be evaluated and run a command.
pub(super) fn wait(arguments: &[Word]) -> Option<&Word> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let is_known = |text: &str| {
        matches!(text, "-n" | "-f" | "-nf" | "-fn")
            || is_number(text.strip_prefix('%').unwrap_or(text))
    };
    // The number of the last process, which only the shell sets.
    let is_last = |word: &Word| matches!(word.pieces(), [Piece::Expansion(it)] if it == "$!");
    arguments.iter().find(|word| !is_last(word) && !word.literal().is_some_and(is_known))
}

/// Options without operands.
pub(super) fn no_operand(arguments: &[Word]) -> Option<&Word> {
    beyond(
        arguments,
        &["-f", "-s", "-i", "-I", "-d", "-A", "--fqdn", "--short", "--domain", "--long"],
    )
}

/// Numbers may be evaluated, and an evaluated text may run a command; `-v` stores in a variable.
pub(super) fn printf(arguments: &[Word]) -> Option<&Word> {
    let (format, values) = arguments.split_first()?;
    let Some(text) = format.literal().filter(|text| !text.starts_with('-')) else {
        return Some(format);
    };
    let mut conversions = text.split('%').skip(1);
    let is_text = |part: &str| {
        let kind = part.trim_start_matches(|letter: char| {
            letter.is_ascii_digit() || matches!(letter, '-' | '.' | ' ' | '#' | '+')
        });
        // `%%` leaves an empty part behind.
        kind.is_empty() || kind.starts_with(['s', 'b', 'q'])
    };
    if conversions.all(is_text) { None } else { values.iter().find(|word| may_be_evaluated(word)) }
}

/// As in [`printf`]; `-v` looks at a variable by a name that is evaluated. Which words are operators depends
/// on how many there are, so every word must stay one, and where some are replaced, operators are not.
pub(super) fn test(arguments: &[Word]) -> Option<&Word> {
    const FILES_AND_TEXTS: &str = "abcdefghknoprsuwxzGLNOS";
    const COMPARISONS: &[&str] = &["=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"];
    if let Some(word) = arguments.iter().find(|word| !word.stays_one()) {
        return Some(word);
    }
    if arguments.iter().all(Word::is_literal) {
        return literal_test(arguments);
    }
    let mut words = match arguments {
        [words @ .., last] if last.literal() == Some("]") => words,
        words => words,
    };
    while let [negation, rest @ ..] = words
        && negation.literal() == Some("!")
    {
        words = rest;
    }
    match words {
        [] | [_] => None,
        [operator, _] => {
            let letter = operator.literal().and_then(|text| text.strip_prefix('-'));
            let is_known = |letter: &str| letter.len() == 1 && FILES_AND_TEXTS.contains(letter);
            if letter.is_some_and(is_known) { None } else { Some(operator) }
        }
        [left, operator, right] => {
            // `=` at the beginning of a word means something in some shells.
            let is_written = operator.pieces().iter().all(|piece| match piece {
                Piece::Literal(_) => true,
                Piece::Expansion(text) => text == "=",
            });
            let written = operator.to_string();
            if is_written && COMPARISONS.contains(&written.as_str()) {
                None
            } else if NUMERIC.contains(&written.as_str()) {
                [left, right].into_iter().find(|word| may_be_evaluated(word))
            } else {
                Some(operator)
            }
        }
        [.., last] => Some(last),
    }
}

/// Operators whose operands are numbers, which are evaluated.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"];

fn literal_test(arguments: &[Word]) -> Option<&Word> {
    if let Some(word) = arguments.iter().find(|word| matches!(word.literal(), Some("-v" | "-R"))) {
        return Some(word);
    }
    let words = || arguments.iter();
    let is_numeric = |word: &Word| word.literal().is_some_and(|text| NUMERIC.contains(&text));
    if words().any(is_numeric) { words().find(|word| may_be_evaluated(word)) } else { None }
}

fn may_be_evaluated(word: &Word) -> bool {
    match word.literal() {
        Some(text) => text.contains('[') && text.len() > 1,
        None => !word.pieces().iter().all(|piece| match piece {
            Piece::Literal(_) => true,
            Piece::Expansion(text) => matches!(text.as_str(), "$#" | "$?" | "$$" | "$!"),
        }),
    }
}

/// Only variables that mean nothing to other programs are set.
pub(super) fn read(arguments: &[Word]) -> Option<&Word> {
    arguments.iter().find(|word| match word.literal() {
        Some(text) => text != "-r" && !is_plain_variable(text),
        None => true,
    })
}

/// Options of the shell that make it stricter or say more.
pub(super) fn set(arguments: &[Word]) -> Option<&Word> {
    arguments.iter().find(|word| match word.literal() {
        Some("pipefail") => false,
        Some(text) => {
            let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
            letters.is_empty() || !letters.chars().all(|letter| "euxo".contains(letter))
        }
        None => true,
    })
}

/// Only a format may be given; other operands set the clock.
pub(super) fn date(arguments: &[Word]) -> Option<&Word> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.literal() {
            Some("-d" | "--date" | "-r" | "--reference") => {
                words.next();
            }
            Some(text) if text.starts_with('+') => {}
            Some(text)
                if is_among(
                    text,
                    &[
                        "-u",
                        "-R",
                        "-I",
                        "--utc",
                        "--universal",
                        "--rfc-email",
                        "--rfc-3339",
                        "--iso-8601",
                        "--date",
                        "--reference",
                    ],
                ) => {}
            Some(text) if text.starts_with("-I") => {}
            Some(_) => return Some(word),
            None => match shape(word) {
                Shape::Begins(text) if text.starts_with('+') => {}
                _ => return Some(word),
            },
        }
    }
    None
}

/// A second operand is a file that is written.
pub(super) fn uniq(arguments: &[Word]) -> Option<&Word> {
    let is_operand = |word: &&Word| match shape(word) {
        Shape::Exact(text) => !text.starts_with('-') || text == "-",
        Shape::Begins(_) | Shape::Unknown => true,
    };
    // A wildcard alone may be two files.
    let unclear = arguments.iter().find(|word| !word.is_literal());
    unclear.or_else(|| arguments.iter().filter(is_operand).nth(1))
}

/// A program that can neither write, run a command, nor load anything.
pub(super) fn awk(arguments: &[Word]) -> Option<&Word> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return Some(word) };
        match text {
            "-F" | "-v" => match words.next() {
                Some(value) if value.is_literal() => {}
                Some(value) => return Some(value),
                None => return Some(word),
            },
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => return Some(word),
            program => {
                let program = program.replace("||", " ");
                // Files that do not stand in the line are read through `ARGV`.
                let acts = ["system", "getline", "close", "fflush", "ARGV"];
                let writes = program.contains(['|', '>', '@'])
                    || acts.iter().any(|name| program.contains(name));
                // What follows are files; an option among them is read as one.
                return if writes {
                    Some(word)
                } else {
                    offending(words.as_slice(), &["-e", "-f", "-i", "-l", "-E"])
                };
            }
        }
    }
    None
}

/// Only the list of an archive is shown.
pub(super) fn tar(arguments: &[Word]) -> Option<&Word> {
    let (first, rest) = arguments.split_first()?;
    let letters = first.literal().unwrap_or_default();
    let letters = letters.strip_prefix('-').unwrap_or(letters);
    if !letters.contains('t') || !letters.chars().all(|letter| "tvzjJf".contains(letter)) {
        return Some(first);
    }
    rest.iter().find(|word| match shape(word) {
        // A colon names another machine.
        Shape::Exact(text) | Shape::Begins(text) => text.starts_with('-') || text.contains(':'),
        Shape::Unknown => true,
    })
}

/// Only the list of an archive is shown.
pub(super) fn unzip(arguments: &[Word]) -> Option<&Word> {
    let (first, rest) = arguments.split_first()?;
    if !matches!(first.literal(), Some("-l" | "-v" | "-Z" | "-Z1")) {
        return Some(first);
    }
    rest.iter().find(|word| match shape(word) {
        Shape::Exact(text) | Shape::Begins(text) => text.starts_with('-'),
        Shape::Unknown => true,
    })
}
