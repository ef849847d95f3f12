//! Reading the envelope: `*** Begin Patch`, a section for each file, `*** End Patch`.
//!
//! Models wrap it in here-documents and code fences, pad its markers with blanks and write the heads of
//! unified diffs; all that is understood. What is not understood is an error that names the line.

use super::{Hunk, HunkLine, Operation, Patch};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";
/// The most sections of a patch, and the most hunks.
const MAX_PARTS: usize = 2000;

/// Why a text is not a patch; for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The first line is not the one a patch begins with.
    #[error("the patch must begin with the line `*** Begin Patch`")]
    NoBegin,
    /// The last line is not the one a patch ends with.
    #[error("the patch must end with the line `*** End Patch`")]
    NoEnd,
    /// There is nothing in it.
    #[error(
        "the patch is empty: it has no `*** Add File:`, `*** Update File:` or `*** Delete File:`"
    )]
    Empty,
    /// It has too many sections or hunks.
    #[error("the patch has more than {MAX_PARTS} sections or hunks; split it")]
    TooMany,
    /// A section does not begin as one.
    #[error(
        "line {line} of the patch: `{found}` does not begin a section; use `*** Add File: PATH`, \
         `*** Delete File: PATH` or `*** Update File: PATH`"
    )]
    Header {
        /// The line of the patch.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// A section names no file.
    #[error("line {line} of the patch: the path is missing")]
    NoPath {
        /// The line of the patch.
        line: usize,
    },
    /// A file is to be updated, and nothing says how.
    #[error("line {line} of the patch: the update of {path} has no changes")]
    NoChanges {
        /// The line of the patch.
        line: usize,
        /// The file.
        path: String,
    },
    /// A hunk has a head and no lines.
    #[error("line {line} of the patch: the hunk has no lines")]
    EmptyHunk {
        /// The line of the patch.
        line: usize,
    },
    /// A line of a hunk has no sign.
    #[error(
        "line {line} of the patch: `{found}` must begin with a blank (a line that stays), `-` or `+`"
    )]
    Sign {
        /// The line of the patch.
        line: usize,
        /// What stands there.
        found: String,
    },
}

/// Reads a patch.
pub fn parse(text: &str) -> Result<Patch, EnvelopeError> {
    let mut reader = Reader::new(text)?;
    let mut operations = Vec::new();
    while let Some((line, header)) = reader.next_filled() {
        operations.push(reader.operation(line, header)?);
        if operations.len() > MAX_PARTS || reader.hunks > MAX_PARTS {
            return Err(EnvelopeError::TooMany);
        }
    }
    if operations.is_empty() {
        return Err(EnvelopeError::Empty);
    }
    Ok(Patch { operations })
}

