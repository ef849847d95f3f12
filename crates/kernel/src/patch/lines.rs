//! A text as lines, each with the ending it has: `\n`, `\r\n`, `\r` or, for the last, none.

/// A line and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextLine<'t> {
    pub(super) text: &'t str,
    pub(super) ending: &'t str,
}

/// The lines of a text. Put together again they are the text.
pub(super) fn split(text: &str) -> Vec<TextLine<'_>> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, tail) = rest.split_at(at);
        let length = if tail.starts_with("\r\n") { 2 } else { 1 };
        let (ending, tail) = tail.split_at(length);
        lines.push(TextLine { text: line, ending });
        rest = tail;
    }
    if !rest.is_empty() {
        lines.push(TextLine { text: rest, ending: "" });
    }
    lines
}

/// The ending that most lines have; `\n` where there is none.
pub(super) fn usual_ending(lines: &[TextLine<'_>]) -> &'static str {
    let count = |ending: &str| lines.iter().filter(|line| line.ending == ending).count();
    let (crlf, lf, cr) = (count("\r\n"), count("\n"), count("\r"));
    if crlf > lf && crlf >= cr {
        "\r\n"
    } else if cr > lf {
        "\r"
    } else {
        "\n"
    }
}
