//! Pages: the entries of a transcript from a sequence number on, without reading what comes before.
//!
//! The numbers of a transcript only grow, so the place is found by bisection over the file's bytes. A
//! page is bounded: a reader that fell far behind is caught up in steps, and memory stays small.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path};

use attache_kernel::run::transcript::{Entry, Line};
use memchr::memchr;
use serde::Deserialize;

use super::reading;
use crate::store::StoreError;

/// How much is read at once, and below which distance a search goes on line by line.
const PIECE: usize = 64 * 1024;
/// A page ends with the line that makes it longer than this.
const PAGE: usize = 1024 * 1024;

/// Reads a page from the first `length` bytes of a transcript.
pub(super) fn read(
    file: &File,
    length: u64,
    first_seq: u64,
    path: &Path,
) -> Result<Vec<Entry>, StoreError> {
    let failed = |source| StoreError::read(path, source);
    let from = line_before(file, length, first_seq).map_err(failed)?;
    let mut lines = Lines::new(file, from, length);
    let (mut entries, mut size) = (Vec::new(), 0);
    while size <= PAGE {
        let Some(line) = lines.next().map_err(failed)? else { break };
        let length = line.len();
        match std::str::from_utf8(line).map(Line::parse) {
            Ok(Ok(Line::Event(entry))) if entry.seq >= first_seq => {
                entries.push(entry);
                size += length;
            }
            Ok(Ok(Line::Event(_) | Line::Header(_))) => {}
            // Read from its beginning, it is an unfinished end or an error that names the line.
            Ok(Err(_)) | Err(_) => {
                whole(file, length_of(file, path)?, path)?;
                break;
            }
        }
    }
    Ok(entries)
}

fn length_of(file: &File, path: &Path) -> Result<u64, StoreError> {
    Ok(file.metadata().map_err(|source| StoreError::read(path, source))?.len())
}

fn whole(file: &File, length: u64, path: &Path) -> Result<(), StoreError> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0).map_err(|source| StoreError::read(path, source))?;
    reading::parse(&bytes, path).map(|_| ())
}

/// What is read of a line to compare it.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

/// The beginning of a line that no entry from `first_seq` on stands before, and that is near the first.
fn line_before(file: &File, length: u64, first_seq: u64) -> io::Result<u64> {
    let (mut low, mut high) = (0, length);
    while high - low > PIECE as u64 {
        let middle = low + (high - low) / 2;
        let mut lines = Lines::new(file, middle, length);
        // The rest of the line that the middle lies in.
        let is_skipped = lines.next()?.is_some();
        let start = lines.position();
        let line = if is_skipped && start < high { lines.next()? } else { None };
        // A line without a number does not help: the search goes on before it.
        let number = line.and_then(|line| serde_json::from_slice::<Numbered>(line).ok());
        match number {
            Some(Numbered { seq }) if seq < first_seq => low = start,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// The whole lines of a part of a file.
struct Lines<'f> {
    file: &'f File,
    /// Where the buffer lies in the file.
    from: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was given out.
    given: usize,
    length: u64,
}

impl<'f> Lines<'f> {
    fn new(file: &'f File, from: u64, length: u64) -> Self {
        Self { file, from, buffer: Vec::new(), given: 0, length }
    }

    /// Where the next line begins.
    fn position(&self) -> u64 {
        self.from + self.given as u64
    }

    /// The next line without its end; none if no whole one follows.
    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = self.given;
        let end = loop {
            if let Some(end) = memchr(b'\n', self.buffer.get(searched..).unwrap_or_default()) {
                break searched + end;
            }
            self.buffer.drain(..self.given);
            self.from += self.given as u64;
            self.given = 0;
            searched = self.buffer.len();
            if !self.fill()? {
                return Ok(None);
            }
        };
        let line = self.buffer.get(self.given..end);
        self.given = end + 1;
        Ok(line)
    }

    /// Reads one more piece; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let (filled, at) = (self.buffer.len(), self.from + self.buffer.len() as u64);
        let left = usize::try_from(self.length.saturating_sub(at)).unwrap_or(usize::MAX);
        self.buffer.resize(filled + left.min(PIECE), 0);
        let got = self.file.read_at(self.buffer.get_mut(filled..).unwrap_or_default(), at)?;
        self.buffer.truncate(filled + got);
        Ok(got > 0)
    }
}