/// The lines between the markers, each with its number.
struct Reader<'t> {
    lines: std::iter::Peekable<std::vec::IntoIter<(usize, &'t str)>>,
    /// How many hunks were read.
    hunks: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Result<Self, EnvelopeError> {
        let mut lines: Vec<(usize, &str)> = (1..)
            .zip(text.split('\n'))
            .map(|(number, line)| (number, line.strip_suffix('\r').unwrap_or(line)))
            .collect();
        let is_wrapping = |line: &str| {
            let line = line.trim();
            line.is_empty() || line.starts_with("```") || is_here_document(line)
        };
        let begins = lines.iter().position(|(_, line)| line.trim() == BEGIN);
        let begins = begins.ok_or(EnvelopeError::NoBegin)?;
        if !lines.iter().take(begins).all(|(_, line)| is_wrapping(line)) {
            return Err(EnvelopeError::NoBegin);
        }
        let ends = lines.iter().rposition(|(_, line)| line.trim() == END);
        let ends = ends.filter(|ends| *ends > begins).ok_or(EnvelopeError::NoEnd)?;
        let is_word = |line: &str| {
            line.trim().chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        };
        if !lines.iter().skip(ends + 1).all(|(_, line)| is_wrapping(line) || is_word(line)) {
            return Err(EnvelopeError::NoEnd);
        }
        lines.truncate(ends);
        lines.drain(..=begins);
        Ok(Self { lines: lines.into_iter().peekable(), hunks: 0 })
    }

    /// The next line that is not blank.
    fn next_filled(&mut self) -> Option<(usize, &'t str)> {
        self.lines.by_ref().find(|(_, line)| !line.trim().is_empty())
    }

    fn operation(&mut self, line: usize, header: &str) -> Result<Operation, EnvelopeError> {
        let header = header.trim();
        let path = |rest: &str| match rest.trim() {
            "" => Err(EnvelopeError::NoPath { line }),
            path => Ok(path.to_owned()),
        };
        if let Some(rest) = header.strip_prefix(ADD) {
            return Ok(Operation::Add { path: path(rest)?, content: self.content() });
        }
        if let Some(rest) = header.strip_prefix(DELETE) {
            return Ok(Operation::Delete { path: path(rest)? });
        }
        if let Some(rest) = header.strip_prefix(UPDATE) {
            return self.update(line, path(rest)?);
        }
        Err(EnvelopeError::Header { line, found: header.chars().take(100).collect() })
    }

    /// The lines of a new file.
    fn content(&mut self) -> String {
        let mut content = String::new();
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with('+')) {
            content.push_str(line.strip_prefix('+').unwrap_or(line));
            content.push('\n');
        }
        content
    }

    fn update(&mut self, line: usize, path: String) -> Result<Operation, EnvelopeError> {
        let mut move_to = None;
        if let Some((line, header)) = self.lines.next_if(|(_, it)| it.trim().starts_with(MOVE)) {
            let to = header.trim().strip_prefix(MOVE).unwrap_or_default().trim();
            if to.is_empty() {
                return Err(EnvelopeError::NoPath { line });
            }
            move_to = Some(to.to_owned());
        }
        let mut hunks = Vec::new();
        while let Some(hunk) = self.hunk()? {
            hunks.push(hunk);
            self.hunks += 1;
        }
        if hunks.is_empty() && move_to.is_none() {
            return Err(EnvelopeError::NoChanges { line, path });
        }
        Ok(Operation::Update { path, move_to, hunks })
    }

    /// The next hunk of a section; `None` where the section ends.
    fn hunk(&mut self) -> Result<Option<Hunk>, EnvelopeError> {
        let mut hunk = Hunk::default();
        let mut head_line = None;
        while let Some((line, head)) = self.lines.next_if(|(_, line)| line.starts_with("@@")) {
            head_line.get_or_insert(line);
            hunk.anchors.extend(anchor(head));
        }
        let first_line = self.lines.peek().map(|(line, _)| *line);
        hunk.line = head_line.or(first_line).unwrap_or_default();
        while let Some((number, line)) = self.lines.next_if(|(_, line)| !ends_hunk(line)) {
            hunk.lines.push(hunk_line(number, line)?);
        }
        let next = self.lines.peek().map(|(_, line)| *line);
        if next.is_some_and(|line| line.trim_end() == END_OF_FILE) {
            hunk.at_end = true;
            self.lines.next();
        } else if next.is_none_or(|line| !line.starts_with("@@")) {
            // Empty lines between two sections belong to neither.
            let is_blank = |line: &mut HunkLine| *line == HunkLine::Keep(String::new());
            while hunk.lines.pop_if(is_blank).is_some() {}
        }
        match (hunk.lines.is_empty(), head_line) {
            (true, Some(line)) => Err(EnvelopeError::EmptyHunk { line }),
            (true, None) => Ok(None),
            (false, _) => Ok(Some(hunk)),
        }
    }
}

/// Whether a line belongs to a hunk no more.
fn ends_hunk(line: &str) -> bool {
    line.starts_with("@@") || line.starts_with("***")
}

fn hunk_line(number: usize, line: &str) -> Result<HunkLine, EnvelopeError> {
    if line.trim().is_empty() {
        // Models leave out the blank before an empty line.
        return Ok(HunkLine::Keep(line.strip_prefix(' ').unwrap_or(line).to_owned()));
    }
    match line.split_at_checked(1) {
        Some((" ", text)) => Ok(HunkLine::Keep(text.to_owned())),
        Some(("-", text)) => Ok(HunkLine::Remove(text.to_owned())),
        Some(("+", text)) => Ok(HunkLine::Add(text.to_owned())),
        Some(_) | None => {
            Err(EnvelopeError::Sign { line: number, found: line.chars().take(100).collect() })
        }
    }
}

/// Whether a line opens a here-document, as in `apply_patch <<'EOF'`.
fn is_here_document(line: &str) -> bool {
    let command = line.strip_prefix("apply_patch").unwrap_or(line).trim_start();
    command.strip_prefix("<<").is_some_and(|mark| {
        let word = mark.trim_matches(['\'', '"', '-', ' ']);
        !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    })
}

/// The line that the head of a hunk names; line numbers, as in unified diffs, name none.
fn anchor(head: &str) -> Option<String> {
    let named = head.strip_prefix("@@").unwrap_or(head);
    let named = named.strip_prefix(' ').unwrap_or(named);
    let is_numbers = |part: &str| {
        let mut words = part.split_whitespace();
        let range = |word: Option<&str>, sign: char| {
            word.and_then(|word| word.strip_prefix(sign)).is_some_and(|numbers| {
                numbers.chars().all(|letter| letter.is_ascii_digit() || letter == ',')
            })
        };
        range(words.next(), '-') && range(words.next(), '+') && words.next().is_none()
    };
    let named = match named.split_once("@@") {
        Some((numbers, after)) if is_numbers(numbers) => after.trim(),
        Some((before, "")) => before.trim_end(),
        _ if is_numbers(named) => "",
        _ => named,
    };
    (!named.trim().is_empty()).then(|| named.to_owned())
}
