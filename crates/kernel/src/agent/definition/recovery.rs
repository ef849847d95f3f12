//! Recovery: headers of real files that are not valid YAML.
//!
//! Only used when strict YAML has failed, and every step is reported as a `recovered` warning. First
//! the header is cut where a closing fence is missing; then plain scalars that YAML cannot take
//! are quoted; last, the header is read line by line.

mod by_line;
mod quoting;

use super::{
    diagnostic::{Code, Diagnostic, Position},
    frontmatter::{Lines, Split},
    node::Member,
    yaml::{MERGE_KEY, YamlError},
};

/// What was recovered from a header that is not valid YAML.
#[derive(Debug)]
pub(crate) struct Recovered<'text> {
    pub(crate) members: Vec<Member>,
    pub(crate) body: &'text str,
    pub(crate) body_line: u32,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Reads a header that strict YAML refuses with `error`; `None` if it has no key.
pub(crate) fn recover_markdown<'text>(
    split: &Split<'text>,
    error: &YamlError,
) -> Option<Recovered<'text>> {
    let mut warnings = Vec::new();
    let extent = Extent::find(split, &mut warnings);
    let members = recover_members(extent.header, split.first_line, error, &mut warnings)?;
    Some(Recovered { members, body: extent.body, body_line: extent.body_line, warnings })
}

/// Reads a YAML file that strict YAML refuses with `error`.
pub(crate) fn recover_yaml(
    text: &str,
    error: &YamlError,
) -> Option<(Vec<Member>, Vec<Diagnostic>)> {
    let mut warnings = Vec::new();
    let members = recover_members(text, 1, error, &mut warnings)?;
    Some((members, warnings))
}

fn recover_members(
    header: &str,
    first_line: u32,
    error: &YamlError,
    warnings: &mut Vec<Diagnostic>,
) -> Option<Vec<Member>> {
    if let Some((members, quoted)) = quoting::quote_and_parse(header, first_line) {
        warnings.extend(quoted);
        return Some(members);
    }
    let message =
        format!("the header is not valid YAML ({}); it was read line by line", error.message);
    warnings.push(
        Diagnostic::warning(Code::Recovered, error.at, message).with_hint(
            error.hint.unwrap_or(
                "quote values that hold `: `, and indent the lines that continue a value",
            ),
        ),
    );
    let members = by_line::read(header, first_line);
    (!members.is_empty()).then_some(members)
}

/// Header and body, once the forgotten fence is found.
struct Extent<'text> {
    header: &'text str,
    body: &'text str,
    body_line: u32,
}

impl<'text> Extent<'text> {
    fn find(split: &Split<'text>, warnings: &mut Vec<Diagnostic>) -> Self {
        let text = split.closed.map_or(split.rest, |closed| closed.header);
        let cut = match (forgotten_fence(text, split.closed.is_some()), split.closed) {
            (Some(cut), _) => cut,
            (None, Some(closed)) => {
                return Self {
                    header: closed.header,
                    body: closed.body,
                    body_line: closed.body_line,
                };
            }
            (None, None) => Cut {
                header_end: text.len(),
                body_start: text.len(),
                body_lines_in: u32::try_from(text.lines().count()).unwrap_or(u32::MAX),
            },
        };
        let body_line = split.first_line.saturating_add(cut.body_lines_in);
        warnings.push(
            Diagnostic::warning(
                Code::Recovered,
                Position::new(body_line, 1),
                "the header has no closing `---`; it is assumed to end here",
            )
            .with_hint("put a line `---` between the header and the instructions"),
        );
        Self {
            header: split.rest.get(..cut.header_end).unwrap_or_default(),
            body: split.rest.get(cut.body_start..).unwrap_or_default(),
            body_line,
        }
    }
}

struct Cut {
    header_end: usize,
    body_start: usize,
    body_lines_in: u32,
}

/// Where the closing fence was forgotten: at a blank line that a heading follows, after a key. With
/// no fence anywhere, a longer rule closes the header too, or a blank line that plain text follows.
fn forgotten_fence(text: &str, closed: bool) -> Option<Cut> {
    let mut lines = Lines::new(text);
    let mut key_seen = false;
    let mut blank_from: Option<usize> = None;
    // Comments right above the cut are headings of the body.
    let mut headings: Option<(usize, u32)> = None;
    let mut number = 0;
    let mut start = 0;
    while let Some((line, after)) = lines.next() {
        let end = text.len() - after.len();
        if line.trim().is_empty() {
            blank_from = blank_from.or(key_seen.then_some(start));
        } else if let Some(blank) = blank_from
            && key_seen
            && (is_heading(line) || (!closed && ends_header(line)))
        {
            let (from, at) = headings.filter(|_| is_heading(line)).unwrap_or((start, number));
            return Some(Cut { header_end: blank.min(from), body_start: from, body_lines_in: at });
        } else if !closed
            && key_seen
            && line.trim_end().len() >= 4
            && line.trim_end().bytes().all(|byte| byte == b'-')
        {
            return Some(Cut { header_end: start, body_start: end, body_lines_in: number + 1 });
        } else if line.starts_with('#') {
            headings = headings.or(Some((start, number)));
        } else {
            key_seen |= key_of_line(line).is_some();
            blank_from = None;
            headings = None;
        }
        number += 1;
        start = end;
    }
    None
}

fn is_heading(line: &str) -> bool {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&marks)
        && line.as_bytes().get(marks).is_some_and(|byte| *byte == b' ' || *byte == b'\t')
}

/// Whether a line after a blank one can be no part of a header: text at column 0 that opens no key.
fn ends_header(line: &str) -> bool {
    !line.starts_with([' ', '\t', '-', '#']) && key_of_line(line).is_none()
}

/// The key of a line at column 0, and its value.
fn key_of_line(line: &str) -> Option<(&str, &str)> {
    let (word, value) = line.split_once(':')?;
    let mut letters = word.chars();
    let is_word = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
    let ends = value.is_empty() || value.starts_with([' ', '\t', '\r']);
    let is_word = is_word || word == MERGE_KEY;
    (is_word && ends).then_some((word, value))
}
