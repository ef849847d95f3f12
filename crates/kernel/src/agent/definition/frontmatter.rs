//! Front matter: where the header of a Markdown file ends and its body begins.

/// A Markdown file, split into header and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split<'text> {
    /// Everything after the opening fence.
    pub(crate) rest: &'text str,
    /// The line of the file that `rest` begins at, from 1.
    pub(crate) first_line: u32,
    /// Header and body, if there is a closing fence.
    pub(crate) closed: Option<Closed<'text>>,
}

/// A header that ends in a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed<'text> {
    pub(crate) header: &'text str,
    pub(crate) body: &'text str,
    /// The line of the file that the body begins at.
    pub(crate) body_line: u32,
}

/// Splits a text at its fences; `None` if it has no front matter.
///
/// A byte order mark, blank lines before the fence and blanks behind it are passed over.
pub(crate) fn split(text: &str) -> Option<Split<'_>> {
    let mut line_number = 0;
    let mut lines = Lines::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let rest = loop {
        let (line, after) = lines.next()?;
        line_number += 1;
        if is_fence(line) {
            break after;
        }
        if !line.trim().is_empty() {
            return None;
        }
    };
    let first_line = line_number + 1;
    let mut lines = Lines::new(rest);
    let mut header_end = 0;
    while let Some((line, after)) = lines.next() {
        line_number += 1;
        if is_fence(line) {
            let header = rest.get(..header_end).unwrap_or_default();
            let closed = Closed { header, body: after, body_line: line_number + 1 };
            return Some(Split { rest, first_line, closed: Some(closed) });
        }
        header_end = rest.len() - after.len();
    }
    Some(Split { rest, first_line, closed: None })
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The lines of a text, each with what comes after it.
pub(crate) struct Lines<'text> {
    rest: &'text str,
}

impl<'text> Lines<'text> {
    pub(crate) fn new(rest: &'text str) -> Self {
        Self { rest }
    }

    /// The next line without its end, and the text after it.
    pub(crate) fn next(&mut self) -> Option<(&'text str, &'text str)> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, after) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = after;
        Some((line.strip_suffix('\r').unwrap_or(line), after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> Option<(u32, &str, &str, u32)> {
        let split = split(text)?;
        let closed = split.closed?;
        Some((split.first_line, closed.header, closed.body, closed.body_line))
    }

    #[test]
    fn fences_in_every_shape() {
        assert_eq!(closed("---\na: 1\n---\nb\n"), Some((2, "a: 1\n", "b\n", 4)));
        assert_eq!(closed("\u{feff}---\r\na: 1\r\n--- \r\nb"), Some((2, "a: 1\r\n", "b", 4)));
        assert_eq!(closed("\n \n---  \na: 1\n---\n"), Some((4, "a: 1\n", "", 6)));
        assert_eq!(closed("---\n---\nb\n---\n"), Some((2, "", "b\n---\n", 3)));
        assert_eq!(closed("---\na: 1\n---"), Some((2, "a: 1\n", "", 4)));
    }

    #[test]
    fn no_fence_or_no_end() {
        assert_eq!(split("# Title\n---\n"), None);
        assert_eq!(split(""), None);
        assert_eq!(split("----\nname: x\n----\n"), None);
        let open = split("---\na: 1\n").unwrap();
        assert_eq!((open.rest, open.closed), ("a: 1\n", None));
    }
}
