//! Definitions: which lines of source define something, and what.
//!
//! A line is judged by itself, in any of the common languages; prose and calls define nothing.

#[cfg(test)]
mod tests;

use crate::words::has_word;

/// Words that may stand before the one that tells what is defined.
const MODIFIERS: &str = "pub export default public private protected static final abstract async unsafe \
    extern inline virtual override suspend data sealed open internal partial declare constexpr local \
    synchronized native \"C\" readonly case inner companion";
/// Words that tell what is defined.
const KEYWORDS: &str = "fn struct enum trait mod type union class def defp defmodule func function fun \
    interface record object module namespace protocol macro_rules! #define typedef const let var val \
    static";
/// Words that begin a statement, not a definition.
const STATEMENTS: &str = "if for while switch return else catch match new throw await do in assert yield \
    raise elif except with use import from print not and or delete goto using package include where";

/// What a line defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Definition<'a> {
    /// What it is: `fn`, `struct`, `class`.
    pub(crate) keyword: &'a str,
    /// Its name.
    pub(crate) name: &'a str,
    /// Whether others can see it, as far as the line tells.
    pub(crate) is_public: bool,
}

/// What a line defines, if it defines something.
pub(crate) fn definition_in(line: &str) -> Option<Definition<'_>> {
    let trimmed = line.trim_start();
    let is_indented = trimmed.len() < line.len();
    let (rest, modifier) = without_modifiers(trimmed);
    let is_public = modifier.is_some_and(|first| matches!(first, "pub" | "export" | "public"));
    let (keyword, after) = first_word(rest);
    if !has_word(KEYWORDS, keyword) {
        let name = function_by_shape(rest, is_indented && modifier.is_none())?;
        return Some(Definition { keyword: "function", name, is_public });
    }
    let (next, further) = first_word(after);
    if keyword == "const" && next == "fn" {
        return Some(Definition { keyword: "fn", name: first_name(further)?, is_public });
    }
    // What is bound inside a function is not a definition.
    let is_value = matches!(keyword, "const" | "let" | "var" | "val" | "static");
    if is_value && is_indented && modifier.is_none() {
        return None;
    }
    let name = match keyword {
        "typedef" => last_name(after)?,
        "func" => first_name(after_receiver(after))?,
        "def" => first_name(after.strip_prefix("self.").unwrap_or(after))?,
        _ if is_value && next == "mut" => first_name(further)?,
        _ => first_name(after)?,
    };
    let is_visible = !is_indented && matches!(keyword, "class" | "def" | "func");
    Some(Definition { keyword, name, is_public: is_public || is_visible })
}

/// The line without its modifiers, and the first of them.
fn without_modifiers(line: &str) -> (&str, Option<&str>) {
    let mut rest = line;
    let mut first = None;
    loop {
        let (word, after) = first_word(rest);
        let plain = word.split('(').next().unwrap_or(word);
        // `static` is a modifier in one language and a keyword in another.
        let is_keyword = plain == "static" && first_word(after).0.ends_with(':');
        if word.is_empty() || is_keyword || !has_word(MODIFIERS, plain) {
            return (rest, first);
        }
        first = first.or(Some(plain));
        rest = after;
    }
}

/// A function without a keyword, as in C or Java: `type name(… {`.
fn function_by_shape(rest: &str, is_inside: bool) -> Option<&str> {
    if is_inside || rest.trim_end().ends_with([';', ',']) {
        return None;
    }
    let (before, _) = rest.split_once('(')?;
    let strange = |letter: char| !letter.is_alphanumeric() && !"_<>[],*&:? ~".contains(letter);
    let is_statement = has_word(STATEMENTS, first_word(before).0);
    if is_statement || before.contains(strange) || !before.trim().contains(' ') {
        return None;
    }
    let name = last_name(before)?;
    (!has_word(STATEMENTS, name) && before.ends_with(name)).then_some(name)
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Go's `(r *Type) Name` without the receiver.
fn after_receiver(text: &str) -> &str {
    let after = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    after.map_or(text, |(_, rest)| rest.trim_start())
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn first_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['*', '&', ' ', '<']);
    text.split(|letter| !is_name(letter)).next().filter(|name| is_good(name))
}

fn last_name(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(|letter| !is_name(letter));
    text.rsplit(|letter| !is_name(letter)).next().filter(|name| is_good(name))
}

fn is_good(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|letter: char| letter.is_numeric())
}
