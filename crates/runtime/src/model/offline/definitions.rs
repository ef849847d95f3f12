//! Definitions: which lines of source define something, and what.
//!
//! A line is judged by itself, in any of the common languages; prose and calls are none.

#[cfg(test)]
mod tests;

/// Words that may stand before the one that tells what is defined.
const MODIFIERS: &[&str] = &[
    "pub",
    "export",
    "default",
    "public",
    "private",
    "protected",
    "static",
    "final",
    "abstract",
    "async",
    "unsafe",
    "extern",
    "inline",
    "virtual",
    "override",
    "suspend",
    "data",
    "sealed",
    "open",
    "internal",
    "partial",
    "declare",
    "constexpr",
    "local",
    "synchronized",
    "native",
    "\"C\"",
    "readonly",
    "case",
    "inner",
    "companion",
];

/// Words that tell what is defined.
const KEYWORDS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "trait",
    "mod",
    "type",
    "union",
    "class",
    "def",
    "defp",
    "defmodule",
    "func",
    "function",
    "fun",
    "interface",
    "record",
    "object",
    "module",
    "namespace",
    "protocol",
    "macro_rules!",
    "#define",
    "typedef",
    "const",
    "let",
    "var",
    "val",
    "static",
];

/// Words that begin a statement, not a definition.
const STATEMENTS: &[&str] = &[
    "if", "for", "while", "switch", "return", "else", "catch", "match", "new", "throw", "await",
    "do", "in", "assert", "yield", "raise", "elif", "except", "with", "use", "import", "from",
    "print", "not", "and", "or", "delete", "goto", "using", "package", "include", "where",
];

/// What a line defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Definition<'a> {
    /// What it is: `fn`, `struct`, `class`.
    pub(super) keyword: &'a str,
    /// Its name.
    pub(super) name: &'a str,
    /// Whether others can see it, as far as the line tells.
    pub(super) is_public: bool,
}

/// What a line defines, if it defines something.
pub(super) fn definition_in(line: &str) -> Option<Definition<'_>> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let (rest, modifiers) = without_modifiers(trimmed);
    let is_public = modifiers.is_some_and(|first| matches!(first, "pub" | "export" | "public"));
    let (word, after) = first_word(rest);
    if KEYWORDS.contains(&word) {
        if word == "const" && first_word(after).0 == "fn" {
            let name = first_name(first_word(after).1)?;
            return Some(Definition { keyword: "fn", name, is_public });
        }
        let value = matches!(word, "const" | "let" | "var" | "val" | "static");
        // What is bound inside a function is nobody's definition.
        if value && indent > 0 && modifiers.is_none() {
            return None;
        }
        let is_public = is_public || (indent == 0 && matches!(word, "class" | "def" | "func"));
        let name = match word {
            "typedef" => last_name(after)?,
            "func" => first_name(after_receiver(after))?,
            "def" => first_name(after.strip_prefix("self.").unwrap_or(after))?,
            "const" | "let" | "static" => {
                let (next, further) = first_word(after);
                if next == "mut" { first_name(further)? } else { first_name(after)? }
            }
            _ => first_name(after)?,
        };
        return Some(Definition { keyword: word, name, is_public });
    }
    function_by_shape(rest, indent, modifiers.is_some()).map(|name| Definition {
        keyword: "function",
        name,
        is_public,
    })
}

/// The line without its modifiers, and the first of them.
fn without_modifiers(line: &str) -> (&str, Option<&str>) {
    let mut rest = line;
    let mut first = None;
    loop {
        let (word, after) = first_word(rest);
        let plain = word.split('(').next().unwrap_or(word);
        if word.is_empty() || !MODIFIERS.contains(&plain) {
            return (rest, first);
        }
        // `static` is a modifier in one language and a keyword in another.
        let next = first_word(after).0;
        if plain == "static" && next.ends_with(':') {
            return (rest, first);
        }
        first = first.or(Some(plain));
        rest = after;
    }
}

/// A function without a keyword, as in C or Java: `type name(… {`.
fn function_by_shape(rest: &str, indent: usize, has_modifiers: bool) -> Option<&str> {
    if (indent > 0 && !has_modifiers) || rest.trim_end().ends_with([';', ',']) {
        return None;
    }
    let (before, _) = rest.split_once('(')?;
    let begins = first_word(before).0;
    let strange = |letter: char| !letter.is_alphanumeric() && !"_<>[],*&:? ~".contains(letter);
    if STATEMENTS.contains(&begins) || before.contains(strange) || !before.trim().contains(' ') {
        return None;
    }
    let name = last_name(before)?;
    (!STATEMENTS.contains(&name) && before.ends_with(name)).then_some(name)
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (word, rest.trim_start())
}

/// Go's `(r *Type) Name` without the receiver.
fn after_receiver(text: &str) -> &str {
    match text.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

fn first_name(text: &str) -> Option<&str> {
    let text = text.trim_start_matches(['*', '&', ' ', '<']);
    let end = text.find(|letter| !is_name(letter)).unwrap_or(text.len());
    text.get(..end).filter(|name| is_good(name))
}

fn last_name(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(|letter| !is_name(letter));
    let start = text.rfind(|letter| !is_name(letter)).map_or(0, |before| {
        before + text.get(before..).and_then(|end| end.chars().next()).map_or(1, char::len_utf8)
    });
    text.get(start..).filter(|name| is_good(name))
}

fn is_good(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|letter: char| letter.is_numeric())
}
