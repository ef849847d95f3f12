//! A call in a few words: the tool and what matters of its arguments.

use serde_json::Value;

use crate::print::table::clip;

/// How much of an argument is shown.
const WIDTH: usize = 60;
/// How much of an expression is looked at.
const LONGEST: usize = 1000;

/// `grep_files "retry, backoff"`.
pub(crate) fn described(tool: &str, arguments: Option<&Value>) -> String {
    if let Some(words) = arguments.and_then(|arguments| search(tool, arguments)) {
        return format!("{tool} \"{words}\"");
    }
    let main = arguments.and_then(|arguments| {
        ["pattern", "path", "command", "url", "query", "prompt", "task"]
            .iter()
            .find_map(|key| arguments.get(*key).and_then(Value::as_str))
    });
    match main {
        Some(main) => format!("{tool} \"{}\"", clip(main, WIDTH)),
        None => tool.to_owned(),
    }
}

/// What a call searches for in the text of files, in words; none of another call.
pub(crate) fn search(tool: &str, arguments: &Value) -> Option<String> {
    let pattern = arguments.get("pattern").and_then(Value::as_str)?;
    let start: String = pattern.chars().take(LONGEST).collect();
    (tool == "grep_files").then(|| clip(&searched_for(&start), WIDTH))
}

/// The words a regular expression looks for; the expression itself if it has none.
fn searched_for(pattern: &str) -> String {
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    let mut word = String::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped) if !escaped.is_ascii_alphanumeric() => word.push(escaped),
                _ => end_word(&mut word, &mut groups),
            },
            '[' => {
                end_word(&mut word, &mut groups);
                skip_class(&mut letters);
            }
            '(' => {
                end_word(&mut word, &mut groups);
                groups.push(Vec::new());
                if letters.next_if_eq(&'?').is_some() {
                    // Flags and names of groups, up to the group's own pattern.
                    while letters.peek().is_some_and(|letter| !matches!(letter, ':' | '>' | ')')) {
                        letters.next();
                    }
                    letters.next_if(|letter| matches!(letter, ':' | '>'));
                }
            }
            ')' => {
                end_word(&mut word, &mut groups);
                let optional = letters.peek().is_some_and(|letter| matches!(letter, '?' | '*'));
                let inner =
                    if groups.len() > 1 { groups.pop().unwrap_or_default() } else { Vec::new() };
                if let Some(outer) = groups.last_mut().filter(|_| !optional) {
                    outer.extend(inner);
                }
            }
            '{' => {
                end_word(&mut word, &mut groups);
                while letters.next().is_some_and(|letter| letter != '}') {}
            }
            '|' | '.' | '^' | '$' => end_word(&mut word, &mut groups),
            '?' | '*' | '+' => {}
            other => word.push(other),
        }
    }
    end_word(&mut word, &mut groups);
    let mut words: Vec<String> = Vec::new();
    for found in groups.into_iter().flatten() {
        let known = |word: &String| word.to_lowercase() == found.to_lowercase();
        if !words.iter().any(known) {
            words.push(found);
        }
    }
    if words.is_empty() { pattern.to_owned() } else { words.join(", ") }
}

fn end_word(word: &mut String, groups: &mut [Vec<String>]) {
    let ended = std::mem::take(word);
    // What is left of an expression between two marks is rarely a word.
    let counts = ended.trim_matches('_').chars().count() > 1;
    if let Some(group) = groups.last_mut().filter(|_| counts) {
        group.push(ended);
    }
}

/// `[A-Z\]]`, which has begun.
fn skip_class(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    letters.next_if_eq(&'^');
    letters.next_if_eq(&']');
    while let Some(letter) = letters.next() {
        match letter {
            ']' => return,
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_instead_of_an_expression() {
        for (pattern, shown) in [
            ("ToolFilter", "ToolFilter"),
            (r"(?:(?:\b|_)retry(?:es|s|ing)?(?:\b|_|[A-Z0-9])|Retry(?:es|s)?)", "retry"),
            (r"(?i:\b(?:tool|filter)\w*)", "tool, filter"),
            (r"fn main\(", "fn main("),
            (r"struct\s+Tool[a-z]{0,3}\b", "struct, Tool"),
            (r"[A-Z]+", "[A-Z]+"),
            (r"(", "("),
            (r"a.*b", "a.*b"),
        ] {
            assert_eq!(searched_for(pattern), shown, "{pattern}");
        }
    }
}
