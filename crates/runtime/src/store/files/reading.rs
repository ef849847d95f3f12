//! Reading: which part of a file is a transcript, and where its unfinished end begins.
//!
//! A process that is killed leaves a last line without an end; a machine that loses its power may leave
//! zeros. Neither is read. Any other line that cannot be parsed is reported with its number, never
//! skipped.

use std::path::{Path, PathBuf};

use attache_kernel::run::transcript::{Entry, FORMAT, Header, Line, LineError};
use memchr::memchr;

use crate::store::{RunState, StoreError, Transcript};

/// What a file holds.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) header: Header,
    pub(super) entries: Vec<Entry>,
    /// How many bytes are whole lines.
    pub(super) whole: u64,
    /// Whether there is more than that.
    pub(super) torn: bool,
}

impl Content {
    pub(super) fn into_transcript(self, path: PathBuf, state: RunState) -> Transcript {
        let Self { header, entries, torn, .. } = self;
        Transcript { path, header, entries, torn, state }
    }
}

pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Content, StoreError> {
    let mut header = None;
    let mut entries = Vec::new();
    let mut rest = bytes;
    let mut number = 0;
    while let Some((line, after)) = split_line(rest) {
        number += 1;
        let is_last = memchr(b'\n', after).is_none();
        match read_line(line, number, is_last, path)? {
            Some(Line::Header(found)) => header = Some(*found),
            Some(Line::Event(entry)) => entries.push(entry),
            None => break,
        }
        rest = after;
    }
    let Some(header) = header else {
        return Err(StoreError::NoHeader { path: path.to_path_buf() });
    };
    let whole = bytes.len().saturating_sub(rest.len());
    Ok(Content { header, entries, whole: whole as u64, torn: !rest.is_empty() })
}

/// The first line, without its end, and what follows; none if nothing has an end.
pub(super) fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b'\n', bytes)?;
    let (line, after) = bytes.split_at_checked(end)?;
    Some((line, after.get(1..)?))
}

/// Reads a line; none if nothing from here on was written to its end.
fn read_line(
    line: &[u8],
    number: usize,
    is_last: bool,
    path: &Path,
) -> Result<Option<Line>, StoreError> {
    let broken =
        |problem: String| StoreError::Broken { path: path.to_path_buf(), line: number, problem };
    // JSON never holds a zero: it is what a lost block reads as, and what came after it came later.
    if memchr(0, line).is_some() {
        return Ok(None);
    }
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(_) if is_last => return Ok(None),
        Err(error) => return Err(broken(error.to_string())),
    };
    match Line::parse(text) {
        Ok(Line::Header(header)) if number == 1 && header.format > FORMAT => {
            let format = u64::from(header.format);
            Err(StoreError::NewerFormat { path: path.to_path_buf(), format })
        }
        Ok(Line::Header(header)) if number == 1 => Ok(Some(Line::Header(header))),
        Ok(Line::Header(_)) => Err(broken("it is a second header".to_owned())),
        Ok(Line::Event(_)) if number == 1 => Err(broken("it is not a header".to_owned())),
        Ok(Line::Event(entry)) => Ok(Some(Line::Event(entry))),
        Err(LineError::NewerFormat(format)) => {
            Err(StoreError::NewerFormat { path: path.to_path_buf(), format })
        }
        // Whole JSON of an unknown kind is somebody's work and not to be cut off.
        Err(LineError::Json(error)) if is_last && (error.is_syntax() || error.is_eof()) => Ok(None),
        Err(LineError::Json(error)) => Err(broken(error.to_string())),
    }
}
