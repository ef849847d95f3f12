//! The lines of a stream: a maximum number of bytes of each is kept in memory.

use std::io::{self, BufRead as _, BufReader, Read};

use memchr::{memchr, memchr_iter};
use tokio_util::sync::CancellationToken;

/// How many bytes of a line are kept.
const MAX_LINE: usize = 2000;
const BUFFER: usize = 64 * 1024;
const SMALLEST_BUFFER: usize = 512;

/// A stream read line by line.
pub(super) struct Lines<'s, R> {
    reader: BufReader<Stoppable<'s, R>>,
}

/// The beginning of a line, without its end.
pub(super) struct Line {
    pub(super) kept: Vec<u8>,
    /// How many bytes of it were not kept.
    pub(super) left_out: u64,
}

/// A reader that fails once it is told to stop.
struct Stoppable<'s, R> {
    reader: R,
    stop: &'s CancellationToken,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.reader.read(buffer)
    }
}

impl<'s, R: Read> Lines<'s, R> {
    /// The lines of a stream of about that many bytes.
    pub(super) fn new(reader: R, bytes: u64, stop: &'s CancellationToken) -> Self {
        let buffer = usize::try_from(bytes).unwrap_or(BUFFER).clamp(SMALLEST_BUFFER, BUFFER);
        Self { reader: BufReader::with_capacity(buffer, Stoppable { reader, stop }) }
    }

    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.fill_buf()?.is_empty())
    }

    /// Skips up to that many lines; returns how many there were.
    pub(super) fn skip(&mut self, lines: usize) -> io::Result<usize> {
        for skipped in 0..lines {
            if self.reader.skip_until(b'\n')? == 0 {
                return Ok(skipped);
            }
        }
        Ok(lines)
    }

    /// Counts the remaining lines within a maximum number of bytes; `None` if there are more.
    pub(super) fn count_rest(&mut self, most_bytes: u64) -> io::Result<Option<usize>> {
        let mut lines = 0;
        let mut bytes = 0;
        let mut ends_in_line = false;
        while bytes <= most_bytes {
            let buffer = self.reader.fill_buf()?;
            let Some(last) = buffer.last() else {
                return Ok(Some(lines + usize::from(ends_in_line)));
            };
            ends_in_line = *last != b'\n';
            lines += memchr_iter(b'\n', buffer).count();
            let used = buffer.len();
            bytes += used as u64;
            self.reader.consume(used);
        }
        Ok(None)
    }

    /// The next line, or `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut kept = Vec::new();
        // One byte more than is kept, for the end of a line that is exactly as long.
        let most = MAX_LINE as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut kept)?;
        if read == 0 {
            return Ok(None);
        }
        if kept.pop_if(|last| *last == b'\n').is_some() || kept.len() <= MAX_LINE {
            return Ok(Some(Line { kept, left_out: 0 }));
        }
        let whole = whole_characters(&kept, MAX_LINE);
        let dropped = kept.len() - whole;
        kept.truncate(whole);
        // Binary data ends the reading: there is no use in looking for the end of its line.
        let rest = if kept.contains(&0) { 0 } else { self.skip_line()? };
        Ok(Some(Line { kept, left_out: rest + dropped as u64 }))
    }

    /// Passes over the rest of a line; returns its length without the end.
    fn skip_line(&mut self) -> io::Result<u64> {
        let mut length = 0;
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = memchr(b'\n', buffer);
            let used = end.map_or(buffer.len(), |end| end + 1);
            length += end.unwrap_or(used) as u64;
            let finished = end.is_some() || used == 0;
            self.reader.consume(used);
            if finished {
                return Ok(length);
            }
        }
    }
}

/// The longest prefix within a maximum number of bytes that does not split a UTF-8 character.
fn whole_characters(bytes: &[u8], most: usize) -> usize {
    (most.saturating_sub(3)..=most)
        .rev()
        .find(|end| bytes.get(*end).is_none_or(|byte| byte & 0xC0 != 0x80))
        .unwrap_or(most)
}
