//! Applying hunks to a text.

use std::fmt::Write as _;

use super::{
    Hunk, HunkLine,
    lines::{TextLine, split, usual_ending},
    nearest::nearest_lines,
    seek::seek,
};

/// How many lines of a file and of a hunk are shown.
const MAX_SHOWN: usize = 8;
/// How much of a line is shown.
const MAX_LINE: usize = 200;

/// Why a hunk does not fit; the text is for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A line that the hunk comes after is not in the file.
    #[error("hunk {number} (line {line} of the patch): no line `{anchor}` {place}")]
    Anchor {
        /// Which hunk of the file, from 1.
        number: usize,
        /// The line of the patch it begins in.
        line: usize,
        /// The line that is missing.
        anchor: String,
        /// Where it was looked for.
        place: String,
    },
    /// The lines of the hunk are not in the file.
    #[error(
        "hunk {number} (line {line} of the patch): these lines are not {place}:\n{lines}{near}"
    )]
    Lines {
        /// Which hunk of the file, from 1.
        number: usize,
        /// The line of the patch it begins in.
        line: usize,
        /// The lines that are missing.
        lines: String,
        /// Where they were looked for.
        place: String,
        /// The nearest lines of the file.
        near: String,
    },
}

/// The text with all hunks applied, from top to bottom. Lines that stay keep their endings; new ones
/// get the ending that most lines have.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String, ApplyError> {
    let lines = split(text);
    let ending = usual_ending(&lines);
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (number, hunk) in (1..).zip(hunks) {
        let at = Site { lines: &lines, number, hunk }.find(done)?;
        push(&mut result, lines.get(done..at).unwrap_or_default());
        done = at;
        for line in &hunk.lines {
            match line {
                HunkLine::Add(text) => {
                    end_line(&mut result, ending);
                    result.push_str(text);
                    result.push_str(ending);
                }
                HunkLine::Keep(_) => {
                    push(&mut result, lines.get(done..=done).unwrap_or_default());
                    done += 1;
                }
                HunkLine::Remove(_) => done += 1,
            }
        }
    }
    push(&mut result, lines.get(done..).unwrap_or_default());
    Ok(result)
}

fn push(result: &mut String, lines: &[TextLine<'_>]) {
    for line in lines {
        result.push_str(line.text);
        result.push_str(line.ending);
    }
}

/// A last line without an ending gets one before another line follows.
fn end_line(result: &mut String, ending: &str) {
    if !result.is_empty() && !result.ends_with(['\n', '\r']) {
        result.push_str(ending);
    }
}

/// A hunk and the text it is for.
struct Site<'a> {
    lines: &'a [TextLine<'a>],
    number: usize,
    hunk: &'a Hunk,
}

impl Site<'_> {
    /// The line the hunk begins at, at or after `from`.
    fn find(&self, from: usize) -> Result<usize, ApplyError> {
        let mut at = from;
        for anchor in &self.hunk.anchors {
            let found = seek(self.lines, &[anchor], at, false);
            at = found.ok_or_else(|| self.no_anchor(anchor, at))? + 1;
        }
        let old: Vec<&str> = self.hunk.lines.iter().filter_map(HunkLine::old).collect();
        if old.is_empty() {
            // New lines go below their anchor, and without one to the end.
            return Ok(if self.hunk.anchors.is_empty() { self.lines.len() } else { at });
        }
        seek(self.lines, &old, at, self.hunk.at_end).ok_or_else(|| self.no_lines(&old, at))
    }

    fn no_anchor(&self, anchor: &str, from: usize) -> ApplyError {
        ApplyError::Anchor {
            number: self.number,
            line: self.hunk.line,
            anchor: short(anchor),
            place: place(from),
        }
    }

    fn no_lines(&self, old: &[&str], from: usize) -> ApplyError {
        let elsewhere = seek(self.lines, old, 0, false);
        let near = match elsewhere.or_else(|| self.nearest(old)) {
            Some(at) if elsewhere.is_some() => format!(
                "\nThey are above, in line {}: hunks must be in the order of the file",
                at + 1
            ),
            Some(at) => format!("\nThe nearest lines are:\n{}", self.numbered(at, old.len())),
            None => String::new(),
        };
        let mut lines: Vec<String> = old.iter().take(MAX_SHOWN).map(|line| short(line)).collect();
        if old.len() > MAX_SHOWN {
            lines.push(format!("… {} more lines", old.len() - MAX_SHOWN));
        }
        ApplyError::Lines {
            number: self.number,
            line: self.hunk.line,
            lines: lines.join("\n"),
            place: place(from),
            near,
        }
    }

    fn nearest(&self, old: &[&str]) -> Option<usize> {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text).collect();
        nearest_lines(&lines, old)
    }

    fn numbered(&self, at: usize, length: usize) -> String {
        let mut text = String::new();
        let shown = self.lines.iter().enumerate().skip(at).take(length.clamp(1, MAX_SHOWN));
        for (number, line) in shown {
            // Writing to a string cannot fail.
            writeln!(text, "{}\t{}", number + 1, short(line.text)).unwrap_or_default();
        }
        text.truncate(text.trim_end().len());
        text
    }
}

impl HunkLine {
    /// The line as it is before.
    fn old(&self) -> Option<&str> {
        match self {
            Self::Keep(line) | Self::Remove(line) => Some(line),
            Self::Add(_) => None,
        }
    }
}

fn place(from: usize) -> String {
    if from == 0 { "in the file".to_owned() } else { format!("in the file below line {from}") }
}

fn short(line: &str) -> String {
    let short: String = line.chars().take(MAX_LINE).collect();
    if short.len() < line.len() { short + "…" } else { short }
}
