//! Text of a server, without what could mislead a terminal or a reader.
//!
//! Escape sequences, control characters, and characters that hide or reorder text are removed; line
//! ends and tabs stay.

/// A text that can be shown and read as it stands.
pub(crate) fn clean(text: &str) -> String {
    let mut letters = text.chars().peekable();
    let mut clean = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            '\u{1b}' => skip_sequence(&mut letters),
            // One that begins with a single byte.
            '\u{9b}' => skip_parameters(&mut letters),
            letter if letter.is_control() || is_hidden(letter) => {}
            letter => clean.push(letter),
        }
    }
    clean
}

/// A text in one line with at most that many bytes.
pub(crate) fn clean_line(text: &str, most: usize) -> String {
    let clean = clean(text);
    let mut line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > most {
        line.truncate(line.floor_char_boundary(most));
        line.push('…');
    }
    line
}

type Letters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Skips what follows an escape character.
fn skip_sequence(letters: &mut Letters<'_>) {
    match letters.peek() {
        Some('[') => {
            letters.next();
            skip_parameters(letters);
        }
        // A string that ends with a bell or with an escape and a backslash.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(letter) = letters.next() {
                match letter {
                    // One that never ends takes a line at most.
                    '\u{7}' | '\u{9c}' | '\n' => return,
                    '\u{1b}' => {
                        letters.next_if_eq(&'\\');
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some(letter) if ('\u{20}'..='\u{7e}').contains(letter) => {
            letters.next();
        }
        _ => {}
    }
}

fn skip_parameters(letters: &mut Letters<'_>) {
    while let Some(letter) = letters.next_if(|letter| ('\u{20}'..='\u{7e}').contains(letter)) {
        if ('@'..='~').contains(&letter) {
            return;
        }
    }
}

/// Characters that are not seen, or that change the order of others: zero width, bidirectional
/// overrides, tags, variation selectors of the supplement.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let table = [
            ("plain\r\ntext\tä €", "plain\ntext\tä €"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("\u{1b}]never ends\nb", "b"),
            ("a\u{9b}2Jb\u{7}\u{8}\u{0}", "ab"),
            ("a\u{202e}b\u{200b}c\u{e0041}", "abc"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("\u{1b}cx", "x"),
        ];
        for (written, expected) in table {
            assert_eq!(clean(written), expected, "{written:?}");
        }
    }

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(clean_line(" a\n\n b\t", 10), "a b");
        assert_eq!(clean_line("äääää", 5), "ää…");
    }
}
