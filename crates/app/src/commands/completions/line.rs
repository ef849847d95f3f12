//! A command line that is being typed in bash, up to the cursor: its words without their quotes, and what of
//! the last one bash replaces.

/// A line that is being typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The words, the one at the cursor last.
    pub(super) words: Vec<String>,
    /// How many characters of the last word stand before what bash replaces: it breaks words at colons and
    /// the like.
    pub(super) kept: usize,
    /// The quote that is open at the cursor.
    pub(super) quote: Option<char>,
}

impl Line {
    /// Reads a line. `breaks` are the characters at which bash breaks words.
    pub(super) fn read(text: &str, breaks: &str) -> Self {
        let mut line = Self { words: Vec::new(), kept: 0, quote: None };
        let mut word: Option<String> = None;
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match (line.quote, letter) {
                (None, ' ' | '\t' | '\n') => {
                    line.words.extend(word.take());
                    line.kept = 0;
                }
                (None, '\\') => word.get_or_insert_default().extend(letters.next()),
                (Some('"'), '\\') => match letters.next() {
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => {
                        word.get_or_insert_default().push(escaped);
                    }
                    other => {
                        let word = word.get_or_insert_default();
                        word.push('\\');
                        word.extend(other);
                    }
                },
                (None, '"' | '\'') => {
                    line.quote = Some(letter);
                    line.kept = word.get_or_insert_default().chars().count();
                }
                (Some(quote), letter) if quote == letter => {
                    line.quote = None;
                    line.kept = 0;
                }
                (quote, letter) => {
                    let word = word.get_or_insert_default();
                    word.push(letter);
                    if quote.is_none() && breaks.contains(letter) {
                        line.kept = word.chars().count();
                    }
                }
            }
        }
        line.words.push(word.unwrap_or_default());
        line
    }

    /// A candidate as bash inserts it: what follows the kept part, quoted.
    pub(super) fn inserted(&self, candidate: &str) -> String {
        let rest: String = candidate.chars().skip(self.kept).collect();
        match self.quote {
            Some('\'') => rest.replace('\'', r"'\''"),
            Some(_) => escaped(&rest, |letter| matches!(letter, '"' | '\\' | '$' | '`')),
            None => escaped(&rest, |letter| {
                letter.is_ascii()
                    && !letter.is_ascii_alphanumeric()
                    && !"-_./,+@%=:".contains(letter)
            }),
        }
    }
}

fn escaped(text: &str, is_special: impl Fn(char) -> bool) -> String {
    let mut quoted = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_special(letter) {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_bash_reads_them() {
        for (text, words, kept, quote) in [
            ("attache run My\\ Ag", &["attache", "run", "My Ag"][..], 0, None),
            ("attache run \"My Ag", &["attache", "run", "My Ag"], 0, Some('"')),
            ("attache run 'a b' ", &["attache", "run", "a b", ""], 0, None),
            ("attache run team:re", &["attache", "run", "team:re"], 5, None),
            ("attache run team\\:re", &["attache", "run", "team:re"], 0, None),
            ("attache run --output-format=j", &["attache", "run", "--output-format=j"], 16, None),
            ("attache ", &["attache", ""], 0, None),
        ] {
            let line = Line::read(text, " \t\n\"'><=;|&(:");
            assert_eq!(
                (&line.words[..], line.kept, line.quote),
                (words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>().as_slice(), kept, quote),
                "{text}"
            );
        }
    }

    #[test]
    fn candidates_are_quoted_for_where_they_stand() {
        let inserted = |text: &str, candidate: &str| Line::read(text, " :=").inserted(candidate);
        assert_eq!(inserted("attache run my", "My Agent (2)"), r"My\ Agent\ \(2\)");
        assert_eq!(inserted("attache run \"my", "My $Agent"), r"My \$Agent");
        assert_eq!(inserted("attache run 'my", "My Agent"), "My Agent");
        assert_eq!(inserted("attache run team:re", "Team:Reviewer"), "Reviewer");
    }
}
