//! Scripts of `sed` that only print.
//!
//! A script is harmless if it is fully understood and has none of the commands that write a file or run
//! a program (`w`, `W`, `e`, and the flags of `s` with these names).

use std::str::Chars;

use super::options::{Shape, is_among, shape};
use crate::rights::command::Word;

/// The first argument that may change something.
pub(super) fn judge(arguments: &[Word]) -> Option<&Word> {
    const SWITCHES: &[&str] = &[
        "-n",
        "-E",
        "-r",
        "-s",
        "-u",
        "-z",
        "--quiet",
        "--silent",
        "--regexp-extended",
        "--separate",
        "--unbuffered",
        "--null-data",
        "--posix",
        "--debug",
        "--sandbox",
    ];
    let mut words = arguments.iter();
    let mut operands = Vec::new();
    let mut has_script = false;
    while let Some(word) = words.next() {
        let text = match shape(word) {
            Shape::Exact(text) => text,
            Shape::Begins(text) if !text.starts_with('-') => {
                operands.push(word);
                continue;
            }
            Shape::Begins(_) | Shape::Unknown => return Some(word),
        };
        if text == "-e" || text == "--expression" {
            has_script = true;
            match words.next() {
                Some(script) if script.literal().is_some_and(only_prints) => {}
                Some(script) => return Some(script),
                None => return Some(word),
            }
        } else if let Some(script) = text.strip_prefix("--expression=") {
            has_script = true;
            if !only_prints(script) {
                return Some(word);
            }
        } else if !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else if !is_among(text, SWITCHES) {
            return Some(word);
        }
    }
    if has_script {
        return None;
    }
    let script = operands.first()?;
    (!script.literal().is_some_and(only_prints)).then_some(*script)
}

/// Whether a script is understood and only prints.
fn only_prints(script: &str) -> bool {
    let mut rest = script.chars();
    loop {
        skip(&mut rest, |letter| letter.is_whitespace() || letter == ';' || letter == '}');
        if rest.as_str().is_empty() {
            return true;
        }
        if address(&mut rest).is_none() {
            return false;
        }
        skip(&mut rest, |letter| letter == ' ' || letter == '!');
        let is_harmless = match rest.next() {
            Some('p' | 'd' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | '{') => {
                true
            }
            Some('q' | 'Q' | 'l') => {
                skip(&mut rest, |letter| letter == ' ' || letter.is_ascii_digit());
                true
            }
            Some('s') => substitution(&mut rest).is_some(),
            Some('y') => delimited(&mut rest, 2).is_some(),
            Some(_) | None => false,
        };
        if !is_harmless {
            return false;
        }
    }
}

fn skip(rest: &mut Chars<'_>, is_skipped: impl Fn(char) -> bool) {
    while rest.clone().next().is_some_and(&is_skipped) {
        rest.next();
    }
}

/// One address or two, or none.
fn address(rest: &mut Chars<'_>) -> Option<()> {
    loop {
        match rest.clone().next()? {
            '0'..='9' | '$' | '~' | '+' | ',' | ' ' => {
                rest.next();
            }
            '/' => {
                delimited(rest, 1)?;
                skip(rest, |letter| letter == 'I' || letter == 'M');
            }
            _ => return Some(()),
        }
    }
}

fn substitution(rest: &mut Chars<'_>) -> Option<()> {
    delimited(rest, 2)?;
    skip(rest, |letter| matches!(letter, 'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9'));
    match rest.clone().next() {
        None | Some(';' | '\n' | ' ' | '}') => Some(()),
        Some(_) => None,
    }
}

/// Reads a delimiter and that many texts, each ended by it. Newlines are not read: they mean different
/// things in different places.
fn delimited(rest: &mut Chars<'_>, texts: usize) -> Option<()> {
    let delimiter = rest.next().filter(|letter| !letter.is_alphanumeric() && *letter != '\\')?;
    if delimiter.is_whitespace() {
        return None;
    }
    for _ in 0..texts {
        loop {
            match rest.next()? {
                '\n' => return None,
                '\\' => {
                    rest.next().filter(|letter| *letter != '\n')?;
                }
                // A delimiter in a bracket expression does not end the text everywhere.
                '[' if delimiter != '[' => {
                    bracket(rest, delimiter)?;
                }
                letter if letter == delimiter => break,
                _ => {}
            }
        }
    }
    Some(())
}

/// Reads a bracket expression that does not hold the delimiter.
fn bracket(rest: &mut Chars<'_>, delimiter: char) -> Option<()> {
    let ahead = rest.as_str();
    let Some(end) = ahead.char_indices().skip(2).find(|(_, letter)| *letter == ']') else {
        // In a replacement it is an ordinary letter.
        return Some(());
    };
    ahead.get(..end.0).filter(|inner| !inner.contains(delimiter)).map(|_| ())
}
