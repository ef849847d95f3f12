//! Highlighted code: words, texts, numbers and comments, line by line, for most languages alike.
//!
//! It knows no grammar. A line inside of a long comment or text is coloured as code; nothing else goes
//! wrong.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use crate::{print::palette::Tone, tui::theme::Theme};

/// Words that common languages reserve.
const KEYWORDS: &[&str] = &[
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "defer",
    "del",
    "do",
    "done",
    "dyn",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "extern",
    "false",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "goto",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "is",
    "lambda",
    "let",
    "local",
    "loop",
    "match",
    "mod",
    "module",
    "move",
    "mut",
    "namespace",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "or",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "ref",
    "return",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "then",
    "this",
    "throw",
    "throws",
    "trait",
    "true",
    "True",
    "False",
    "try",
    "type",
    "typedef",
    "typename",
    "union",
    "unsafe",
    "use",
    "using",
    "var",
    "virtual",
    "void",
    "where",
    "while",
    "with",
    "yield",
];
/// Languages whose comments begin with `#`.
const HASH: &[&str] = &[
    "bash",
    "sh",
    "shell",
    "zsh",
    "fish",
    "python",
    "py",
    "ruby",
    "rb",
    "toml",
    "yaml",
    "yml",
    "make",
    "makefile",
    "dockerfile",
    "perl",
    "r",
    "conf",
    "ini",
    "console",
    "nix",
    "elixir",
];
/// Languages whose comments begin with `--`.
const DASHES: &[&str] = &["sql", "lua", "haskell", "hs", "elm", "ada"];
/// What is not code.
const TEXTS: &[&str] = &["", "text", "txt", "plain", "output", "markdown", "md"];

/// A line of code.
pub(super) fn highlighted(line: &str, language: &str, theme: Theme) -> Line<'static> {
    let language = language.split([' ', ',', '{']).next().unwrap_or_default();
    if matches!(language, "diff" | "patch") {
        return Line::from(diff_line(line, theme));
    }
    if TEXTS.contains(&language) {
        return Line::raw(line.to_owned());
    }
    let comment = match language {
        hash if HASH.contains(&hash) => "#",
        dashes if DASHES.contains(&dashes) => "--",
        _ => "//",
    };
    let mut spans = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    while let Some(letter) = rest.chars().next() {
        let starts_word = !(before.is_alphanumeric() || before == '_');
        let (length, style) = if rest.starts_with(comment) && (comment != "#" || starts_word) {
            (rest.len(), theme.tone(Tone::Faint))
        } else if matches!(letter, '"' | '\'' | '`') && quoted(rest, letter).is_some() {
            (quoted(rest, letter).unwrap_or(rest.len()), theme.string())
        } else if letter.is_ascii_digit() && starts_word {
            (
                run(rest, |letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.')),
                theme.number(),
            )
        } else if letter.is_alphabetic() || letter == '_' {
            let length = run(rest, |letter| letter.is_alphanumeric() || letter == '_');
            let word = rest.get(..length).unwrap_or_default();
            let style = if KEYWORDS.contains(&word) { theme.keyword() } else { Style::new() };
            (length, style)
        } else {
            (letter.len_utf8(), Style::new())
        };
        let (token, after) = rest.split_at(length);
        before = token.chars().next_back().unwrap_or(' ');
        spans.push(Span::styled(token.to_owned(), style));
        rest = after;
    }
    Line::from(spans)
}

/// A line of a diff, coloured by what it does.
pub(crate) fn diff_line(line: &str, theme: Theme) -> Span<'static> {
    let style = match line.chars().next() {
        _ if line.starts_with("+++") || line.starts_with("---") => theme.tone(Tone::Strong),
        Some('+') => theme.tone(Tone::Good),
        Some('-') => theme.tone(Tone::Bad),
        Some('@' | '*') => theme.tone(Tone::Name),
        _ => Style::new(),
    };
    Span::styled(line.to_owned(), style)
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

/// The length of a text in quotes; none if it does not end in this line.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            // A lifetime, or an apostrophe.
            _ if letter == quote && quote == '\'' && at > 40 => return None,
            _ if letter == quote => return Some(at + letter.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::palette::Colours;

    #[test]
    fn words_texts_numbers_and_comments_differ() {
        let theme = Theme::new(Colours::On);
        let line = highlighted(r#"let n1 = "a\"b" + 42; // so"#, "rust", theme);
        let styled: Vec<(&str, Style)> = line
            .spans
            .iter()
            .filter(|span| span.style != Style::new())
            .map(|span| (&*span.content, span.style))
            .collect();
        assert_eq!(
            styled,
            [
                ("let", theme.keyword()),
                (r#""a\"b""#, theme.string()),
                ("42", theme.number()),
                ("// so", theme.tone(Tone::Faint)),
            ]
        );
        assert_eq!(line.to_string(), r#"let n1 = "a\"b" + 42; // so"#);
    }
}
