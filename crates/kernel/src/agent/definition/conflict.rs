//! Merge conflicts: the marks that git leaves in a file whose merge is not finished.
//!
//! Such a file is an agent that cannot be read, never one that is not there: otherwise another file of
//! the same name would take its place unnoticed.

use super::{Code, Diagnostic, Position};

/// How many lines of a file without a header are looked at for one.
const LINES_LOOKED_AT: usize = 1000;

/// The line of the first mark in a header, counted from 0.
pub(crate) fn within(header: &str) -> Option<u32> {
    (0..).zip(header.lines()).find(|(_, line)| is_mark(line)).map(|(number, _)| number)
}

/// The line of a mark that a file begins with, from 1, if a header comes after it.
pub(crate) fn before_header(text: &str) -> Option<u32> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| line.trim().is_empty());
    let (number, _) = lines.next().filter(|(_, line)| is_mark(line))?;
    let has_fence = lines.take(LINES_LOOKED_AT).any(|(_, line)| line.trim_end() == "---");
    has_fence.then_some(number)
}

/// What is said of a file with a mark on that line.
pub(crate) fn diagnostic(line: u32) -> Diagnostic {
    Diagnostic::error(
        Code::MergeConflict,
        Position::new(line, 1),
        "the file has a merge conflict that is not resolved",
    )
    .with_hint("keep one side and remove the lines `<<<<<<<`, `=======` and `>>>>>>>`")
}

fn is_mark(line: &str) -> bool {
    ["<<<<<<<", ">>>>>>>", "|||||||"].iter().any(|mark| {
        line.strip_prefix(mark).is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_stand_at_the_beginning_of_a_line() {
        for (header, line) in [
            ("name: a\n<<<<<<< HEAD\ndescription: b\n=======\n", Some(1)),
            ("<<<<<<<\n", Some(0)),
            ("a: 1\n>>>>>>> branch\r\n", Some(1)),
            ("||||||| base\n", Some(0)),
            ("a: |\n  <<<<<<< HEAD\n", None),
            ("=======\n", None),
            ("<<<<<<<<< x\n", None),
            ("<<<<<<<x\n", None),
        ] {
            assert_eq!(within(header), line, "{header:?}");
        }
    }

    #[test]
    fn a_mark_before_a_header_tells_an_agent_from_a_text() {
        let header = "---\nname: a\n---\n";
        assert_eq!(before_header(&format!("<<<<<<< HEAD\n{header}")), Some(1));
        assert_eq!(before_header(&format!("\u{feff}\n\n<<<<<<< HEAD\r\n{header}")), Some(3));
        assert_eq!(before_header(&format!("Text\n<<<<<<< HEAD\n{header}")), None);
        assert_eq!(before_header("<<<<<<< HEAD\n# Title\n"), None);
    }
}
