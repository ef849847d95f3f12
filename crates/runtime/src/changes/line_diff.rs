//! The difference of two texts, line by line.
//!
//! Lines end with `\n` alone, as in git: a carriage return is part of its line. The texts may be of any
//! size: where the best difference would take too long, a coarser one is found, which is still exact.

use std::{
    fmt::{self, Write as _},
    ops::Range,
    time::{Duration, Instant},
};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

/// How many unchanged lines are shown around a change.
const CONTEXT: usize = 3;
/// How long the best difference is looked for.
const PATIENCE: Duration = Duration::from_millis(500);
/// How much of a line is shown where a difference is shortened.
const MAX_LINE: usize = 400;

/// The difference of two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineDiff<'t> {
    /// How many lines were added.
    pub added: usize,
    /// How many lines were removed.
    pub removed: usize,
    hunks: Vec<Hunk<'t>>,
}

/// A stretch of lines with changes in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk<'t> {
    old: Range<usize>,
    new: Range<usize>,
    lines: Vec<(Side, &'t str)>,
}

/// Which of the texts a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Both.
    Both,
    /// The old one alone.
    Old,
    /// The new one alone.
    New,
}

impl Side {
    fn sign(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Old => '-',
            Self::New => '+',
        }
    }
}

impl<'t> LineDiff<'t> {
    /// Compares two texts.
    pub fn between(before: &'t str, after: &'t str) -> Self {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let new: Vec<&str> = after.split_inclusive('\n').collect();
        let deadline = Instant::now().checked_add(PATIENCE);
        let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
        let mut diff = Self { added: 0, removed: 0, hunks: Vec::new() };
        for group in group_diff_ops(operations, CONTEXT) {
            let hunk = Hunk::from_group(&group, &old, &new);
            diff.added += hunk.count(Side::New);
            diff.removed += hunk.count(Side::Old);
            diff.hunks.push(hunk);
        }
        diff
    }

    /// Whether the texts are the same.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The difference with a maximum number of lines and bytes; what is left out is counted.
    pub fn shortened(&self, most_lines: usize, most_bytes: usize) -> String {
        let whole = self.to_string();
        let total = whole.lines().count();
        let mut text = String::new();
        let mut shown = 0;
        for line in whole.lines().take(most_lines) {
            let short: String = line.chars().take(MAX_LINE).collect();
            let cut = if short.len() < line.len() { "…" } else { "" };
            if text.len() + short.len() >= most_bytes {
                break;
            }
            // Writing to a string cannot fail.
            writeln!(text, "{short}{cut}").unwrap_or_default();
            shown += 1;
        }
        if shown < total {
            writeln!(text, "… {} more lines", total - shown).unwrap_or_default();
        }
        text
    }
}

impl<'t> Hunk<'t> {
    fn from_group(group: &[DiffOp], old: &[&'t str], new: &[&'t str]) -> Self {
        let mut hunk = Self { old: 0..0, new: 0..0, lines: Vec::new() };
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            hunk.old = first.old_range().start..last.old_range().end;
            hunk.new = first.new_range().start..last.new_range().end;
        }
        for operation in group {
            let gone = old.get(operation.old_range()).unwrap_or_default();
            let come = new.get(operation.new_range()).unwrap_or_default();
            if operation.tag() == DiffTag::Equal {
                hunk.lines.extend(gone.iter().map(|line| (Side::Both, *line)));
                continue;
            }
            hunk.lines.extend(gone.iter().map(|line| (Side::Old, *line)));
            hunk.lines.extend(come.iter().map(|line| (Side::New, *line)));
        }
        hunk
    }

    fn count(&self, side: Side) -> usize {
        self.lines.iter().filter(|(of, _)| *of == side).count()
    }
}

/// The hunks as a unified diff has them, without the names of files.
impl fmt::Display for LineDiff<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for hunk in &self.hunks {
            writeln!(formatter, "@@ -{} +{} @@", lines_of(&hunk.old), lines_of(&hunk.new))?;
            for (side, line) in &hunk.lines {
                write!(formatter, "{}{line}", side.sign())?;
                if !line.ends_with('\n') {
                    writeln!(formatter, "\n\\ No newline at end of file")?;
                }
            }
        }
        Ok(())
    }
}

/// Lines as a hunk's head names them: the first and how many.
fn lines_of(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_compared_as_git_does() {
        for (before, after, expected) in [
            ("", "", ""),
            ("", "a\n", "@@ -0,0 +1 @@\n+a\n"),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            ("a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"),
            ("a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n6\n", "@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+6\n"),
        ] {
            assert_eq!(
                LineDiff::between(before, after).to_string(),
                expected,
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn a_long_difference_is_shortened_and_says_so() {
        let long = (0..100).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
        let diff = LineDiff::between("", &long);
        assert_eq!((diff.added, diff.removed), (100, 0));
        assert_eq!(diff.shortened(3, 1000), "@@ -0,0 +1,100 @@\n+0\n+1\n… 98 more lines\n");
        assert_eq!(
            diff.shortened(1000, 30),
            "@@ -0,0 +1,100 @@\n+0\n+1\n+2\n+3\n… 96 more lines\n"
        );
        let wide = "x".repeat(5000);
        assert!(LineDiff::between("", &wide).shortened(10, 2000).len() < 600);
    }
}
