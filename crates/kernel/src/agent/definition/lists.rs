//! Lists written as one text: `Read, Bash(git log, git diff), Grep`.

/// Splits at commas that stand outside brackets and quotes; the parts are trimmed, empty ones kept.
pub(crate) fn split_commas(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut quote: Option<char> = None;
    let mut start = 0;
    for (index, letter) in text.char_indices() {
        match letter {
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\''
                if quote.is_none()
                    && text.get(start..index).is_some_and(|part| part.trim().is_empty()) =>
            {
                quote = Some(letter);
            }
            '(' | '[' | '{' if quote.is_none() => depth += 1,
            ')' | ']' | '}' if quote.is_none() => depth = depth.saturating_sub(1),
            ',' if quote.is_none() && depth == 0 => {
                parts.push(text.get(start..index).unwrap_or_default().trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default().trim());
    if parts.last().is_some_and(|last| last.is_empty()) {
        // A comma at the end separates nothing.
        parts.pop();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::split_commas;

    #[test]
    fn commas_in_brackets_do_not_split() {
        assert_eq!(split_commas("Read, Bash(a, b) ,x"), ["Read", "Bash(a, b)", "x"]);
        assert_eq!(split_commas("Read,, Grep,"), ["Read", "", "Grep"]);
        assert_eq!(split_commas(""), Vec::<&str>::new());
        assert_eq!(split_commas("a), b"), ["a)", "b"]);
        assert_eq!(split_commas("'a, b', c"), ["'a, b'", "c"]);
    }
}
